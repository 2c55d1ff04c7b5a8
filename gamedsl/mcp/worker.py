"""The worker that carries out tasks. Both ends send JSON, each message bounded."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol

from gamedsl.errors import UserError
from gamedsl.mcp.refusal import Refused
from gamedsl.worker import Worker, WorkerBroken, WorkerLate, WorkerStartLate

MOST_BYTES = 2_000_000
"""Bytes of a message, either way."""


class Carrier(Protocol):
    """Carries out the tasks of one worker."""

    def carry_out(self, task: str, given: Mapping[str, Any]) -> Any:
        """Returns the value of a task, as JSON-able data. Raises UserError where it cannot be
        carried out."""
        ...


def tasks_of_assistants(root: Path) -> Carrier:
    """Returns what carries out the tasks of `gamedsl mcp`."""
    from gamedsl.mcp.tasks import Tasks

    return Tasks(root)


class TaskWorker:
    """Carries out tasks in a process. `root` is the folder below which its files lie, `call_files`
    are the Python files that it executes. `make` is called there, with the root, for what carries
    the tasks out."""

    def __init__(
        self, root: Path, call_files: Sequence[str] = (),
        make: Callable[[Path], Carrier] = tasks_of_assistants,
    ) -> None:  # fmt: skip
        self._worker = Worker(serve, str(root), list(call_files), make, most=MOST_BYTES)

    def call(self, task: str, given: Mapping[str, Any], seconds: float) -> Any:
        """Returns the value of a task. Raises Refused where the task refuses, takes more than
        `seconds`, or breaks the process."""
        try:
            answer = self._worker.ask(json.dumps([task, given]).encode(), seconds, _value)
        except WorkerStartLate as error:
            fix = "try again when the machine is less busy"
            raise Refused("the worker did not start", fix) from error
        except WorkerLate as error:
            raise Refused(
                f"`{task}` took longer than {seconds:g} seconds",
                "make the game smaller, such as by its params, or use the command line",
            ) from error
        except WorkerBroken as error:
            fix = "the game may need too much memory: make it smaller"
            raise Refused(f"`{task}` broke off", fix) from error
        return _value(answer)

    def close(self) -> None:
        """Ends the process, if there is one."""
        self._worker.close()

    def kill(self) -> None:
        """Ends the process at once, from any thread; a task that it carries out is refused."""
        self._worker.kill()


def _value(answer: bytes) -> Any:
    kind, value, fix = json.loads(answer)
    if kind == "refused":
        raise Refused(value, fix)
    return value


def serve(
    line: Connection, root: str, call_files: list[str], make: Callable[[Path], Carrier]
) -> None:
    """Carries out the tasks that come over a line, in the folder `root`, until it is closed."""
    from gamedsl.calls.files import CallFileError, allow_calls

    try:
        for file in call_files:
            allow_calls(file)
    except CallFileError as error:
        _send(line, "refused", error.fact, error.fix)
        return
    os.chdir(root)
    _send(line, "done", None)
    tasks = make(Path(root))
    while True:
        task, given = json.loads(line.recv_bytes(MOST_BYTES))
        try:
            value = tasks.carry_out(task, given)
        except UserError as error:
            _send(line, "refused", error.fact, error.fix)
        except (MemoryError, RecursionError):
            _send(line, "refused", f"`{task}` needs too much memory", "make the game smaller")
        except Exception as error:  # a defect of ours: the server goes on, and says so
            fact = f"`{task}` failed: {type(error).__name__}"
            _send(line, "refused", fact, "run the same by `gamedsl` and report what it prints")
        else:
            _send(line, "done", value)


def _send(line: Connection, kind: str, value: Any, fix: str = "") -> None:
    data = json.dumps([kind, value, fix], ensure_ascii=False).encode("utf-8", "replace")
    if len(data) > MOST_BYTES:
        fact = f"the answer has {len(data):,} bytes, and may have {MOST_BYTES:,}"
        data = json.dumps(["refused", fact, "ask for less: one seat, fewer records"]).encode()
    line.send_bytes(data)
