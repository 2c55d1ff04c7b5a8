"""Metrics of drawn text: its widths, computed without a font.

These are the advance widths of Helvetica, which Arial, Liberation Sans and Nimbus Sans share, with
a margin for wider fonts. Layouts reserve this room, and tests check that nothing drawn overlaps.
"""

from __future__ import annotations

from typing import NamedTuple
from unicodedata import east_asian_width

_WIDTHS = {
    191: "'",
    222: "ijl",
    260: "|",
    278: " !,./:;I[\\]ft·",
    333: "()-`r",
    334: "{}",
    355: '"',
    389: "*",
    469: "^",
    500: "Jckvsxyz",
    556: "#$0123456789?L_abdeghnopqu–",
    584: "+<=>~−×",
    611: "FTZ",
    667: "&ABEKPSVXY",
    722: "CDHNRUw",
    778: "GOQ",
    833: "Mm",
    889: "%",
    944: "W",
    1000: "…—→",
    1015: "@",
}
_WIDTH_OF = {letter: width for width, letters in _WIDTHS.items() for letter in letters}
_OTHER, _WIDE = 640, 1000
ROOM = 1.05
"""Fonts that stand in for Helvetica may run wider by this much."""

ASCENT, DESCENT = 0.74, 0.22
"""The reach of letters above and below their line, as shares of their size."""


class Box(NamedTuple):
    """A rectangle; y grows downwards."""

    left: float
    top: float
    right: float
    bottom: float

    def grown(self, by: float) -> Box:
        return Box(self.left - by, self.top - by, self.right + by, self.bottom + by)

    def meets(self, other: Box) -> bool:
        """Whether two boxes have an area in common."""
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom

    def cuts(self, x1: float, y1: float, x2: float, y2: float) -> tuple[float, float] | None:
        """The part of a line, as shares of its length, that lies inside; None where none does."""
        low, high = 0.0, 1.0
        for start, end, near, far in (
            (x1, x2, self.left, self.right), (y1, y2, self.top, self.bottom)
        ):  # fmt: skip
            if start == end:
                if not near < start < far:
                    return None
                continue
            first, last = sorted(((near - start) / (end - start), (far - start) / (end - start)))
            low, high = max(low, first), min(high, last)
        return (low, high) if low < high else None


def width_of(text: str, size: float, *, bold: bool = False) -> float:
    """The room that a text takes, in the units of `size`."""
    total = sum(_WIDTH_OF.get(letter) or _unknown(letter) for letter in text)
    return total / 1000 * size * ROOM * (1.07 if bold else 1)


def box_of(text: str, x: float, y: float, size: float, anchor: str, *, bold: bool = False) -> Box:
    """The box of a text whose base line begins, has its middle, or ends at (x, y)."""
    width = width_of(text, size, bold=bold)
    left = x - width * {"start": 0, "middle": 0.5, "end": 1}[anchor]
    return Box(left, y - ASCENT * size, left + width, y + DESCENT * size)


def filled(text: str, width: float, size: float) -> list[str]:
    """A text in lines of at most `width`, broken between words."""
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and width_of(longer, size) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


def _unknown(letter: str) -> int:
    return _WIDE if east_asian_width(letter) in "WF" else _OTHER
