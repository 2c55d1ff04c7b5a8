"""Ctrl-C and SIGTERM as a question the loop asks between steps, so that no step ends halfway.

A step that waits for an endpoint may wait for long: soon after the signal its calls are given up,
and the run falls back to the last whole step. Processes that train together end together: where one
was asked to, all were.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

TWICE = 0.2
"""Seconds within which a second signal counts as the first."""
PATIENCE = 0.5
"""Seconds for which calls to endpoints go on after the first signal."""


class Interrupt:
    """While entered, the first signal only sets `asked`; a second one interrupts at once, unless it
    is the same one that came twice, from the terminal and from whoever started the process.

    Outside the main thread, where Python has no signals, it never asks.
    """

    def __init__(self, agree: Callable[[bool], bool] = bool) -> None:
        """`agree` says whether any process was asked; all call it at the same time."""
        self._agree = agree
        self._asked_at: float | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupt:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @property
    def asked(self) -> bool:
        """Whether a signal came, in this process or in another."""
        return self._agree(self._asked_at is not None)

    def ask(self) -> None:
        """Asks as a signal does."""
        self._asked_at = time.monotonic()

    @property
    def overdue(self) -> bool:
        """Whether calls to endpoints are to be given up."""
        return self._asked_at is not None and time.monotonic() - self._asked_at > PATIENCE

    def _handle(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if self._asked_at is None:
            self._asked_at = now
        elif now - self._asked_at > TWICE:
            raise KeyboardInterrupt
