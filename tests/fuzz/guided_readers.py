"""Bursts of coverage-guided fuzzing over the readers of `tests.fuzz.readers`, where atheris is
installed (`pip install -e .[fuzz]`); elsewhere there are none.

A burst starts from the seeds of a reader and keeps what reaches new code. `python -m
tests.fuzz.coverage READER --runs 1000000 --corpus FOLDER` goes on for longer, and keeps its corpus.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from functools import partial
from importlib.util import find_spec
from itertools import cycle
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz import Case, Limits, Outcome, readers
from tests.fuzz.guard import run_guarded, run_program

NAME = "guided_readers"
BATCH = 1

ROOT = Path(__file__).parent.parent.parent
LIMITS = Limits(cpu=400.0, wait=600.0)
RUNS = 4_000
"""Inputs of one burst."""


def cases(seed: int) -> Iterator[Case]:
    """Yields bursts over each reader in turn."""
    if find_spec("atheris") is None:
        return
    random = Random(f"guided readers {seed}")
    for name in cycle(readers.READERS):
        burst = {"reader": name, "seed": random.randrange(1 << 31), "runs": RUNS}
        yield case_of({"burst.json": json.dumps(burst).encode()})


def case_of(files: Mapping[str, bytes]) -> Case:
    """Returns the case of a burst; of one input that a burst found, its reader's."""
    if "burst.json" not in files:
        return readers.case_of(files)
    burst = json.loads(files["burst.json"])
    return Case(f"a guided burst over {burst['reader']}", files, partial(_run, burst), LIMITS)


def _run(burst: Mapping[str, Any]) -> Outcome:
    """Runs a burst of coverage-guided fuzzing in a process of its own."""
    found = Path(tempfile.gettempdir(), "found")
    found.mkdir()
    done = run_program(
        [sys.executable, "-m", "tests.fuzz.coverage", burst["reader"], "--seed", str(burst["seed"]),
         "--runs", str(burst["runs"]), "--found", found],
        cwd=ROOT, limits=LIMITS,
    )  # fmt: skip
    inputs = sorted(found.iterdir())
    if done.code == 0 and not inputs:
        return Outcome(counted=(f"burst over {burst['reader']}",))
    if not inputs:
        return Outcome("crash", done.err[-3000:].decode("utf-8", "replace"), "burst")
    files = {"reader.txt": burst["reader"].encode(), "input": inputs[0].read_bytes()}
    [outcome] = run_guarded([readers.case_of(files)])
    if outcome.clean and inputs[0].name.startswith("timeout"):
        return Outcome(counted=("input that was slow by the clock alone",))
    if outcome.clean:
        outcome = Outcome("crash", done.err[-3000:].decode("utf-8", "replace"))
    return Outcome(outcome.kind, outcome.detail, outcome.place, files=files)
