"""Recipes for GPUs: each is trained for three steps on a toy model of its architecture.

Sizes are cut, of steps, games, groups, warm-ups and thoughts; all other settings are as they stand.
A dry run is of one process, without `shard`. Left out: GPUs, bfloat16, real weights and tokenizers.
What stands in for vLLM writes by transformers. Several processes are two, over gloo. Four bits are
left out without bitsandbytes.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

from gamedsl.cli import main
from gamedsl.diagnostics import Problems
from tests.policies.architectures import write
from tests.policies.templates import CALLING, EMPTY_THOUGHT
from tests.train.test_models_under_vllm import stand_in

# PEFT itself asks transformers for a name that transformers has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")

ROOT = Path(__file__).parents[2]
with pytest.MonkeyPatch.context() as patch:
    patch.syspath_prepend(ROOT / "benchmarks")
    gpu_recipes = importlib.import_module("gpu_recipes")
RECIPES = {one.name: one for one in gpu_recipes.recipes()}
EACH = pytest.mark.parametrize("name", RECIPES)
STEPS = 3
CUT = {"games": 4, "group_size": 2, "thoughts": 2, "lr_warm_up": 1}
CUT_WARM_UP = {"warm_up.games": 4, "warm_up.epochs": 1}


def cut(one: Any) -> Any:
    """A recipe with smaller sizes, of those settings that it has."""
    recipe = one.resolved(one.load(), Problems())
    sizes = CUT | (CUT_WARM_UP if recipe.experts else {})
    smaller = {
        key: size for key, size in sizes.items()
        if recipe.value(key) is not None and recipe.value(key) > size
    }  # fmt: skip
    return replace(one, settings={**one.settings, **smaller})


@pytest.fixture
def toy(name: str, tmp_path: Path) -> Any:
    """A recipe with its sizes cut, and a toy model."""
    one = RECIPES[name]
    template = CALLING if name.endswith("tools") else EMPTY_THOUGHT
    folder = write("qwen3", tmp_path / "toy", longest=40_960, chat_template=template, terse=True)
    return replace(cut(one), model=str(folder))


@EACH
def test_settings_fit_the_game(name: str) -> None:
    problems = Problems()
    RECIPES[name].resolved(RECIPES[name].load(), problems)
    assert [one.message for one in problems.sorted() if one.severity != "note"] == []


def test_recipes_have_the_sizes_of_qwen3() -> None:
    for name, billions in (("0.6B", 0.6), ("1.7B", 1.7), ("4B", 4.0), ("8B", 8.2)):
        model = gpu_recipes.shape_of(f"Qwen/Qwen3-{name}")
        count = sum(weight.numel() for weight in model.parameters())
        assert count / 1e9 == pytest.approx(billions, abs=0.05)
    assert {one.model for one in RECIPES.values()} == gpu_recipes.SHAPES.keys()


@pytest.mark.slow
def test_page_shows_the_recipes() -> None:
    page = (ROOT / "docs" / "training" / "gpu.md").read_text(encoding="utf-8")
    assert page == gpu_recipes.rewritten(page), (
        "benchmarks/gpu_recipes.py --page docs/training/gpu.md"
    )


@pytest.mark.slow
@EACH
def test_dry_run_and_three_steps(
    name: str, toy: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    if toy.settings.get("quantize") and find_spec("bitsandbytes") is None:
        pytest.skip("lacks bitsandbytes")
    if toy.settings.get("engine") == "vllm":
        stand_in(monkeypatch)
    shard = {"shard": False} if toy.settings.get("shard") else {}
    alone = replace(toy, settings={**toy.settings, **shard})
    assert main([*alone.arguments(), "--dry-run"]) == 0
    told = capfd.readouterr()
    assert "nothing was trained" in told.out
    assert "warning" not in told.out + told.err
    run = tmp_path / "run"
    given = [*toy.arguments(), f"--steps={STEPS}", f"--out={run}", "--format=concise"]
    if toy.gpus == 1:
        assert main(given) == 0
    else:
        train_by_two(given)
    records = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    steps = [record for record in records if record["event"] == "step"]
    assert len(steps) == STEPS
    learned = [
        float(tensor.abs().max())
        for file in (run / "adapters").glob("*/adapter_model.safetensors")
        for name, tensor in load_file(file).items() if "lora_B" in name
    ]  # fmt: skip
    assert all(map(math.isfinite, learned))
    assert max(learned) > 0, "nothing was learned: B is 0 at the start"


def train_by_two(arguments: list[str]) -> None:
    """Two processes on this machine, by torchrun."""
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    done = subprocess.run(
        [sys.executable, *launcher, "-m", "gamedsl", *arguments], capture_output=True, text=True,
        timeout=900, check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
