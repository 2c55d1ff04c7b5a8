"""The payoff table in a terminal. A star marks a best response, a cell of stars an equilibrium."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from gamedsl.view.game.cells import MANY, SHEETS, Cells, Sheet
from gamedsl.view.game.figure import Run
from gamedsl.view.game.metrics import cut
from gamedsl.view.game.paint import Line, columns, padded, role

LETTERS = 16


def table_text(cells: Cells, name: str) -> Iterator[Line]:
    """The lines of a table, one sheet after another."""
    sheets = list(cells.sheets())
    yield [Run(name, "strong"), Run(" · payoffs, best responses starred", "soft")]
    for sheet in sheets[:SHEETS]:
        yield from _sheet(cells, sheet)
    if len(sheets) > SHEETS:
        yield [Run(f"… {len(sheets) - SHEETS:,} more tables", "soft")]
    yield from ([Run(note, "soft")] for note in cells.notes())


def _sheet(cells: Cells, sheet: Sheet) -> Iterator[Line]:
    first, second = len(cells.seats) - 2, len(cells.seats) - 1
    rows, across = sheet.rows[:MANY], sheet.columns[:MANY]
    if sheet.given:
        told = zip(cells.seats, sheet.given, strict=False)
        yield []
        yield [Run(", ".join(f"{seat}: {action}" for seat, action in told), "strong")]
    texts = {
        (a, b): [text + "*" * best for text, best in cells.cell((*sheet.given, a, b))]
        for a in rows
        for b in across
    }
    wide = max(
        max(columns(", ".join(amounts)) for amounts in texts.values()),
        max(columns(cut(name, LETTERS)) for name in across),
    )
    left = max(columns(cut(name, LETTERS)) for name in rows)
    seat = columns(cells.seats[first])
    blank = " " * (seat + left + 2)
    inner = f"{'─' * (wide + 2)}"
    yield [Run(blank + "  "), Run(cells.seats[second], role(second))]
    yield [Run(blank + "  "), Run("   ".join(padded(cut(b, LETTERS), wide) for b in across))]
    yield [Run(blank + f"┌{'┬'.join([inner] * len(across))}┐", "soft")]
    for number, a in enumerate(rows):
        whose = cells.seats[first] if number == (len(rows) - 1) // 2 else " " * seat
        line = [Run(whose, role(first)), Run(f" {padded(cut(a, LETTERS), left)} ")]
        for b in across:
            line += [Run("│ ", "soft"), *_amounts(texts[a, b], wide), Run(" ")]
        yield [*line, Run("│" + " …" * (len(sheet.columns) > MANY), "soft")]
        if number < len(rows) - 1:
            yield [Run(blank + f"├{'┼'.join([inner] * len(across))}┤", "soft")]
    yield [Run(blank + f"└{'┴'.join([inner] * len(across))}┘", "soft")]
    if len(sheet.rows) > MANY:
        yield [Run(blank + f"… {len(sheet.rows) - MANY} more", "soft")]


def _amounts(texts: list[str], wide: int) -> Iterator[Run]:
    """The amounts of a cell, filled up to its width."""
    used = 0
    for seat, (text, gap) in enumerate(zip_longest(texts, [", "] * (len(texts) - 1), fillvalue="")):
        yield Run(text, role(seat) + (" strong" if text.endswith("*") else ""))
        yield Run(gap)
        used += columns(text + gap)
    yield Run(" " * (wide - used))
