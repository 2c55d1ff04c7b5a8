"""The guard calls each kind of failure by its name, and the shrinker finds the part at fault."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.fuzz import Case, Limits, Outcome
from tests.fuzz.guard import run_guarded, run_program
from tests.fuzz.shrink import smallest

SMALL = Limits(cpu=0.3, wall=20, memory=64 << 20)


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
        (_sleep, Limits(wall=0.5), "hang"),
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
