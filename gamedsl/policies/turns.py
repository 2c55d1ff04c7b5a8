"""A lock that threads get in the order in which they ask for it.

Who gives up a lock of Python and asks for it again at once usually has it again, and another thread
that waits may never get it. Here that thread is next.
"""

from __future__ import annotations

from collections import deque
from threading import Condition, get_ident
from types import TracebackType

_POLL = 0.1
"""Seconds between looks, so that the main thread hears of signals while it waits."""


class Turns:
    """The lock, as a context. A thread that has it may take it again, and gives it up with the last
    context that it leaves."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._waiting: deque[object] = deque()
        """Threads that wait, the next first; each is a value of its own."""
        self._holder: int | None = None
        self._depth = 0

    def __enter__(self) -> None:
        with self._changed:
            if self._holder != get_ident():
                self._wait()
                self._holder = get_ident()
            self._depth += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        with self._changed:
            self._depth -= 1
            if not self._depth:
                self._holder = None
                self._changed.notify_all()

    def _wait(self) -> None:
        """Waits until nobody has the lock, and this thread is next."""
        me = object()
        self._waiting.append(me)
        try:
            while self._holder is not None or self._waiting[0] is not me:
                self._changed.wait(_POLL)
        finally:  # a signal may end the wait
            self._waiting.remove(me)
