"""`gamedsl play` on a pseudo-terminal: what is on the screen."""

from __future__ import annotations

import os
import select
import sys
import time
from pathlib import Path

import pytest

pty = pytest.importorskip("pty", reason="pseudo-terminals are Unix'")

SECONDS = 120.0
"""Wall-clock time that a screen may take; it only ends a test that would wait for ever."""


class Terminal:
    """A command on a pseudo-terminal."""

    def __init__(self, arguments: list[str], folder: Path) -> None:
        self.pid, self._end = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execv(sys.executable, [sys.executable, "-m", "gamedsl", *arguments])
        self.shown = ""

    def type(self, line: str) -> None:
        os.write(self._end, f"{line}\n".encode())

    def wait_for(self, text: str) -> str:
        """Returns what was shown up to a text, since the last call."""
        ends = time.monotonic() + SECONDS
        while text not in self.shown:
            assert time.monotonic() < ends, self.shown
            if not select.select([self._end], [], [], 1.0)[0]:
                continue
            try:
                self.shown += os.read(self._end, 65536).decode()
            except OSError:
                break
        before, found, self.shown = self.shown.partition(text)
        assert found, before
        return before + found

    def interrupt(self) -> int:
        """Sends Ctrl-C; returns the exit code."""
        os.write(self._end, b"\x03")
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def test_screen_is_cleared_before_another_person_looks(tmp_path: Path) -> None:
    terminal = Terminal(["play", "kuhn_poker", "--as", "all", "--seed", "4"], tmp_path)
    first = terminal.wait_for("> ")
    assert first.count("┌─────┐") == 1
    assert "\x1b[1m" in first  # bold, on a terminal
    terminal.type("1")
    handed = terminal.wait_for("Hand over, then press Enter.")
    assert "\x1b[2J\x1b[3J\x1b[H" in handed
    terminal.type("")
    second = terminal.wait_for("> ")
    assert second.count("┌─────┐") == 1
    assert "first \x1b[0m" not in second
    assert terminal.interrupt() == 0
    assert next((tmp_path / "plays").iterdir()).stat().st_size


def test_typed_control_characters_are_refused(tmp_path: Path) -> None:
    (tmp_path / "word.yaml").write_text(
        "game: word\nroles: [a, b]\nturns:\n"
        "  - {role: a, say: word, max_tokens: 20}\n"
        "  - {role: b, choose: good, from: [fine, poor]}\n"
        "payoffs: 1 if good == fine else 0\n",
        encoding="utf-8",
    )
    terminal = Terminal(["play", "word.yaml", "--as", "all"], tmp_path)
    terminal.wait_for("> ")
    terminal.type("red\x1b[2J text")
    assert "it has a control character" in terminal.wait_for("> ")
    terminal.type("red text")
    terminal.wait_for("Hand over, then press Enter.")
    terminal.type("")
    assert "a said: red text" in terminal.wait_for("> ")
    terminal.type("fine")
    assert "Payoffs: a 1, b 1" in terminal.wait_for("Transcript")
