"""Charts as SVG text, drawn for the report's page.

Drawn here rather than by a plotting library because they live inside the page: they take its
colours (light, dark, print) through the style sheet, their text stays text, and they carry a title
and a description for those who cannot see them. Series differ by dash and by a name at their end,
never by colour alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import count
from math import floor, log10

_IDS = count(1)

COLOURS = 8
TEXT = 6.6
"""Mean width of a character at the charts' 12-unit text."""


@dataclass(frozen=True)
class Series:
    """One line of a chart; None leaves a gap. `quiet` lines are drawn thin and without a name."""

    name: str
    values: Sequence[float | None]
    colour: int
    quiet: bool = False


@dataclass
class Canvas:
    """Collects the elements of one picture of `width` x `height` units."""

    width: float
    height: float
    parts: list[str] = field(default_factory=list)

    def line(self, x1: float, y1: float, x2: float, y2: float, style: str) -> None:
        self.parts.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{style}"/>'
        )

    def path(
        self, points: Iterable[tuple[float, float]], style: str, *, closed: bool = False
    ) -> None:
        drawn = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        if drawn:
            self.parts.append(f'<path d="M{drawn}{"Z" if closed else ""}" class="{style}"/>')

    def circle(self, x: float, y: float, r: float, style: str) -> None:
        self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r:.1f}" class="{style}"/>')

    def text(
        self, x: float, y: float, text: str, style: str = "", anchor: str = "start", turn: float = 0
    ) -> None:
        turned = f' transform="rotate({turn:g} {x:.1f} {y:.1f})"' if turn else ""
        self.parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" class="{style}" text-anchor="{anchor}"{turned}>'
            f"{escape(text)}</text>"
        )

    def svg(self, title: str, description: str) -> str:
        """The whole picture, with its title and description for screen readers."""
        name = f"chart{next(_IDS)}"
        return (
            f'<svg viewBox="0 0 {self.width:g} {self.height:g}" role="img" '
            f'aria-labelledby="{name}t {name}d"><title id="{name}t">{escape(title)}</title>'
            f'<desc id="{name}d">{escape(description)}</desc>{"".join(self.parts)}</svg>'
        )


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
    width: float = 440,
    height: float = 210,
) -> str:
    """Values over training steps. `marks` are horizontal lines with a name (reference values)."""
    values = [v for one in series for v in one.values if v is not None]
    values += [y for y, _ in marks]
    if not values or not steps:
        return ""
    low, high = _limits(values, low, high, least)
    named = [one for one in series if not one.quiet and any(v is not None for v in one.values)]
    longest = max((len(name) for name in [*(one.name for one in named), *(m for _, m in marks)]),
                  default=0)  # fmt: skip
    left, right, top, bottom = 40, min(14 + longest * TEXT, width * 0.4), 10, 36
    canvas = Canvas(width, height)
    first, final = steps[0], max(steps[-1], steps[0] + 1)

    def across(step: float) -> float:
        return left + (step - first) / (final - first) * (width - left - right)

    def up(value: float) -> float:
        return height - bottom - (value - low) / (high - low) * (height - top - bottom)

    for tick in ticks(low, high, 5):
        canvas.line(left, up(tick), width - right, up(tick), "grid")
        canvas.text(left - 6, up(tick) + 4, number(tick, percent), "tick", "end")
    for tick in ticks(first, final, 6):
        if tick == int(tick):
            canvas.text(across(tick), height - bottom + 16, f"{tick:g}", "tick", "middle")
    canvas.text((left + width - right) / 2, height - 4, "training step", "axis", "middle")
    for y, _ in marks:
        canvas.line(left, up(y), width - right, up(y), "mark")
    for one in sorted(series, key=lambda s: not s.quiet):
        style = "line quiet" if one.quiet else f"line c{one.colour % COLOURS}"
        for run in _runs(steps, one.values):
            canvas.path([(across(s), up(v)) for s, v in run], style)
            if len(run) == 1:
                canvas.circle(across(run[0][0]), up(run[0][1]), 2.5, style.replace("line", "dot"))
    ends = [(up(_last(one)), one.name, f"name f{one.colour % COLOURS}") for one in named]
    ends += [(up(y), name, "marktext") for y, name in marks]
    heights = spread([y for y, _, _ in ends], 14, top + 4, height - bottom + 4)
    for (_, name, style), y in zip(ends, heights, strict=True):
        room = int((right - 8) / TEXT)
        cut = name if len(name) <= room else name[: room - 1] + "…"
        canvas.text(width - right + 8, y + 4, cut, style)
    told = "; ".join(
        f"{one.name}: from {number(_first(one), percent)} to {number(_last(one), percent)}"
        for one in named
    )
    return canvas.svg(title, f"From step {first} to {steps[-1]}. {told}.")


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


def number(value: float, percent: bool = False) -> str:
    if percent:
        return f"{value:.0%}"
    return f"{value:.4g}".replace("-", "−")


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
