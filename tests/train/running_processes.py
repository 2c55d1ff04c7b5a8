"""Processes of training runs: they are started, awaited, and found as /proc lists them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

PATIENCE = 600.0
"""Seconds after which a test gives up what it waits for."""


def environment() -> dict[str, str]:
    """The environment of a process of a run: one thread, and the modules that are found here."""
    return {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}


def await_checkpoint(run: Path, step: int, running: subprocess.Popen[str]) -> None:
    """Waits until a run that goes on has the checkpoint of a step, or a later one."""
    deadline = time.monotonic() + PATIENCE
    while max(_checkpoints(run), default=-1) < step:
        assert time.monotonic() < deadline
        assert running.poll() is None
        time.sleep(0.02)


def _checkpoints(run: Path) -> Iterator[int]:
    yield from (int(path.stem.removeprefix("step-")) for path in run.glob("checkpoints/step-*.pt"))


def await_end(processes: list[int]) -> None:
    """Waits until none of some processes runs."""
    deadline = time.monotonic() + PATIENCE
    while any(map(_runs, processes)):
        assert time.monotonic() < deadline, processes
        time.sleep(0.1)


def _numbers() -> Iterator[Path]:
    yield from (path for path in Path("/proc").iterdir() if path.name.isdecimal())


def _stat(process: int) -> list[str]:
    """The fields of a process after its name: its state, the process that started it, and more.
    Raises OSError where it has ended."""
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()


def _runs(process: int) -> bool:
    """Whether a process has not ended. One that nobody asked for its exit status has."""
    with suppress(OSError):
        return _stat(process)[0] not in "ZX"
    return False


def children_of(parent: int) -> list[int]:
    """The processes that a process has started, in order."""
    found = []
    for path in _numbers():
        with suppress(OSError):
            if int(_stat(int(path.name))[1]) == parent:
                found.append(int(path.name))
    return sorted(found)


def called(part: str) -> list[int]:
    """The processes whose command line contains a text."""
    found = []
    for path in _numbers():
        with suppress(OSError):
            if part.encode() in (path / "cmdline").read_bytes():
                found.append(int(path.name))
    return sorted(found)


def descendants_of(parent: int) -> list[int]:
    """The processes that a process has started, and those that these have."""
    children = children_of(parent)
    return [*children, *(one for child in children for one in descendants_of(child))]
