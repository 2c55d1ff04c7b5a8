"""The order in which the outcomes of chance are drawn: so that information sets lie close together.

What chance brings has no order of its own (actions have), so that the branches of a chance node may
be drawn in the one in which most histories of an information set are neighbours. In Kuhn poker that
turns the six deals into a ring of which all but one information set joins neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, permutations

from gamedsl.view.game.extensive import Node

TRIED = 7
"""Up to so many branches all orders are tried, beyond it exchanges of two until none helps."""

LARGEST = 40
"""Of more branches the order is left as it is."""


def arrange(root: Node) -> None:
    """Order the branches of all chance nodes, the ones above first."""
    for node in list(root.walk()):
        if node.kind == "chance" and 2 < len(node.children) <= LARGEST:
            last = [child for child in node.children if child.kind == "more"]
            free = [child for child in node.children if child.kind != "more"]
            order = _best([_inside(child) for child in free])
            node.children = [free[i] for i in order] + last


def _inside(node: Node) -> set[int]:
    """The information sets that have a history here."""
    return {one.info for one in node.walk() if one.info >= 0}


def _best(inside: Sequence[set[int]]) -> tuple[int, ...]:
    """The order of the least cost; of equal ones the first."""
    every = sorted(set().union(*inside))
    homes = [frozenset(i for i, sets in enumerate(inside) if info in sets) for info in every]
    homes = [home for home in homes if 1 < len(home) < len(inside)]
    order = tuple(range(len(inside)))
    if not homes:
        return order
    if len(order) <= TRIED:
        return min(permutations(order), key=lambda tried: (_cost(tried, homes), tried))
    cost = _cost(order, homes)
    while True:
        tried = [
            _exchanged(order, i, j) for i in range(len(order)) for j in range(i + 1, len(order))
        ]
        least, next_ = min((_cost(one, homes), one) for one in tried)
        if least >= cost:
            return order
        cost, order = least, next_


def _exchanged(order: tuple[int, ...], i: int, j: int) -> tuple[int, ...]:
    swapped = list(order)
    swapped[i], swapped[j] = swapped[j], swapped[i]
    return tuple(swapped)


def _cost(order: Sequence[int], homes: Sequence[frozenset[int]]) -> tuple[int, int]:
    """How many neighbours of one set are not neighbours in the picture, and how far they are."""
    place = {child: i for i, child in enumerate(order)}
    apart = far = 0
    for home in homes:
        for left, right in pairwise(sorted(place[child] for child in home)):
            apart += right - left > 1
            far += right - left
    return apart, far
