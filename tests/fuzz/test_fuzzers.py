"""Kept inputs stay mended; in the slow suite each fuzzer finds nothing in inputs of a fixed seed.

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
    "game_files": 100, "replies": 400, "readers": 1000, "guided_readers": 7, "endpoints": 60,
    "run_folders": 120, "kills": 2, "command_lines": 200,
}  # fmt: skip
"""Inputs of each fuzzer: about twenty CPU seconds. A workflow gives them an hour each week."""


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


@pytest.mark.slow
@pytest.mark.parametrize("name", fuzzers())
def test_a_fuzzer_finds_nothing(name: str) -> None:
    done = _run(name, "--seed", SEED, "--inputs", str(INPUTS[name]))
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
