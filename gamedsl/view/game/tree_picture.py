"""The extensive form as a picture.

Chance is a hollow circle, a decision the mark of its seat. Dashed lines join the histories of an
information set, which is named once. Of several places for a name, the one that meets least of the
drawing is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gamedsl.tables.model import TextRun, series
from gamedsl.tables.numbers import exact
from gamedsl.tables.text import plural
from gamedsl.view.canvas import MARK, SIZE, Canvas
from gamedsl.view.game.extensive import COUNTED, DrawnNode, DrawnTree
from gamedsl.view.game.tree_shape import (
    LINE,
    MARGIN,
    TRACK,
    Direction,
    Link,
    Point,
    Shape,
    cut_text,
    edge_name,
    edge_text,
    end_width,
    shape_of,
)
from gamedsl.view.text_metrics import Box, box_of, filled, width_of

Segment = tuple[float, float, float, float]

NAMED = 6
"""Up to so many chance nodes are named by their draw."""


class Candidate(NamedTuple):
    """A place for a name."""

    x: float
    y: float
    anchor: str


def tree_picture(
    drawn: DrawnTree, *, width: float = 760, direction: Direction | None = None
) -> Canvas:
    """The picture of a tree; `width` decides whether it grows downwards or to the right."""
    return _Painter(drawn, shape_of(drawn, width, direction)).paint()


def described(drawn: DrawnTree) -> str:
    """The size of a tree in words."""
    count = f"{drawn.nodes:,}" if drawn.nodes is not None else f"more than {COUNTED:,}"
    sets = plural(len(drawn.info), "information set")
    if drawn.whole:
        return f"{count} nodes, {sets}"
    here = sum(node.kind != "more" for node in drawn.root.walk())
    return f"the first {here:,} of {count} nodes"


class _Painter:
    def __init__(self, drawn: DrawnTree, shape: Shape) -> None:
        self._drawn, self._shape = drawn, shape
        self._at = shape.at
        self._canvas = Canvas()
        self._segments: list[Segment] = []
        self._marks: list[Box] = []

    def paint(self) -> Canvas:
        canvas, nodes = self._canvas, list(self._drawn.root.walk())
        for node in nodes:
            if node.kind in ("decision", "chance"):
                x, y = self._at[node]
                self._marks.append(Box(x - MARK, y - MARK, x + MARK, y + MARK).grown(1.5))
        for node in nodes:
            for child in node.children:
                self._edge(node, child)
        for link in self._shape.links:
            self._link(link)
        for node in nodes:
            self._node(node)
        self._draw_names(nodes)
        edges = [box for _, box in canvas.labels]
        bottom = max([box.bottom for box in edges] + [self._shape.bottom + MARK])
        right = max([box.right for box in edges] + [self._shape.right + MARK])
        self._draw_legend(bottom + 26, right + MARGIN)
        return canvas

    # edges

    def _edge(self, node: DrawnNode, child: DrawnNode) -> None:
        style = "edge dot" if child.kind == "more" else "edge"
        (x1, y1), (x2, y2) = self._at[node], self._at[child]
        runs = [TextRun(edge_name(child))] if child.edge else []
        if child.odds is not None:
            runs.append(TextRun((" " if runs else "") + exact(child.odds), "soft"))
        if self._shape.direction == "right":
            bend = self._shape.bends[child]
            self._canvas.path([(x1, y1), bend, (x2, y2)], style)
            self._segments += [(x1, y1, *bend), (*bend, x2, y2)]
            if runs:
                self._canvas.write(bend[0] + 4, y2 - 3.5, runs)
            return
        self._segments.append((x1, y1, x2, y2))
        if not runs:
            self._canvas.line(x1, y1, x2, y2, style)
            return
        where = self._on_edge(edge_text(child), x1, y1, x2, y2)
        if self._shape.direction == "spine":
            self._canvas.line(x1, y1, x2, y2, style)
        else:
            taken = box_of(edge_text(child), *where, SIZE, "middle").grown(2.5)
            low, high = taken.cuts(x1, y1, x2, y2) or (0.5, 0.5)
            for start, end in ((0.0, low), (high, 1.0)):
                self._canvas.line(
                    x1 + start * (x2 - x1), y1 + start * (y2 - y1),
                    x1 + end * (x2 - x1), y1 + end * (y2 - y1), style,
                )  # fmt: skip
        anchor = "start" if self._shape.direction == "spine" and x1 == x2 else "middle"
        self._canvas.write(*where, runs, anchor=anchor)

    def _on_edge(self, text: str, x1: float, y1: float, x2: float, y2: float) -> Point:
        """The place for the name of an action: beside a spine, otherwise in its edge."""
        if self._shape.direction == "spine":
            return ((x1 + x2) / 2, y1 - 6) if y1 == y2 else (x1 + 5, (y1 + y2) / 2 + 4)
        places: list[tuple[int, int, Point]] = []
        for share in (0.52, 0.46, 0.58, 0.4, 0.64):
            x, y = x1 + share * (x2 - x1), y1 + share * (y2 - y1) + 4
            box = box_of(text, x, y, SIZE, "middle").grown(1)
            met = sum(box.meets(other) for _, other in self._canvas.labels)
            places.append((met, len(places), (x, y)))
        return min(places)[2]

    def _link(self, link: Link) -> None:
        (x1, y1), (x2, y2) = self._at[link.first], self._at[link.second]
        style = f"dash {series(self._drawn.info[link.info].seat, 's')}"
        if not link.track:
            self._canvas.line(x1, y1, x2, y2, style)
            self._segments.append((x1, y1, x2, y2))
            return
        aside = 4 + TRACK * link.track
        if self._shape.direction == "right":
            r, x = min(10.0, (y2 - y1) / 2), max(x1, x2) + aside
            self._canvas.curve(
                f"M{x1:.1f} {y1:.1f}Q{x:.1f} {y1:.1f} {x:.1f} {y1 + r:.1f}"
                f"V{y2 - r:.1f}Q{x:.1f} {y2:.1f} {x2:.1f} {y2:.1f}", style,
            )  # fmt: skip
            self._segments.append((x, y1, x, y2))
        else:
            r, y = min(14.0, (x2 - x1) / 2), min(y1, y2) - aside - 5
            self._canvas.curve(
                f"M{x1:.1f} {y1:.1f}Q{x1:.1f} {y:.1f} {x1 + r:.1f} {y:.1f}"
                f"H{x2 - r:.1f}Q{x2:.1f} {y:.1f} {x2:.1f} {y2:.1f}", style,
            )  # fmt: skip
            self._segments.append((x1, y, x2, y))

    # nodes

    def _node(self, node: DrawnNode) -> None:
        x, y = self._at[node]
        if node.kind == "chance":
            self._canvas.circle(x, y, MARK, "open")
        elif node.kind == "decision":
            self._canvas.mark(x, y, node.seat)
        if node.kind == "end":
            runs = [TextRun("(")]
            for seat, amount in enumerate(node.payoffs):
                runs += [TextRun(", ")] * bool(seat) + [TextRun(exact(amount), series(seat))]
            self._at_end(node, [*runs, TextRun(")")])
        elif end_width(node):
            self._at_end(node, [TextRun(cut_text(node), "soft")])

    def _at_end(self, node: DrawnNode, runs: Sequence[TextRun]) -> None:
        """Writes the payoffs, or the rest that is not drawn, at the end of a branch."""
        x, y = self._at[node]
        stub = 18 if node.kind in ("decision", "chance") else 0
        below = self._shape.direction == "down" or (
            self._shape.direction == "spine" and y > MARGIN + 26
        )
        if below:
            if stub:
                self._canvas.line(x, y + MARK, x, y + stub, "edge dot")
            self._canvas.write(x, y + stub + 13, runs, anchor="middle")
        else:
            if stub:
                self._canvas.line(x + MARK, y, x + stub, y, "edge dot")
            self._canvas.write(x + stub + 5, y + 4, runs)

    # names

    def _draw_names(self, nodes: Sequence[DrawnNode]) -> None:
        """Name each information set once, and what chance draws."""
        members: dict[int, list[DrawnNode]] = {}
        chance = [node for node in nodes if node.kind == "chance"]
        for node in nodes:
            if node.info >= 0:
                members.setdefault(node.info, []).append(node)
        for info, those in sorted(members.items()):
            places = [place for node in those for place in self._around(node)]
            links = [link for link in self._shape.links if link.info == info and not link.track]
            if self._shape.direction == "down":
                places = [place for link in links for place in self._along(link)] + places
            style = f"{series(self._drawn.info[info].seat)} it"
            name = self._drawn.names[info]
            self._put(name, places, style)
            if any(link.info == info and link.track for link in self._shape.links):
                self._numbers(those, name, style)
        for node in chance if len(chance) <= NAMED else ():
            self._put(node.step, self._around(node), "soft it")

    def _numbers(self, those: Sequence[DrawnNode], name: str, style: str) -> None:
        """The number of a set at its other histories, where curves that join them lie close."""
        named = self._canvas.labels[-1][1].grown(14)
        number = str(self._drawn.numbers[those[0].info])
        for node in those if name.endswith(f" {number}") else ():
            x, y = self._at[node]
            if not named.meets(Box(x, y, x + 1, y + 1)):
                self._put(number, self._around(node), style)

    def _around(self, node: DrawnNode) -> list[Candidate]:
        x, y = self._at[node]
        if self._shape.direction == "spine":
            return [Candidate(x, y - 11, "middle")]
        if self._shape.direction == "right":
            beside = [Candidate(x - 8, y + 11, "end"), Candidate(x - 8, y - 5, "end")]
            if node is self._drawn.root:
                return [Candidate(x - 9, y + 4, "end")]
            return [*beside, Candidate(x, y - 9, "middle"), Candidate(x, y + 16, "middle")]
        above = [Candidate(x, y - 10, "middle")] if node is self._drawn.root else []
        return [*above, Candidate(x + 8, y - 3, "start"), Candidate(x - 8, y - 3, "end"),
                Candidate(x + 9, y + 4, "start"), Candidate(x - 9, y + 4, "end")]  # fmt: skip

    def _along(self, link: Link) -> list[Candidate]:
        (x1, y1), (x2, y2) = self._at[link.first], self._at[link.second]
        x, y = (x1 + x2) / 2, (y1 + y2) / 2
        return [Candidate(x, y - 5, "middle"), Candidate(x, y + 13, "middle")]

    def _put(self, name: str, places: Sequence[Candidate], style: str) -> None:
        def cost(place: Candidate) -> float:
            box = box_of(name, place.x, place.y, SIZE, place.anchor)
            met = 1000 * sum(box.meets(other) for _, other in self._canvas.labels)
            met += 500 * sum(box.meets(other) for other in self._marks)
            met += 10 * sum(box.cuts(*segment) is not None for segment in self._segments)
            return met + (box.left < 2) * 2000

        best = min(places, key=cost)
        self._canvas.write(best.x, best.y, name, style, best.anchor)

    def _draw_legend(self, y: float, right: float) -> None:
        """Draws the legend of the marks below the tree."""
        canvas, seats = self._canvas, self._drawn.seats
        entries: list[tuple[str, int]] = [(seat, number) for number, seat in enumerate(seats)]
        if any(node.kind == "chance" for node in self._drawn.root.walk()):
            entries.insert(0, ("chance", -1))
        if self._shape.links:
            entries.append(("one information set", -2))
        wide = max(right, min(420.0, sum(width_of(name, SIZE) + 34 for name, _ in entries) + 20))
        x = MARGIN
        for name, number in entries:
            used = (24 if number == -2 else 13) + width_of(name, SIZE) + 16
            if x > MARGIN and x + used > wide:
                x, y = MARGIN, y + LINE
            if number == -1:
                canvas.circle(x + MARK, y - 4, MARK, "open")
            elif number == -2:
                canvas.line(x, y - 4, x + 20, y - 4, "dash lane")
            else:
                canvas.mark(x + MARK, y - 4, number)
            style = "soft" if number < 0 else series(number)
            canvas.write(x + (24 if number == -2 else 13), y, name, style)
            x += used
        note = f"payoffs ({', '.join(seats)}) · {described(self._drawn)}"
        if self._drawn.joined:
            note += " · draws in a row are drawn as one"
        for line in filled(note, wide - 2 * MARGIN, SIZE):
            y += LINE
            canvas.write(MARGIN, y, line, "soft")
        drawn = max(canvas.right, *(box.right for _, box in canvas.labels))
        canvas.width = max(wide, drawn + MARGIN)
        canvas.height = y + MARGIN
