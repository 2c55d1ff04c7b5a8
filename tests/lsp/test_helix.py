"""Helix, configured as docs/editors.md says, edits a game with the language server."""

from __future__ import annotations

import os
import select
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from editing import GAME, MENDED, block, editor, write_games

pytest.importorskip("pygls")
pty = pytest.importorskip("pty", reason="pseudo-terminals are Unix'")
pyte = pytest.importorskip("pyte")

SECONDS = 120.0
"""Wall-clock time that a screen may take; it only ends a test that would wait for ever."""


class Screen(pyte.Screen):  # type: ignore[misc]
    """A terminal that answers no question about itself."""

    def report_device_status(self, *_: Any, **__: Any) -> None: ...
    def report_device_attributes(self, *_: Any, **__: Any) -> None: ...


class Terminal:
    """An editor on a pseudo-terminal of 110 columns and 34 lines."""

    def __init__(self, command: list[str], folder: Path, env: dict[str, str]) -> None:
        import termios
        from fcntl import ioctl

        self.screen = Screen(110, 34)
        self.stream = pyte.ByteStream(self.screen)
        self.pid, self.end = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(command[0], command, env)
        ioctl(self.end, termios.TIOCSWINSZ, struct.pack("HHHH", 34, 110, 0, 0))

    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.screen.display)

    def press(self, keys: str, shows: str | Callable[[str], bool]) -> str:
        """Presses keys, and waits until the screen shows a text; returns the screen."""
        os.write(self.end, keys.encode())
        ends = time.monotonic() + SECONDS
        while not (shows in self.text() if isinstance(shows, str) else shows(self.text())):
            assert time.monotonic() < ends, f"no {shows!r} after {keys!r}:\n{self.text()}"
            if select.select([self.end], [], [], 0.5)[0]:
                self.stream.feed(os.read(self.end, 65536))
        return self.text()


def test_helix_edits_a_game(tmp_path: Path) -> None:
    """Problems, hover, a fix, completion, a rename and the layout reach the user."""
    helix = editor("hx", (23, 10))
    env = write_games(tmp_path)
    settings = tmp_path / "config" / "helix" / "languages.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(block("toml"), encoding="utf-8")
    terminal = Terminal([helix, "mine.yaml"], tmp_path, env)
    terminal.press("", "● 1")
    terminal.press("/pric,\r", "unknown name `pric`")
    terminal.press(" a", "did you mean `price`?\n")
    terminal.press("\r", lambda text: "max(price," in text and "● 1" not in text)
    terminal.press("gg/max\r", "max(price,")
    terminal.press(" k", "max(number, number, …)")
    terminal.press("\x1b", lambda text: "max(number" not in text)
    terminal.press("gg/extra:\r", "3:15")
    terminal.press(" r", "rename-to:extra")
    terminal.press("\x15bonus\r", "max(price,bonus)")
    terminal.press(":format\r", "max(price, bonus)")
    terminal.press("geA + pri", lambda text: text.count("price") == 2)
    terminal.press("\x1b", " NOR ")
    terminal.press("u", lambda text: "pri\n" not in text)
    terminal.press(":write\r", "written")
    assert (tmp_path / "mine.yaml").read_text(encoding="utf-8") == MENDED != GAME
    os.write(terminal.end, b":quit!\r")
    os.waitpid(terminal.pid, 0)
