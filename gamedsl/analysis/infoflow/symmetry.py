"""Seats that the rules do not tell apart, so that what is found of one holds of all of them.

A game of sixty-four players is gone through as one of them, and one other for each role that is
singled out besides: whatever is found is found of every other seat by exchanging their names.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from gamedsl.analysis.infoflow.visibility import Seats, SeatTable
from gamedsl.ir.expr import Const, Expr, walk
from gamedsl.ir.game import GameIR
from gamedsl.ir.program import Choose, Draw
from gamedsl.ir.statements import Readers
from gamedsl.ir.types import SEAT

FEW = 4
"""Seats that are never too many to go through them all."""

_UNREAD = frozenset({"type", "options", "start", "weights"})


def alike(ir: GameIR, table: SeatTable) -> tuple[Seats, ...]:
    """The seats in groups, each of seats that no rule tells from one another: every set of seats
    that is written anywhere has all of a group in it, or none."""
    alone = tuple(1 << seat for seat in range(len(table.names)))
    if len(alone) <= FEW:
        return alone
    sets = {table.everyone, *_sets((ir.turns, ir.state, ir.lets), table)}
    groups: dict[frozenset[Seats], Seats] = {}
    for seat in alone:
        key = frozenset(some for some in sets if some & seat)
        groups[key] = groups.get(key, 0) | seat
    return tuple(groups.values())


def _sets(part: Any, table: SeatTable) -> Iterator[Seats]:
    """Every set of seats that stands in a part of the rules."""
    if isinstance(part, tuple):
        for item in part:
            yield from _sets(item, table)
    elif isinstance(part, Expr):
        for inner in walk(part):
            if isinstance(inner, Const):
                yield from _roles_in(inner.value, table)
    elif is_dataclass(part):
        if isinstance(part, Readers):
            yield table.of(part.seats)
        elif isinstance(part, Choose):
            yield table.of(part.actors)
            if part.type == SEAT:
                offered = {table.of(tuple(c.value for c in choices)) for choices in part.options}
                yield from offered if len(offered) == 1 else map(table.of, table.names)
        elif isinstance(part, Draw) and part.by_seat:
            yield table.of(part.per[0])
        for each in fields(part):
            if each.compare and each.name not in _UNREAD:
                yield from _sets(getattr(part, each.name), table)


def _roles_in(value: Any, table: SeatTable) -> Iterator[Seats]:
    """The roles in a constant, as sets."""
    if isinstance(value, str):
        yield table.of(value)
    elif isinstance(value, tuple | frozenset):
        yield table.of(value)
        if any(isinstance(item, tuple | frozenset) for item in value):
            for item in value:
                yield from _roles_in(item, table)
