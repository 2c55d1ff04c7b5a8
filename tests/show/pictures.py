"""Games to be shown, built without their proofs; and pictures read back: where their texts, marks
and lines are."""

from __future__ import annotations

import re
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from gamedsl.diagnostics import Problems
from gamedsl.runtime.game import Game
from gamedsl.sema.game import build_game
from gamedsl.sema.library import load_document
from gamedsl.view.game.views import Views
from gamedsl.view.text_metrics import Box, box_of

GAMES = Path(__file__).parents[2] / "games"

SVG = "{http://www.w3.org/2000/svg}"


@cache
def built(path: Path, params: tuple[tuple[str, str], ...] = ()) -> Game:
    """A game, compiled but for the proofs, which take longer."""
    problems = Problems()
    document = load_document(path, problems)
    assert document is not None
    ir = build_game(document, dict(params), problems)
    assert ir is not None, problems.sorted()
    return Game(ir, document.files)


def views(name: str, params: dict[str, str] | None = None, **more: int) -> Views:
    """What can be shown of a shipped game."""
    return Views(built(GAMES / f"{name}.yaml", tuple((params or {}).items())), **more)


class Label(NamedTuple):
    text: str
    box: Box
    style: str


class Picture:
    """A picture, parsed. Boxes of texts are worked out anew, from what the file says."""

    def __init__(self, text: str) -> None:
        self.root = ElementTree.fromstring(text)
        self.width, self.height = float(self.root.get("width")), float(self.root.get("height"))
        self.labels = [self._label(e) for e in self.root.iter(f"{SVG}text")]
        self.marks = [*self._circles(), *self._shapes()]

    def _label(self, element: ElementTree.Element) -> Label:
        text = "".join(element.itertext())
        x, y = float(element.get("x")), float(element.get("y"))
        size, style = float(element.get("font-size", 11)), element.get("class", "")
        anchor = element.get("text-anchor", "start")
        if element.get("transform"):
            flat = box_of(text, 0, 0, size, anchor)
            return Label(
                text, Box(x + flat.top, y + flat.left, x + flat.bottom, y + flat.right), style
            )
        return Label(text, box_of(text, x, y, size, anchor, bold="strong" in style), style)

    def _circles(self) -> list[Box]:
        found = []
        for e in self.root.iter(f"{SVG}circle"):
            x, y, r = (float(e.get(name)) for name in ("cx", "cy", "r"))
            found.append(Box(x - r, y - r, x + r, y + r))
        return found

    def _shapes(self) -> list[Box]:
        """The marks of roles that are no discs."""
        found = []
        for e in self.root.iter(f"{SVG}path"):
            if re.fullmatch(r"m\d", e.get("class", "")):
                numbers = [float(n) for n in re.findall(r"-?[\d.]+", e.get("d"))]
                xs, ys = numbers[::2], numbers[1::2]
                found.append(Box(min(xs), min(ys), max(xs), max(ys)))
        return found

    def dashed(self) -> list[ElementTree.Element]:
        """The lines of information sets."""
        return [e for e in self.root.iter() if "dash s" in e.get("class", "")]

    def overlaps(self) -> list[tuple[str, str]]:
        """Texts that cover one another, or a mark."""
        found = [(a.text, b.text) for a, b in combinations(self.labels, 2) if a.box.meets(b.box)]
        found += [(a.text, "a mark") for a in self.labels for m in self.marks if a.box.meets(m)]
        return found

    def crossed(self) -> list[str]:
        """Texts that a straight line runs through."""
        lines = [
            [float(e.get(name)) for name in ("x1", "y1", "x2", "y2")]
            for e in self.root.iter(f"{SVG}line")
        ]
        return [label.text for label in self.labels if any(label.box.cuts(*one) for one in lines)]

    def outside(self) -> list[str]:
        """Texts that reach over the edge."""
        whole = Box(0, 0, self.width, self.height)
        return [
            label.text
            for label in self.labels
            if label.box.left < whole.left or label.box.right > whole.right
            or label.box.top < whole.top or label.box.bottom > whole.bottom
        ]  # fmt: skip
