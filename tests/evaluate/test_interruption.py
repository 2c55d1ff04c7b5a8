"""Ctrl-C, for real: one ends a command that waits for an endpoint, and what was done is stored."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gamedsl.training import checkpoint
from gamedsl.training.runfolder import open_run
from tests.evaluate.serving import options_in
from tests.evaluate.sockets import GENEROUS, Caller, answering, completion, whole
from tests.train.conftest import DILEMMA

ROOT = Path(__file__).parent.parent.parent
BEYOND = ["--timeout", "600", "--retries", "9"]
"""A server that hangs is waited for until long after any test."""


class Until:
    """A server that answers so many calls, and hangs at those that come then."""

    def __init__(self, calls: int, hang: Any = Caller.hang) -> None:
        self.calls, self.hangs, self._hang = calls, threading.Event(), hang

    def __call__(self, caller: Caller) -> None:
        if caller.number < self.calls:
            messages = json.loads(caller.asked.partition(b"\r\n\r\n")[2])["messages"]
            labels = [x for one in messages for x in options_in({"messages": [one]})]
            caller.send(whole(completion(max(labels))))
            return
        self.hangs.set()
        self._hang(caller)


def _heed_interrupts() -> None:
    """A shell starts what runs in its background with SIGINT ignored, and that is inherited."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def command(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    program = subprocess.Popen(
        [sys.executable, "-m", "gamedsl", *arguments], cwd=ROOT, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        env={**os.environ, "COLUMNS": "200", "OMP_NUM_THREADS": "1"},
        preexec_fn=_heed_interrupts,
    )  # fmt: skip
    try:
        yield program
    finally:
        program.kill()
        program.communicate()


def interrupted(program: subprocess.Popen[str], *signals: int) -> tuple[int, str, str]:
    """Sends the signals, and returns the exit code and the output."""
    for number in signals:
        program.send_signal(number)
    try:
        out, err = program.communicate(timeout=GENEROUS)
    except subprocess.TimeoutExpired:
        pytest.fail("it outlasts the signal")
    assert "Traceback" not in err
    return program.returncode, out, err


def wait_four_minutes(caller: Caller) -> None:
    caller.send(whole(b"busy", "Retry-After: 240", status="429 Busy"))


def trickle(caller: Caller) -> None:
    caller.trickle(b"HTTP/1.1 200 OK\r\nX: ")


@pytest.mark.parametrize("hang", [Caller.hang, trickle, wait_four_minutes])
def test_one_signal_ends_an_evaluation(tmp_path: Path, hang: Any) -> None:
    """Of the first pairing two chunks of games end: they are printed, stored, on the
    leaderboard."""
    server = Until(64 * 2 + 32 + 7, hang)
    out, board = tmp_path / "out.json", tmp_path / "board.json"
    with answering(server) as served:
        name = f"far=endpoint:{served.url}#m"
        with command(
            "eval", name, "--against", "fixed:rock", "--game", "rock_paper_scissors", "--games",
            "400", "--calls", "5000", *BEYOND, "--out", str(out), "--leaderboard", str(board),
        ) as program:  # fmt: skip
            wait_for(server.hangs, program)
            code, printed, _ = interrupted(program, signal.SIGINT)
    assert code == 130
    assert "stopped early: interrupted; only what was finished counts" in printed
    record = json.loads(out.read_text(encoding="utf-8"))
    assert record["stopped"] == "interrupted"
    assert [s["games"] for p in record["pairings"] for s in p["seatings"]] == [64]
    assert [one["games"] for one in json.loads(board.read_text())["matches"]] == [64]


def test_signals_before_any_result_end_an_evaluation(tmp_path: Path) -> None:
    server = Until(3)
    with answering(server) as served:
        argv = ["eval", f"endpoint:{served.url}#m", "--game", "kuhn_poker", *BEYOND]
        with command(*argv, "--out", str(tmp_path / "out.json")) as program:
            wait_for(server.hangs, program)
            code, printed, said = interrupted(program, signal.SIGINT)
    assert (code, printed, said) == (130, "", "")
    assert not (tmp_path / "out.json").exists()


def test_searching_evaluations_end_with_one_signal(tmp_path: Path) -> None:
    """Without an endpoint: a player that searches for long."""
    with command(
        "eval", "mcts:1000000", "--against", "random", "--game", "tic_tac_toe", "--games", "2"
    ) as program:
        with pytest.raises(subprocess.TimeoutExpired):
            program.wait(timeout=4)
        assert interrupted(program, signal.SIGINT)[0] == 130


@contextmanager
def training(
    tmp_path: Path, server: Until, *more: str
) -> Iterator[tuple[subprocess.Popen[str], Path, str]]:
    """A run of eight calls a step that waits for the server, its folder, and the address."""
    file, folder = tmp_path / "game.yaml", tmp_path / "run"
    file.write_text(DILEMMA, encoding="utf-8")
    with answering(server) as served, command(
        "train", str(file), "--model", "tabular", "--steps", "5", "--set", "games=8", "--set",
        f"roles.column.player=endpoint:{served.url}#m", "--set", "checkpoint_every=100", "--format",
        "concise", "--out", str(folder), *more,
    ) as program:  # fmt: skip
        wait_for(server.hangs, program)
        yield program, folder, served.url


def wait_for(event: threading.Event, program: subprocess.Popen[str]) -> None:
    for _ in range(int(GENEROUS * 40)):
        if event.wait(0.1):
            return
        assert program.poll() is None, program.communicate()
    pytest.fail("it never waits")


def steps_of(folder: Path) -> list[int]:
    return [record["step"] for record in open_run(folder).records() if record["event"] == "step"]


@pytest.mark.parametrize(
    "number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)]
)
def test_one_signal_ends_training_in_a_call(tmp_path: Path, number: int) -> None:
    """The step that waits for a reply is dropped, and the whole steps before it are stored."""
    with training(tmp_path, Until(8 * 3 + 2)) as (program, folder, _):
        code, printed, _ = interrupted(program, number)
    assert code == 130
    assert "stopped after step 2; everything is saved" in printed
    kept = checkpoint.latest(open_run(folder))
    assert kept is not None
    assert (kept.step, steps_of(folder)) == (2, [1, 2])
    assert kept.parts["budget"]["calls"] >= 8 * 3 + 2
    assert list((folder / "adapters").iterdir())


@pytest.mark.slow
def test_training_goes_on_after_an_interrupted_call(tmp_path: Path) -> None:
    server = Until(8 * 3 + 2)
    with training(tmp_path, server) as (program, folder, url):
        interrupted(program, signal.SIGINT)
        assert steps_of(folder) == [1, 2]
        server.calls = 10**6
        with command("train", "--resume", str(folder), "--allow-endpoint", url) as resumed:
            out, err = resumed.communicate(timeout=GENEROUS * 4)
            assert resumed.returncode == 0, out + err
    assert steps_of(folder) == [1, 2, 3, 4, 5]


def test_second_signals_end_training_at_once(tmp_path: Path) -> None:
    with training(tmp_path, Until(8 * 3 + 2)) as (program, folder, _):
        program.send_signal(signal.SIGINT)
        code, *_ = interrupted(program, signal.SIGINT)
    assert code == 130
    assert len(open_run(folder).records()) >= 1


@pytest.mark.slow
def test_first_calls_of_a_run_are_interrupted(tmp_path: Path) -> None:
    with training(tmp_path, Until(2)) as (program, folder, _):
        code, printed, _ = interrupted(program, signal.SIGINT)
    assert code == 130
    assert "stopped after step 0" in printed
    assert folder.is_dir()


@pytest.mark.slow
def test_warm_ups_are_interrupted(tmp_path: Path) -> None:
    """Games that are imitated, in which an endpoint plays."""
    more = ["--set", "warm_up.expert=random", "--set", "warm_up.games=40"]
    with training(tmp_path, Until(5), *more) as (program, *_):
        code, printed, _ = interrupted(program, signal.SIGINT)
    assert code == 130
    assert "stopped after step 0" in printed


def test_tables_of_an_evaluation_load_no_torch() -> None:
    """It takes seconds, which one would wait for after the signal."""
    modules = "gamedsl.evaluate.tables, gamedsl.evaluate.record, gamedsl.policies.endpoint"
    code = f"import sys, {modules}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
