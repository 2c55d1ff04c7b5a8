"""Progress of work that takes long: one line, on a terminal alone, gone at its end.

Nothing is shown of what takes less than `SLOW` seconds, nor where the error stream is a file.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Lock, Thread
from time import monotonic
from typing import TextIO

from gamedsl.commands._streams import plain

SLOW = 2.0
"""Seconds after which the line appears."""

PAUSE = 0.2
"""Seconds between two looks of the line."""

Tell = Callable[[str, int, int | None, str], None]
"""Receives what is done, how much of it, of how much if that is known, and a word on its state."""


@contextmanager
def progress(what: str) -> Iterator[Tell]:
    """Shows that something is done, for how many seconds by now, and what it tells of itself."""
    stream = plain(sys.stderr)
    if not stream.isatty():
        yield _silent
        return
    line = _Line(what, stream)
    try:
        yield line.tell
    finally:
        line.close()


def _silent(what: str, done: int, total: int | None, state: str) -> None:
    pass


class _Line:
    """The line, and the thread that draws it."""

    def __init__(self, what: str, stream: TextIO) -> None:
        self._text = what
        self._stream = stream
        self._since = monotonic()
        self._over = Event()
        self._drawn = False
        self._lock = Lock()
        self._thread = Thread(target=self._draw, daemon=True)
        self._thread.start()

    def tell(self, what: str, done: int, total: int | None, state: str) -> None:
        of = f"{done:,}" if total is None else f"{done:,}/{total:,}"
        self._text = " ".join(part for part in (f"{what}:", of, state) if part)

    def close(self) -> None:
        """Takes the line away."""
        self._over.set()
        with self._lock:
            if self._drawn:
                self._stream.write("\r\x1b[2K")
                self._stream.flush()

    def _draw(self) -> None:
        pause = SLOW
        while not self._over.wait(pause):
            pause = PAUSE
            seconds = monotonic() - self._since
            text = "".join(sign if sign.isprintable() else "?" for sign in self._text)
            width = shutil.get_terminal_size().columns - 1
            with self._lock:
                if self._over.is_set():
                    return
                self._drawn = True
                self._stream.write(f"\r\x1b[2K{f'{text} ({seconds:.0f} s)'[:width]}")
                self._stream.flush()
