"""A tree as arrays: its sequence form, for solvers that run on floats.

A sequence of a seat is an information set with an action there, or the empty sequence, number 0;
with perfect recall it stands for all of the seat's own decisions up to there (von Stengel 1996). A
strategy is then one number a sequence (`plan`: the product of the seat's own probabilities along
it), and what a seat can earn is linear in its plan. Sequences are numbered by how many decisions of
the seat's own lie before them, so that a level is a slice and a sweep is a few array operations a
level.

Array shapes: S sequences, A = S - 1 slots (sequences less the empty one), I information sets of one
seat, Z terminal nodes, N seats.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

import numpy as np
from scipy.sparse import csr_array

from gamedsl.solve.best_responses import Policy, row_of
from gamedsl.solve.tree import CHANCE, TERMINAL, InfoSet, Tree, Utility

Array = np.ndarray

DENSE = 4_096
"""Payoff matrices of at most so many entries are kept dense: a product then costs less than the
look at what is sparse."""


@dataclass(frozen=True, eq=False)
class Level:
    """The information sets of a seat with equally many own decisions before them.

    `slots` are their actions' places in arrays of A numbers and `sequences` in arrays of S;
    `first_I` is where each set begins within the level, `before_A` the sequence before each slot.
    `parents` are the distinct sequences before them, and `group` the first set of each.
    """

    sets: slice
    slots: slice
    sequences: slice
    first_I: Array
    before_A: Array
    parents: Array
    group: Array


@dataclass(frozen=True, eq=False)
class SeatArrays:
    """The sequences of one seat. Its information sets are in the order of `infos`, by level.

    `sets_I` are their numbers in the tree, `first_I` their first slots, `size_I` how many actions
    they have, and `set_A` the set of each slot, counted among the seat's own.
    """

    seat: str
    infos: tuple[InfoSet, ...]
    sets_I: Array
    first_I: Array
    size_I: Array
    set_A: Array
    levels: tuple[Level, ...]

    @property
    def slots(self) -> int:
        return len(self.set_A)

    def uniform(self) -> Array:
        """The probabilities (A,) that play every action equally often."""
        return np.asarray(1.0 / self.size_I[self.set_A])

    def plan(self, row_A: Array) -> Array:
        """Returns the probability that the seat's own choices lead to each sequence (S,), by its
        probabilities."""
        plan_S = np.ones(self.slots + 1)
        for level in self.levels:
            plan_S[level.sequences] = row_A[level.slots] * plan_S[level.before_A]
        return plan_S

    def best(self, gain_S: Array) -> tuple[float, Array]:
        """The most that the seat can earn, and the values (A,) of its actions where it goes on as
        well as it can. `gain_S` is what the game pays at each sequence, the others' play counted
        in."""
        value_S = gain_S.copy()
        for level in reversed(self.levels):
            best_I = np.maximum.reduceat(value_S[level.sequences], level.first_I)
            value_S[level.parents] += np.add.reduceat(best_I, level.group)
        return float(value_S[0]), value_S[1:]

    def choices(self, value_A: Array) -> dict[str, str]:
        """The action of the greatest value at each information set, the first of equals."""
        if not self.slots:
            return {}
        best_A = np.maximum.reduceat(value_A, self.first_I)[self.set_A]
        place_A = np.where(value_A == best_A, np.arange(self.slots), self.slots)
        places = (np.minimum.reduceat(place_A, self.first_I) - self.first_I).tolist()
        return {s.key: s.actions[n] for s, n in zip(self.infos, places, strict=True)}


@dataclass(frozen=True, eq=False)
class TreeArrays:
    """A game with one utility, as arrays. `infos` are all information sets, `paid_ZN` is what the
    seats get at terminal nodes; `tree` is the tree that was written out, if one was."""

    infos: tuple[InfoSet, ...]
    seats: tuple[SeatArrays, ...]
    paid_ZN: Array
    payoffs: tuple[Any, ...]
    """Per seat a matrix (S, K), dense or sparse: what it gets at each of its sequences times
    chance, by what the others do. With two seats K are the other's sequences; else they are the
    rows of `others`."""
    others: tuple[Array, ...]
    """Per seat (K, N - 1): the combinations of the others' sequences that end a game."""
    tree: Tree | None = None

    @property
    def constant_sum(self) -> bool:
        """Whether what all get together is the same, to 1e-9, wherever the game ends."""
        return float(np.ptp(self.paid_ZN.sum(axis=1))) <= 1e-9

    def gain(self, seat: int, plans: Sequence[Array]) -> Array:
        """Returns a seat's payoff at each of its sequences (S,) by the plans of the others."""
        matrix = self.payoffs[seat]
        if len(plans) == 2:
            return cast(Array, matrix @ plans[1 - seat])
        reach_K = np.ones(len(self.others[seat]))
        rest = (plan for i, plan in enumerate(plans) if i != seat)
        for place, plan_S in enumerate(rest):
            reach_K *= plan_S[self.others[seat][:, place]]
        return cast(Array, matrix @ reach_K)

    def rows(self, policy: Policy) -> list[Array]:
        """A policy as probabilities (A,), one array a seat. Raises as `exploitability`."""
        rows = []
        for seat in self.seats:
            given = [(policy.get(info.key, {}), info.actions) for info in seat.infos]
            row_A = np.array([here.get(name, 0) for here, names in given for name in names], float)
            off_I = np.abs(np.add.reduceat(row_A, seat.first_I) - 1) if given else np.zeros(1)
            if (row_A < 0).any() or off_I.max() > 1e-4:
                for info in seat.infos:
                    row_of(info.key, info.actions, policy)  # says what is wrong
            rows.append(row_A)
        return rows

    def policy(self, rows: Sequence[Array]) -> dict[str, dict[str, float]]:
        """Probabilities as a policy, in the order of the tree's information sets."""
        found: dict[int, dict[str, float]] = {}
        for seat, row_A in zip(self.seats, rows, strict=True):
            values = row_A.tolist()
            firsts = seat.sets_I.tolist(), seat.infos, seat.first_I.tolist()
            for number, info, first in zip(*firsts, strict=True):
                here = values[first : first + len(info.actions)]
                found[number] = dict(zip(info.actions, here, strict=True))
        return {info.key: found[i] for i, info in enumerate(self.infos)}

    def replies(self, rows: Sequence[Array]) -> list[tuple[float, float, Array]]:
        """Returns for each seat its value, its best-response value against the others, and the
        values (A,) of its actions in that response."""
        plans = [seat.plan(row_A) for seat, row_A in zip(self.seats, rows, strict=True)]
        gains = [self.gain(i, plans) for i in range(len(plans))]
        return [
            (float(gain_S @ plan_S), *seat.best(gain_S))
            for seat, gain_S, plan_S in zip(self.seats, gains, plans, strict=True)
        ]

    def nash_conv(self, rows: Sequence[Array]) -> float:
        """Returns NashConv: the sum of the seats' gains by their best responses."""
        return sum(best - value for value, best, _ in self.replies(rows))


@lru_cache(maxsize=4)
def arrays_of(tree: Tree, utility: Utility) -> TreeArrays:
    """A tree as arrays, with what its seats get as floats."""
    before, ends, chance = _walk(tree)
    seats, number_P = _seats(tree, before)
    terminals = list(tree.terminals)
    ends_ZN = number_P[np.array(ends, dtype=np.intp).reshape(len(terminals), len(tree.seats))]
    got = tree.utilities(utility, exact=False)
    paid_ZN = np.array([got[n] for n in terminals], dtype=float)
    chance_Z = np.array(chance)
    payoffs, others = payoff_matrices(seats, ends_ZN, chance_Z, paid_ZN)
    return TreeArrays(tree.info_sets, seats, paid_ZN, payoffs, others, tree)


def _offsets(tree: Tree) -> list[int]:
    """Returns the start of each information set's actions when all stand in one row after a 0."""
    offsets = [1]
    for info in tree.info_sets:
        offsets.append(offsets[-1] + len(info.actions))
    return offsets


def _walk(tree: Tree) -> tuple[list[int], list[list[int]], list[float]]:
    """Per information set the sequence before it; per terminal node the sequences of all seats, and
    how likely chance goes there. Sequences are numbered by `_offsets` here; 0 is empty."""
    offsets = _offsets(tree)
    odds = tree.chances(exact=False)
    before = [0] * len(tree.info_sets)
    ends, chance = [], []
    at: list[Any] = [None] * len(tree)
    at[0] = [0] * len(tree.seats), 1.0
    for node, info in enumerate(tree.info):
        sequences, likely = at[node]
        at[node] = None
        if info == TERMINAL:
            ends.append(sequences)
            chance.append(likely)
        elif info == CHANCE:
            for child, share in zip(tree.children[node], odds[node], strict=True):
                at[child] = sequences, likely * share
        else:
            mover = tree.owner[info]
            before[info] = sequences[mover]
            for place, child in enumerate(tree.children[node]):
                after = sequences.copy()
                after[mover] = offsets[info] + place
                at[child] = after, likely
    return before, ends, chance


def _seats(tree: Tree, before: list[int]) -> tuple[tuple[SeatArrays, ...], Array]:
    """The seats' own arrays, and the number of each sequence of `_offsets` among its seat's."""
    offsets = _offsets(tree)
    set_of = [i for i, info in enumerate(tree.info_sets) for _ in info.actions]
    depth: dict[int, int] = {}
    for info in range(len(tree.info_sets)):
        chain = []
        while info not in depth and before[info]:
            chain.append(info)
            info = set_of[before[info] - 1]
        level = depth.setdefault(info, 0)
        for later in reversed(chain):
            level = depth[later] = level + 1
    depth_I = np.array([depth[info] for info in range(len(tree.info_sets))], dtype=np.intp)
    rows = np.array([tree.owner, before, depth_I], dtype=np.intp).reshape(3, -1)
    return lay_out(tree.seats, tree.info_sets, rows[0], rows[1], rows[2], np.array(offsets))


def lay_out(
    seats: Sequence[str],
    infos: Sequence[InfoSet],
    owner_I: Array,
    before_I: Array,
    depth_I: Array,
    offsets: Array,
) -> tuple[tuple[SeatArrays, ...], Array]:
    """The arrays of all seats, and the number of each sequence among its seat's.

    Per information set, in the order of `infos`: the number of its owner, the sequence before it,
    and how many own decisions lie before it. Sequences are numbered by `offsets`: action a of set i
    is `offsets[i] + a`, 0 is the empty one, and the last offset is their number.
    """
    size_I = np.diff(offsets)
    number_P = np.zeros(int(offsets[-1]), dtype=np.intp)
    found = []
    for i, name in enumerate(seats):
        own_I = np.flatnonzero(owner_I == i)
        own_I = own_I[np.lexsort((before_I[own_I], depth_I[own_I]))]
        sizes = size_I[own_I]
        last = np.cumsum(sizes)
        slots = np.arange(int(sizes.sum())) - np.repeat(last - sizes, sizes)
        number_P[np.repeat(offsets[own_I], sizes) + slots] = np.arange(1, len(slots) + 1)
        mine = tuple([infos[info] for info in own_I.tolist()])
        found.append(_seat(name, own_I, mine, sizes, depth_I[own_I], number_P[before_I[own_I]]))
    return tuple(found), number_P


def _seat(
    name: str,
    sets_I: Array,
    infos: tuple[InfoSet, ...],
    size_I: Array,
    depth_I: Array,
    before_I: Array,
) -> SeatArrays:
    last_I = np.cumsum(size_I)
    first_I = last_I - size_I
    set_A = np.repeat(np.arange(len(sets_I)), size_I)
    levels = []
    for level in range(int(depth_I.max(initial=-1)) + 1):
        start, stop = np.searchsorted(depth_I, [level, level + 1]).tolist()
        left, right = int(first_I[start]), int(last_I[stop - 1])
        parents, group = np.unique(before_I[start:stop], return_index=True)
        order = np.argsort(group)
        levels.append(
            Level(
                slice(start, stop), slice(left, right), slice(left + 1, right + 1),
                first_I[start:stop] - left, before_I[set_A[left:right]],
                parents[order], group[order],
            )
        )  # fmt: skip
    return SeatArrays(name, infos, sets_I, first_I, size_I, set_A, tuple(levels))


def payoff_matrices(
    seats: Sequence[SeatArrays], ends_ZN: Array, chance_Z: Array, paid_ZN: Array
) -> tuple[tuple[Any, ...], tuple[Array, ...]]:
    """The matrices of all seats, and the combinations of the others' sequences in their columns
    (see `TreeArrays`). Per end, `ends_ZN` has the seats' sequences, `chance_Z` how likely chance
    goes there, and `paid_ZN` what the seats get."""
    found = [_payoffs(seats, i, ends_ZN, chance_Z * paid_ZN[:, i]) for i in range(len(seats))]
    return tuple(matrix for matrix, _ in found), tuple(others for _, others in found)


def _payoffs(
    seats: Sequence[SeatArrays], seat: int, ends_ZN: Array, weighted_Z: Array
) -> tuple[Any, Array]:
    """The matrix of one seat, and the combinations of the others' sequences in its columns."""
    rest_ZR = np.delete(ends_ZN, seat, axis=1)
    rows = seats[seat].slots + 1
    if rest_ZR.shape[1] == 1:
        columns_Z, columns = rest_ZR[:, 0], seats[1 - seat].slots + 1
        others = np.arange(columns)[:, None]
    else:
        columns_Z, first = np.zeros(len(rest_ZR), dtype=np.intp), np.zeros(1, dtype=np.intp)
        for sequence_Z in rest_ZR.T:
            pairs_Z = columns_Z * (int(sequence_Z.max(initial=0)) + 1) + sequence_Z
            _, first, columns_Z = np.unique(pairs_Z, return_index=True, return_inverse=True)
        others = rest_ZR[first]
        columns = len(others)
    places = ends_ZN[:, seat], columns_Z.reshape(-1)
    matrix = csr_array((weighted_Z, places), shape=(rows, columns))
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return (matrix.toarray() if rows * columns <= DENSE else matrix), others
