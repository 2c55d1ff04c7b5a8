"""The progress of the step under way: its part, the piece of it, and how much of that is done.

The loop says which part begins, and whoever does the work says the piece and counts. Nothing is
told in the first second of a step; pieces and counts are told at most once a second. A thread that
plays ahead of the loop tells nothing, because its games are those of a later step.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

TOLD_EVERY = 1.0
"""Seconds from one count that is told to the next."""

Tell = Callable[[dict[str, Any]], None]


@dataclass
class _Progress:
    """The step under way. `began` and `told` are the times when it began and last told."""

    tell: Tell
    step: int = 0
    part: str = ""
    piece: str = ""
    began: float = 0.0
    told: float = 0.0

    @property
    def due(self) -> bool:
        return time.monotonic() - self.told >= TOLD_EVERY

    def send(self, **counted: Any) -> None:
        self.told = time.monotonic()
        where = {"step": self.step, "part": self.part, "piece": self.piece}
        self.tell({"event": "progress", **where, **counted})


_current: ContextVar[_Progress | None] = ContextVar("progress", default=None)


@contextmanager
def telling(tell: Tell) -> Iterator[None]:
    """Has `tell` hear of the progress of the steps inside of the block."""
    token = _current.set(_Progress(tell))
    try:
        yield
    finally:
        _current.reset(token)


def begin_step(step: int) -> None:
    """Notes that a step begins."""
    if (now := _current.get()) is not None:
        now.step, now.part, now.piece = step, "", ""
        now.began = now.told = time.monotonic()


def begin_part(part: str) -> None:
    """Notes that a part of the step begins."""
    if (now := _current.get()) is not None:
        now.part, now.piece = part, ""
        if time.monotonic() - now.began >= TOLD_EVERY:
            now.send()


def begin_piece(piece: str) -> None:
    """Notes that a piece of the part begins."""
    if (now := _current.get()) is not None:
        now.piece = piece
        if now.due:
            now.send()


def count(done: int, of: int, what: str, piece: str = "") -> None:
    """Notes how much of the part is done, or of its `piece`, where that is not the last one."""
    now = _current.get()
    if now is not None and now.due:
        now.piece = piece or now.piece
        now.send(done=done, of=of, what=what)


def progress_text(record: Mapping[str, Any]) -> str:
    """Returns a record of progress in words: "games, 12 of 64 played"."""
    words = [record.get("part", ""), record.get("piece", "")]
    if record.get("of"):
        words.append(f"{record['done']:,} of {record['of']:,} {record['what']}")
    return ", ".join(filter(None, words))
