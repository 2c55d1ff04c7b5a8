"""`gamedsl validate --watch` on a terminal, and the line of progress."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gamedsl import cli

pty = pytest.importorskip("pty")

GOOD = "game: mine\nextends: base\npayoffs: 1\n"
BASE = "game: base\nroles: [ann, bob]\nactions: [go, stay]\nprotocol: simultaneous\npayoffs: 0\n"


class Terminal:
    """A command on a pseudo-terminal, and all that it has written there."""

    def __init__(self, *words: str, folder: Path) -> None:
        self.ours, theirs = pty.openpty()
        os.set_blocking(self.ours, False)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "gamedsl", *words],
            stdin=theirs, stdout=theirs, stderr=theirs, cwd=folder, start_new_session=True,
        )  # fmt: skip
        os.close(theirs)
        self.text = ""

    def wait_for(self, text: str, count: int = 1) -> None:
        """Waits until the text was written so many times."""
        end = time.monotonic() + 60
        while self.text.count(text) < count:
            assert time.monotonic() < end, self.text
            try:
                self.text += os.read(self.ours, 65536).decode()
            except BlockingIOError:
                time.sleep(0.02)
            except OSError:
                assert self.text.count(text) >= count, self.text

    def interrupt(self) -> int:
        os.kill(self.process.pid, signal.SIGINT)
        return self.process.wait(30)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(30)
        os.close(self.ours)


def test_watch_follows_files(tmp_path: Path) -> None:
    mine, base = tmp_path / "mine.yaml", tmp_path / "base.yaml"
    mine.write_text(GOOD)
    base.write_text(BASE)
    terminal = Terminal("validate", "mine.yaml", "--watch", folder=tmp_path)
    try:
        terminal.wait_for("Ctrl-C ends", 1)
        assert "mine.yaml: ok" in terminal.text
        assert "watching 4 files" in terminal.text  # a protocol and rewards are used
        assert terminal.text.startswith("\x1b[2J")
        base.write_text(BASE.replace("payoffs: 0", "payoffs: wibble"))
        mine.write_text(GOOD.replace("payoffs: 1", "payoffs: wobble"))
        terminal.wait_for("Ctrl-C ends", 2)
        assert "wobble" in terminal.text
        mine.unlink()
        terminal.wait_for("there is no file `mine.yaml`")
        terminal.wait_for("Ctrl-C ends", 3)
        new = tmp_path / ".mine.swp"
        new.write_text(GOOD)
        new.replace(mine)
        terminal.wait_for("mine.yaml: ok", 2)
        terminal.wait_for("Ctrl-C ends", 4)
        assert terminal.interrupt() == 0
    finally:
        terminal.close()


def test_watch_ends_with_the_last_code(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(GOOD)
    terminal = Terminal("validate", "mine.yaml", "--watch", folder=tmp_path)
    try:
        terminal.wait_for("Ctrl-C ends")
        (tmp_path / "base.yaml").write_text(BASE)  # was missing, and is found when it comes
        terminal.wait_for("mine.yaml: ok")
        terminal.wait_for("Ctrl-C ends", 2)
        (tmp_path / "mine.yaml").write_text("game: mine\nwibble: 1\n")
        terminal.wait_for("Ctrl-C ends", 3)
        assert terminal.interrupt() == 1
    finally:
        terminal.close()


def test_watch_and_fix_exclude_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["validate", "nim", "--watch", "--fix"]) == 2
    assert "leave one of the two out" in capsys.readouterr().err


PROGRAM = """
import time
from gamedsl.commands import _progress
_progress.SLOW = {slow}
with _progress.progress("checking a game") as tell:
    time.sleep(0.6)
    tell("rounds", 3, 8, "")
    time.sleep(0.6)
print("done")
"""


@pytest.mark.parametrize(("slow", "shown"), [(0.1, True), (30, False)])
def test_progress_is_shown_on_terminals_alone(slow: float, shown: bool) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(slow=slow)], stderr=theirs, stdout=subprocess.PIPE,
        text=True, timeout=60,
    )  # fmt: skip
    os.close(theirs)
    os.set_blocking(ours, False)
    try:
        text = os.read(ours, 65536).decode()
    except OSError:
        text = ""
    os.close(ours)
    assert process.stdout == "done\n"
    assert ("checking a game" in text) == shown
    assert ("rounds: 3/8" in text) == shown
    assert not shown or text.endswith("\x1b[2K")


def test_progress_is_quiet_in_files() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(slow=0)], capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.stderr) == ("done\n", "")
