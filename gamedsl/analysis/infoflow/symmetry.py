"""Symmetry of seats: groups of seats that no rule tells apart, of which one represents all.

A game of sixty-four players is walked through as one of them, and as one more for each seat that is
singled out. A result for one seat holds for any other of its group by exchanging their names.
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
"""The number of seats up to which each is walked through."""

_UNREAD = frozenset({"type", "options", "start", "weights"})


def alike(ir: GameIR, table: SeatTable) -> tuple[Seats, ...]:
    """Returns the groups of seats that no rule tells apart: every set of seats that is written
    anywhere holds all of a group, or none."""
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
    """Yields every set of seats that is written in a part of the rules."""
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
    """Yields the roles in a constant, as sets."""
    if isinstance(value, str):
        yield table.of(value)
    elif isinstance(value, tuple | frozenset):
        yield table.of(value)
        if any(isinstance(item, tuple | frozenset) for item in value):
            for item in value:
                yield from _roles_in(item, table)
