"""Does something again whenever a file that it read has changed.

The files are looked at a few times a second. They are few, so that this costs nothing, works on
every file system, and needs no library; a notice of the system's would miss network folders.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from time import sleep

from gamedsl.cli import CLEAN, INTERRUPTED
from gamedsl.commands._streams import plain
from gamedsl.frontend.source.loader import recording

PAUSE = 0.2
"""Seconds between two looks at the files."""

_State = tuple[int, int, int] | None


def watch(check: Callable[[], int], named: Iterable[Path]) -> int:
    """Calls `check` at once, and again when a named file, or one that it read, has changed. Returns
    its last exit code when it is interrupted.

    A file may be gone for a while, as some editors write. After problems the folders are looked
    at too, since a file that was missing may have come.
    """
    code = INTERRUPTED
    states = {path: _state(path) for path in named}
    files = set(states)
    try:
        while True:
            _clear()
            with recording() as read:
                code = check()
            files |= set(read)
            folders = {path.parent for path in files} if code != CLEAN else set()
            states = {path: states.get(path, _state(path)) for path in files}
            states |= {folder: _state(folder) for folder in folders}
            _say(f"watching {len(files)} file{'s' if len(files) > 1 else ''}; Ctrl-C ends")
            states = _changed(states)
    except KeyboardInterrupt:
        return code


def _changed(states: dict[Path, _State]) -> dict[Path, _State]:
    """Waits until something has changed, and then until nothing more does."""
    now = _states(states)
    while now == states:
        sleep(PAUSE)
        now = _states(states)
    while True:
        sleep(PAUSE)
        later = _states(states)
        if later == now:
            return {path: state for path, state in now.items() if not path.is_dir()}
        now = later


def _states(paths: Iterable[Path]) -> dict[Path, _State]:
    return {path: _state(path) for path in paths}


def _state(path: Path) -> _State:
    """Returns what changes when a file is written or replaced; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _clear() -> None:
    """Clears the screen, if there is one."""
    stream = plain(sys.stdout)
    if stream.isatty():
        stream.write("\x1b[2J\x1b[3J\x1b[H")
        stream.flush()


def _say(text: str) -> None:
    sys.stdout.flush()
    if sys.stderr.isatty():
        print(text, file=sys.stderr, flush=True)
