"""Training on frozen weights in four bits: a run, its resumption and evaluation, and what is
refused."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

import gamedsl
from gamedsl.cli import main
from gamedsl.extras import install_command
from gamedsl.players.table import open_player
from gamedsl.policies.errors import ModelError
from gamedsl.policies.factory import PolicyOptions, open_policy
from gamedsl.policies.vllm_engine import VllmSettings
from gamedsl.prompting.tokenizers import together
from gamedsl.runs.saved import INFO
from gamedsl.runtime import Game
from gamedsl.training.loop import train
from gamedsl.training.runfolder import open_run
from tests.conftest import ROOT
from tests.train.conftest import DILEMMA, StopAfter, policy_of, recipe_of, run_of, same, untimed
from tests.train.test_training_in_words import SPEAK

# PEFT itself asks transformers for a name that transformers has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")

HERE = importlib.util.find_spec("bitsandbytes") is not None
NEEDS = pytest.mark.skipif(not HERE, reason="bitsandbytes is not installed")
SETTINGS = ("--model", "tiny", "--set", "quantize=nf4", "--format", "concise")


def _gamedsl(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "gamedsl", *arguments], cwd=ROOT, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "run"
    with _gamedsl("train", "stag_hunt", *SETTINGS, "--steps", "6", "--out", str(folder)) as process:
        said = process.communicate()[0]
    assert process.returncode == 0, said
    return folder


@NEEDS
@pytest.mark.slow
def test_killed_run_goes_on_to_the_same_numbers(whole: Path, tmp_path: Path) -> None:
    killed = tmp_path / "killed"
    with _gamedsl(
        "train", "stag_hunt", *SETTINGS, "--steps", "6", "--set", "checkpoint_every=1",
        "--out", str(killed),
    ) as process:  # fmt: skip
        while not list(killed.glob("checkpoints/step-*2.pt")):
            assert process.poll() is None, process.communicate()
            time.sleep(0.02)
        process.kill()
    assert len(open_run(killed).records()) < len(open_run(whole).records())
    with _gamedsl("train", "--resume", str(killed), "--format", "concise") as process:
        said = process.communicate()[0]
    assert process.returncode == 0, said
    one, other = (untimed(open_run(run).records()) for run in (whole, killed))
    assert one == other


@NEEDS
def test_run_is_played_with_its_weights(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    game = gamedsl.load("stag_hunt")
    steps = [one for one in open_run(whole).records() if one["event"] == "step"]
    assert steps[0]["policy"] != steps[-1]["policy"]
    player = open_player(f"run:{whole}", game, seed=0)
    assert "uint8" in {
        str(weight.dtype).rpartition(".")[2] for weight in player.policy._network.model.parameters()
    }
    episode = game.env().reset(seed=0)
    dense = _copied(whole, tmp_path / "dense", quantize="none")
    others = open_player(f"run:{dense}", game, seed=0)
    for decision in episode.decisions:
        odds, other = (one.odds(decision, episode) for one in (player, others))
        assert odds != pytest.approx(other, abs=1e-3)
    arguments = [f"run:{whole}", "random", "--game", "stag_hunt", "--games", "10"]
    assert main(["eval", *arguments]) == 0
    assert "run:" in capsys.readouterr().out


def _copied(run: Path, folder: Path, **settings: object) -> Path:
    """A copy of a run's player, with other settings in its recipe."""
    for path in (run / INFO, run / "recipe.yaml", *(run / "adapters").rglob("*")):
        if path.is_file():
            to = folder / path.relative_to(run)
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(path.read_bytes())
    recipe = folder / "recipe.yaml"
    saved = yaml.safe_load(recipe.read_text(encoding="utf-8"))
    recipe.write_text(yaml.safe_dump(saved | settings, sort_keys=False), encoding="utf-8")
    return folder


@NEEDS
def test_written_replies_resume_too(compiled: Callable[[str], Game], tmp_path: Path) -> None:
    game = compiled(SPEAK)
    recipe = recipe_of(
        game, model="tiny", quantize="nf4", dtype="bfloat16", games=4, group_size=2, steps=3,
        lora__layers=2, checkpoint_every=100,
    )  # fmt: skip
    run_of(game, recipe, tmp_path / "whole")
    stop = StopAfter(2)
    run, outcome = run_of(
        game, recipe, tmp_path / "parts", observers=[stop], interrupt=stop.interrupt
    )
    assert (outcome.step, outcome.finished) == (2, False)
    assert train(game, recipe, run, policy_of(game, recipe)).finished
    same(tmp_path / "whole", tmp_path / "parts")


@NEEDS
def test_dry_run_says_how_weights_are_kept(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["train", "stag_hunt", *SETTINGS[:4], "--dry-run"]) == 0
    assert "frozen weights      nf4, dequantised to float32" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("settings", "said", "help"),
    [
        (["finetuning=full"], "here all are trained", "`finetuning: lora`"),
        (["model=small"], "here all are trained", "`finetuning: lora`"),
        (["model=tabular"], "`tabular` is none", "a language model as `model`"),
        (["model=words"], "`words` is none", "a language model as `model`"),
        (["engine=vllm", "replies=free"], "vLLM reads the weights", "`engine: hf`"),
    ],
)
def test_what_cannot_go_with_it_is_refused(
    settings: list[str], said: str, help: str, compiled: Callable[[str], Game], tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    compiled(DILEMMA)
    given = ["model=tiny", "quantize=nf4", *settings]
    sets = [word for one in given for word in ("--set", one)]
    assert main(["train", str(tmp_path / "dilemma.yaml"), *sets, "--dry-run"]) == 1
    printed = capsys.readouterr().err
    assert "GD0704" in printed
    assert said in printed
    assert help in printed


def test_adapters_of_small_are_on_frozen_weights(compiled: Callable[[str], Game]) -> None:
    recipe = recipe_of(compiled(DILEMMA), model="small", finetuning="lora", quantize="nf4")
    assert recipe.frozen_models == {"small"}


def test_the_missing_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec",
        lambda name, *rest: None if name == "bitsandbytes" else found(name),
    )  # fmt: skip
    assert main(["train", "stag_hunt", *SETTINGS[:4], "--dry-run"]) == 2
    printed = capsys.readouterr().err
    assert "`quantize: nf4` needs bitsandbytes" in printed
    assert install_command("quantized") in printed


def test_vllm_refuses_quantised_runs() -> None:
    options = PolicyOptions(quantize="nf4", vllm=VllmSettings())
    with pytest.raises(ModelError, match="vLLM reads the weights"):
        open_policy({"shared": "tiny"}, options, join_tokenizers=together)
