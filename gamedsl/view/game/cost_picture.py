"""A picture of what each choice of a play cost: a bar for each decision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gamedsl.tables.numbers import number
from gamedsl.tables.text import cut
from gamedsl.view.canvas import Canvas
from gamedsl.view.text_metrics import Box

ROW = 22.0
"""Height of a row, in units."""

NAMES = 200.0
"""Width of the names of decisions, in units."""

WIDTH = 560.0
"""Width of the picture, in units."""

LONGEST = 30
"""Characters of a name."""

MOST_ROWS = 60
"""Decisions that are drawn: the dearest ones, in order, where there are more."""


class Cost(NamedTuple):
    """A decision: its name, what was chosen, and what that lost against the best option."""

    name: str
    chosen: str
    cost: float


def cost_picture(costs: Sequence[Cost]) -> Canvas:
    """Returns a picture of costs, which are in units of payoff."""
    numbered = list(enumerate(costs, 1))
    dearest = sorted(numbered, key=lambda row: -row[1].cost)[:MOST_ROWS]
    rows = sorted(dearest)
    most = max((cost.cost for cost in costs), default=0.0) or 1.0
    canvas = Canvas(WIDTH, ROW * len(rows) + 8)
    for place, (count, cost) in enumerate(rows):
        base = ROW * place + ROW * 0.75
        canvas.write(0, base, cut(f"{count} {cost.name}: {cost.chosen}", LONGEST), size=12)
        end = NAMES + (WIDTH - NAMES - 70) * cost.cost / most
        if cost.cost > 0:
            canvas.box(Box(NAMES, base - 11, end, base + 3), "loss", 2)
        else:
            canvas.line(NAMES, base - 11, NAMES, base + 3, "frame")
        canvas.write(end + 6, base, number(cost.cost) if cost.cost > 0 else "best", size=12)
    return canvas
