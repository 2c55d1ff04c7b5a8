"""Which checks for the end of the game can be left out: those in a state that has been checked.

A check that fails is known to fail until something that its condition reads is written. This is
followed through the operations, along all ways that play can take.
"""

from __future__ import annotations

from collections.abc import Iterator

from gamedsl.engine import flow
from gamedsl.engine.codegen.expressions import Expressions
from gamedsl.ir.expr import Expr
from gamedsl.ir.statements import ForEach, Statement

ME = "@me"
"""Stands for who acts, among the names of variables."""


def needless(ops: tuple[flow.Op, ...], make: Expressions) -> set[int]:
    """The places of checks that need not be made."""
    ends = {id(op.end): op.end for op in ops if isinstance(op, flow.Check)}
    found: set[int] = set()
    for end in ends.values():
        checked = _checked(ops, end, make)
        found |= {
            place for place, op in enumerate(ops)
            if isinstance(op, flow.Check) and op.end is end and checked[place]
        }  # fmt: skip
    return found


def _checked(ops: tuple[flow.Op, ...], end: Expr, make: Expressions) -> list[bool]:
    """For each operation, whether a condition is known not to hold before it."""
    reads = make.variables(end) | ({ME} if make.reads_me(end) else set())
    asked = {first: place for place, op in enumerate(ops)
             if isinstance(op, flow.Ask) for _, first in op.bodies}  # fmt: skip
    ways: list[list[tuple[int, bool | None]]] = []
    """For each operation, where play goes on, and what is known there; None: what was before."""
    for place, op in enumerate(ops):
        written = _writes(op)
        same = None if written is not None and not written & reads else False
        if isinstance(op, flow.Check) and op.end is end:
            ways.append([(place + 1, True), (op.over, False)])
        elif isinstance(op, flow.Return):
            home = asked[max(first for first in asked if first <= place)]
            ways.append([(home + 1, same)])
        else:
            ways.append([(after, same) for after in _after(place, op)])
    known = [place > 0 for place in range(len(ops))]
    changed = True
    while changed:
        changed = False
        for place, following in enumerate(ways):
            for after, value in following:
                if known[after] and not (known[place] if value is None else value):
                    known[after] = False
                    changed = True
    return known


def _after(place: int, op: flow.Op) -> list[int]:
    """Where play may go on after an operation."""
    match op:
        case flow.Stop():
            return []
        case flow.Test(otherwise=otherwise):
            return [place + 1, otherwise]
        case flow.Check(over=over):
            return [place + 1, over]
        case flow.Pass(after=after, over=over):
            return [place + 1, after, over]
        case flow.Again(head=head, after=after):
            return [head, after]
        case flow.Ask(after=after, over=over, bodies=bodies):
            return [place + 1, after, over, *(first for _, first in bodies)]
    return [place + 1]


def _writes(op: flow.Op) -> set[str] | None:
    """The variables that an operation changes; None for all."""
    match op:
        case flow.Test() | flow.Check() | flow.Enter() | flow.Credit() | flow.Stop():
            return set()
        case flow.Pass(loop=loop):
            return {ME, *loop.resets, *filter(None, (loop.item, loop.count))}
        case flow.Again() | flow.Return():
            return {ME}
        case flow.Tell(step=show):
            return {show.variable}
        case flow.Run(step=do):
            return {name for statement in do.statements for name in _written(statement)}
        case flow.Chance(step=draw):
            bag, place = draw.source.bag, draw.place
            return {draw.variable, *(part.variable for part in (bag, place) if part is not None)}
        case flow.Ask(step=step):
            place = step.place
            parameters = {name for action in step.moves for name, _ in action.parameters}
            return {ME, step.variable, *parameters} | ({place.variable} if place else set())
    return None


def _written(statement: Statement) -> Iterator[str]:
    if isinstance(statement, ForEach):
        yield from _written(statement.body)
    else:
        yield statement.place.variable
