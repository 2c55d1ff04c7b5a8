"""Who sees what, when, in a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from gamedsl.ir.game import GameIR
from gamedsl.view.game.figure import Run
from gamedsl.view.game.paint import Line, columns, padded, role
from gamedsl.view.game.sight import Glance, Row, who_sees

SIGNS = {"all": "●", "some": "◐", "happens": "○", "nothing": "·"}
KEY = (
    "▸ is asked   ● sees the value   ◐ sees part of it",
    "○ sees only that it happens   · sees nothing",
)


def sight_text(ir: GameIR) -> Iterator[Line]:
    """The lines of a table of steps and roles."""
    rows = who_sees(ir)
    yield [Run(ir.name, "strong"), Run(" · who sees what, when, with line numbers", "soft")]
    if not rows:
        return
    names = [told(row) for row in rows]
    left, lines = max(map(columns, names)), max(len(row.where) for row in rows) + 1
    cells = [[_cell(glance) for glance in row.glances] for row in rows]
    wide = [
        max([columns(seat), *(columns(line[i]) for line in cells)])
        for i, seat in enumerate(ir.everyone)
    ]
    head = [Run(" " * (lines + left + 4))]
    head += [
        Run(padded(seat, wide[i]) + "  ", role(i) + " strong") for i, seat in enumerate(ir.everyone)
    ]
    yield head
    before = rows[0].what
    for row, name, line in zip(rows, names, cells, strict=True):
        if row.what == "state" != before:
            yield [Run(" " * (lines + 2) + "state", "soft")]
        before = row.what
        yield [
            Run(padded(row.where, lines, right=True) + "  ", "soft"),
            Run(padded(name, left) + "  "),
            *(Run(padded(cell, wide[i]) + "  ", role(i)) for i, cell in enumerate(line)),
        ]
    yield from ([Run(line, "soft")] for line in KEY)


def told(row: Row) -> str:
    """What a row is about."""
    if row.what == "state":
        return f"  {row.name}" + " (length public)" * row.public_length
    verb = {"choice": "choice of", "chance": "chance draws", "shown": "shown:"}[row.what]
    return f"{verb} {row.name}"


def _cell(glance: Glance) -> str:
    sign = ("▸" if glance.asked else " ") + SIGNS[glance.sees]
    return f"{sign} {glance.note}" if glance.note else sign
