"""A picture that stands alone: the report's canvas with its own style sheet, marks and metrics.

Colours are those of the report's page, light and dark; they follow the hues of Okabe and Ito (2008)
and a role's mark has a shape of its own besides. The style sheet holds plain rules for the light
colours and one media query for the dark ones, so that converters which know nothing of either
variables or queries still draw the light picture. Where texts are is kept, for layouts and tests.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from html import escape
from importlib.resources import files
from math import cos, pi, sin

from gamedsl.tables.model import COLOURS, TextRun, series
from gamedsl.view.game.metrics import ROOM, Box, box_of, width_of
from gamedsl.view.report.svg import Canvas

FONT = "Helvetica, Arial, 'Liberation Sans', 'Nimbus Sans', sans-serif"
SIZE = 11.0
MARK = 4.6
"""Radius of a role's mark."""

_CORNERS = ((4, 0.5), (3, 0.0), (4, 0.0), (3, 0.5), (6, 0.0), (5, 0.5))
"""Corners and turn (in corners) of the marks after the disc."""

_FORMS = """\
text { white-space: pre; } .strong { font-weight: 600; } .it { font-style: italic; }
path, line, rect, .open { stroke-width: 1; } path, line, .clear { fill: none; }
.dash { stroke-dasharray: 4 3; stroke-width: 1.3; } .wide { stroke-width: 1.6; }
.dot { stroke-dasharray: 1 3; stroke-linecap: round; }
"""
_COLOURED = (
    ("paper", "rect.paper, .open { fill: $; }"),
    ("ink", "text { fill: $; } .edge, .open, .frame { stroke: $; } .head { fill: $; }"),
    ("soft", "text.soft, tspan.soft { fill: $; } .lane { stroke: $; }"),
    ("rule", ".rule { stroke: $; }"),
    ("tint", "rect.tint { fill: $; }"),
)
"""Rules by the colour of the page that they take, which stands for `$`."""


class Figure(Canvas):
    """Collects the elements of a picture; `labels` is where its texts are."""

    def __init__(self, width: float = 0, height: float = 0) -> None:
        super().__init__(width, height)
        self.labels: list[tuple[str, Box]] = []

    def write(
        self,
        x: float,
        y: float,
        runs: Sequence[TextRun] | str,
        style: str = "",
        anchor: str = "start",
        size: float = SIZE,
    ) -> Box:
        """Write a text of one line, whole or in stretches; returns where it is."""
        parts = [TextRun(runs)] if isinstance(runs, str) else list(runs)
        whole = "".join(part.text for part in parts)
        bold = "strong" in style.split()
        box = box_of(whole, x, y, size, anchor, bold=bold)
        if len(parts) > 1 and anchor != "start":  # not every converter aligns stretches
            width = width_of(whole, size, bold=bold) / ROOM
            x, anchor = x - width * (0.5 if anchor == "middle" else 1), "start"
        told = "".join(
            f'<tspan class="{part.style}">{escape(part.text)}</tspan>'
            if part.style
            else escape(part.text)
            for part in parts
        )
        sized = f' font-size="{size:g}"' if size != SIZE else ""
        kind = f' class="{style}"' if style else ""
        held = f' text-anchor="{anchor}"' if anchor != "start" else ""
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}"{kind}{held}{sized}>{told}</text>')
        self.labels.append((whole, box))
        return box

    def box(self, box: Box, style: str, round: float = 0) -> None:
        self.parts.append(
            f'<rect x="{box.left:.1f}" y="{box.top:.1f}" width="{box.right - box.left:.1f}" '
            f'height="{box.bottom - box.top:.1f}" rx="{round:g}" class="{style}"/>'
        )

    def curve(self, drawn: str, style: str) -> None:
        """A path that is written out."""
        self.parts.append(f'<path d="{drawn}" class="{style}"/>')

    def mark(self, x: float, y: float, role: int, radius: float = MARK) -> None:
        """The mark of a role: a shape and a colour of its own."""
        style, shape = series(role, "m"), role % (len(_CORNERS) + 1)
        if not shape:
            self.circle(x, y, radius, style)
            return
        corners, turn = _CORNERS[shape - 1]
        reach = radius * (1.2 if corners > 4 else 1.3 if corners == 4 else 1.38)
        angles = [2 * pi * (i + turn) / corners - pi / 2 for i in range(corners)]
        self.path([(x + reach * cos(a), y + reach * sin(a)) for a in angles], style, closed=True)

    def arrow(self, x: float, y: float, style: str = "head", turn: float = 90) -> None:
        """The head of an arrow that ends at (x, y); `turn` 90 points down, 0 to the right."""
        a = turn * pi / 180
        wings = [(-6.5, 3.2), (-6.5, -3.2)]
        points = [
            (x + dx * cos(a) - dy * sin(a), y + dx * sin(a) + dy * cos(a)) for dx, dy in wings
        ]
        self.path([(x, y), *points], style, closed=True)

    def document(self, title: str, description: str) -> str:
        """The whole file, with its style sheet and background."""
        width, height = round(self.width, 1), round(self.height, 1)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
            f'viewBox="0 0 {width:g} {height:g}" role="img" aria-labelledby="title about" '
            f'font-family="{FONT}" font-size="{SIZE:g}">\n'
            f'<title id="title">{escape(title)}</title>\n<desc id="about">{escape(description)}'
            f"</desc>\n<style>\n{style_sheet()}</style>\n"
            f'<rect width="100%" height="100%" class="paper"/>\n' + "\n".join(self.parts)
            + "\n</svg>\n"
        )  # fmt: skip


@cache
def style_sheet() -> str:
    """The rules of every picture, in the colours of the report's page."""
    page = files("gamedsl.view.report").joinpath("page.css").read_text("utf-8")
    light, dark = (dict(re.findall(r"--(\w+): (#\w+)", block)) for block in _roots(page))
    dark = {name: value for name, value in dark.items() if light[name] != value}
    rules = f"{_FORMS}{_rules(light)}\n"
    return rules + f"@media screen and (prefers-color-scheme: dark) {{\n{_rules(dark)}\n}}\n"


def _roots(page: str) -> list[str]:
    """The page's colours: light, then dark."""
    return re.findall(r":root \{(.*?)\}", page, re.DOTALL)[:2]


def _rules(colours: dict[str, str]) -> str:
    """The rules that say in which colour what is drawn, for the colours that are given."""
    found = [rule.replace("$", colours[name]) for name, rule in _COLOURED if name in colours]
    for number in range(COLOURS):
        if colour := colours.get(f"c{number}"):
            found.append(
                f".m{number}, text.f{number}, tspan.f{number} {{ fill: {colour}; }} "
                f".s{number} {{ stroke: {colour}; }}"
            )
    return "\n".join(found)
