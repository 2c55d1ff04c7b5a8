"""Bounds on the passes of a loop from what its own actions use up, for loops that state none.

A pass that must fill an empty cell of a grid, or take from a collection that nothing refills, can
happen only as often as there are cells or items.
"""

from __future__ import annotations

from gamedsl.ir import expr as ir
from gamedsl.ir.program import Action, Choose, Do, Draw, Step, walk_steps
from gamedsl.ir.statements import Add, Assign, Drop, DropItem, Place, State, Statement, write_of
from gamedsl.ir.types import Bag, Grid, NoneType, Option, PerSeat
from gamedsl.ir.values import Bag as BagValue

_EMPTY = ("empty", "lowest_empty")


def pass_bound(body: tuple[Step, ...], state: list[State]) -> int | None:
    """Returns the most passes of a loop over `body`; None without a bound."""
    sizes = {s.name: s for s in state}
    bounds = [
        bound
        for step in body
        if isinstance(step, Choose) and step.condition is None and step.moves
        for bound in [_filling(step.moves, sizes, body)]
        if bound is not None
    ]
    return min(bounds, default=None)


def _filling(
    moves: tuple[Action, ...], state: dict[str, State], body: tuple[Step, ...]
) -> int | None:
    """The size of what every move uses up one of; None where one does not."""
    used = {_used_up(move) for move in moves}
    name = used.pop() if len(used) == 1 else None
    if name is None or name not in state or _refills(body, name):
        return None
    return _capacity(state[name])


def _used_up(move: Action) -> str | None:
    """The grid in which a move fills an empty cell, or the bag from which it drops an item."""
    sources = dict(move.parameters)
    for statement in _statements(move.body):
        if isinstance(statement, Assign) and len(statement.place.keys) == 1:
            key = statement.place.keys[0]
            source = sources.get(key.expr.name) if isinstance(key.expr, ir.Read) else None
            if (
                key.kind == "cell"
                and isinstance(source, ir.Apply)
                and source.function in _EMPTY
                and _reads(source.arguments[0], statement.place)
                and not _may_be_none(statement.value)
            ):
                return statement.place.variable
        if isinstance(statement, Drop | DropItem):
            return statement.place.variable
    return None


def _reads(expr: ir.Expr, place: Place) -> bool:
    return isinstance(expr, ir.Read) and expr.name == place.variable


def _may_be_none(value: ir.Expr) -> bool:
    return isinstance(value.type, NoneType | Option)


def _statements(steps: tuple[Step, ...]) -> list[Statement]:
    """Statements that are always carried out."""
    return [s for step in steps if isinstance(step, Do) and step.condition is None
            for s in step.statements]  # fmt: skip


def _refills(body: tuple[Step, ...], name: str) -> bool:
    """Whether anything in the loop puts back what moves use up."""
    for step in walk_steps(body):
        placed = step.place if isinstance(step, Choose | Draw) else None
        if placed is not None and placed.variable == name:
            return True
        for statement in step.statements if isinstance(step, Do) else ():
            write = write_of(statement)
            if write.place.variable != name or isinstance(write, Drop | DropItem):
                continue
            if isinstance(write, Add) or not write.place.keys or _may_be_none(write.value):
                return True
    return False


def _capacity(state: State) -> int | None:
    type, start = state.type, state.start
    if isinstance(type, Grid):
        return type.rows * type.columns
    if isinstance(type, PerSeat) and isinstance(type.of, Bag):
        return sum(int(bag.total) for bag in start.values())
    return start.total if isinstance(start, BagValue) else None
