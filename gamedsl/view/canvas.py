"""One canvas for all pictures: shapes and texts as SVG, with the size of every text known.

A picture stands alone (`document`, for a game) or inside a page (`inline`, for a report's charts).
Both take their colours, light and dark, from `palette.css`; the hues are those of Okabe and Ito
(2008), and a role's mark has a shape of its own besides. The style sheet of a picture that stands
alone holds plain rules for the light colours and one media query for the dark ones: converters that
know neither variables nor queries still draw the light picture.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape
from importlib.resources import files
from itertools import count
from math import cos, pi, sin

from gamedsl.tables.model import COLOURS, TextRun, series
from gamedsl.view.text_metrics import ROOM, Box, box_of, width_of

_IDS = count(1)

FONT = "Helvetica, Arial, 'Liberation Sans', 'Nimbus Sans', sans-serif"
SIZE = 11.0
MARK = 4.6
"""Radius of a role's mark."""

_POINT = re.compile(r"(-?[\d.]+)[ ,](-?[\d.]+)")

_CORNERS = ((4, 0.5), (3, 0.0), (4, 0.0), (3, 0.5), (6, 0.0), (5, 0.5))
"""Corners and turn (in corners) of the marks after the disc."""

_FORMS = """\
text { white-space: pre; } .strong { font-weight: 600; } .it { font-style: italic; }
path, line, rect, .open { stroke-width: 1; } path, line, .clear { fill: none; }
.dash { stroke-dasharray: 4 3; stroke-width: 1.3; } .wide { stroke-width: 1.6; }
.dot { stroke-dasharray: 1 3; stroke-linecap: round; }
"""
_COLOURED = (
    ("paper", "rect.paper, .open, text.over { fill: $; }"),
    ("ink", "text { fill: $; } .edge, .open, .frame { stroke: $; } .head { fill: $; }"),
    ("soft", "text.soft, tspan.soft { fill: $; } .lane { stroke: $; }"),
    ("rule", ".rule { stroke: $; }"),
    ("tint", "rect.tint { fill: $; }"),
)
"""Style rules with the colour of the page that each takes, at `$`."""


@dataclass
class Canvas:
    """Collects the elements of one picture of `width` x `height` units.

    `size` is that of letters, `labels` the texts that do not turn, each with its box.
    """

    width: float = 0
    height: float = 0
    size: float = SIZE
    parts: list[str] = field(default_factory=list)
    labels: list[tuple[str, Box]] = field(default_factory=list)
    right: float = 0
    """The rightmost place of a path."""

    def line(self, x1: float, y1: float, x2: float, y2: float, style: str) -> None:
        self.parts.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{style}"/>'
        )

    def path(
        self, points: Iterable[tuple[float, float]], style: str, *, closed: bool = False
    ) -> None:
        """Straight lines from point to point."""
        drawn = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        if drawn:
            self.curve(f"M{drawn}{'Z' if closed else ''}", style)

    def curve(self, drawn: str, style: str) -> None:
        """A path in SVG's own notation; of its points only those of M, L, Q and C are places."""
        if "A" not in drawn:
            found = _POINT.findall(drawn)
            self.right = max([self.right, *(float(x) for x, _ in found)])
        self.parts.append(f'<path d="{drawn}" class="{style}"/>')

    def circle(self, x: float, y: float, r: float, style: str) -> None:
        self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r:.1f}" class="{style}"/>')

    def box(self, box: Box, style: str, round: float = 0, *, opacity: float | None = None) -> None:
        """A rectangle, with corners of radius `round`."""
        corners = f' rx="{round:g}"' if round else ""
        shade = "" if opacity is None else f' fill-opacity="{opacity:.3f}"'
        self.parts.append(
            f'<rect x="{box.left:.1f}" y="{box.top:.1f}" width="{box.right - box.left:.1f}" '
            f'height="{box.bottom - box.top:.1f}"{corners} class="{style}"{shade}/>'
        )

    def write(
        self,
        x: float,
        y: float,
        text: Sequence[TextRun] | str,
        style: str = "",
        anchor: str = "start",
        size: float | None = None,
        *,
        turn: float = 0,
    ) -> Box:
        """Writes a text of one line and returns its box. `turn` is in degrees, clockwise."""
        size = self.size if size is None else size
        parts = [TextRun(text)] if isinstance(text, str) else list(text)
        whole = "".join(part.text for part in parts)
        bold = "strong" in style.split()
        box = box_of(whole, x, y, size, anchor, bold=bold)
        if len(parts) > 1 and anchor != "start":  # not every converter aligns stretches
            width = width_of(whole, size, bold=bold) / ROOM
            x, anchor = x - width * (0.5 if anchor == "middle" else 1), "start"
        inner = "".join(
            f'<tspan class="{part.style}">{escape(part.text)}</tspan>'
            if part.style
            else escape(part.text)
            for part in parts
        )
        attributes = f' class="{style}"' if style else ""
        attributes += f' text-anchor="{anchor}"' if anchor != "start" else ""
        attributes += f' font-size="{size:g}"' if size != self.size else ""
        attributes += f' transform="rotate({turn:g} {x:.1f} {y:.1f})"' if turn else ""
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}"{attributes}>{inner}</text>')
        if not turn:
            self.labels.append((whole, box))
        return box

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

    def inline(self, title: str, description: str, data: str = "") -> str:
        """The picture as an element of a page, whose style sheet colours it. Title and description
        are for screen readers; `data` is for the page's script."""
        name = f"chart{next(_IDS)}"
        shown = f' data-chart="{escape(data)}"' if data else ""
        return (
            f'<svg viewBox="0 0 {self.width:g} {self.height:g}" role="img" '
            f'aria-labelledby="{name}t {name}d"{shown}><title id="{name}t">{escape(title)}</title>'
            f'<desc id="{name}d">{escape(description)}</desc>{"".join(self.parts)}</svg>'
        )

    def document(self, title: str, description: str) -> str:
        """The whole file, with its style sheet and background."""
        width, height = round(self.width, 1), round(self.height, 1)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
            f'viewBox="0 0 {width:g} {height:g}" role="img" aria-labelledby="title about" '
            f'font-family="{FONT}" font-size="{self.size:g}">\n'
            f'<title id="title">{escape(title)}</title>\n<desc id="about">{escape(description)}'
            f"</desc>\n<style>\n{style_sheet()}</style>\n"
            f'<rect width="100%" height="100%" class="paper"/>\n' + "\n".join(self.parts)
            + "\n</svg>\n"
        )  # fmt: skip


def palette() -> str:
    """The colours of all pages and pictures, as CSS variables: light, then dark."""
    return files("gamedsl.view").joinpath("palette.css").read_text("utf-8")


@cache
def style_sheet() -> str:
    """The rules of pictures that stand alone."""
    blocks = re.findall(r":root \{(.*?)\}", palette(), re.DOTALL)
    light, dark = (dict(re.findall(r"--(\w+): (#\w+)", block)) for block in blocks)
    dark = {name: value for name, value in dark.items() if light[name] != value}
    rules = f"{_FORMS}{_rules(light)}\n"
    return rules + f"@media screen and (prefers-color-scheme: dark) {{\n{_rules(dark)}\n}}\n"


def picture_rules() -> str:
    """Returns the rules of pictures for the style sheet of a page: they hold inside of elements of
    the class `picture` alone."""
    return f".picture {{\n{style_sheet()}}}\n"


def _rules(colours: dict[str, str]) -> str:
    """The rules of the elements that take the given colours."""
    found = [rule.replace("$", colours[name]) for name, rule in _COLOURED if name in colours]
    for number in range(COLOURS):
        if colour := colours.get(f"c{number}"):
            found.append(
                f".m{number}, text.f{number}, tspan.f{number} {{ fill: {colour}; }} "
                f".s{number} {{ stroke: {colour}; }}"
            )
    return "\n".join(found)
