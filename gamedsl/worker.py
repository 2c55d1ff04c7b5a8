"""A process of ours that answers messages in turn, and is killed where an answer takes too long.

Games of strangers may be slow or take much memory. So a server that must stay responsive compiles
and plays nothing itself: a worker does. Messages are bytes; what they mean is up to the caller.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from threading import Lock
from typing import Any

MOST_MEMORY = 8 << 30
"""Bytes of memory that a worker may address, on systems that hold it."""

START_SECONDS = 60.0
"""How long a new worker may take until it answers, on a busy machine."""


class WorkerError(Exception):
    """A message has no answer, and the process is gone; the next message starts another."""


class WorkerLate(WorkerError):
    """An answer took longer than allowed."""


class WorkerStartLate(WorkerError):
    """A new process did not answer in time."""


class WorkerBroken(WorkerError):
    """The process ended in the middle of an answer, or the answer is too long."""


class Worker:
    """Starts a process at its first message, and another after one was killed.

    The process calls `serve(line, *given)`, which sends one message when it is ready, and then one
    for each that it receives. `most` is the number of bytes that an answer may have. Several
    threads may ask one worker; their messages are answered in turn.
    """

    def __init__(self, serve: Callable[..., None], *given: Any, most: int) -> None:
        self._serve, self._given, self._most = serve, given, most
        self._lock = Lock()
        self._line: Connection | None = None
        self._process: BaseProcess | None = None

    def ask(
        self, message: bytes, seconds: float, ready: Callable[[bytes], None] = lambda _: None
    ) -> bytes:
        """Returns the answer to a message. A new process hands its first message to `ready`, which
        may raise: then the process ends. Raises WorkerError."""
        with self._lock:
            try:
                line = self._started(ready)
                line.send_bytes(message)
                if not line.poll(seconds):
                    raise WorkerLate
                return line.recv_bytes(self._most)
            except (EOFError, OSError) as error:
                self._end()
                raise WorkerBroken from error
            except WorkerError:
                self._end()
                raise

    def close(self) -> None:
        """Ends the process, if there is one."""
        with self._lock:
            self._end()

    def kill(self) -> None:
        """Ends the process at once, from any thread; whoever waits for an answer is told that it
        broke off."""
        process = self._process
        if process is not None:
            process.kill()

    def _started(self, ready: Callable[[bytes], None]) -> Connection:
        if self._line is not None and self._process is not None and self._process.is_alive():
            return self._line
        self._end()
        context = get_context("spawn")
        self._line, other = context.Pipe()
        self._process = context.Process(
            target=_enter, args=(other, self._serve, self._given), daemon=True
        )
        self._process.start()
        other.close()
        if not self._line.poll(START_SECONDS):
            raise WorkerStartLate
        first = self._line.recv_bytes(self._most)
        try:
            ready(first)
        except BaseException:
            self._end()
            raise
        return self._line

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join(5)
        if self._line is not None:
            self._line.close()
        self._line = self._process = None


def _enter(line: Connection, serve: Callable[..., None], given: tuple[Any, ...]) -> None:
    """Runs in the process, until the other end of the line is closed."""
    _keep_to_itself()
    with suppress(EOFError, OSError, KeyboardInterrupt):
        serve(line, *given)


def _keep_to_itself() -> None:
    """Keeps what is printed away from the stream of the server's protocol, and bounds memory where
    that works."""
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    if sys.platform == "win32":
        return
    import resource

    with suppress(OSError, ValueError):  # a lower limit is set already, or the system holds none
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
