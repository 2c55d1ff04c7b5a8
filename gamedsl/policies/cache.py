"""The user's cache of things that are made once and read many times, such as converted models.

A finished entry is a folder under its final name. It is built in a temporary folder beside it and
renamed when complete, under a lock, so a killed build never leaves half an entry and concurrent
processes build it once.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from gamedsl.policies.base import Notify, silent


def build_entry(entry: Path, build: Callable[[Path], None], notify: Notify = silent) -> Path:
    """Return `entry`, first filling it with `build(empty_folder)` if it does not exist.

    Whatever `build` raises passes through, and leaves nothing behind. A second process waits for
    the first (and says so through `notify`), then uses its result.
    """
    from filelock import FileLock, Timeout

    if entry.is_dir():
        return entry
    entry.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(entry.parent / f".{entry.name}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        notify(f"another process is preparing {entry.name}; waiting for it")
        lock.acquire()
    try:
        if not entry.is_dir():
            _build(entry, build)
    finally:
        lock.release()
    return entry


def _build(entry: Path, build: Callable[[Path], None]) -> None:
    """Fill `entry` through a temporary folder; the caller holds the lock."""
    prefix = f".{entry.name}.partial-"
    for stale in entry.parent.glob(f"{prefix}*"):  # left by a build that was killed
        shutil.rmtree(stale, ignore_errors=True)
    partial = Path(tempfile.mkdtemp(prefix=prefix, dir=entry.parent))
    try:
        build(partial)
        partial.chmod(0o755)
        partial.rename(entry)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
