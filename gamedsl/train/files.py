"""Writing files so that a reader sees the old one or the new one, never half of either."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

_PARTIAL = ".partial-"


def write_atomically(path: Path, write: Callable[[Path], None]) -> None:
    """`write(temporary)`, then put it in the place of `path`, safe against a kill at any moment.

    `write` makes a file or fills a folder that it creates. A folder replaces one of the same
    name.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=_PARTIAL, dir=path.parent))
    try:
        new = work / path.name
        write(new)
        for file in [p for p in new.rglob("*") if p.is_file()] if new.is_dir() else [new]:
            _sync(file)
        if path.is_dir():
            path.rename(work / "old")
        new.replace(path)
        _sync(path.parent)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def drop(folder: Path) -> None:
    """Remove a folder, if it is there: for readers, all of it at once."""
    if folder.exists():
        going = Path(tempfile.mkdtemp(prefix=_PARTIAL, dir=folder.parent))
        folder.rename(going / folder.name)
        shutil.rmtree(going)


def drop_partial(folder: Path) -> None:
    """Remove what writes that were killed left anywhere below a folder."""
    for left in list(folder.rglob(f"{_PARTIAL}*")):
        shutil.rmtree(left, ignore_errors=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically, as UTF-8."""

    def write(new: Path) -> None:
        new.write_text(text, encoding="utf-8")

    write_atomically(path, write)


def _sync(path: Path) -> None:
    """Have the system put a file or a folder's entries on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
