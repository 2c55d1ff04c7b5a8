"""Runs of several processes, started by torchrun: the numbers of one process, whoever resumes."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from gamedsl.policies.process_group import ProcessGroup
from gamedsl.policies.sharding import Lockstep
from gamedsl.training.errors import TrainError
from gamedsl.training.processes import Agreement
from tests.policies.process_threads import in_processes
from tests.train.nearness import near
from tests.train.running_processes import await_checkpoint, children_of, environment

STEPS = 5
CLOSED = ("stag_hunt", "--set", "method=grpo", "--set", "games=64")
MAGNET = ("kuhn_poker", "--set", "method=magnet", "--set", "games=512")
WORDS = ("guess_in_words", "--set", "games=8", "--set", "group_size=4")
QUANTISED = pytest.param(
    (*CLOSED, "--set", "quantize=nf4"),
    marks=pytest.mark.skipif(find_spec("bitsandbytes") is None, reason="lacks bitsandbytes"),
)
SHARED_OUT = ("--set", "shard=true")
TIED = ("contributions", "summary")
"""Fields that count whole games, and are decided by ties of equal seats."""
TOLERANCE = 1e-4
"""Of a number of the metrics, relative. Passes are packed otherwise, so their last bits differ, and
some steps of training enlarge that."""


def _command(processes: int, *arguments: str) -> list[str]:
    launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    return [sys.executable, *launcher, "-m", "gamedsl", "train", *arguments]


def _train(processes: int, *arguments: str) -> str:
    done = subprocess.run(
        _command(processes, *arguments), capture_output=True, text=True, timeout=900,
        env=environment(),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def _metrics(run: Path) -> list[dict[str, Any]]:
    lines = (run / "metrics.jsonl").read_text().splitlines()
    unlike = dict.fromkeys(("seconds", *TIED))
    return [{**json.loads(line), **unlike} for line in lines]


def _check_equal(run: Path, other: Path) -> None:
    for one, two in zip(_metrics(run), _metrics(other), strict=True):
        different = [key for key in one if not near(one[key], two.get(key), TOLERANCE)]
        assert one.keys() == two.keys()
        assert not different, {key: (one[key], two[key]) for key in different}


def _arguments(game: tuple[str, ...], out: Path) -> tuple[str, ...]:
    return (
        *game, "--model", "tiny", "--steps", str(STEPS), "--out", str(out),
        "--set", "checkpoint_every=1", "--format", "concise",
    )  # fmt: skip


def _train_once(processes: int, game: tuple[str, ...], out: Path) -> Path:
    shown = _train(processes, *_arguments(game, out))
    assert shown.count(f"step {STEPS}/{STEPS}") == 1  # one screen
    assert shown.count("run folder: ") == 1
    return out


Alone = Callable[[tuple[str, ...]], Path]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Alone:
    """The run of a game by one process, which several tests compare theirs with."""
    return cache(lambda game: _train_once(1, game, tmp_path_factory.mktemp("alone") / "run"))


@pytest.mark.slow
@pytest.mark.parametrize("game", [CLOSED, MAGNET, WORDS], ids=["closed", "magnet", "words"])
def test_numbers_are_those_of_one_process(
    game: tuple[str, ...], alone: Alone, tmp_path: Path
) -> None:
    for processes in (2, 3):
        _check_equal(alone(game), _train_once(processes, game, tmp_path / f"run-{processes}"))
    assert not list(tmp_path.glob("gamedsl-process-*"))


@pytest.mark.slow
@pytest.mark.parametrize("game", [CLOSED, WORDS, QUANTISED], ids=["closed", "words", "quantised"])
def test_shared_out_weights_change_no_number(
    game: tuple[str, ...], alone: Alone, tmp_path: Path
) -> None:
    _train(2, *_arguments(game, tmp_path / "shared"), *SHARED_OUT)
    _check_equal(alone(game), tmp_path / "shared")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("game", "settings", "before", "after"),
    [(CLOSED, (), 2, 3), (CLOSED, (), 3, 1), (WORDS, (), 2, 1), (CLOSED, SHARED_OUT, 2, 3)],
    ids=["closed", "closed-alone", "words", "shared-out"],
)
def test_killed_run_goes_on_with_other_processes(
    game: tuple[str, ...], settings: tuple[str, ...], before: int, after: int, alone: Alone,
    tmp_path: Path,
) -> None:  # fmt: skip
    """A draw decides which process is killed, and after which step."""
    killed = tmp_path / "killed"
    rng = random.Random(f"{game} {settings} {before} {after}")
    step, victim = rng.randint(0, STEPS - 3), rng.randrange(before)
    with subprocess.Popen(
        _command(before, *_arguments(game, killed), *settings), stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True, env=environment(),
    ) as running:  # fmt: skip
        await_checkpoint(killed, step, running)
        os.kill(children_of(running.pid)[victim], signal.SIGKILL)
        assert running.wait(300) != 0
    done = len(_metrics(killed))
    _train(after, "--resume", str(killed), "--format", "concise")
    assert done < len(_metrics(killed))
    _check_equal(alone(game), killed)


@pytest.mark.slow
def test_endpoints_are_refused(tmp_path: Path) -> None:
    arguments = (
        "stag_hunt", "--model", "tiny", "--out", str(tmp_path / "run"),
        "--set", "roles.hunter_2.player=endpoint:http://127.0.0.1:9/v1#none",
    )  # fmt: skip
    done = subprocess.run(
        _command(2, *arguments), capture_output=True, text=True, timeout=600, env=environment()
    )
    assert "endpoints cannot be asked by several processes" in done.stderr
    assert "Traceback" not in done.stderr.split("torch")[0]


def test_idle_processes_pass_as_often() -> None:
    def act(group: ProcessGroup) -> list[str]:
        passes: list[str] = []
        lockstep = Lockstep(group, lambda backward: passes.append(f"empty {backward}"))
        with lockstep.together(backward=True):
            for _ in range(group.rank * 2):
                lockstep.passing()
                passes.append("own")
        lockstep.passing()  # outside of a share of work nobody is told
        return passes

    none, two, four = in_processes(3, act)
    assert none == ["empty True"] * 4
    assert two == ["own"] * 2 + ["empty True"] * 2
    assert four == ["own"] * 4


def test_processes_that_disagree_are_stopped() -> None:
    def act(group: ProcessGroup, reward: float) -> str:
        watch = Agreement(group)
        watch.step({"step": 1, "seconds": group.rank, "loss": 0.5, "seen": {"a": [1, 2.0]}})
        with pytest.raises(TrainError) as raised:
            watch.step({"step": 2, "reward": {"first": reward * group.rank}})
        return raised.value.fact

    told = in_processes(3, lambda group: act(group, 1.0))
    assert told == ["processes 0 and 1 disagree on `reward` of step 2"] * 3
