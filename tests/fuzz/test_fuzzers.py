"""Kept inputs stay mended, and each fuzzer finds nothing in the first inputs of a fixed seed.

Neither chance nor speed decides: new seeds, for any time, are for `python -m tests.fuzz`. One
process replays all kept inputs: it forks children, which a process of tests should not.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz import CASES, fuzzers

ROOT = Path(__file__).parent.parent.parent
KEPT = sorted(path.relative_to(CASES).as_posix() for path in CASES.glob("*/*"))

SEED = "15"
INPUTS = {
    "game_files": (10, 300), "replies": (100, 3200), "readers": (400, 12_000),
    "guided_readers": (0, 7), "endpoints": (10, 200), "run_folders": (20, 400), "kills": (0, 12),
    "command_lines": (30, 600),
}  # fmt: skip
"""Inputs of each fuzzer in the fast suite, some two seconds, and in the slow one, about a minute on
a machine of two cores; those of 0 run in the slow one alone."""


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.fuzz", *arguments],
        capture_output=True, text=True, check=False, cwd=ROOT,
    )  # fmt: skip


def test_kept_inputs_stay_mended() -> None:
    """All in one test: each process that replays them takes as long as the replays of many."""
    done = _run("--replay", *KEPT)
    found: dict[str, list[str]] = json.loads(done.stdout)
    assert list(found) == KEPT
    assert {kept: detail for kept, (kind, detail) in found.items() if kind != "clean"} == {}


def _find_nothing(name: str, inputs: int) -> None:
    done = _run(name, "--seed", SEED, "--inputs", str(inputs))
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", [name for name in fuzzers() if INPUTS[name][0]])
def test_a_fuzzer_finds_nothing_in_some_inputs(name: str) -> None:
    _find_nothing(name, INPUTS[name][0])


@pytest.mark.slow
@pytest.mark.parametrize("name", fuzzers())
def test_a_fuzzer_finds_nothing_in_many_inputs(name: str) -> None:
    _find_nothing(name, INPUTS[name][1])
