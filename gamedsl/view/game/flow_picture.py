"""The turn program as a flow chart.

All steps are on one axis, in order. Chance is a pill with a hollow circle, a decision a box with
the mark of its seat, a statement a plain box, a showing a box with slanted sides. A condition leads
past its step on the right, and a loop back on its left. A stage is framed.
"""

from __future__ import annotations

from collections.abc import Sequence

from gamedsl.ir.game import GameIR
from gamedsl.ir.program import Binding
from gamedsl.tables.model import series
from gamedsl.view.canvas import MARK, SIZE, Canvas
from gamedsl.view.game.flow import Item, definitions, end_lines, outline, readers_text
from gamedsl.view.text_metrics import Box, filled, width_of

GAP = 20.0
LANE = 15.0
LINE = 15.0
MARGIN = 18.0
WIDEST = 330.0
SMALL = 9.5


def flow_picture(ir: GameIR) -> Canvas:
    """The picture of a program. It is drawn twice: where its axis is shows only at the end."""
    first = _Painter(ir, 0.0)
    first.paint()
    final = _Painter(ir, MARGIN - first.least)
    final.paint()
    final.canvas.width = final.most + MARGIN
    return final.canvas


class _Painter:
    def __init__(self, ir: GameIR, axis: float) -> None:
        self.canvas, self._ir, self._axis = Canvas(), ir, axis
        self.least = self.most = axis
        self._lines: list[tuple[float, float]] = []

    def paint(self) -> None:
        y, _, _ = self._pill(f"start of {self._ir.name}", MARGIN)
        y, _, _ = self._steps(outline(self._ir), y)
        y = self._down(y)
        words = [line for text in end_lines(self._ir) for line in filled(text, WIDEST, SIZE)]
        plain = 1 + len(words)
        words += [line for text in definitions(self._ir) for line in filled(text, WIDEST, SIZE)]
        y, _, _ = self._boxed(["end", *words], y, "frame paper", round=14, strong=1, plain=plain)
        self.canvas.height = y + MARGIN

    # the axis

    def _down(self, y: float, gap: float = GAP) -> float:
        """An arrow down the axis; returns where it ends."""
        self.canvas.line(self._axis, y, self._axis, y + gap - 2, "edge")
        self.canvas.arrow(self._axis, y + gap)
        return y + gap

    def _reach(self, left: float, right: float) -> tuple[float, float]:
        self.least, self.most = min(self.least, left), max(self.most, right)
        return left, right

    def _steps(self, items: Sequence[Item], y: float) -> tuple[float, float, float]:
        """Draw steps under one another; returns where they end, below, left and right."""
        left = right = self._axis
        for item in items:
            y = self._down(y)
            y, near, far = self._item(item, y)
            left, right = min(left, near), max(right, far)
        return y, left, right

    def _item(self, item: Item, y: float) -> tuple[float, float, float]:
        if not item.condition:
            return self._unguarded(item, y)
        below, left, right = self._test(item.condition, y)
        middle = (y + below) / 2
        self.canvas.write(self._axis + 5, below + 12, "yes", "soft", size=SMALL)
        self.canvas.write(right + 3, middle - 4, "no", "soft", size=SMALL)
        end, near, far = self._unguarded(item, self._down(below))
        lane = max(right + 8, far) + LANE
        end += 12
        self.canvas.line(self._axis, end - 12, self._axis, end, "edge")
        self.canvas.path(
            [(right, middle), (lane, middle), (lane, end), (self._axis + 2, end)], "edge"
        )
        self.canvas.arrow(self._axis, end, turn=180)
        return end, *self._reach(min(left, near), lane)

    def _unguarded(self, item: Item, y: float) -> tuple[float, float, float]:
        if item.kind == "loop":
            return self._loop(item, y)
        if item.kind == "stage":
            return self._stage(item, y)
        lines = filled(item.text, WIDEST, SIZE)
        first = 99 if item.kind == "do" else len(lines)
        for more in item.more:
            lines += filled(more, WIDEST, SIZE)
        readers = item.step.readers if isinstance(item.step, Binding) else None
        if readers is not None and readers.kind != "all":
            lines.append(readers_text(readers))
        style = {"chance": "edge tint", "do": "edge paper", "pay": "edge paper"}.get(item.kind)
        if len(item.seats) == 1:
            style = f"paper wide {series(item.seats[0], 's')}"
        return self._boxed(
            lines, y, style or "edge paper", seats=item.seats, where=item.where,
            chance=item.kind == "chance", round=3 if item.kind == "do" else 9, plain=first,
            slant=item.kind == "show", double=item.kind == "pay",
        )  # fmt: skip

    # shapes

    def _boxed(
        self, lines: Sequence[str], y: float, style: str, *, seats: Sequence[int] = (),
        where: str = "", chance: bool = False, round: float = 9, strong: int = 0,
        plain: int = 99, slant: bool = False, double: bool = False,
    ) -> tuple[float, float, float]:  # fmt: skip
        """Lines in a box on the axis; the first `strong` are bold, those after `plain` are soft."""
        marks = 14.0 * len(seats[:6]) if seats else 14.0 if chance else 0.0
        wide = max(width_of(line, SIZE, bold=i < strong) for i, line in enumerate(lines))
        half = (wide + marks) / 2 + 12
        here = Box(self._axis - half, y, self._axis + half, y + 11 + LINE * len(lines))
        if slant:
            x1, y1, x2, y2 = here
            corners = [(x1 + 4, y1), (x2 + 4, y1), (x2 - 4, y2), (x1 - 4, y2)]
            self.canvas.path(corners, "edge", closed=True)
        else:
            self.canvas.box(here, style, min(round, 12))
        if double:
            self.canvas.box(here.grown(-2.5), "edge paper", 6)
        x = here.left + 12
        for number, seat in enumerate(seats[:6]):
            self.canvas.mark(x + MARK + 14 * number, y + 13, seat)
        if chance:
            self.canvas.circle(x + MARK, y + 13, MARK, "open")
        for number, line in enumerate(lines):
            kind = "strong" if number < strong else "soft" if number >= plain else ""
            self.canvas.write(x + marks, y + 17 + LINE * number, line, kind)
        if where:
            self.canvas.write(here.right + 6, y + 10, where, "soft", size=SMALL)
        far = here.right + (8 + width_of(where, SMALL) if where else 0)
        return here.bottom, *self._reach(here.left - 4 * slant, far)

    def _test(self, condition: str, y: float) -> tuple[float, float, float]:
        """A condition, in a box with pointed sides."""
        lines = filled(f"{condition} ?", WIDEST, SIZE)
        half = max(width_of(line, SIZE) for line in lines) / 2 + 16
        x1, x2, high = self._axis - half, self._axis + half, 11 + LINE * len(lines)
        corners = [(x1, y + high / 2), (x1 + 10, y), (x2 - 10, y), (x2, y + high / 2),
                   (x2 - 10, y + high), (x1 + 10, y + high)]  # fmt: skip
        self.canvas.path(corners, "edge", closed=True)
        for number, line in enumerate(lines):
            self.canvas.write(self._axis, y + 17 + LINE * number, line, "", "middle")
        self._reach(x1, x2)
        return y + high, x1, x2

    def _pill(self, text: str, y: float) -> tuple[float, float, float]:
        return self._boxed([text], y, "frame paper", round=12, strong=1)

    def _loop(self, item: Item, y: float) -> tuple[float, float, float]:
        top, (y, left, right) = y, self._head(item.text, y, item.where)
        head = left
        y, near, far = self._steps(item.inside, y)
        left, right = min(left, near), max(right, far)
        end = [item.again] if item.again else ["again"]
        foot = y = self._down(y)
        y, near, far = self._boxed(end, y, "frame tint", round=4)
        lane = min(left, near) - LANE
        middle, back = (foot + y) / 2, top + 13
        self.canvas.path([(near, middle), (lane, middle), (lane, back), (head - 2, back)], "edge")
        self.canvas.arrow(head, back, turn=0)
        return y, *self._reach(lane, max(right, far))

    def _head(self, text: str, y: float, where: str) -> tuple[float, float, float]:
        return self._boxed([text], y, "frame tint", round=4, where=where)

    def _stage(self, item: Item, y: float) -> tuple[float, float, float]:
        if not item.text:
            end, left, right = self._unarrowed(item.inside, y)
            return end, left, right
        frames = len(self.canvas.parts)
        top, (y, left, right) = y, self._head(item.text, y, item.where)
        y, near, far = self._steps(item.inside, y)
        here = Box(min(left, near) - 8, top - 6, max(right, far) + 6, y + 10)
        self.canvas.box(here, "clear rule", 8)
        self.canvas.parts.insert(frames, self.canvas.parts.pop())
        self.canvas.line(self._axis, y, self._axis, y + 10, "edge")
        return y + 10, *self._reach(here.left, here.right)

    def _unarrowed(self, items: Sequence[Item], y: float) -> tuple[float, float, float]:
        """Steps of which the first has its arrow already."""
        y, left, right = self._item(items[0], y)
        end, near, far = self._steps(items[1:], y)
        return end, min(left, near), max(right, far)
