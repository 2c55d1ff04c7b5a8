"""A process that carries out tasks, and its owner's end of the line to it.

Games of strangers may be slow or take much memory. So the server compiles and plays nothing itself:
a worker does, and one that takes too long is killed. Both ends send JSON, each message bounded.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Lock
from typing import Any

from gamedsl.errors import UserError
from gamedsl.mcp.refusal import Refused

MOST_BYTES = 2_000_000
"""Bytes of a message, either way."""

MOST_MEMORY = 8 << 30
"""Bytes of memory that a worker may address, on systems that hold it."""

START_SECONDS = 60.0
"""How long a new worker may take until it answers, on a busy machine."""


@dataclass
class Worker:
    """Starts a process at its first task, and another after one was killed.

    `root` is the folder below which its files lie, `call_files` are the Python files that it
    executes. Several threads may call one worker; their tasks are carried out in turn.
    """

    root: Path
    call_files: Sequence[str] = ()
    _lock: Lock = field(default_factory=Lock)
    _line: Connection | None = None
    _process: BaseProcess | None = None

    def call(self, task: str, given: Mapping[str, Any], seconds: float) -> Any:
        """Returns the value of a task. Raises Refused where the task refuses, takes more than
        `seconds`, or breaks the process."""
        with self._lock:
            line = self._started()
            try:
                line.send_bytes(json.dumps([task, given]).encode())
                if not line.poll(seconds):
                    self._end()
                    raise Refused(
                        f"`{task}` took longer than {seconds:g} seconds",
                        "make the game smaller, such as by its params, or use the command line",
                    )
                kind, value, fix = json.loads(line.recv_bytes(MOST_BYTES))
            except (EOFError, OSError) as error:
                self._end()
                raise Refused(
                    f"`{task}` broke off", "the game may need too much memory: make it smaller"
                ) from error
        if kind == "refused":
            raise Refused(value, fix)
        return value

    def close(self) -> None:
        """Ends the process, if there is one."""
        with self._lock:
            self._end()

    def kill(self) -> None:
        """Ends the process at once, from any thread; a task that it carries out is refused."""
        process = self._process
        if process is not None:
            process.kill()

    def _started(self) -> Connection:
        if self._line is not None and self._process is not None and self._process.is_alive():
            return self._line
        self._end()
        context = get_context("spawn")
        self._line, other = context.Pipe()
        self._process = context.Process(
            target=serve, args=(other, str(self.root), list(self.call_files)), daemon=True
        )
        self._process.start()
        other.close()
        if not self._line.poll(START_SECONDS):
            self._end()
            raise Refused("the worker did not start", "try again when the machine is less busy")
        kind, value, fix = json.loads(self._line.recv_bytes(MOST_BYTES))
        if kind == "refused":
            self._end()
            raise Refused(value, fix)
        return self._line

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join(5)
        if self._line is not None:
            self._line.close()
        self._line = self._process = None


def serve(line: Connection, root: str, call_files: list[str]) -> None:
    """Carries out the tasks that come over a line, in the folder `root`, until it is closed."""
    from gamedsl.calls.files import CallFileError, allow_calls

    _keep_to_itself()
    try:
        for file in call_files:
            allow_calls(file)
    except CallFileError as error:
        _send(line, "refused", error.fact, error.fix)
        return
    os.chdir(root)
    _send(line, "done", None)
    from gamedsl.mcp.tasks import Tasks

    tasks = Tasks(Path(root))
    with suppress(EOFError, OSError, KeyboardInterrupt):
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


def _keep_to_itself() -> None:
    """Keeps what is printed away from the protocol's stream, and bounds memory where that works."""
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    if sys.platform == "win32":
        return
    import resource

    with suppress(OSError, ValueError):  # a lower limit is set already, or the system holds none
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
