"""The guard calls each kind of failure by its name, and the shrinker finds the part at fault."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.fuzz import Case, Limits, Outcome
from tests.fuzz.guard import run_guarded, run_program
from tests.fuzz.shrink import smallest

SMALL = Limits(cpu=0.3, wait=20, memory=64 << 20)


def _spin() -> Outcome:
    while True:
        pass


def _spin_in_c() -> Outcome:
    return Outcome(detail=str(len(str(7**10_000_000))))


def _fill() -> Outcome:
    return Outcome(detail=str(len(bytearray(80 << 20))))


def _fill_without_end() -> Outcome:
    return Outcome(detail=str(len(bytearray(8 << 30))))


def _sleep() -> Outcome:
    signal.pause()
    return Outcome()


def _die() -> Outcome:
    os.kill(os.getpid(), signal.SIGSEGV)
    return Outcome()


def _write() -> Outcome:
    Path("file").write_text("text", encoding="utf-8")
    return Outcome()


def _case(run: Callable[[], Outcome], limits: Limits = SMALL) -> Case:
    return Case(run.__name__, {}, run, limits)


@pytest.mark.parametrize(
    ("run", "limits", "kind"),
    [
        (_spin, SMALL, "hang"),
        (_spin_in_c, SMALL, "hang"),
        (_sleep, Limits(wait=0.5), "hang"),
        (_fill, SMALL, "memory"),
        (_fill_without_end, SMALL, "memory"),
        (_die, SMALL, "crash"),
        (lambda: os._exit(3), SMALL, "crash"),
        (lambda: int("x"), SMALL, "traceback"),
        (lambda: sys.exit(1), SMALL, "traceback"),
    ],
)
def test_each_failure_has_its_kind(run: Callable[[], Outcome], limits: Limits, kind: str) -> None:
    outcomes = run_guarded([_case(_write), _case(run, limits), _case(_write)])
    assert [outcome.kind for outcome in outcomes] == ["clean", kind, "clean"]


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc keeps it")
def test_memory_that_was_kept_counts() -> None:
    """A process that trained keeps what it freed; a case that fills it is found all the same."""
    program = """
from gamedsl.policies.process_memory import keep_freed_memory
from tests.fuzz.guard import run_guarded
from tests.fuzz.test_guard import SMALL, _case, _fill

keep_freed_memory()
bytearray(300 << 20)
[outcome] = run_guarded([_case(_fill, SMALL)])
print(outcome.kind)
"""
    assert _printed_by(program) == "memory\n"


def _printed_by(program: str, *arguments: str) -> str:
    """Returns what a program prints that runs in the folder of the tests."""
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True, text=True, check=True, timeout=600,
        cwd=Path(__file__).parent.parent.parent,
    )  # fmt: skip
    return done.stdout


def _work_for_a_second() -> Outcome:
    ends = time.process_time() + 1
    while time.process_time() < ends:
        pass
    return Outcome()


def _wait_for_work() -> Outcome:
    child = os.fork()
    if child == 0:
        _work_for_a_second()
        os._exit(0)
    os.waitpid(child, 0)
    return Outcome()


@pytest.mark.skipif(sys.platform != "linux", reason="states of processes are read from /proc")
@pytest.mark.parametrize("run", [_work_for_a_second, _wait_for_work])
def test_work_is_no_waiting(run: Callable[[], Outcome]) -> None:
    [outcome] = run_guarded([_case(run, Limits(wait=0.5))])
    assert outcome.clean, outcome


@pytest.mark.skipif(sys.platform != "linux", reason="states of processes are read from /proc")
def test_a_machine_that_stands_still_hangs_nothing() -> None:
    """The parent is stopped while the first run of the case spins, as if the machine had been."""
    program = """
import os, pathlib, signal, subprocess, sys
from tests.fuzz import Case, Limits, Outcome
from tests.fuzz.guard import run_guarded

def run():
    seen = pathlib.Path(sys.argv[1])
    if not seen.exists():
        seen.touch()
        parent = os.getppid()
        wakes = f"import os, time; time.sleep(2.5); os.kill({parent}, {int(signal.SIGCONT)})"
        subprocess.Popen([sys.executable, "-c", wakes], start_new_session=True)
        os.kill(parent, signal.SIGSTOP)
        while True:
            pass
    return Outcome()

[outcome] = run_guarded([Case("", {}, run, Limits(cpu=0.5))])
print(outcome.kind)
"""
    with tempfile.TemporaryDirectory() as folder:
        assert _printed_by(program, f"{folder}/seen") == "clean\n"


def test_an_interrupted_run_tells_its_counts() -> None:
    run = subprocess.Popen(
        [sys.executable, "-u", "-m", "tests.fuzz", "readers", "--minutes", "60", "--seed", "3"],
        stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parent.parent.parent,
    )  # fmt: skip
    assert run.stdout is not None
    assert run.stdout.readline() == "seed 3\n"
    time.sleep(2)
    run.send_signal(signal.SIGINT)
    told, _ = run.communicate(timeout=600)
    assert "interrupted" in told
    assert "readers: " in told


def test_a_smallest_input_is_found() -> None:
    def case_of(files: Mapping[str, bytes]) -> Case:
        def run() -> Outcome:
            text = files.get("a.txt", b"")
            return Outcome("traceback" if b"x" in text and b"yz" in text else "clean")

        return Case("", files, run)

    files = {"a.txt": b"one x two\nthree\nfour yz five\n", "b.txt": b"more"}
    [outcome] = run_guarded([case_of(files)])
    found = smallest(files, outcome, case_of, seconds=30)
    assert found == {"a.txt": b"xyz"} or found == {"a.txt": b"x\nyz"}


def test_a_program_runs_under_limits() -> None:
    spin = run_program([sys.executable, "-c", "while True: pass"], limits=SMALL)
    assert spin.failure(SMALL) == Outcome("hang")
    wait = run_program([sys.executable, "-c", "input()"], given=b"line\n")
    assert wait.failure() is None
    fails = run_program([sys.executable, "-c", "int('x')"])
    outcome = fails.failure()
    assert outcome is not None
    assert outcome.kind == "traceback"


def test_memory_of_a_program_is_its_own() -> None:
    tight = Limits(memory=1 << 20)
    small = run_program([sys.executable, "-c", "pass"], limits=tight)
    assert small.failure(tight) is None, "the kernel counts a child from its parent's peak on"
    status = Path("/proc/self/status").read_text(encoding="ascii")
    [peak] = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")]
    more = (int(peak) << 10) + (32 << 20)
    large = run_program([sys.executable, "-c", f"b'x' * {more}"], limits=tight)
    assert large.memory >= more
    assert large.failure(tight) is not None
