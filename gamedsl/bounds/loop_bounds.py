"""Bounds on the passes of a loop from what every pass uses up, for loops that state none.

A pass that must fill an empty cell of a grid, or take from a collection that nothing refills, can
happen only as often as there are cells or items.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, assert_never

from gamedsl.bounds.programs import has_pass
from gamedsl.ir import expr as ir
from gamedsl.ir.program import (
    Action,
    Block,
    Call,
    Choose,
    Do,
    Draw,
    Loop,
    Pay,
    Show,
    Stage,
    Step,
    bound_names,
    bound_place,
    statements_of,
    walk_steps,
)
from gamedsl.ir.statements import (
    Add,
    Assign,
    Drop,
    DropItem,
    ForEach,
    State,
    Statement,
    Write,
    write_of,
)
from gamedsl.ir.types import Grid, NoneType, Option
from gamedsl.ir.values import Bag as BagValue

_EMPTY = ("empty", "lowest_empty")


def pass_bound(body: tuple[Step, ...], state: list[State]) -> int | None:
    """Returns the most passes of a loop over `body`; None without a bound."""
    sizes = {s.name: s for s in state}
    bounds = [
        bound
        for name in _used_up_by(tuple(_sure(body)), _single_bindings(body))
        if name in sizes and not _refills(body, name)
        for bound in [_capacity(sizes[name])]
        if bound is not None
    ]
    return min(bounds, default=None)


def _sure(body: tuple[Step, ...]) -> Iterator[Step]:
    """Yields the steps that every pass over `body` takes, in order."""
    for step in body:
        if step.condition is not None:
            continue
        match step:
            case Block(body=inner):
                yield from _sure(inner)
            case Loop(body=inner):
                if has_pass(step):
                    yield from _sure(inner)
            case Choose() | Draw() | Show() | Do() | Pay() | Call() | Stage():
                yield step
            case _:
                assert_never(step)


def _single_bindings(body: tuple[Step, ...]) -> frozenset[str]:
    """Returns the variables that only one of all steps in a body binds."""
    names = Counter(name for step in walk_steps(body) for name in bound_names(step))
    return frozenset(name for name, steps in names.items() if steps == 1)


def _used_up_by(steps: tuple[Step, ...], once: frozenset[str]) -> Iterator[str]:
    """Yields the grids in which steps fill an empty cell, and the collections of which they take
    something; `once` are the variables that one step alone binds."""
    empty: dict[str, str] = {}
    """The variables that hold a cell which was empty in this pass, with its grid."""
    for step in steps:
        match step:
            case Choose(moves=moves) if moves:
                used = set(map(_used_up_by_move, moves))
                name = used.pop() if len(used) == 1 else None
                if name is not None:
                    yield name
            case Choose(joint=False, place=None, legal=legal):
                grid = _grid_of(legal)
                if grid is not None and step.variable in once:
                    empty[step.variable] = grid
            case Draw(source=source):
                if source.bag is not None and source.take is None and all(step.per):
                    yield source.bag.variable
                grid = _grid_of(source.values)
                single = source.take is None and step.place is None and not step.per
                if grid is not None and single and step.variable in once:
                    empty[step.variable] = grid
            case Do(statements=statements):
                yield from filter(None, (_used_up(statement, empty) for statement in statements))
            case _:  # uses up nothing, as far as is known
                pass


def _grid_of(source: ir.Expr | None) -> str | None:
    """Returns the grid whose empty cells an expression lists; None for any other."""
    if not isinstance(source, ir.Apply) or source.function not in _EMPTY:
        return None
    board = source.arguments[0]
    return board.name if isinstance(board, ir.Read) else None


def _used_up_by_move(move: Action) -> str | None:
    """Returns the first grid or collection of which a move uses up a cell or an item."""
    grids = ((name, _grid_of(source)) for name, source in move.parameters)
    empty = {name: grid for name, grid in grids if grid is not None}
    found = (_used_up(statement, empty) for statement in _statements(move.body))
    return next(filter(None, found), None)


def _used_up(statement: Statement, empty: Mapping[str, str]) -> str | None:
    """Returns the grid in which a statement fills an empty cell, or the collection from which it
    drops an item; `empty` are the variables that hold an empty cell, with its grid."""
    match statement:
        case Drop(place=place) | DropItem(place=place):
            return place.variable
        case Assign(place=place, value=value) if len(place.keys) == 1 and not _may_be_none(value):
            key = place.keys[0]
            held = key.expr.name if isinstance(key.expr, ir.Read) else ""
            return place.variable if empty.get(held) == place.variable else None
        case Assign() | Add() | ForEach():
            return None
        case _:
            assert_never(statement)


def _may_be_none(value: ir.Expr) -> bool:
    return isinstance(value.type, NoneType | Option)


def _statements(steps: tuple[Step, ...]) -> list[Statement]:
    """Statements that are always carried out."""
    return [s for step in steps if step.condition is None for s in statements_of(step)]


def _refills(body: tuple[Step, ...], name: str) -> bool:
    """Whether anything in the loop puts back what moves use up."""
    for step in walk_steps(body):
        placed = bound_place(step)
        if placed is not None and placed.variable == name:
            return True
        writes = map(write_of, statements_of(step))
        if any(write.place.variable == name and _puts_back(write) for write in writes):
            return True
    return False


def _puts_back(write: Write) -> bool:
    """Whether a write to a grid or bag may empty a cell or add an item."""
    match write:
        case Add():
            return True
        case Drop() | DropItem():
            return False
        case Assign(place=place, value=value):
            return not place.keys or _may_be_none(value)
        case _:
            assert_never(write)


def _capacity(state: State) -> int | None:
    """Returns the cells of a grid, or the items at the start of all collections of a variable; None
    for any other."""
    if isinstance(state.type, Grid):
        return state.type.rows * state.type.columns
    return _items(state.start)


def _items(start: Any) -> int | None:
    match start:
        case BagValue():
            return start.total
        case tuple() | frozenset():
            return len(start)
        case dict():
            parts = [_items(part) for part in start.values()]
            known = [part for part in parts if part is not None]
            return sum(known) if len(known) == len(parts) else None
        case _:
            return None
