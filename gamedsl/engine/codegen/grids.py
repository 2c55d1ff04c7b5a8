"""Built-in functions of grids that are written out: see `functions`."""

from __future__ import annotations

from gamedsl.engine.codegen.expressions import Expressions, Inline, Reader
from gamedsl.ir.expr import Apply, Const, Expr, Read
from gamedsl.ir.types import Bool, Enum, Grid, Number, Seat, Type, plain

LARGEST_GRID = 400
"""Cells of a grid beside which lines are kept."""


def _is_grid(expr: Apply) -> bool:
    return isinstance(expr.arguments[0].type, Grid)


def _full(make: Expressions, expr: Apply, reader: Reader) -> str | None:
    return f"(None not in {make.code(expr.arguments[0], reader)})" if _is_grid(expr) else None


def grid_size(expr: Apply) -> tuple[int, int] | None:
    """Rows and columns of the grid of a function on grids, its last arguments."""
    rows, columns = expr.arguments[-2:]
    if isinstance(rows, Const) and isinstance(columns, Const) and _is_grid(expr):
        return rows.value, columns.value
    return None


def places(rows: int, columns: int) -> tuple[tuple[int, int], ...]:
    """The cells of a grid, row by row."""
    return tuple((row, column) for row in range(rows) for column in range(columns))


def _cells(make: Expressions, expr: Apply, reader: Reader) -> str | None:
    size = grid_size(expr)
    if size is None or not make.is_some(expr.arguments[0]):
        return None
    return make.module.constant(places(*size))


def _empty(make: Expressions, expr: Apply, reader: Reader) -> str | None:
    size = grid_size(expr)
    if size is None:
        return None
    cells = make.module.constant(places(*size))
    grid = make.code(expr.arguments[0], reader)
    return f"tuple([p for p, v in zip({cells}, {grid}) if v is None])"


def _lowest(make: Expressions, expr: Apply, reader: Reader) -> str | None:
    size = grid_size(expr)
    if size is None:
        return None
    cells = make.module.constant(places(*size))
    grid = make.code(expr.arguments[0], reader)
    return f"tuple([{cells}[at] for at in {make.lowest(*size)}({grid})])"


def _line(make: Expressions, expr: Apply, reader: Reader) -> str | None:
    """The value of a line, kept beside its grid (`storing`)."""
    size, lined = grid_size(expr), lined_grid(expr)
    if size is None or lined is None or lined[0] in reader.held:
        return None
    grid, length = lined
    masks, line = make.module.slot("m", grid), make.module.slot("l", f"{grid}_{length}")
    again = f"lined(s, {masks!r}, {line!r}, {make.code(expr.arguments[0], reader)}, "
    return f"(s.{line} if s.{line} is not UNKNOWN else {again}{length}, {size[0]}, {size[1]}))"


def lined_grid(expr: Expr) -> tuple[str, int] | None:
    """The variable in which an expression looks for a line, and its length, where what is found is
    kept beside it."""
    if not isinstance(expr, Apply) or expr.function != "line":
        return None
    size = grid_size(expr)
    grid, length = expr.arguments[:2]
    if size is None or size[0] * size[1] > LARGEST_GRID:
        return None
    if not isinstance(grid, Read) or not isinstance(length, Const) or length.value < 1:
        return None
    inner = plain(grid.type.of) if isinstance(grid.type, Grid) else None
    return (grid.name, length.value) if _single(inner) else None


def _single(type: Type | None) -> bool:
    return isinstance(type, Seat | Number | Bool) or (isinstance(type, Enum) and bool(type.members))


ON_GRIDS: dict[str, Inline] = {
    "full": _full,
    "cells": _cells,
    "empty": _empty,
    "lowest_empty": _lowest,
    "line": _line,
}
