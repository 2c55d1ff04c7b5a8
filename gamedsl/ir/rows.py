"""Shares of the rows of a data file: those to train on, and those that are held out.

A row is held out by the hash of its own fields alone, so that rows may be added, taken out and put
in another order, and fields be declared in another order, and every other row stays on its side;
rows that are equal are on one side. A larger share holds out what a smaller one did, and more.

A game with a share of its rows is a game in its own right, with a tree of its own; its name, labels
and hashes are those of the whole game.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import takewhile
from typing import Any, assert_never

from gamedsl.ir.expr import Const, Expr
from gamedsl.ir.game import GameIR, Rows
from gamedsl.ir.hashing import canonical
from gamedsl.ir.program import (
    Block,
    Call,
    Choose,
    Do,
    Draw,
    Loop,
    Pay,
    Show,
    Source,
    Stage,
    Step,
    map_steps,
    walk_steps,
)
from gamedsl.ir.types import List, Record

_BITS = 64


def is_held_out(row: Mapping[str, Any], share: int | Fraction) -> bool:
    """Returns whether a row, a value for each field, is among the `share` that is held out: whether
    the first 64 bits of its SHA-256, as a fraction of 2^64, are below the share."""
    digest = hashlib.sha256(canonical(dict(row)).encode()).digest()
    place = Fraction(int.from_bytes(digest[: _BITS // 8], "big"), 2**_BITS)
    return place < share


def holds_out(ir: GameIR) -> bool:
    """Returns whether a game holds rows out of training, whichever share of them it has."""
    steps = walk_steps((ir.whole or ir).turns)
    return any(isinstance(step, Draw) and step.source.held_out is not None for step in steps)


def row_draws(ir: GameIR) -> dict[str, Draw | None]:
    """Returns the draws from data files, by variable; None for a draw that not every play makes
    exactly once, before anybody acts."""
    first = {step.id for step in _first(ir.turns)}
    found: dict[str, Draw | None] = {}
    for step in walk_steps(ir.turns):
        if isinstance(step, Draw) and rows_of(step) is not None:
            one = step.condition is None and not step.per and step.source.take is None
            alone = one and step.id in first and step.variable not in found
            found[step.variable] = step if alone else None
    return found


def rows_of(draw: Draw) -> tuple[Any, ...] | None:
    """Returns the rows of a draw's data file, in order; None where it draws from no file."""
    values = draw.source.values
    if not isinstance(values, Const) or not isinstance(values.type, List):
        return None
    return tuple(values.value) if isinstance(values.type.of, Record) else None


def is_rows(expr: Expr) -> bool:
    """Returns whether an expression is the name of a data file: the list of all its rows."""
    named = isinstance(expr, Const) and expr.origin is not None
    return named and isinstance(expr.type, List) and isinstance(expr.type.of, Record)


def _first(steps: tuple[Step, ...]) -> Iterator[Step]:
    """Yields the steps that every play makes before anybody acts, in order: draws, shows, calls,
    payments and statements, those of unconditional blocks among them."""
    return takewhile(_is_single, _flat(steps))


def _is_single(step: Step) -> bool:
    """Returns whether a step has no actor and no steps inside it."""
    match step:
        case Draw() | Show() | Do() | Pay() | Call():
            return True
        case Choose() | Block() | Loop() | Stage():
            return False
        case _:
            assert_never(step)


def _flat(steps: tuple[Step, ...]) -> Iterator[Step]:
    for step in steps:
        if isinstance(step, Block) and step.condition is None:
            yield from _flat(step.body)
        else:
            yield step


def of_rows(ir: GameIR, rows: Rows) -> GameIR:
    """Returns the game with a share of the rows of each file that holds some out. Files that hold
    nothing out are trained on as a whole. Raises ValueError for the held-out rows of a game that
    has none."""
    whole = ir.whole or ir
    if rows == "held_out" and not holds_out(ir):
        raise ValueError(f"`{ir.name}` holds no rows out")
    if rows == "all" or not holds_out(ir):
        return whole
    if ir.rows == rows:
        return ir
    turns = map_steps(whole.turns, lambda step: _draw_from(step, rows))
    return replace(whole, turns=turns, rows=rows, whole=whole)


def _draw_from(step: Step, rows: Rows) -> Step:
    """Returns a step that draws from a share of the rows, if it is a draw that holds rows out.
    (The bodies of actions draw nothing.)"""
    if isinstance(step, Draw) and step.source.held_out is not None:
        return replace(step, source=_share(step.source, step.source.held_out, rows))
    return step


def _share(source: Source, held_out: tuple[int, ...], rows: Rows) -> Source:
    values = source.values
    assert isinstance(values, Const)
    assert isinstance(values.type, List)
    held = frozenset(held_out)
    kept = tuple(
        row for place, row in enumerate(values.value) if (place in held) == (rows == "held_out")
    )
    type = replace(values.type, length=len(kept))
    return replace(source, values=replace(values, type=type, value=kept), held_out=None)
