"""The places of a tree's nodes, edges and information sets in its picture.

There are three shapes. Small games grow downwards, as in textbooks. Games with more outcomes than
fit across a page grow to the right, with names on rows of their own. Games in which one may end it
or go on (the centipede) run along a spine. Units are those of the picture.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from gamedsl.tables.numbers import exact
from gamedsl.tables.text import cut
from gamedsl.view.canvas import SIZE
from gamedsl.view.game.extensive import DrawnNode, DrawnTree
from gamedsl.view.game.layout import rows_of, tidy
from gamedsl.view.text_metrics import width_of

Direction = Literal["down", "right", "spine"]
Point = tuple[float, float]

MARGIN = 16.0
ROW = 76.0
"""Between two rows of a tree that grows downwards."""
LINE = 17.0
"""Between two leaves of one that grows to the right."""
FAN, TRACK = 20.0, 6.0
"""The slanted part of an edge to the right, and the room of each curve that crosses it."""

LETTERS = 32
"""Letters of a name on an edge."""


@dataclass(frozen=True)
class Link:
    """Two neighbouring histories of an information set. `track` is 0 for a straight line, otherwise
    the number of the lane of a curve around the nodes between them."""

    info: int
    first: DrawnNode
    second: DrawnNode
    track: int


@dataclass
class Shape:
    """The places of all nodes and links. `bends` are points where an edge to a node turns."""

    direction: Direction
    at: dict[DrawnNode, Point]
    links: list[Link] = field(default_factory=list)
    bends: dict[DrawnNode, Point] = field(default_factory=dict)

    @property
    def right(self) -> float:
        return max(x for x, _ in self.at.values())

    @property
    def bottom(self) -> float:
        return max(y for _, y in self.at.values())


def edge_text(node: DrawnNode) -> str:
    """The text on the edge to a node."""
    return " ".join(filter(None, (edge_name(node), "" if node.odds is None else exact(node.odds))))


def edge_name(node: DrawnNode) -> str:
    """The action or outcome that leads to a node; of a long name only the beginning."""
    return cut(node.edge, LETTERS)


def payoff_text(node: DrawnNode) -> str:
    return f"({', '.join(map(exact, node.payoffs))})"


def cut_text(node: DrawnNode) -> str:
    """The text at a cut: the number of nodes or branches that are not drawn."""
    if node.kind == "more":
        return f"… {node.beyond:,} more"
    return "…" if node.beyond is None else f"… {node.beyond:,} nodes"


def end_width(node: DrawnNode) -> float:
    """The room of the text at the end of a branch; 0 if it goes on."""
    if node.kind == "end":
        return width_of(payoff_text(node), SIZE)
    if node.kind == "more" or node.beyond != 0:
        return width_of(cut_text(node), SIZE)
    return 0.0


def shape_of(drawn: DrawnTree, width: float, direction: Direction | None = None) -> Shape:
    """The shape that fits a game: along a spine if it has one, else downwards if that is at most
    `width` wide, else to the right; or the one asked for."""
    if direction == "spine" or (direction is None and _has_spine(drawn.root)):
        return _spine(drawn)
    if direction != "right":
        shape = _down(drawn)
        if direction == "down" or shape.right + MARGIN + 30 <= width:
            return shape
    return _right(drawn)


def _has_spine(root: DrawnNode) -> bool:
    """Whether at every node one branch at most goes on, and for some while."""
    nodes = [node for node in root.walk() if node.children]
    return len(nodes) > 3 and all(
        node.kind == "decision"
        and node.beyond == 0
        and len(node.children) == 2
        and sum(bool(child.children) for child in node.children) <= 1
        for node in nodes
    )


def _spine(drawn: DrawnTree) -> Shape:
    at: dict[DrawnNode, Point] = {}
    widest = max(end_width(node) for node in drawn.root.walk())
    names = max(width_of(edge_text(node), SIZE) for node in drawn.root.walk())
    sets = max(width_of(name, SIZE) for name in drawn.names)
    step = max(widest + 14, names + sets + 16, 72)
    node, x = drawn.root, MARGIN + max(widest / 2, 30)
    while node.children:
        at[node] = (x, MARGIN + 26)
        going = [child for child in node.children if child.children] or node.children[-1:]
        for child in node.children:
            if child is not going[0]:
                at[child] = (x, MARGIN + 26 + ROW * 0.85)
        node, x = going[0], x + step
    at[node] = (x, MARGIN + 26)
    return Shape("spine", at)


def _down(drawn: DrawnTree) -> Shape:
    rows = rows_of(drawn.root)

    def breadth(node: DrawnNode) -> float:
        label = width_of(edge_text(node), SIZE)
        return max(end_width(node) + 10, label * 1.9 + 14 if label else 0, 34)

    across = tidy(drawn.root, rows, breadth, 8, 16)
    at = {node: (MARGIN + across[node], MARGIN + 20 + rows[node] * ROW) for node in across}
    return Shape("down", at, _links(drawn, rows, across))


def _right(drawn: DrawnTree) -> Shape:
    rows = rows_of(drawn.root)
    across = tidy(drawn.root, rows, lambda node: LINE * (1 + (node.info >= 0)), 0, 3)
    links = _links(drawn, rows, across)
    last = max(rows.values())
    tracks = [0] * (last + 1)
    names, ends = [0.0] * (last + 1), [0.0] * (last + 1)
    for link in links:
        tracks[rows[link.first]] = max(tracks[rows[link.first]], link.track)
    for node, row in rows.items():
        names[row] = max(names[row], width_of(edge_text(node), SIZE))
        if node.info >= 0:
            names[row] = max(names[row], width_of(drawn.names[node.info], SIZE))
        ends[row] = max(ends[row], end_width(node))
    first = [drawn.root.step if drawn.root.kind == "chance" else drawn.seats[drawn.root.seat]]
    x = [MARGIN + width_of(first[0], SIZE) + 18]
    lanes = [TRACK * many + 6 if many else 0 for many in tracks]
    fans = [max(FAN + lane, ends[row] + lane + 6) for row, lane in enumerate(lanes)]
    for row in range(last):
        x.append(x[-1] + fans[row] + 4 + names[row + 1] + 12)
    at = {}
    for node, row in rows.items():
        past = 0 if node.children else lanes[row] * (node.kind in ("end", "more"))
        at[node] = (x[row] + past, MARGIN + 8 + across[node])
    bends = {}
    for node in drawn.root.walk():
        for child in node.children:
            bends[child] = (at[node][0] + fans[rows[node]], at[child][1])
    return Shape("right", at, links, bends)


def _links(
    drawn: DrawnTree, rows: Mapping[DrawnNode, int], across: Mapping[DrawnNode, float]
) -> list[Link]:
    """Lines between neighbours of an information set: straight where nothing is between them, else
    in lanes, the short ones nearest."""
    members: dict[int, list[DrawnNode]] = {}
    beside: dict[int, list[DrawnNode]] = {}
    for node in drawn.root.walk():
        beside.setdefault(rows[node], []).append(node)
        if node.info >= 0:
            members.setdefault(node.info, []).append(node)
    found: list[Link] = []
    curved: list[tuple[float, int, DrawnNode, DrawnNode]] = []
    for info, nodes in sorted(members.items()):
        for first, second in pairwise(sorted(nodes, key=lambda n: across[n])):
            span = across[first], across[second]
            between = [n for n in beside[rows[first]] if span[0] < across[n] < span[1]]
            if between:
                curved.append((span[1] - span[0], info, first, second))
            else:
                found.append(Link(info, first, second, 0))
    lanes: dict[int, list[list[tuple[float, float]]]] = {}
    for _, info, first, second in sorted(curved, key=lambda one: one[:2]):
        span = across[first], across[second]
        taken = lanes.setdefault(rows[first], [])
        free = (
            n for n, lane in enumerate(taken) if all(span[1] < a or b < span[0] for a, b in lane)
        )
        number = next(free, len(taken))
        if number == len(taken):
            taken.append([])
        taken[number].append(span)
        found.append(Link(info, first, second, number + 1))
    return found
