"""Checks of open files in a process of their own, so that a slow one holds no editor up."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from pathlib import Path

from gamedsl.formatter import Formatted
from gamedsl.lsp.files import Checked, check, lay_out
from gamedsl.worker import Worker, WorkerError, WorkerLate

SECONDS = 10.0
"""How long a check may take, unless the command line says otherwise."""

MOST_BYTES = 64 << 20
"""Bytes of what is known of one file, which is of at most 1 MiB itself."""

_TASKS: dict[str, Callable[[Path, Mapping[Path, str]], object]] = {
    "check": check,
    "lay out": lay_out,
}


class CheckGivenUp(Exception):
    """A check took too long or too much memory; the text is a sentence for the editor's user."""


class Checker:
    """Checks files one at a time, each for at most `seconds`."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._worker = Worker(_serve, most=MOST_BYTES)

    def check(self, path: Path, texts: Mapping[Path, str]) -> Checked:
        """Checks a file, as `gamedsl.lsp.files.check` does. Raises CheckGivenUp."""
        checked = self._ask("check", path, texts)
        assert isinstance(checked, Checked)
        return checked

    def lay_out(self, path: Path, texts: Mapping[Path, str]) -> Formatted:
        """Lays a file out, as `gamedsl.lsp.files.lay_out` does. Raises CheckGivenUp."""
        formatted = self._ask("lay out", path, texts)
        assert isinstance(formatted, Formatted)
        return formatted

    def _ask(self, task: str, path: Path, texts: Mapping[Path, str]) -> object:
        message = pickle.dumps((task, path, dict(texts)))
        try:
            answer = self._worker.ask(message, self._seconds)
        except WorkerLate as error:
            raise CheckGivenUp(
                f"the check of this file took longer than {self._seconds:g} seconds"
            ) from error
        except WorkerError as error:
            raise CheckGivenUp("the check of this file broke off") from error
        found: object = pickle.loads(answer)  # by a process of ours, which runs no code of a game
        return found

    def close(self) -> None:
        """Ends the process, if there is one."""
        self._worker.close()


def _serve(line: Connection) -> None:
    """Does what is asked for over a line, until it is closed."""
    line.send_bytes(b"ready")
    while True:
        task, path, texts = pickle.loads(line.recv_bytes())
        line.send_bytes(pickle.dumps(_TASKS[task](path, texts)))
