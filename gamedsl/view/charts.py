"""Charts as SVG: lines over training steps, and heat maps.

They are elements of a page, such as the report, whose colours they take (light, dark, print);
`chart_file` makes one a file of its own. Their text stays text, and they carry a title and a
description for those who cannot see them. Series differ by dash and by a name at their end, never
by colour alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from math import floor, log10

from gamedsl.tables.model import series as series_style
from gamedsl.tables.numbers import number
from gamedsl.tables.text import cut
from gamedsl.view.canvas import FONT, Canvas, palette
from gamedsl.view.text_metrics import Box

LETTERS = 12.0
"""Size of letters in a chart; the page's style sheet has it too."""
TEXT = 6.6
"""Mean width of a character at the charts' 12-unit text."""


@dataclass(frozen=True)
class Series:
    """One line of a chart; None leaves a gap. `quiet` lines are drawn thin and without a name.

    `bands` are shaded over all steps, from low to high; `around` is a band of its own for each
    step, as the lowest and the highest of several lines. `crosses` mark steps on the line, `cuts`
    those after which it stands for less.
    """

    name: str
    values: Sequence[float | None]
    colour: int
    quiet: bool = False
    bands: Sequence[tuple[float, float]] = ()
    around: Sequence[tuple[float, float] | None] = ()
    crosses: Sequence[int] = ()
    cuts: Sequence[int] = ()


def line_chart(
    title: str,
    steps: Sequence[int],
    series: Sequence[Series],
    *,
    low: float | None = None,
    high: float | None = None,
    percent: bool = False,
    marks: Sequence[tuple[float, str]] = (),
    least: float = 0.0,
    logarithmic: bool = False,
    width: float = 440,
    height: float = 210,
) -> str:
    """Values over training steps. `marks` are horizontal lines with a name (reference values). On a
    `logarithmic` axis values below a thousandth of the highest are drawn at its foot."""
    values = [v for one in series for v in one.values if v is not None]
    values += [v for one in series for ends in one.around if ends for v in ends]
    values += [y for y, _ in marks]
    if not values or not steps:
        return ""
    axis = _Axis.of(values, low, high, least, logarithmic=logarithmic)
    named = [one for one in series if not one.quiet and any(v is not None for v in one.values)]
    longest = max((len(name) for name in [*(one.name for one in named), *(m for _, m in marks)]),
                  default=0)  # fmt: skip
    left, right, top, bottom = 40, min(14 + longest * TEXT, width * 0.4), 10, 36
    canvas = Canvas(width, height, LETTERS)
    first, final = steps[0], max(steps[-1], steps[0] + 1)

    def across(step: float) -> float:
        return left + (step - first) / (final - first) * (width - left - right)

    def up(value: float) -> float:
        return height - bottom - axis.share(value) * (height - top - bottom)

    for tick in axis.ticks:
        canvas.line(left, up(tick), width - right, up(tick), "grid")
        canvas.write(left - 6, up(tick) + 4, number(tick, percent), "tick", "end")
    for tick in ticks(first, final, 6):
        if tick == int(tick):
            canvas.write(across(tick), height - bottom + 16, f"{tick:g}", "tick", "middle")
    canvas.write((left + width - right) / 2, height - 4, "training step", "axis", "middle")
    for y, _ in marks:
        canvas.line(left, up(y), width - right, up(y), "mark")
    for one in series:
        _shade(canvas, one, steps, (left, width - right), across, up)
    for one in sorted(series, key=lambda s: not s.quiet):
        _draw(canvas, one, steps, across, up)
        _mark_cuts(canvas, one, across, top, height - bottom)
    ends = [(up(_last(one)), one.name, f"name {series_style(one.colour, 'f')}") for one in named]
    ends += [(up(y), name, "marktext") for y, name in marks]
    heights = spread([y for y, _, _ in ends], 14, top + 4, height - bottom + 4)
    for (_, name, style), y in zip(ends, heights, strict=True):
        canvas.write(width - right + 8, y + 4, cut(name, int((right - 8) / TEXT)), style)
    summary = "; ".join(
        f"{one.name}: from {number(_first(one), percent)} to {number(_last(one), percent)}"
        for one in named
    )
    data = _numbers(steps, named, (left, width - right), percent)
    return canvas.inline(title, f"From step {first} to {steps[-1]}. {summary}.", data)


def _numbers(
    steps: Sequence[int], series: Sequence[Series], sides: tuple[float, float], percent: bool
) -> str:
    """The numbers of a chart as JSON, for those who point at it: of at most `READ_OUT` steps."""
    every = range(0, len(steps), -(-len(steps) // READ_OUT))
    places = list(dict.fromkeys((*every, len(steps) - 1)))
    rows = [
        [
            one.name,
            percent,
            [None if (v := one.values[i]) is None else float(f"{v:.4g}") for i in places],
        ]
        for one in series
    ]
    found = {
        "x": [round(side, 1) for side in sides],
        "steps": [steps[i] for i in places],
        "series": rows,
    }
    return json.dumps(found, ensure_ascii=False, separators=(",", ":"))


READ_OUT = 120
"""Steps of a chart whose numbers can be read out."""


def chart_rules() -> str:
    """Returns the style sheet of charts; it takes the colours of `canvas.palette`."""
    return files("gamedsl.view").joinpath("charts.css").read_text("utf-8")


def chart_file(chart: str) -> str:
    """Returns a chart as an SVG file with its own colours, light and dark; the same for the same
    chart. `chart` is an element that a function of this module returned."""
    width, height = re.findall(r'viewBox="0 0 (\S+) (\S+)"', chart)[0]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'font-family="{FONT}" '
    )
    style = f"<style>\n{palette()}{chart_rules()}</style>\n"
    paper = '<rect width="100%" height="100%" style="fill: var(--paper)"/>\n'
    drawn = re.sub(r' data-chart="[^"]*"', "", chart)
    described = re.sub(r"\bchart\d+([td])\b", r"chart\1", drawn)
    return (
        described.replace("<svg ", head, 1).replace("</desc>", f"</desc>\n{style}{paper}", 1) + "\n"
    )


@dataclass(frozen=True)
class _Axis:
    """A value axis from `low` to `high`, in the units that `bent` maps values to."""

    low: float
    high: float
    bent: Callable[[float], float]
    ticks: Sequence[float]

    @classmethod
    def of(
        cls, values: Sequence[float], low: float | None, high: float | None, least: float,
        *, logarithmic: bool,
    ) -> _Axis:  # fmt: skip
        """The axis that shows all values. Zeros alone have no logarithm: the axis is straight."""
        if logarithmic and max(values) > 0:
            return cls.logarithmic(values)
        foot, head = _limits(values, low, high, least)
        return cls(foot, head, lambda value: value, ticks(foot, head, 5))

    @classmethod
    def logarithmic(cls, values: Sequence[float]) -> _Axis:
        high = max(values)
        foot = max(min(v for v in values if v > 0), high / 1000)
        low, high = log10(foot) - 0.05, log10(high) + 0.05
        steps = (1, 2, 5) if high - low < 2.2 else (1,)
        marks = [m * 10.0**e for e in range(floor(low), floor(high) + 1) for m in steps]
        shown = [mark for mark in marks if low <= log10(mark) <= high]
        return cls(low, high, lambda v: log10(max(v, foot)), shown)

    def share(self, value: float) -> float:
        return (self.bent(value) - self.low) / (self.high - self.low)


def _shade(
    canvas: Canvas,
    one: Series,
    steps: Sequence[int],
    sides: tuple[float, float],
    across: Callable[[float], float],
    up: Callable[[float], float],
) -> None:
    """The bands of a series: a single value as a line of dots."""
    style = f"band {series_style(one.colour, 'b')}"
    for low, high in one.bands:
        x1, x2 = sides
        if high - low < 0.005:
            canvas.line(x1, up(low), x2, up(low), f"wanted {series_style(one.colour, 'c')}")
        else:
            corners = [(x1, up(low)), (x2, up(low)), (x2, up(high)), (x1, up(high))]
            canvas.path(corners, style, closed=True)
    known = [(step, ends) for step, ends in zip(steps, one.around, strict=False) if ends]
    above = [(across(step), up(high)) for step, (_, high) in known]
    below = [(across(step), up(low)) for step, (low, _) in known]
    canvas.path(above + below[::-1], style, closed=True)


def _draw(
    canvas: Canvas,
    one: Series,
    steps: Sequence[int],
    across: Callable[[float], float],
    up: Callable[[float], float],
) -> None:
    """The line of a series: a value between gaps as a dot."""
    style = "line quiet" if one.quiet else f"line {series_style(one.colour, 'c')}"
    for run in _runs(steps, one.values):
        canvas.path([(across(s), up(v)) for s, v in run], style)
        if len(run) == 1:
            canvas.circle(across(run[0][0]), up(run[0][1]), 2.5, style.replace("line", "dot"))
    for step, value in zip(steps, one.values, strict=True):
        if step in one.crosses and value is not None:
            _cross(canvas, across(step), up(value))


def _mark_cuts(
    canvas: Canvas, one: Series, across: Callable[[float], float], top: float, bottom: float
) -> None:
    for step in one.cuts:
        style = f"cut {series_style(one.colour, 'c')}"
        canvas.line(across(step), top, across(step), bottom, style)


def _cross(canvas: Canvas, x: float, y: float) -> None:
    canvas.line(x - 4, y - 4, x + 4, y + 4, "alarm")
    canvas.line(x - 4, y + 4, x + 4, y - 4, "alarm")


def heat_map(
    title: str,
    rows: Sequence[str],
    columns: Sequence[str],
    values: Sequence[Sequence[float | None]],
    *,
    marked: Sequence[tuple[int, int]] = (),
    percent: bool = True,
    width: float = 440,
) -> str:
    """A table of values in 0 to 1 as shades, with the number where it fits; `marked` cells, by row
    and column, are framed."""
    left = min(12 + max(map(len, rows)) * TEXT, width * 0.35)
    slanted = max(map(len, columns)) * TEXT > (width - left) / len(columns)
    top = 12 + min(max(map(len, columns)) * TEXT * 0.75, 110) if slanted else 22
    cell = (width - left) / len(columns)
    tall = min(max(cell, 14), 24)
    canvas = Canvas(width, top + tall * len(rows) + 4, LETTERS)
    for j, name in enumerate(columns):
        x = left + cell * (j + 0.5)
        anchor = "start" if slanted else "middle"
        canvas.write(x, top - 6, name, "tick", anchor, turn=-48 * slanted)
    for i, (name, row) in enumerate(zip(rows, values, strict=True)):
        y = top + tall * i
        text = cut(name, int((left - 10) / TEXT))
        canvas.write(left - 6, y + tall / 2 + 4, text, "tick", "end")
        for j, value in enumerate(row):
            x = left + cell * j
            canvas.box(Box(x, y, x + cell, y + tall), "cell", opacity=value)
            if value is not None and cell >= 30 and value >= 0.005:
                style = "over" if value > 0.55 else "under"
                text = number(value, percent)
                canvas.write(left + cell * (j + 0.5), y + tall / 2 + 4, text, style, "middle")
    for i, j in marked:
        x, y = left + cell * j, top + tall * i
        canvas.box(Box(x, y, x + cell, y + tall), "framed")
    summary = "; ".join(
        f"{name}: {columns[k]} {number(row[k] or 0, percent)}"
        for name, row in zip(rows, values, strict=True)
        if any(v is not None for v in row)
        for k in [max(range(len(row)), key=lambda j: row[j] or 0)]
    )
    return canvas.inline(title, f"The largest of each row. {summary}.")


def ticks(low: float, high: float, most: int) -> list[float]:
    """Round numbers from `low` to `high`, at most about `most` of them."""
    raw = (high - low) / max(most - 1, 1)
    power = 10 ** floor(log10(raw))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= raw * 0.999)
    start = -floor(-low / step + 1e-9)
    return [round((start + i) * step, 10) for i in range(int((high - start * step) / step + 1.001))]


def spread(heights: Sequence[float], gap: float, top: float, bottom: float) -> list[float]:
    """Move labels apart so that none is nearer than `gap` to the next; their order is kept."""
    order = sorted(range(len(heights)), key=lambda i: (heights[i], i))
    placed = [0.0] * len(heights)
    floor_ = top
    for i in order:
        placed[i] = max(heights[i], floor_)
        floor_ = placed[i] + gap
    ceiling = bottom
    for i in reversed(order):
        placed[i] = min(placed[i], ceiling)
        ceiling = placed[i] - gap
    return placed


def _limits(
    values: Sequence[float], low: float | None, high: float | None, least: float
) -> tuple[float, float]:
    """The ends of the value axis: as given, else a little beyond the values."""
    bottom = min(values) if low is None else low
    top = max(values) if high is None else high
    room = max(0.05 * (top - bottom), (least - (top - bottom)) / 2)
    if top - bottom + room < 1e-9:
        room = 0.5
    return (bottom if low is not None else bottom - room), (top if high is not None else top + room)


def _runs(steps: Sequence[int], values: Sequence[float | None]) -> list[list[tuple[int, float]]]:
    """Unbroken stretches of a series."""
    runs: list[list[tuple[int, float]]] = [[]]
    for step, value in zip(steps, values, strict=True):
        if value is None:
            runs.append([])
        else:
            runs[-1].append((step, value))
    return [run for run in runs if run]


def _first(one: Series) -> float:
    return next(v for v in one.values if v is not None)


def _last(one: Series) -> float:
    return next(v for v in reversed(one.values) if v is not None)
