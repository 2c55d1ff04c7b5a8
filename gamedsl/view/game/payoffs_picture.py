"""The payoff table as in a textbook: row role left, column role above, both payoffs in each cell.

A best response is underlined, a pure equilibrium framed. With three roles there is a table for each
action of the first.
"""

from __future__ import annotations

from gamedsl.tables.model import series
from gamedsl.tables.text import cut
from gamedsl.view.canvas import SIZE, Canvas
from gamedsl.view.game.payoffs import MANY, SHEETS, Cells, Sheet
from gamedsl.view.text_metrics import ROOM, Box, filled, width_of

MARGIN = 16.0
BIG = 13.0
HIGH = 34.0
PAD = 12.0
LETTERS = 22


def payoffs_picture(cells: Cells, *, width: float = 760) -> Canvas:
    """The picture of a table; sheets stand beside one another up to `width`, then below."""
    canvas = Canvas()
    sheets = list(cells.sheets())
    x, y, lowest, right = MARGIN, MARGIN, MARGIN, MARGIN
    for sheet in sheets[:SHEETS]:
        wide = _sheet_width(cells, sheet)
        if x > MARGIN and x + wide + MARGIN > width:
            x, y = MARGIN, lowest + 22
        lowest = max(lowest, _sheet(canvas, cells, sheet, x, y))
        right = max(right, x + wide)
        x += wide + 28
    y = lowest + 10
    canvas.width = max(right + MARGIN, 300)
    notes = ["best responses underlined, pure equilibria framed", *cells.notes()]
    if len(sheets) > SHEETS:
        notes.insert(0, f"the first {SHEETS} of {len(sheets):,} tables")
    for line in (part for note in notes for part in filled(note, canvas.width - 2 * MARGIN, SIZE)):
        y += 17
        canvas.write(MARGIN, y, line, "soft")
    canvas.height = y + MARGIN
    return canvas


def _name(action: str) -> str:
    return cut(action, LETTERS)


def _sheet_title(cells: Cells, sheet: Sheet) -> str:
    others = zip(cells.seats, sheet.given, strict=False)
    return ", ".join(f"{seat}: {_name(action)}" for seat, action in others)


def _column_widths(cells: Cells, sheet: Sheet) -> list[float]:
    """The breadth of each column: all are as wide as the widest."""
    widest = 44.0
    for column in sheet.columns[:MANY]:
        widest = max(widest, width_of(_name(column), SIZE) + PAD)
        for row in sheet.rows[:MANY]:
            amounts = ", ".join(text for text, _ in cells.cell((*sheet.given, row, column)))
            widest = max(widest, width_of(amounts, BIG) + 2 * PAD)
    return [widest] * len(sheet.columns[:MANY])


def _row_head_width(cells: Cells, sheet: Sheet) -> float:
    """The room left of the cells: the row role, and the names of its actions."""
    return 20 + max(width_of(_name(row), SIZE) for row in sheet.rows[:MANY]) + 12


def _sheet_width(cells: Cells, sheet: Sheet) -> float:
    wide = _row_head_width(cells, sheet) + sum(_column_widths(cells, sheet))
    return max(wide, width_of(_sheet_title(cells, sheet), SIZE, bold=True))


def _sheet(canvas: Canvas, cells: Cells, sheet: Sheet, x: float, y: float) -> float:
    """Draw one table with its corner at (x, y); returns where it ends."""
    first, second = len(cells.seats) - 2, len(cells.seats) - 1
    columns, left = _column_widths(cells, sheet), x + _row_head_width(cells, sheet)
    if sheet.given:
        canvas.write(x, y + 10, _sheet_title(cells, sheet), "strong")
        y += 22
    middle = left + sum(columns) / 2
    canvas.write(middle, y + 10, cells.seats[second], f"{series(second)} it", "middle")
    top = y + 36
    for number, column in enumerate(sheet.columns[:MANY]):
        place = left + sum(columns[:number]) + columns[number] / 2
        canvas.write(place, top - 8, _name(column), "", "middle")
    rows = sheet.rows[:MANY]
    bottom = top + HIGH * len(rows)
    middle = (top + bottom) / 2
    canvas.write(x + 9, middle, cells.seats[first], f"{series(first)} it", "middle", turn=-90)
    for number, row in enumerate(rows):
        high = top + HIGH * number
        canvas.write(left - 10, high + HIGH / 2 + 4, _name(row), "", "end")
        for place, column in enumerate(sheet.columns[:MANY]):
            near = left + sum(columns[:place])
            profile = (*sheet.given, row, column)
            here = Box(near, high, near + columns[place], high + HIGH)
            _cell(canvas, cells.cell(profile), here)
    for number in range(len(rows) + 1):
        canvas.line(left, top + HIGH * number, left + sum(columns), top + HIGH * number, "edge")
    for number in range(len(columns) + 1):
        place = left + sum(columns[:number])
        canvas.line(place, top, place, bottom, "edge")
    return bottom


def _cell(canvas: Canvas, amounts: list[tuple[str, bool]], here: Box) -> None:
    x, y = (here.left + here.right) / 2, (here.top + here.bottom) / 2 + 4.5
    if all(best for _, best in amounts):
        canvas.box(here.grown(-3.5), "tint frame", 3)
    wide = [width_of(text, BIG, bold=best) / ROOM for text, best in amounts]
    gap = width_of(", ", BIG)
    x -= (sum(wide) + gap * (len(amounts) - 1)) / 2
    for seat, ((text, best), room) in enumerate(zip(amounts, wide, strict=True)):
        style = f"{series(seat)}{' strong' if best else ''}"
        canvas.write(x + room / 2, y, text, style, "middle", BIG)
        if best:
            canvas.line(x, y + 3.5, x + room, y + 3.5, f"wide {series(seat, 's')}")
        if seat < len(amounts) - 1:
            canvas.write(x + room + 1, y, ",", "", "start", BIG)
        x += room + gap
