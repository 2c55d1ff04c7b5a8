"""The regrets of an iteration of CFR, added up history by history.

That is how those do it who walk through the tree, OpenSpiel among them: the value of every history
from those below it, then the regrets of an information set from its histories, in the order in
which a walk comes to them. Sequence form (`gamedsl.solve.arrays`) gives the same numbers up to
rounding, several times faster. But CFR+ magnifies rounding: on Leduc poker, two runs that differ by
1e-16 differ by 1e-5 after some hundred iterations, equally good. Added up in this order, numbers
stay OpenSpiel's to the last digit, where the options of a game are in the same order.

Array shapes: N nodes, level by level and in the order of a walk within each; S seats; E pairs of a
seat's own node and an action there, in the order of a walk.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gamedsl.solve.arrays import Array, TreeArrays
from gamedsl.solve.tree import CHANCE


class _Step(NamedTuple):
    """An action at an own node: when a walk comes there, the action's slot, the numbers of the node
    and of what follows, the sequences of all seats before it, and how likely chance goes there."""

    when: int
    slot: int
    node: int
    child: int
    sequences: tuple[int, ...]
    chance: float


class _Own(NamedTuple):
    """The steps of one seat: their fields as arrays (E,), the sequences (seats, E)."""

    slot: Array
    node: Array
    child: Array
    sequences: Array
    chance: Array


class Histories:
    """The histories of a tree, laid out once."""

    def __init__(self, arrays: TreeArrays) -> None:
        if arrays.tree is None:
            raise ValueError("histories are added up in the order of a tree, and there is none")
        self._tree = arrays.tree
        self._begin = np.cumsum([0, *(seat.slots for seat in arrays.seats)]).tolist()
        """The first slot of each seat in one row of all; the slots of chance come last."""
        self._parent, self._share, self._chance = [0], [0], list[float]()
        """Per node, its parent's place in the level above and where its probability is found."""
        self._steps: list[list[_Step]] = [[] for _ in arrays.seats]
        nodes, bounds = self._write(arrays)

        paid = dict(zip(self._tree.terminals, arrays.paid_ZN.tolist(), strict=True))
        nothing = [0.0] * len(arrays.seats)
        self._paid_SN = np.array([paid.get(node, nothing) for node in nodes]).T.copy()
        self._parent_N, self._share_N = np.array(self._parent), np.array(self._share)
        self._odds = np.array([0.0] * self._begin[-1] + self._chance)
        self._levels = list(zip(bounds, bounds[1:], bounds[2:], strict=False))[::-1]
        self._own = [_own(sorted(steps), len(arrays.seats)) for steps in self._steps]

    def learn(
        self, place: int, rows: Sequence[Array], plans: Sequence[Array], regret_A: Array
    ) -> None:
        """Add to a seat's regrets what each of its actions would have gained over what is played,
        by the rows and plans of all seats."""
        for begin, row_A in zip(self._begin, rows, strict=False):
            self._odds[begin : begin + len(row_A)] = row_A
        value_N, share_N = self._paid_SN[place].copy(), self._odds[self._share_N]
        for above, start, stop in self._levels:
            level = slice(start, stop)
            value_N[above:start] += np.bincount(
                self._parent_N[level], share_N[level] * value_N[level], start - above
            )
        own = self._own[place]
        reach_E = np.ones(len(own.slot))
        for other, plan_S in enumerate(plans):
            if other != place:
                reach_E *= plan_S[own.sequences[other]]
        reach_E *= own.chance
        np.add.at(regret_A, own.slot, reach_E * (value_N[own.child] - value_N[own.node]))

    def _write(self, arrays: TreeArrays) -> tuple[list[int], list[int]]:
        """Number the nodes by level; the tree's nodes in this order, and where levels begin."""
        tree, when = self._tree, self._walk()
        odds = tree.chances(exact=False)
        slots = [zip(s.sets_I.tolist(), s.first_I.tolist(), strict=True) for s in arrays.seats]
        first = {info: slot for pairs in slots for info, slot in pairs}
        level: list[tuple[int, tuple[int, ...], float]] = [(0, (0,) * len(tree.seats), 1.0)]
        nodes, bounds = [0], [0]
        while level:
            bounds.append(len(nodes))
            below = []
            for place, (node, at, likely) in enumerate(level):
                info, after, chance = tree.info[node], at, likely
                for option, child in enumerate(tree.children[node]):
                    if info == CHANCE:
                        self._share.append(self._begin[-1] + len(self._chance))
                        self._chance.append(odds[node][option])
                        chance = likely * odds[node][option]
                    else:
                        mover, slot = tree.owner[info], first[info] + option
                        self._share.append(self._begin[mover] + slot)
                        after = (*at[:mover], slot + 1, *at[mover + 1 :])
                        self._steps[mover].append(
                            _Step(when[node], slot, bounds[-2] + place, len(nodes), at, likely)
                        )
                    self._parent.append(place)
                    nodes.append(child)
                    below.append((child, after, chance))
            level = below
        return nodes, bounds

    def _walk(self) -> list[int]:
        """Returns the place of each node in a depth-first walk."""
        when = [0] * len(self._tree)
        for moment, node in enumerate(self._tree.walk()):
            when[node] = moment
        return when


def _own(steps: Sequence[_Step], seats: int) -> _Own:
    return _Own(
        np.array([step.slot for step in steps], dtype=np.intp),
        np.array([step.node for step in steps], dtype=np.intp),
        np.array([step.child for step in steps], dtype=np.intp),
        np.array([step.sequences for step in steps], dtype=np.intp).reshape(-1, seats).T.copy(),
        np.array([step.chance for step in steps]),
    )
