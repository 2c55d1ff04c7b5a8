"""Going on is the same as never having stopped, whatever it was that stopped the run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gamedsl.cli import main
from gamedsl.players.table import open_player
from gamedsl.training import checkpoint
from gamedsl.training.loop import train
from gamedsl.training.runfolder import open_run
from tests.conftest import ROOT
from tests.train.conftest import (
    ANEW,
    DILEMMA,
    HIDDEN,
    OFFER,
    StopAfter,
    policy_of,
    recipe_of,
    run_of,
    same,
    untimed,
)  # fmt: skip

TURNS = {
    "learn__who": "rotate", "learn__every": 1, "allow": ["rotation"], "games": 64, "inner_steps": 2
}  # fmt: skip
BATCHES = {"project__fitter": "adam", "project__batch": 2, "games": 64}


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        (DILEMMA, {"model": "tiny"}),
        (DILEMMA, {"model": "tiny", "inner_steps": 2, "kl": 0.1, "adapters": "per_role"}),
        (OFFER, {"model": "tiny", "start": {"proposer": {"low": 0.5}}, "lr_schedule": "linear"}),
        (ANEW, {"model": "tiny", "games": 16, "lora__layers": 2}),
        (ANEW, {"model": "words", "games": 16}),
        (DILEMMA, {"model": "tiny", "method": "magnet", "magnet__every": 2}),
        (DILEMMA, {"model": "tiny", "method": "project", "magnet__every": 2}),
        (OFFER, {"model": "tiny", "method": "project", "adapters": "per_role"}),
        (OFFER, {"model": "tiny", "method": "project", "project__fitter": "adam"}),
        (DILEMMA, {"entropy_floor": 0.8, "lr": 1e-3}),
        (HIDDEN, {"method": "project", "games": 512}),
        (HIDDEN, {"method": "magnet", "magnet__every": 1, "games": 512, "estimator": "tree"}),
        (HIDDEN, {"baseline": "critic", "critic__view": "centralised"}),
        (OFFER, {"model": "tiny", "baseline": "critic", "games": 16}),
        (HIDDEN, {"model": "tiny", "method": "project", "adapters": "per_role", **TURNS}),
        (OFFER, {"model": "tiny", "method": "project", **BATCHES}),
    ],
)
def test_resumed_equals_uninterrupted(compiled, tmp_path: Path, text: str, settings: dict) -> None:
    game = compiled(text)
    recipe = recipe_of(game, steps=5, checkpoint_every=100, **settings)
    run_of(game, recipe, tmp_path / "whole")
    stop = StopAfter(3)
    run, outcome = run_of(
        game, recipe, tmp_path / "parts", observers=[stop], interrupt=stop.interrupt
    )
    assert (outcome.step, outcome.finished) == (3, False)
    assert train(game, recipe, run, policy_of(game, recipe)).finished
    same(tmp_path / "whole", tmp_path / "parts")


def test_a_finished_run_is_extended(compiled, tmp_path: Path) -> None:
    game = compiled(DILEMMA)
    short, long = (recipe_of(game, model="tiny", steps=steps) for steps in (2, 4))
    run, _ = run_of(game, short, tmp_path / "run")
    train(game, long, run, policy_of(game, long))
    run_of(game, long, tmp_path / "whole")
    same(tmp_path / "run", tmp_path / "whole")


@pytest.mark.parametrize("left", [0, 1, 2])
def test_what_a_checkpoint_does_not_have_is_forgotten(compiled, tmp_path: Path, left: int) -> None:
    """Of the checkpoints after steps 0, 2 and 4, only the first are left, or none."""
    game = compiled(DILEMMA)
    recipe = recipe_of(game, steps=4, checkpoint_every=2, transcripts_every=1, keep_checkpoints=3)
    run, _ = run_of(game, recipe, tmp_path / "run")
    before = untimed(run.records())
    for path in checkpoint.steps(run)[left:]:
        path.unlink()
    (run.checkpoints / ".partial-abc").mkdir()
    with run.metrics.open("a") as stream:
        stream.write('{"event": "step", "step": 5, "rew')
    train(game, recipe, run, policy_of(game, recipe))
    assert untimed(run.records()) == before
    assert len(list((run.path / "transcripts").iterdir())) == 4
    assert not list(run.path.rglob(".partial-*"))


def test_resumed_run_has_no_stale_adapters(compiled, tmp_path: Path) -> None:
    """A run that ended is extended, and killed: its player is that of its last checkpoint."""

    class Kill:
        def progress(self, record) -> None: ...
        def start(self, record) -> None: ...

        def step(self, record) -> None:
            if record["step"] == 5:
                raise KeyboardInterrupt

    game = compiled(DILEMMA)
    short, long = (recipe_of(game, steps=steps, checkpoint_every=2) for steps in (2, 6))
    run, _ = run_of(game, short, tmp_path / "run")
    ended = open_player(f"run:{run.path}", game, seed=0).odds(*_asked(game))
    with pytest.raises(KeyboardInterrupt):
        train(game, long, run, policy_of(game, long), observers=[Kill()])
    now, kept = (
        open_player(f"run:{run.path}{at}", game, seed=0).odds(*_asked(game)) for at in ("", "@4")
    )
    assert now == kept != ended
    train(game, long, run, policy_of(game, long))
    assert [path.name for path in (run.path / "adapters").iterdir()] == ["shared"]
    assert not list(run.path.rglob(".partial-*"))


def _asked(game):
    episode = game.env().reset(seed=0)
    return episode.decisions[0], episode


def test_only_the_latest_checkpoints_are_kept(compiled, tmp_path: Path) -> None:
    game = compiled(DILEMMA)
    recipe = recipe_of(game, steps=5, checkpoint_every=1, keep_checkpoints=2)
    run, _ = run_of(game, recipe, tmp_path / "run")
    assert sorted(path.name for path in run.checkpoints.iterdir()) == [
        "step-000004.pt",
        "step-000005.pt",
    ]


def _command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "gamedsl", "train", *arguments]


def _started(folder: Path, *arguments: str, until: int) -> subprocess.Popen:
    """A run in a process of its own that has come past a step."""
    process = subprocess.Popen(
        _command("prisoners_dilemma", "--out", str(folder), "--format", "concise", *arguments),
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    metrics, deadline = folder / "metrics.jsonl", time.monotonic() + 60
    while not metrics.exists() or metrics.read_text().count("\n") <= until:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return process


_ARGUMENTS = ("--model", "tabular", "--set", "checkpoint_every=4", "--set", "threads=1")


def test_killed_and_stopped_runs_go_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """SIGKILL, then Ctrl-C, then to the end: one run as if nothing had been."""
    run = tmp_path / "run"
    with _started(run, "--steps", "400", *_ARGUMENTS, until=8) as process:
        process.kill()
    lines = (run / "metrics.jsonl").read_text().splitlines()
    saved = int(sorted((run / "checkpoints").glob("step-*.pt"))[-1].stem[5:])
    assert json.loads(lines[-2])["step"] - saved <= 4

    with subprocess.Popen(
        _command("--resume", str(run), "--format", "concise"),
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        while not (line := process.stdout.readline()).startswith("step"):
            assert line or process.poll() is None, "it ended before its first step"
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[0]
    assert process.returncode == 130, said
    assert f"gamedsl train --resume {run}" in said
    assert "Traceback" not in said

    records = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    stopped = records[-1]["step"]
    assert [record["step"] for record in records] == list(range(stopped + 1))
    assert (run / "checkpoints" / f"step-{stopped:06d}.pt").exists()
    steps = ("--steps", str(stopped + 5))
    assert main(["train", "--resume", str(run), "--format", "concise", *steps]) == 0
    whole = tmp_path / "whole"
    capsys.readouterr()
    told = ("--out", str(whole), *steps, *_ARGUMENTS, "--format", "json")
    assert main(["train", "prisoners_dilemma", *told]) == 0
    same(run, whole)
    printed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert untimed(printed) == untimed(open_run(whole).records())
