"""Rows of the table of built-ins: functions of grids.

A grid is a flat tuple at run time, row by row; the functions that need its `rows` and `columns` get
them as last arguments.
"""

from __future__ import annotations

from functools import lru_cache
from math import isinf
from typing import Any

from gamedsl.ir.builtins_base import (
    COMPUTES,
    TAKES_SOME,
    Arguments,
    Builtin,
    UndefinedError,
    ValueFlow,
    all_whole,
    always,
    as_large,
    item_number,
    item_size,
    never,
    no_number,
    one,
    truth,
    unknown_items,
)
from gamedsl.ir.types import BOOL, Grid, List, Never, Option, Type, plain

Cells = tuple[Any, ...]
Place = tuple[int, int]


def _grid(types: tuple[Type, ...]) -> Grid | None:
    return types[0] if len(types) == 1 and isinstance(types[0], Grid) else None


def _filled(types: tuple[Type, ...]) -> Type | None:
    return BOOL if _grid(types) else None


def _places(types: tuple[Type, ...]) -> Type | None:
    grid = _grid(types)
    return grid and List(grid.cell)


def _in_line(types: tuple[Type, ...]) -> Type | None:
    grid = _grid(types[:1])
    if grid is None or len(types) != 2 or not all_whole(types[1:]):
        return None
    inner = plain(grid.of)
    return inner if isinstance(inner, Never) else Option(inner)


@lru_cache(maxsize=64)
def lanes(rows: int, columns: int, length: int) -> tuple[tuple[int, ...], ...]:
    """The rows, columns and diagonals of a grid with at least `length` cells, as places in it."""
    found: list[list[Place]] = []
    found += [[(r, c) for c in range(columns)] for r in range(rows)]
    found += [[(r, c) for r in range(rows)] for c in range(columns)]
    found += [
        [(r, r + d) for r in range(rows) if 0 <= r + d < columns] for d in range(1 - rows, columns)
    ]
    found += [
        [(r, s - r) for r in range(rows) if 0 <= s - r < columns] for s in range(rows + columns - 1)
    ]
    return tuple(tuple(r * columns + c for r, c in lane) for lane in found if len(lane) >= length)


def _line(grid: Cells, length: int, rows: int, columns: int) -> Any:
    if length < 1:
        raise UndefinedError(f"a line of {length} cells")
    for lane in lanes(rows, columns, length):
        run, last = 0, None
        for place in lane:
            value = grid[place]
            run = run + 1 if value == last else 1
            last = value
            if run >= length and value is not None:
                return value
    return None


def _cells(grid: Cells, rows: int, columns: int) -> tuple[Place, ...]:
    return tuple((place // columns, place % columns) for place in range(len(grid)))


def _empty(grid: Cells, rows: int, columns: int) -> tuple[Place, ...]:
    return tuple(
        (place // columns, place % columns) for place, value in enumerate(grid) if value is None
    )


def _lowest(grid: Cells, rows: int, columns: int) -> tuple[Place, ...]:
    found = []
    for column in range(columns):
        for row in reversed(range(rows)):
            if grid[row * columns + column] is None:
                found.append((row, column))
                break
    return tuple(found)


def _column_count(arguments: Arguments) -> int | None:
    columns = arguments[-1].number.high
    return None if isinf(columns) else int(columns)


ROWS = (
    Builtin(
        "cells", "function", "cells(grid)",
        "All places of a grid, row by row.",
        ("cells(board)", "[(0, 0), (0, 1), (1, 0), (1, 1)]"),
        rule=_places, appended="size of the grid", takes_map=False, takes_none=TAKES_SOME,
        types_argument=False, run=_cells,
        undefined="never",
        may_be_none=never, size=as_large, interval=no_number, items=unknown_items,
        ranges_type="never", order="ascending", linear="no",
        narrowed="", flow=ValueFlow("shape", "new", False), code="cells",
    ),
    Builtin(
        "empty", "function", "empty(grid)",
        "The places of a grid that hold none, row by row.",
        ("empty(board)", "[(1, 0), (1, 1)]"),
        rule=_places, appended="size of the grid", takes_map=False, takes_none=TAKES_SOME,
        types_argument=False, run=_empty,
        undefined="never",
        may_be_none=never, size=as_large, interval=no_number, items=unknown_items,
        ranges_type="never", order="ascending", linear="no",
        narrowed="", flow=COMPUTES, code="empty cells",
    ),
    Builtin(
        "full", "function", "full(grid)",
        "Whether no place of a grid holds none.",
        ("full(board)", "false"),
        rule=_filled, appended="", takes_map=False, takes_none=TAKES_SOME,
        types_argument=False, run=lambda grid: None not in grid,
        undefined="never", may_be_none=never, size=one, interval=truth, items=unknown_items,
        ranges_type="never", order="any", linear="no",
        narrowed="", flow=COMPUTES, code="(None not in {0})",
    ),
    Builtin(
        "line", "function", "line(grid, whole number)",
        "The value that fills so many places next to each other in a row, column or "
        "diagonal; none "
        "if there is none.",
        ("line(board, 2)", "small"),
        rule=_in_line, appended="size of the grid", takes_map=False, takes_none=TAKES_SOME,
        types_argument=False, run=_line,
        undefined="by value",
        may_be_none=always, size=item_size, interval=item_number, items=unknown_items,
        ranges_type="never", order="any", linear="no", narrowed="", flow=COMPUTES, code="line",
    ),
    Builtin(
        "lowest_empty", "function", "lowest_empty(grid)",
        "The lowest place of each column that holds none, from the left.",
        ("lowest_empty(board)", "[(1, 0), (1, 1)]"),
        rule=_places, appended="size of the grid", takes_map=False, takes_none=TAKES_SOME,
        types_argument=False, run=_lowest,
        undefined="never",
        may_be_none=never, size=_column_count, interval=no_number, items=unknown_items,
        ranges_type="never", order="distinct", linear="no",
        narrowed="", flow=COMPUTES, code="lowest cells",
    ),
)  # fmt: skip
