"""A game as arrays without its tree: its histories are laid out from its graph of positions.

A tree in Python takes a microsecond's work a hundred times a node. The graph of positions
(`gamedsl.solve.position_graph`) is far smaller than the tree, and what follows a position is always
the same; so all histories of one length are moved on together, as arrays: which position each is
in, what each seat has seen by then, and the last sequence of each. Nothing but sequences and the
ends are kept, which is what solvers in sequence form need (`gamedsl.solve.arrays`).

Array shapes: H histories of one length, C of the next; E moves of the graph, P positions; N seats.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gamedsl.solve.arrays import Array, TreeArrays, lay_out, payoff_matrices
from gamedsl.solve.position_graph import PositionGraph
from gamedsl.solve.tree import InfoSet, TooLarge

MANY_SETS = 1_000_000
"""Information sets that are laid out at most."""

NOWHERE = -1
"""The option of a seat that is not asked, or has no choice."""


def arrays_of_graph(
    graph: PositionGraph, role_of: dict[str, str], sets: int = MANY_SETS
) -> TreeArrays:
    """The arrays of a game. Information sets are named as in its tree, in an order of their own.

    Raises `TooLarge` for more than `sets` information sets.
    """
    moves = _moves_of(graph)
    growth = _Growth(graph, moves, sets)
    ends = growth.run()
    infos = growth.information_sets(role_of)
    columns = (growth.owner, growth.before, growth.depth)
    rows = [np.array(column, dtype=np.intp) for column in columns]
    offsets = np.array(growth.offsets, dtype=np.intp)
    seats, number_P = lay_out(graph.seats, infos, rows[0], rows[1], rows[2], offsets)
    ends_ZN = number_P[np.concatenate([end.sequence_HN for end in ends])]
    chance_Z = np.concatenate([end.chance_H for end in ends])
    paid_PN = np.array([[float(x) for x in p.ends] or [0.0] * len(graph.seats)
                        for p in graph.positions])  # fmt: skip
    paid_ZN = paid_PN[np.concatenate([end.position_H for end in ends])]
    payoffs, others = payoff_matrices(seats, ends_ZN, chance_Z, paid_ZN)
    return TreeArrays(infos, seats, paid_ZN, payoffs, others)


@dataclass(frozen=True, eq=False)
class _Moves:
    """The moves of a graph in one row, those of a position together.

    Per position: its first move and their number. Per move: the position that follows, how likely
    chance makes it (1 where somebody decides), the option of each seat that has a choice, what it
    is asked, and the events that it is then shown, as a number of `lists`. `ask_PN` are
    `NOWHERE` where a seat has no choice; `again_PN` says whether a seat may still have one.
    """

    first_P: Array
    count_P: Array
    following_E: Array
    odds_E: Array
    option_EN: Array
    shown_EN: Array
    ask_PN: Array
    again_PN: Array
    lists: tuple[tuple[int, ...], ...]


def _moves_of(graph: PositionGraph) -> _Moves:
    seats = len(graph.seats)
    lists: dict[tuple[int, ...], int] = {(): 0}
    count = [len(p.moves) for p in graph.positions]
    ask_PN = np.full((len(count), seats), NOWHERE, dtype=np.int32)
    again_PN = np.zeros((len(count), seats), dtype=bool)
    following, odds = list[int](), list[float]()
    options, shown = list[list[int]](), list[list[int]]()
    for number, here in enumerate(graph.positions):
        acting = []
        for place, (seat, ask) in enumerate(zip(here.asked, here.asks, strict=True)):
            if len(graph.asks[ask][2]) > 1:
                ask_PN[number, seat] = ask
                again_PN[number, seat] = True
                acting.append((seat, place))
        following += here.following
        odds += map(float, here.odds) if here.odds else [1.0] * len(here.moves)
        for move, after, told in zip(here.moves, here.following, here.shown, strict=True):
            row = [NOWHERE] * seats
            for seat, place in acting:
                row[seat] = move[place]
            options.append(row)
            shown.append([lists.setdefault(events, len(lists)) for events in told])
            again_PN[number] |= again_PN[after]
    count_P = np.array(count, dtype=np.intp)
    return _Moves(
        np.cumsum(count_P) - count_P, count_P, np.array(following, dtype=np.int32),
        np.array(odds), np.array(options, dtype=np.int32).reshape(-1, seats),
        np.array(shown, dtype=np.int64).reshape(-1, seats), ask_PN, again_PN, tuple(lists),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Layer:
    """Histories of one length: the position of each, how likely chance goes there, what each seat
    has seen (a number of `_Growth.seen`), and the last sequence of each, 0 for none."""

    position_H: Array
    chance_H: Array
    known_HN: Array
    sequence_HN: Array

    def at(self, places: Array) -> _Layer:
        return _Layer(
            self.position_H[places], self.chance_H[places],
            self.known_HN[places], self.sequence_HN[places],
        )  # fmt: skip


class _Growth:
    """Moves all histories of a length on together.

    Information sets are numbered in the order in which they are met; `owner`, `before`, `depth`,
    `asks` and `knowns` are parallel to them, and `offsets` says where their sequences begin.
    """

    def __init__(self, graph: PositionGraph, moves: _Moves, sets: int) -> None:
        self.graph, self.moves, self.most = graph, moves, sets
        self.seen: dict[tuple[int, int], int] = {}
        """What was seen before, and the event after it -> what has then been seen. 0: nothing."""
        self.number: list[dict[tuple[int, int], int]] = [{} for _ in graph.seats]
        """Per seat: what it has seen, and what it is asked -> the information set."""
        self.owner: list[int] = []
        self.before: list[int] = []
        self.depth: list[int] = []
        self.asks: list[int] = []
        self.knowns: list[int] = []
        self.offsets = [1]
        self.set_of = [NOWHERE]
        """The information set of each sequence."""

    def run(self) -> list[_Layer]:
        """Returns the ends of the game, by the length of the history."""
        seats = len(self.graph.seats)
        layer = _Layer(
            np.array([self.graph.root], dtype=np.int32), np.ones(1),
            np.zeros((1, seats), dtype=np.int64), np.zeros((1, seats), dtype=np.int32),
        )  # fmt: skip
        ends = []
        while len(layer.position_H):
            over_H = self.moves.count_P[layer.position_H] == 0
            if over_H.any():
                ends.append(layer.at(np.flatnonzero(over_H)))
                layer = layer.at(np.flatnonzero(~over_H))
            layer = self._next(layer)
        return ends

    def _next(self, layer: _Layer) -> _Layer:
        moves = self.moves
        count_H = moves.count_P[layer.position_H]
        from_C = np.repeat(np.arange(len(count_H)), count_H)
        nth_C = np.arange(len(from_C)) - np.repeat(np.cumsum(count_H) - count_H, count_H)
        move_C = moves.first_P[layer.position_H][from_C] + nth_C
        position_C = moves.following_E[move_C]
        known_CN, sequence_CN = layer.known_HN[from_C], layer.sequence_HN[from_C]
        for seat in range(len(self.graph.seats)):
            first_H = self._first_sequences(layer, seat)
            option_C = moves.option_EN[move_C, seat]
            chose_C = option_C != NOWHERE
            sequence_CN[chose_C, seat] = (first_H[from_C] + option_C)[chose_C]
            asked_C = moves.again_PN[position_C, seat]
            shown_C = np.where(asked_C, moves.shown_EN[move_C, seat], 0)
            known_CN[:, seat] = self._see(np.where(asked_C, known_CN[:, seat], 0), shown_C)
        chance_C = layer.chance_H[from_C] * moves.odds_E[move_C]
        return _Layer(position_C, chance_C, known_CN, sequence_CN)

    def _first_sequences(self, layer: _Layer, seat: int) -> Array:
        """The first sequence (H,) of the information set that a seat is in; new ones are numbered.
        0 where it has no choice."""
        ask_H = self.moves.ask_PN[layer.position_H, seat].astype(np.int64)
        first_H = np.zeros(len(ask_H), dtype=np.int64)
        at = np.flatnonzero(ask_H != NOWHERE)
        if not len(at):
            return first_H
        many = len(self.graph.asks)
        pairs, one, inverse = np.unique(
            layer.known_HN[at, seat] * many + ask_H[at], return_index=True, return_inverse=True
        )
        before = layer.sequence_HN[at[one], seat].tolist()
        number, firsts = self.number[seat], []
        for pair, sequence in zip(pairs.tolist(), before, strict=True):
            known, ask = divmod(pair, many)
            info = number.get((known, ask))
            if info is None:
                info = number[known, ask] = len(self.owner)
                if info >= self.most:
                    raise TooLarge(self.most)
                self._add(seat, sequence, ask, known)
            firsts.append(self.offsets[info])
        first_H[at] = np.array(firsts, dtype=np.int64)[inverse]
        return first_H

    def _add(self, seat: int, sequence: int, ask: int, known: int) -> None:
        self.owner.append(seat)
        self.before.append(sequence)
        self.depth.append(self.depth[self.set_of[sequence]] + 1 if sequence else 0)
        self.asks.append(ask)
        self.knowns.append(known)
        size = len(self.graph.asks[ask][2])
        self.set_of += [len(self.owner) - 1] * size
        self.offsets.append(self.offsets[-1] + size)

    def _see(self, known_C: Array, shown_C: Array) -> Array:
        """Returns what histories have seen (C,) after a list of events each. Events are taken one
        by one, so that what was seen in one move or in two is the same."""
        many = len(self.moves.lists)
        pairs, inverse = np.unique(known_C * many + shown_C, return_inverse=True)
        found = []
        for pair in pairs.tolist():
            known, shown = divmod(pair, many)
            for event in self.moves.lists[shown]:
                known = self.seen.setdefault((known, event), len(self.seen) + 1)
            found.append(known)
        return np.array(found, dtype=np.int64)[inverse]

    def information_sets(self, role_of: dict[str, str]) -> tuple[InfoSet, ...]:
        """All information sets, with the names that trees give them."""
        from gamedsl.runtime.positions import name_of_set

        asked_as = self.graph.asks
        texts = _texts(self.seen, self.graph.events, self.knowns)
        found = []
        for ask, known in zip(self.asks, self.knowns, strict=True):
            seat, step, legal = asked_as[ask]
            key = name_of_set(seat, step, (texts[known],) if known else ())
            found.append(InfoSet(key, seat, role_of[seat], step, legal))
        return tuple(found)


def _texts(
    seen: dict[tuple[int, int], int], events: Sequence[str], wanted: Sequence[int]
) -> dict[int, str]:
    """Returns what was seen, as information sets name it."""
    behind = {after: pair for pair, after in seen.items()}
    texts = {0: ""}
    for known in wanted:
        chain = []
        while known not in texts:
            chain.append(known)
            known = behind[known][0]
        for later in reversed(chain):
            before, event = behind[later]
            told = texts[before]
            texts[later] = f"{told}, {events[event]}" if told else events[event]
    return texts
