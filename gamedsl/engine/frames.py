"""What is under way at a point of an interpreted game: loops, action bodies and stages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from gamedsl.diagnostics.spans import Span
from gamedsl.ir.evaluate import SpentError

LONG = 1000
"""Passes from which on a loop is what takes the work, whatever is done in it."""


class Round(NamedTuple):
    """A loop under way: `items` are what it goes through, `times` how many passes there are (None:
    no number), `passes` how many have begun; `me` acts outside it; `span` is its place."""

    items: tuple[Any, ...] | None
    times: int | None
    passes: int
    me: str | None
    span: Span


class Call(NamedTuple):
    """Action bodies under way: those still to run, as (seat, place, arguments), then go on at
    `after`, where `me` acts."""

    waiting: tuple[tuple[str, int, Mapping[str, Any]], ...]
    after: int
    me: str | None


class Inner(NamedTuple):
    """A stage under way: what the game around it had paid, and who acts there."""

    paid: Mapping[str, Any]
    me: str | None


Frame = Round | Call | Inner


def spent_in(frames: Iterable[Frame], error: SpentError) -> SpentError:
    """What is said of a budget that was spent: in the loop with the most passes, if these are many,
    and else where it was spent."""
    rounds = [frame for frame in frames if isinstance(frame, Round)]
    longest = max(rounds, key=lambda frame: frame.passes, default=None)
    if longest is None or longest.passes < LONG:
        return error
    return SpentError(longest.span, longest.passes)
