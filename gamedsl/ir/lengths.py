"""How long a play can be, by the form of the program: bounds that hold for every play."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gamedsl.ir.expr import Apply, Build, Collect, Const, Expr
from gamedsl.ir.program import Block, Choose, Loop, Stage, Step
from gamedsl.ir.types import Grid, List, Number, PerSeat, PerValue, Set, Type, domain


class UnboundedError(Exception):
    """There is no bound that the form of the game tells; the message says of what."""


def most(steps: Iterable[Step], weigh: Callable[[Step], int], seats: int) -> int | None:
    """The most that the steps of any play can weigh together; None where a loop has no bound.

    `weigh` gives the weight of a choice, draw, show, statement or payment by itself; `seats` is
    their number.
    """
    total = 0
    for step in steps:
        inner = _most_of(step, weigh, seats)
        if inner is None:
            return None
        total += inner
    return total


def _most_of(step: Step, weigh: Callable[[Step], int], seats: int) -> int | None:
    if isinstance(step, Loop):
        inner, times = most(step.body, weigh, seats), passes(step, seats)
        return 0 if inner == 0 else None if inner is None or times is None else inner * times
    if isinstance(step, Block | Stage):
        return most(step.body, weigh, seats)
    own = weigh(step)
    if isinstance(step, Choose):
        bodies = [most(action.body, weigh, seats) for action in step.moves]
        known = [body for body in bodies if body is not None]
        actors = len(step.actors) if step.joint else 1
        return None if len(known) < len(bodies) else own + actors * max(known, default=0)
    return own


def most_before(
    steps: Iterable[Step], weigh: Callable[[Step], int], seats: int
) -> dict[str, int | None]:
    """For each choice, by its id, what `most` says of the steps that a play can have taken when it
    comes to it."""
    found: dict[str, int | None] = {}
    total: int | None = 0
    for step in steps:
        if isinstance(step, Choose):
            found[step.id] = total
        elif isinstance(step, Block | Stage | Loop):
            again: int | None = 0
            if isinstance(step, Loop):
                again, times = most(step.body, weigh, seats), passes(step, seats)
                if again:
                    again = None if times is None else again * max(times - 1, 0)
            for name, before in most_before(step.body, weigh, seats).items():
                found[name] = _sum(total, before, again)
        total = _sum(total, _most_of(step, weigh, seats))
    return found


def _sum(*parts: int | None) -> int | None:
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


def passes(loop: Loop, seats: int) -> int | None:
    """The most passes of a loop; None where its form does not tell."""
    found = [loop.bound]
    if loop.times is not None:
        found.append(highest(loop.times))
    if loop.items is not None and not loop.cycle:
        found.append(size(loop.items, seats))
    return min((bound for bound in found if bound is not None), default=None)


def highest(expr: Expr) -> int | None:
    """The most that a whole number can be."""
    if isinstance(expr, Const) and isinstance(expr.value, int):
        return expr.value
    return expr.type.high if isinstance(expr.type, Number) else None


_NO_LARGER = frozenset(
    ("best", "cells", "empty", "intersection", "keys", "list", "ranked", "reversed", "set",
     "slots", "sorted", "zip")
)  # fmt: skip
"""Built-ins that give no more items than their first argument has."""


def size(expr: Expr, seats: int) -> int | None:
    """The most items of a collection; None where its form does not tell."""
    match expr:
        case Const(value=tuple() | frozenset() as items):
            return len(items)
        case Collect(source=source):
            return size(source, seats)
        case Build(items=items):
            return len(items)
        case Apply(function="others"):
            return seats - 1
        case Apply(function="lowest_empty", arguments=(grid, *_)) if isinstance(grid.type, Grid):
            return grid.type.columns
    known = _size_of(expr.type, seats)
    if known is None and isinstance(expr, Apply) and expr.function in _NO_LARGER:
        return size(expr.arguments[0], seats)
    return known


def _size_of(type: Type, seats: int) -> int | None:
    match type:
        case List(length=length, at_most=at_most):
            return at_most if length is None else length
        case PerSeat():
            return seats
        case Grid(rows=rows, columns=columns):
            return rows * columns
        case PerValue(key=inner) | Set(of=inner):
            values = domain(inner, ("",) * seats)
            return None if values is None else len(values)
    return None
