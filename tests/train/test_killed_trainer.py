"""A run whose replies a Ray cluster writes, and whose trainer is killed: it goes on."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gamedsl.cli import main
from gamedsl.training.runfolder import open_run
from tests.train.nearness import near
from tests.train.running_processes import (
    await_checkpoint,
    await_end,
    called,
    descendants_of,
    environment,
)
from tests.train.test_ray import NEEDS_RAY

pytestmark = [
    *NEEDS_RAY,
    # PEFT itself asks transformers for a name that transformers has deprecated.
    pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning"),
]

STEPS = 8
RUN = (
    "guess_in_words", "--model", "tiny", "--steps", str(STEPS), "--set", "games=8",
    "--set", "group_size=4", "--set", "checkpoint_every=1", "--set", "threads=1",
)  # fmt: skip
ON_CLUSTER = ("--set", "cluster=ray", "--set", "workers=2")


def _started(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "gamedsl", "train", *arguments, "--format", "concise"],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment(),
    )  # fmt: skip


def _steps(run: Path) -> list[dict[str, Any]]:
    records = [one for one in open_run(run).records() if one["event"] == "step"]
    return [{k: v for k, v in one.items() if k not in ("seconds", "lost_workers")}
            for one in records]  # fmt: skip


def test_killed_trainer_goes_on_with_a_fresh_cluster(tmp_path: Path) -> None:
    """A draw decides after which step. What the trainer had started ends with it, so that no worker
    of its cluster is left."""
    alone, killed = tmp_path / "alone", tmp_path / "killed"
    assert main(["train", *RUN, "--out", str(alone), "--format", "concise"]) == 0
    with _started(*RUN, *ON_CLUSTER, "--out", str(killed)) as running:
        await_checkpoint(killed, random.Random(1).randint(1, 3), running)
        started = descendants_of(running.pid)
        assert set(started) & set(called("ray::Writer")), "workers are among them"
        running.kill()
    assert running.returncode == -signal.SIGKILL
    await_end(started)
    done = len(_steps(killed))
    with _started("--resume", str(killed)) as running:
        _, told = running.communicate(timeout=600)
    assert running.returncode == 0, told
    assert done < STEPS
    for one, other in zip(_steps(killed), _steps(alone), strict=True):
        assert near(one, other, 1e-3)
