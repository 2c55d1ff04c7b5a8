"""The layout of a tree: the tidy drawing of Reingold and Tilford (1981), in the linear time of
Buchheim, Jünger and Leipert (2002), for nodes of different widths.

Nodes of one information set lie in one row if possible. An edge may skip a row on the way down; a
joint that is not drawn then keeps its place in that row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from gamedsl.view.game.extensive import DrawnNode

Breadth = Callable[[DrawnNode], float]


@dataclass(eq=False)
class _Spot:
    """A node of the layout, with the working values of the algorithm under their names there."""

    node: DrawnNode | None
    number: int = 0
    above: _Spot | None = None
    below: list[_Spot] = field(default_factory=list)
    prelim: float = 0
    mod: float = 0
    change: float = 0
    shift: float = 0
    thread: _Spot | None = None
    ancestor: _Spot = field(init=False)
    default: _Spot | None = None

    def __post_init__(self) -> None:
        self.ancestor = self

    @property
    def first_contour(self) -> _Spot | None:
        """The next on the left contour."""
        return self.below[0] if self.below else self.thread

    @property
    def last_contour(self) -> _Spot | None:
        return self.below[-1] if self.below else self.thread


def rows_of(root: DrawnNode) -> dict[DrawnNode, int]:
    """The row of each node: below the node above it, and with the others of its information set."""
    order = list(root.walk())
    row = {root: 0}
    for _ in range(len(order)):
        before = dict(row)
        lowest: dict[int, int] = {}
        for node in order:
            if node.info >= 0:
                lowest[node.info] = max(lowest.get(node.info, 0), row.get(node, 0))
        for node in order:
            if node.info >= 0:
                row[node] = max(row[node], lowest[node.info])
            for child in node.children:
                row[child] = max(row.get(child, 0), row[node] + 1)
        if row == before:
            return row
        if max(row.values()) > 2 * len(order):  # two sets that come before one another
            break
    return _depths(root)


def _depths(root: DrawnNode) -> dict[DrawnNode, int]:
    row = {root: 0}
    for node in root.walk():
        row.update(dict.fromkeys(node.children, row[node] + 1))
    return row


def tidy(
    root: DrawnNode, rows: Mapping[DrawnNode, int], breadth: Breadth, sibling: float, cousin: float
) -> dict[DrawnNode, float]:
    """The place of each node across its row, from 0. Nodes are `breadth` wide; between two in a row
    is at least `sibling`, or `cousin` where they hang from different nodes."""
    top = _spots(root, rows)

    def separation(one: _Spot, two: _Spot) -> float:
        wide = sum(0 if s.node is None else breadth(s.node) for s in (one, two)) / 2
        return wide + (sibling if one.above is two.above else cousin)

    for spot in _upwards(top):
        _place(spot, separation)
    places: dict[DrawnNode, float] = {}
    pending = [(top, -top.prelim)]
    while pending:
        spot, moved = pending.pop()
        if spot.node is not None:
            places[spot.node] = spot.prelim + moved
        pending += [(below, moved + spot.mod) for below in spot.below]
    least = min(places[node] - breadth(node) / 2 for node in places)
    return {node: place - least for node, place in places.items()}


def _spots(root: DrawnNode, rows: Mapping[DrawnNode, int]) -> _Spot:
    """The tree to be laid out, with joints where an edge passes a row."""
    top = _Spot(root)
    spots = [top]
    for spot in spots:
        node = spot.node
        for number, child in enumerate(node.children if node is not None else ()):
            last = joined = _Spot(child)
            for _ in range(rows[child] - rows[node] - 1 if node is not None else 0):
                joint = _Spot(None, below=[joined])
                joined.above, joined = joint, joint
            joined.number, joined.above = number, spot
            spot.below.append(joined)
            spots.append(last)
    return top


def _upwards(top: _Spot) -> Sequence[_Spot]:
    """All spots, each after those below it and after those to its left."""
    order, pending = [], [top]
    while pending:
        spot = pending.pop()
        order.append(spot)
        pending += spot.below
    return order[::-1]


def _place(spot: _Spot, separation: Callable[[_Spot, _Spot], float]) -> None:
    """The first walk, for one node whose children are placed."""
    siblings = spot.above.below if spot.above else [spot]
    left = siblings[spot.number - 1] if spot.number else None
    if spot.below:
        _execute_shifts(spot)
        middle = (spot.below[0].prelim + spot.below[-1].prelim) / 2
        if left:
            spot.prelim = left.prelim + separation(spot, left)
            spot.mod = spot.prelim - middle
        else:
            spot.prelim = middle
    elif left:
        spot.prelim = left.prelim + separation(spot, left)
    if spot.above:
        spot.above.default = _apportion(spot, left, spot.above.default or siblings[0], separation)


def _execute_shifts(spot: _Spot) -> None:
    shift = change = 0.0
    for below in reversed(spot.below):
        below.prelim += shift
        below.mod += shift
        change += below.change
        shift += below.shift + change


def _apportion(
    spot: _Spot, left: _Spot | None, default: _Spot, separation: Callable[[_Spot, _Spot], float]
) -> _Spot:
    """Push a subtree away from those to its left, spreading the room among those between."""
    if left is None or spot.above is None:
        return default
    inner_right, outer_right = spot, spot
    inner_left, outer_left = left, spot.above.below[0]
    sum_ir, sum_or, sum_il, sum_ol = spot.mod, spot.mod, left.mod, outer_left.mod
    while (next_left := inner_left.last_contour) and (next_right := inner_right.first_contour):
        inner_left, inner_right = next_left, next_right
        outer_left, outer_right = (
            outer_left.first_contour or outer_left,
            outer_right.last_contour or outer_right,
        )
        outer_right.ancestor = spot
        shift = inner_left.prelim + sum_il - inner_right.prelim - sum_ir
        shift += separation(inner_left, inner_right)
        if shift > 0:
            near = inner_left.ancestor
            _move(near if near.above is spot.above else default, spot, shift)
            sum_ir += shift
            sum_or += shift
        sum_il, sum_ir = sum_il + inner_left.mod, sum_ir + inner_right.mod
        sum_ol, sum_or = sum_ol + outer_left.mod, sum_or + outer_right.mod
    if inner_left.last_contour and not outer_right.last_contour:
        outer_right.thread = inner_left.last_contour
        outer_right.mod += sum_il - sum_or
    if inner_right.first_contour and not outer_left.first_contour:
        outer_left.thread = inner_right.first_contour
        outer_left.mod += sum_ir - sum_ol
        default = spot
    return default


def _move(left: _Spot, right: _Spot, shift: float) -> None:
    change = shift / (right.number - left.number)
    right.change -= change
    right.shift += shift
    left.change += change
    right.prelim += shift
    right.mod += shift
