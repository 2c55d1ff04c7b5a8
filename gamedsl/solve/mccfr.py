"""Monte Carlo CFR (Lanctot, Waugh, Zinkevich and Bowling 2009): for games too large for a tree.

Games are played by the rules alone (`Game.kernel`), and memory grows with the information sets that
were met. The average policy converges in two-player games of constant sum, at a rate of one over
the root of the iterations; nothing says how far it is: see `gamedsl.solve.response_search`.

Both ways of sampling weigh what a seat plays by its own chance of coming there, over that of what
the others were sampled with, so that averages are right with more than two seats as well.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from operator import mul
from random import Random
from typing import TYPE_CHECKING, Literal

from gamedsl.engine.walk import amounts, play_out
from gamedsl.runtime.decision import key_of
from gamedsl.solve.tree import Tree, Utility

if TYPE_CHECKING:
    from gamedsl.engine.kernel import Ask, State
    from gamedsl.runtime import Game

Progress = Callable[[int, int], None]
"""A callback with the numbers of iterations done and of information sets visited."""

Sampling = Literal["external", "outcome"]

REPORTS = 20
"""The number of progress reports in a run."""

EXPLORED = 0.6
"""The probability that outcome sampling draws an action at random, not by the policy."""


@dataclass(frozen=True)
class SampledPolicy:
    """A learned policy: `visited` maps information set -> action -> probability. Elsewhere, all
    actions are equally likely."""

    visited: Mapping[str, Mapping[str, float]]
    method: str

    def __call__(self, key: str, legal: Sequence[str]) -> Mapping[str, float]:
        """The probabilities of the actions at any information set."""
        found = self.visited.get(key)
        return dict.fromkeys(legal, 1 / len(legal)) if found is None else found

    def on(self, tree: Tree) -> dict[str, Mapping[str, float]]:
        """The policy at every information set of a tree."""
        return {info.key: self(info.key, info.actions) for info in tree.info_sets}


def mccfr(
    game: Game,
    iterations: int,
    seed: int = 0,
    progress: Progress | None = None,
    *,
    sampling: Sampling = "external",
    utility: Utility = "payoffs",
) -> SampledPolicy:
    """The average policy after so many iterations, each of which updates every seat once.

    "external" tries all actions of the seat that is updated and samples everything else: few
    iterations are enough, but one takes time exponential in the seat's own decisions in a game.
    "outcome" plays one game an update, however long it is, and needs many more of them. Equal seeds
    give equal policies. ValueError for another sampling and for no iterations; EvaluationError
    where the rules fail.
    """
    if iterations < 1:
        raise ValueError(f"{iterations} iterations are none")
    traversal = traversal_of(game, sampling, seed, utility)
    for done in range(1, iterations + 1):
        traversal.iterate()
        if progress is not None and (done % -(-iterations // REPORTS) == 0 or done == iterations):
            progress(done, len(traversal.nodes))
    visited = {key: node.average() for key, node in traversal.nodes.items()}
    return SampledPolicy(visited, f"{sampling}-sampling MCCFR, {iterations:,} iterations")


def traversal_of(game: Game, sampling: Sampling, seed: int | str, utility: Utility) -> Traversal:
    """A traversal by a way of sampling. ValueError for another one."""
    ways: dict[Sampling, type[Traversal]] = {
        "external": ExternalSampling,
        "outcome": OutcomeSampling,
    }
    if sampling not in ways:
        raise ValueError(f"there is no sampling {sampling!r}, only {', '.join(ways)}")
    return ways[sampling](game, seed, utility)


class RegretNode:
    """One information set: its actions, their regrets, and the weights of their average."""

    __slots__ = ("legal", "regrets", "totals")

    def __init__(self, legal: tuple[str, ...]) -> None:
        self.legal = legal
        self.regrets = [0.0] * len(legal)
        self.totals = [0.0] * len(legal)

    def row(self) -> list[float]:
        """Returns the probabilities of regret matching."""
        return _shares([max(regret, 0.0) for regret in self.regrets])

    def add(self, row: Sequence[float], weight: float) -> None:
        self.totals = [x + weight * p for x, p in zip(self.totals, row, strict=True)]

    def average(self) -> dict[str, float]:
        return dict(zip(self.legal, _shares(self.totals), strict=True))

    def copy(self) -> RegretNode:
        """A node that goes on from this one; updates put new lists in the place of old ones."""
        copy = RegretNode(self.legal)
        copy.regrets, copy.totals = self.regrets, self.totals
        return copy


Nodes = dict[str, RegretNode]
"""Nodes by information set."""


def _shares(values: list[float]) -> list[float]:
    total = sum(values)
    return [x / total for x in values] if total > 0 else [1 / len(values)] * len(values)


def draw(row: Sequence[float], random: Callable[[], float]) -> int:
    """Draws a place in a row of probabilities."""
    left = random()
    for place, share in enumerate(row):
        left -= share
        if left < 0:
            return place
    return max(range(len(row)), key=row.__getitem__)  # what rounding leaves


class Traversal(ABC):
    """Code that both ways of sampling share. While a seat is updated, `reach` holds the
    probability that each seat's own choices led here."""

    def __init__(self, game: Game, seed: int | str, utility: Utility) -> None:
        self.seats = game.ir.seats
        self.nodes: Nodes = {}
        self.known: Nodes = {}
        """Nodes that it goes on from, and leaves as they are."""
        self.random = Random(seed).random
        self.kernel = game.kernel()
        self._place = {seat: place for place, seat in enumerate(self.seats)}
        self._utility: Utility = utility

    @abstractmethod
    def update(self, place: int) -> None:
        """Update the regrets of one seat, and the averages of the others, or of an only seat."""

    def iterate(self) -> None:
        """Update every seat once."""
        for place in range(len(self.seats)):
            self.update(place)

    def move(
        self, state: State, place: int, reach: list[float], sampled: float
    ) -> tuple[list[int], int, RegretNode | None]:
        """A move for all who are asked: the options of all but the seat to update, drawn; where it
        is in the move, and its node, if it has a choice. `sampled` is how likely its own choices
        were sampled up to here."""
        asks = state.asks
        numbers, own, node = [0] * len(asks), 0, None
        before = tuple(reach)
        for i, ask in enumerate(asks):
            if len(ask.legal) == 1:
                continue
            here, seat = self._node(state, ask), self._place[ask.seat]
            if seat == place:
                own, node = i, here
            row = here.row()
            if seat != place or len(self.seats) == 1:
                others = prod(p for k, p in enumerate(before) if k not in (place, seat))
                here.add(row, (before[seat] if seat == place else 1.0) / (sampled * others))
            if seat != place:
                numbers[i] = draw(row, self.random)
                reach[seat] *= row[numbers[i]]
        return numbers, own, node

    def paid(self, state: State, place: int) -> float:
        return float(amounts(state, self._utility)[self.seats[place]])

    def _node(self, state: State, ask: Ask) -> RegretNode:
        key = key_of(state, ask)
        node = self.nodes.get(key)
        if node is None:
            known = self.known.get(key)
            node = self.nodes[key] = RegretNode(ask.legal) if known is None else known.copy()
        return node


class ExternalSampling(Traversal):
    """External sampling: tries all actions of one seat, and samples chance and the others."""

    def update(self, place: int) -> None:
        self._walk(self.kernel.start(), place, [1.0] * len(self.seats))

    def _walk(self, state: State, place: int, reach: list[float]) -> float:
        """Returns the seat's value from here under its current strategy."""
        while state.kind != "end":
            if state.kind == "chance":
                state.apply(state.sample(self.random))
                continue
            numbers, own, node = self.move(state, place, reach, 1.0)
            if node is not None:
                return self._try_all(state, place, reach, numbers, own, node)
            state.apply(*numbers)
        return self.paid(state, place)

    def _try_all(
        self,
        state: State,
        place: int,
        reach: list[float],
        numbers: list[int],
        own: int,
        node: RegretNode,
    ) -> float:
        row, values = node.row(), list[float]()
        for option, share in enumerate(row):
            after, way = state.copy(), reach.copy()
            numbers[own] = option
            way[place] *= share
            after.apply(*numbers)
            values.append(self._walk(after, place, way))
        value = sum(map(mul, row, values), 0.0)
        node.regrets = [r + v - value for r, v in zip(node.regrets, values, strict=True)]
        return value


class OutcomeSampling(Traversal):
    """Outcome sampling: plays one game an update, in which the seat to update explores."""

    def update(self, place: int) -> None:
        reach, sampled = [1.0] * len(self.seats), 1.0
        trail = list[tuple[RegretNode, list[float], int, float, float]]()

        def choose(state: State) -> list[int]:
            nonlocal sampled
            numbers, own, node = self.move(state, place, reach, sampled)
            if node is not None:
                row = node.row()
                tried = [EXPLORED / len(row) + (1 - EXPLORED) * p for p in row]
                option = numbers[own] = draw(tried, self.random)
                trail.append((node, row, option, tried[option], sampled))
                reach[place] *= row[option]
                sampled *= tried[option]
            return numbers

        value = self.paid(play_out(self.kernel.start(), self.random, choose), place)
        for node, row, option, likely, before in reversed(trail):
            estimate = value / likely
            value = row[option] * estimate
            node.regrets = [r - value / before for r in node.regrets]
            node.regrets[option] += estimate / before
