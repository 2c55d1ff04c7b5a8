"""The processes that run on this system, as /proc lists them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def _numbers() -> Iterator[Path]:
    yield from (path for path in Path("/proc").iterdir() if path.name.isdecimal())


def children_of(parent: int) -> list[int]:
    """The processes that a process has started, in order."""
    found = []
    for path in _numbers():
        with suppress(OSError):
            after_name = (path / "stat").read_text().rpartition(")")[2].split()
            if int(after_name[1]) == parent:
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
