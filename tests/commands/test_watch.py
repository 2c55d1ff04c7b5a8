"""`gamedsl validate --watch` checks again when a file changes, at a terminal."""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pty = pytest.importorskip("pty")

GOOD = """\
game: coin
roles: [one, two]
actions: [heads, tails]
protocol: simultaneous
payoffs: |
  one, two | heads | tails
  heads    | 1, -1 | -1, 1
  tails    | -1, 1 | 1, -1
"""


class _Terminal:
    """A command at a terminal, and what it has shown."""

    def __init__(self, process: int, screen: int) -> None:
        self.process, self._screen, self.shown = process, screen, ""

    def until(self, done: Callable[[str], bool], seconds: float = 60) -> str:
        """Reads until what was shown since the last call is enough; returns it."""
        ends, start = time.monotonic() + seconds, len(self.shown)
        while not done(self.shown[start:]):
            assert time.monotonic() < ends, self.shown[start:]
            if select.select([self._screen], [], [], 0.2)[0]:
                try:
                    self.shown += os.read(self._screen, 65536).decode(errors="replace")
                except OSError:  # the command has ended
                    break
        return self.shown[start:]

    def interrupt(self) -> int:
        """Sends Ctrl-C; returns the exit code."""
        os.kill(self.process, signal.SIGINT)
        self.until(lambda shown: False, 60)
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])


@contextmanager
def _watching(file: Path) -> Iterator[_Terminal]:
    process, screen = pty.fork()
    if process == 0:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TERM": "xterm"}
        command = [sys.executable, "-m", "gamedsl", "validate", str(file), "--watch"]
        os.execve(sys.executable, command, environment)
    try:
        yield _Terminal(process, screen)
    finally:
        os.close(screen)


def _said(text: str) -> Callable[[str], bool]:
    return lambda shown: text in shown and "Ctrl-C ends" in shown


def test_a_file_is_checked_again_when_it_changes(tmp_path: Path) -> None:
    file = tmp_path / "coin.yaml"
    file.write_text(GOOD)
    with _watching(file) as terminal:
        first = terminal.until(_said("ok"))
        assert "error" not in first
        file.write_text(GOOD.replace("roles", "rolls"))
        assert "GD0101" in terminal.until(_said("GD0101"))
        file.unlink()
        terminal.until(_said("coin.yaml"))
        new = tmp_path / "new"
        new.write_text(GOOD)
        new.replace(file)  # as editors write
        assert "error" not in terminal.until(_said("ok"))
        file.write_text(GOOD.replace("roles", "rolls"))
        terminal.until(_said("GD0101"))
        assert terminal.interrupt() == 1
