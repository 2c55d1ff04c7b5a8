"""Monte Carlo tree search: UCT (Kocsis and Szepesvári 2006) for any number of seats.

Each simulation goes down the tree by upper confidence bounds, adds one node, plays on at random and
counts what everybody was paid; at a node each seat looks at its own payoffs alone (max^n). Payoffs
are scaled to the least and the most that the search has met, so that one constant of exploration
fits all games. At moves of chance an outcome is drawn. What is played is a function of the seed and
of what has happened, so the same history is always answered alike.
"""

from __future__ import annotations

import random
from collections import OrderedDict
from math import inf, log, sqrt
from typing import TYPE_CHECKING

from gamedsl.engine.walk import mover, options, play_out, take
from gamedsl.players.base import OPEN_GAMES, DrawingPlayer, Player, PlayerRequest, PlayerSpec
from gamedsl.players.search import require_open, shared_by_best

if TYPE_CHECKING:
    from gamedsl.engine.kernel import State
    from gamedsl.runtime import Decision, Episode, Game

EXPLORATION = sqrt(1 / 2)
"""The constant of the bound, for values from 0 to 1; the √2 of UCB1 (Auer et al. 2002) searches too
widely in games with a few moves."""
KEPT = 10_000
"""Answers that a player remembers."""


class MctsPlayer(DrawingPlayer):
    """Takes the action that most simulations tried."""

    def __init__(self, game: Game, simulations: int, *, seed: int = 0) -> None:
        """`PlayerError` for a game in which somebody does not see everything."""
        super().__init__(seed=seed)
        require_open(game, "mcts")
        self._simulations, self._seed = simulations, seed
        self._found: OrderedDict[str, list[float]] = OrderedDict()

    def odds(self, decision: Decision, episode: Episode) -> list[float]:
        key = decision.information_set
        if key not in self._found:
            dice = random.Random(f"{self._seed} {key}")
            root = search(episode.state, episode.env.seats, self._simulations, dice)
            visits = [0 if node is None else node.visits for node in root.below]
            if len(self._found) >= KEPT:
                self._found.popitem(last=False)
            self._found[key] = shared_by_best(visits)
        return self._found[key]


class SearchNode:
    """A history of the search: how often it was come to, and what everybody was paid after it.

    A decision's `below` has one place for each option, a move of chance's one for each outcome.
    """

    __slots__ = ("below", "paid", "seat", "state", "visits")

    def __init__(self, state: State, seats: tuple[str, ...]) -> None:
        self.state = state
        self.visits = 0
        self.paid = [0.0] * len(seats)
        self.seat: int | None = None
        if state.kind == "decide":
            self.seat = seats.index(state.asked[mover(state)])
        self.below: list[SearchNode | None] = [None] * options(state)


def search(
    state: State, seats: tuple[str, ...], simulations: int, dice: random.Random
) -> SearchNode:
    """Returns the root of the tree that simulations from a state have built: `below` has a node
    for each option of the acting seat that one of them tried."""
    root, scale = SearchNode(state, seats), Scale(len(seats))
    for _ in range(simulations):
        path = _descend(root, seats, scale, dice)
        paid = _play_out(path[-1].state, seats, dice)
        scale.meet(paid)
        for node in path:
            node.visits += 1
            for seat, amount in enumerate(paid):
                node.paid[seat] += amount
    return root


class Scale:
    """The least and the most that each seat was paid so far."""

    def __init__(self, seats: int) -> None:
        self._low, self._high = [inf] * seats, [-inf] * seats

    def meet(self, paid: list[float]) -> None:
        self._low = list(map(min, self._low, paid))
        self._high = list(map(max, self._high, paid))

    def share(self, seat: int, amount: float) -> float:
        """An amount from 0, the least, to 1, the most; a half where all were the same."""
        low, high = self._low[seat], self._high[seat]
        return (amount - low) / (high - low) if high > low else 0.5


def _descend(
    root: SearchNode, seats: tuple[str, ...], scale: Scale, dice: random.Random
) -> list[SearchNode]:
    """The nodes from the root to one that is new, or an end."""
    path = [root]
    while (node := path[-1]).below:
        if node.seat is None:
            option = node.state.sample(dice.random)
        else:
            option = _promising(node, node.seat, scale, dice)
        child = node.below[option]
        if child is None:
            child = node.below[option] = SearchNode(take(node.state, option), seats)
            path.append(child)
            break
        path.append(child)
    return path


def _promising(node: SearchNode, seat: int, scale: Scale, dice: random.Random) -> int:
    """An option not tried yet, any of them; else the one with the highest bound."""
    untried = [option for option, child in enumerate(node.below) if child is None]
    if untried:
        return dice.choice(untried)
    bounds = [
        scale.share(seat, child.paid[seat] / child.visits)
        + EXPLORATION * sqrt(log(node.visits) / child.visits)
        for child in node.below
        if child is not None
    ]
    return bounds.index(max(bounds))


def _play_out(state: State, seats: tuple[str, ...], dice: random.Random) -> list[float]:
    """Returns the payoffs after random play to the end."""

    def choose(state: State) -> list[int]:
        return [dice.randrange(count) for count in state.counts]

    payoffs = play_out(state.copy(), dice.random, choose).payoffs
    return [float(payoffs[seat]) for seat in seats]


def _open_mcts(request: PlayerRequest) -> Player:
    simulations = request.whole(request.argument, "mcts:200")
    return MctsPlayer(request.game, simulations, seed=request.seed)


PLAYER = PlayerSpec(
    "SIMULATIONS", "what Monte Carlo tree search tries most", OPEN_GAMES, _open_mcts,
    speaks=False, seeded=True,
)  # fmt: skip
