"""The visibility of a game as a picture: steps downwards, a column for each role."""

from __future__ import annotations

from gamedsl.ir.game import GameIR
from gamedsl.tables.model import series
from gamedsl.view.canvas import MARK, SIZE, Canvas
from gamedsl.view.game.sight import Glance, title_of, visibility_rows
from gamedsl.view.text_metrics import width_of

MARGIN, ROW, SMALL = 16.0, 22.0, 9.5
KEY = (
    ("sees the value", "all"), ("part of it", "some"), ("only that it happens", "happens"),
    ("nothing", "nothing"),
)  # fmt: skip


def sight_picture(ir: GameIR) -> Canvas:
    """The picture of the table."""
    canvas, rows = Canvas(), visibility_rows(ir)
    names = [width_of(title_of(row), SIZE) + width_of(row.where, SMALL) for row in rows]
    left = MARGIN + max([*names, 60]) + 34
    wide = []
    for number, seat in enumerate(ir.everyone):
        notes = [width_of(row.glances[number].note, SIZE) for row in rows]
        wide.append(max([width_of(seat, SIZE) + 14, *(note + 34 for note in notes)]) + 18)
    starts = [left + sum(wide[:number]) for number in range(len(wide))]
    y = MARGIN + 10
    for number, seat in enumerate(ir.everyone):
        canvas.mark(starts[number] + MARK, y - 4, number)
        canvas.write(starts[number] + 13, y, seat, f"{series(number)} strong")
    right = left + sum(wide)
    canvas.line(MARGIN, y + 8, right, y + 8, "edge")
    y += 8
    stated = False
    for row in rows:
        if row.what == "state" and not stated:
            canvas.line(MARGIN, y, right, y, "edge")
            stated = True
        y += ROW
        canvas.write(MARGIN, y - 7, title_of(row).strip())
        canvas.write(left - 16, y - 7, row.where, "soft", "end", SMALL)
        for number, glance in enumerate(row.glances):
            _cell(canvas, starts[number], y - 11, glance, number)
        canvas.line(MARGIN, y, right, y, "rule")
    y += 20
    x = MARGIN
    canvas.mark(x + MARK, y - 4, 0)
    canvas.write(x + 13, y, "is asked", "soft")
    x += 13 + width_of("is asked", SIZE) + 14
    for text, sees in KEY:
        if x + 20 + width_of(text, SIZE) > max(right, 300):
            x, y = MARGIN, y + 17
        _eye(canvas, x + 5, y - 4, sees)
        canvas.write(x + 16, y, text, "soft")
        x += 16 + width_of(text, SIZE) + 14
    canvas.width = max([right, *(box.right for _, box in canvas.labels)]) + MARGIN
    canvas.height = y + MARGIN
    return canvas


def _cell(canvas: Canvas, x: float, y: float, glance: Glance, role: int) -> None:
    if glance.asked:
        canvas.mark(x + MARK, y, role)
    _eye(canvas, x + 19, y, glance.sees)
    if glance.note:
        canvas.write(x + 29, y + 4, glance.note, "soft")


def _eye(canvas: Canvas, x: float, y: float, sees: str) -> None:
    """A disc: full, half, hollow; a dot where there is nothing."""
    if sees == "nothing":
        canvas.circle(x, y, 1.2, "head")
        return
    canvas.circle(x, y, 4.2, "head" if sees == "all" else "open")
    if sees == "some":
        canvas.curve(f"M{x:.1f} {y - 4.2:.1f}A4.2 4.2 0 0 0 {x:.1f} {y + 4.2:.1f}Z", "head")
