"""The tree of a game for a picture: with named outcomes of chance, and cut if it is large.

`gamedsl.solve.tree` holds the tree for algorithms. As there, decisions with one action and chance
with one outcome have no node. A game with more than `limit` nodes is drawn from the top, with the
first of long lists of children. Every cut says how much is beyond it, as far as that was counted.
The same game always gives the same tree.

Outcomes of chance have no order of their own, so their branches are drawn in the order in which
most histories of an information set are neighbours. In Kuhn poker the six deals become a ring in
which all but one information set join neighbours.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import pairwise, permutations
from typing import TYPE_CHECKING, Literal, NamedTuple, assert_never

from gamedsl.engine.walk import ChanceNode, EndNode, ExtensiveNode, SeatNode, descend, seat_by_seat
from gamedsl.prompting.events import known_in
from gamedsl.runtime.decision import key_of

if TYPE_CHECKING:
    from gamedsl.engine.kernel import Ask, Kernel, State

COUNTED = 3_000
"""Nodes that are counted at most, beyond those that are drawn."""

MANY, FEW = 6, 3
"""A node with more than `MANY` children shows the first `FEW`, in a game that is too large."""

LISTED = 200
"""A chance node with more outcomes shows no probabilities."""

MERGED = 12
"""Draws in a row are one node, as in textbooks, if it has at most so many outcomes."""

TRIED = 7
"""Up to so many branches all orders are tried, beyond it exchanges of two until none helps."""

LARGEST = 40
"""A node with more branches keeps their order."""


@dataclass(eq=False)
class DrawnNode:
    """A history. `edge` is the action or outcome that leads here from the node above, `odds` the
    probability of an outcome. `beyond` counts the nodes below that are not drawn (None: unknown).
    A node of kind "more" stands for `beyond` children."""

    kind: Literal["decision", "chance", "end", "more"]
    edge: str = ""
    odds: Fraction | None = None
    seat: int = -1
    info: int = -1
    step: str = ""
    payoffs: tuple[Fraction, ...] = ()
    children: list[DrawnNode] = field(default_factory=list)
    beyond: int | None = 0

    def walk(self) -> Iterator[DrawnNode]:
        """The node and all below it, each before its children, in order."""
        pending = [self]
        while pending:
            node = pending.pop()
            yield node
            pending += reversed(node.children)


@dataclass(frozen=True)
class InfoSetLabel:
    """An information set: its seat and step, the events that the seat has seen (or the names that
    the step declares as known), and its actions."""

    seat: int
    step: str
    known: str
    actions: tuple[str, ...]
    declared: bool = False

    @property
    def knowledge(self) -> str:
        """The events that its owner has seen, or the names that it knows."""
        if self.declared:
            return f"knows {self.known or 'only that it is asked'}"
        return f"has seen {self.known or 'nothing'}"


@dataclass(frozen=True)
class DrawnTree:
    """A tree to be drawn. `nodes` is how many the whole game has, None where there are more than
    were counted; `whole` is whether all of them are drawn; `joined` is whether draws were merged.
    Information sets are numbered from 0 in the order in which they are met, row by row."""

    seats: tuple[str, ...]
    root: DrawnNode
    info: tuple[InfoSetLabel, ...]
    nodes: int | None
    whole: bool
    joined: bool

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """The number, from 1, of each information set among those of its seat."""
        met: Counter[int] = Counter()
        found = []
        for one in self.info:
            met[one.seat] += 1
            found.append(met[one.seat])
        return tuple(found)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The name of each information set: its seat, with a number if the seat has more."""
        many = Counter(one.seat for one in self.info)
        return tuple(
            f"{self.seats[one.seat]} {number}" if many[one.seat] > 1 else self.seats[one.seat]
            for one, number in zip(self.info, self.numbers, strict=True)
        )


def draw_tree(kernel: Kernel, *, limit: int = 200, depth: int | None = None) -> DrawnTree:
    """The tree of a game, of at most about `limit` nodes and at most so many moves deep."""
    grown = _Growth(kernel, max(limit, COUNTED), wide=True)
    total = grown.count if grown.whole else None
    if total is None or total > limit:
        most = 2 * limit if total is None else max(limit, COUNTED)
        grown = _Growth(kernel, most, wide=False)
    bottom = _bottom(grown.rows, limit if total is None or total > limit else grown.count)
    if depth is not None:
        bottom = min(bottom, depth)
    _cut_below(grown, bottom)
    joined = _merge(grown.root)
    whole = all(node.kind != "more" and node.beyond == 0 for node in grown.root.walk())
    order_outcomes(grown.root)
    info = _number_info_sets(grown.root, [info for _, info in grown.info.values()])
    seats = tuple(kernel.ir.seats)
    return DrawnTree(seats, grown.root, info, total, whole, joined)


class _Open(NamedTuple):
    """A node to go on from, with the state that it stands for."""

    node: DrawnNode
    row: int
    here: ChanceNode[State] | SeatNode

    def names(self, cut: int) -> list[tuple[str, Fraction | None]]:
        """The names of the first `cut` children with their probabilities. Long lists have none, as
        they are slow to write out."""
        match self.here:
            case SeatNode(ask=ask):
                return [(name, None) for name in ask.legal[:cut]]
            case ChanceNode(point=state, size=size):
                if size > LISTED:
                    return [(state.copy().draw(place), None) for place in range(cut)]
                return [(outcome.name, outcome.probability) for outcome in state.outcomes[:cut]]
            case _:
                assert_never(self.here)


class _Growth:
    """All nodes of a game, row by row, until there are `most`. Unless `wide`, long lists of
    children are cut, and what they would lead to is not counted."""

    def __init__(self, kernel: Kernel, most: int, *, wide: bool) -> None:
        self._ir = kernel.ir
        self.info: dict[str, tuple[int, InfoSetLabel]] = {}
        self.rows: list[list[DrawnNode]] = []
        self.whole, self.count = True, 0
        self._pending: deque[_Open] = deque()
        self.root = self._child(seat_by_seat(kernel.start()), 0)
        while self._pending:
            open = self._pending.popleft()
            node, size = open.node, open.here.size
            cut = FEW if size > MANY and not wide else size
            if self.count + cut > most:
                self.whole, node.beyond = False, None
                if wide:
                    return
                continue
            for place, (edge, odds) in enumerate(open.names(cut)):
                child = self._child(descend(open.here, place), open.row + 1)
                child.edge, child.odds = edge, odds
                node.children.append(child)
            if cut < size:
                self.whole = False
                more = DrawnNode("more", beyond=size - cut)
                node.children.append(self._place(more, open.row + 1))

    def _child(self, here: ExtensiveNode, row: int) -> DrawnNode:
        """The node that is drawn for one of the game's."""
        match here:
            case EndNode(point=state):
                payoffs = state.payoffs
                amounts = tuple(Fraction(payoffs[seat]) for seat in self._ir.seats)
                return self._place(DrawnNode("end", payoffs=amounts), row)
            case ChanceNode(point=state):
                node = self._place(DrawnNode("chance", step=state.draws[0]), row)
            case SeatNode(point=state, ask=ask):
                node = self._decision(row, state, ask)
            case _:
                assert_never(here)
        self._pending.append(_Open(node, row, here))
        return node

    def _decision(self, row: int, state: State, ask: Ask) -> DrawnNode:
        seat, step, _, legal, declared, _ = ask
        number, step = self._ir.seats.index(seat), self._ir.asked_as.get(step, step)
        key = key_of(state, ask)
        known = state.known(seat) if declared is None else known_in(key)
        new = len(self.info), InfoSetLabel(number, step, known, legal, declared is not None)
        info = self.info.setdefault(key, new)[0]
        return self._place(DrawnNode("decision", seat=number, info=info, step=step), row)

    def _place(self, node: DrawnNode, row: int) -> DrawnNode:
        self.count += node.kind != "more"
        if row == len(self.rows):
            self.rows.append([])
        self.rows[row].append(node)
        return node


def _bottom(rows: list[list[DrawnNode]], limit: int) -> int:
    """The last row that is drawn: a row is drawn whole, and at least two are."""
    total = 0
    for number, row in enumerate(rows):
        total += len(row)
        if total > limit and number > 1:
            return number - 1
    return len(rows) - 1


def _cut_below(grown: _Growth, bottom: int) -> None:
    """Cut off all rows below one, counting what goes."""
    for node in grown.rows[bottom] if bottom < len(grown.rows) else ():
        if node.children:
            below = list(node.walk())
            known = all(one.kind != "more" and one.beyond == 0 for one in below)
            node.beyond, node.children = len(below) - 1 if known else None, []


def _merge(root: DrawnNode) -> bool:
    """Make draws that follow one another one node, as far as it stays small."""
    done = False
    for node in root.walk():
        while node.kind == "chance" and node.children:
            inner = node.children
            if any(child.kind != "chance" or not child.children for child in inner):
                break
            if sum(len(child.children) for child in inner) > MERGED:
                break
            node.children = []
            for child in inner:
                for last in child.children:
                    last.edge = ", ".join(filter(None, (child.edge, last.edge)))
                    if last.odds is not None and child.odds is not None:
                        last.odds *= child.odds
                    node.children.append(last)
            done = True
    return done


def _number_info_sets(root: DrawnNode, found: list[InfoSetLabel]) -> tuple[InfoSetLabel, ...]:
    """Numbers the information sets in the order in which they occur, row by row."""
    numbers: dict[int, int] = {}
    row = [root]
    while row:
        for node in row:
            if node.kind == "decision":
                node.info = numbers.setdefault(node.info, len(numbers))
        row = [child for node in row for child in node.children]
    return tuple(found[old] for old in numbers)


def order_outcomes(root: DrawnNode) -> None:
    """Orders the branches of all chance nodes, the ones above first."""
    for node in list(root.walk()):
        if node.kind == "chance" and 2 < len(node.children) <= LARGEST:
            last = [child for child in node.children if child.kind == "more"]
            free = [child for child in node.children if child.kind != "more"]
            order = _best_order([_info_sets_below(child) for child in free])
            node.children = [free[i] for i in order] + last


def _info_sets_below(node: DrawnNode) -> set[int]:
    """The information sets that have a history here."""
    return {one.info for one in node.walk() if one.info >= 0}


def _best_order(inside: Sequence[set[int]]) -> tuple[int, ...]:
    """The order of the least cost; of equal ones the first."""
    every = sorted(set().union(*inside))
    homes = [frozenset(i for i, sets in enumerate(inside) if info in sets) for info in every]
    homes = [home for home in homes if 1 < len(home) < len(inside)]
    order = tuple(range(len(inside)))
    if not homes:
        return order
    if len(order) <= TRIED:
        return min(permutations(order), key=lambda tried: (_order_cost(tried, homes), tried))
    cost = _order_cost(order, homes)
    while True:
        tried = [
            _exchanged(order, i, j) for i in range(len(order)) for j in range(i + 1, len(order))
        ]
        least, next_ = min((_order_cost(one, homes), one) for one in tried)
        if least >= cost:
            return order
        cost, order = least, next_


def _exchanged(order: tuple[int, ...], i: int, j: int) -> tuple[int, ...]:
    swapped = list(order)
    swapped[i], swapped[j] = swapped[j], swapped[i]
    return tuple(swapped)


def _order_cost(order: Sequence[int], homes: Sequence[frozenset[int]]) -> tuple[int, int]:
    """The number of neighbours in one set that the picture separates, and their distances."""
    place = {child: i for i, child in enumerate(order)}
    separated = far = 0
    for home in homes:
        for left, right in pairwise(sorted(place[child] for child in home)):
            separated += right - left > 1
            far += right - left
    return separated, far
