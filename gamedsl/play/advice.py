"""Advice on a decision: what a solver would play there, and what each option is worth.

Four advisers, by what the game allows. Where everybody sees everything, positions have exact
values by backward induction. A game whose tree is small is solved, and an option is worth what its
seat expects after it while all others play the equilibrium that was found. Where everybody sees
everything and the game is large, Monte Carlo tree search estimates. Where a large game hides
something, histories that fit what the seat has seen are drawn, and searched. An adviser reads what
the seat knows, and nothing else.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

from gamedsl.engine.walk import take
from gamedsl.play.belief_search import HISTORIES as HISTORIES_DRAWN
from gamedsl.play.belief_search import fitting_histories
from gamedsl.play.belief_search import search as belief_search
from gamedsl.players.base import PlayerError
from gamedsl.players.mcts import search
from gamedsl.players.search import shared_by_best
from gamedsl.runtime.positions import has_perfect_information
from gamedsl.solve.action_values import action_worth, reached_by_others
from gamedsl.solve.best_responses import Number, row_of
from gamedsl.solve.positions import PositionValues
from gamedsl.solve.tree import TooLarge, tabulate

if TYPE_CHECKING:
    from gamedsl.runtime import Decision, Episode, Game

POSITIONS = 100_000
"""Positions up to which a game is worked out whole."""

HISTORIES = 50_000
"""Histories up to which a game is solved as a tree."""

SIMULATIONS = 600
"""Simulations of a search for one decision; at least three for each option."""

TREMBLE = 1e-3
"""The probability of a mistake in information sets that are not reached without one."""


@dataclass(frozen=True)
class Advice:
    """Advice on a decision. `odds` are a solver's probabilities and `worth` the payoffs that
    the seat expects, both parallel to `decision.legal`; so are `tries`, the simulations that each
    worth is a mean of, where it is estimated."""

    odds: tuple[float, ...]
    worth: tuple[Number, ...]
    tries: tuple[int, ...] | None = None

    def cost(self, option: int) -> Number:
        """Returns what an option loses against the best one, in units of payoff."""
        return max(self.worth) - self.worth[option]


class Unadvised(Exception):
    """No advice was found on a decision."""


class Adviser(Protocol):
    """Gives advice on the closed decisions of one game."""

    source: str
    """What it is, in a few words."""
    reviews: bool
    """Whether its worths are good enough to say what a choice cost."""

    def advise(self, decision: Decision, episode: Episode) -> Advice: ...


class PositionAdviser:
    """Exact values of positions, where everybody sees everything."""

    source = "the exact value of each position, when all play best"
    reviews = True

    def __init__(self, game: Game) -> None:
        """Raises TooLarge for more than `POSITIONS` positions."""
        self._kernel = game.kernel()
        self._seats = game.ir.seats
        self._values = PositionValues(self._kernel.start(), game.ir.seats, limit=POSITIONS)

    def advise(self, decision: Decision, episode: Episode) -> Advice:
        seat = self._seats.index(decision.seat)
        options = range(len(decision.legal))
        worth = tuple(self._values.worth(take(episode.state, n))[seat] for n in options)
        return Advice(tuple(shared_by_best(worth)), worth)


class EquilibriumAdviser:
    """The equilibrium of a game whose tree is small. An option's worth is the payoff that its seat
    expects after it, in its information set, while all play the equilibrium from there on.

    Where the others' play never leads to an information set, its histories are weighed as if each
    of them trembled (Selten 1975): with probability `TREMBLE` they choose at random.
    """

    reviews = True

    def __init__(self, game: Game) -> None:
        """Raises PlayerError where no equilibrium is found, and TooLarge for a large tree."""
        from gamedsl.players.equilibrium import equilibrium

        found = equilibrium(game)
        self.source = f"the {found.concept} that the solver found"
        tree = tabulate(game.env(), limit=4 * HISTORIES)
        self._policy = {
            info.key: row_of(info.key, info.actions, found.policy)
            if info.key in found.policy
            else uniform(len(info.actions))
            for info in tree.info_sets
        }
        actions = {info.key: info.actions for info in tree.info_sets}
        named = {
            key: dict(zip(actions[key], row, strict=True)) for key, row in self._policy.items()
        }
        self._worth = action_worth(tree, named, "payoffs")
        unreached = {info.key for info in tree.info_sets} - reached_by_others(tree, named)
        if unreached:
            trembling = {
                key: {name: _trembled(p, len(row)) for name, p in row.items()}
                for key, row in named.items()
            }
            other = action_worth(tree, trembling, "payoffs")
            self._worth |= {key: other[key] for key in unreached}

    def advise(self, decision: Decision, episode: Episode) -> Advice:
        key = decision.information_set
        return Advice(tuple(map(float, self._policy[key])), self._worth[key][1])


def uniform(options: int) -> tuple[Number, ...]:
    """Returns the distribution that is equal over some options."""
    return (Fraction(1, options),) * options


def _trembled(probability: Number, options: int) -> float:
    return (1 - TREMBLE) * float(probability) + TREMBLE / options


class SearchAdviser:
    """Monte Carlo tree search, where everybody sees everything and the game is large."""

    source = f"an estimate by {SIMULATIONS} simulations"
    reviews = True

    def __init__(self, game: Game) -> None:
        self._seats = game.ir.seats

    def advise(self, decision: Decision, episode: Episode) -> Advice:
        dice = random.Random(decision.information_set)
        simulations = max(SIMULATIONS, 3 * len(decision.legal))
        nodes = search(episode.state, self._seats, simulations, dice).below
        seat = self._seats.index(decision.seat)
        visits = [0 if node is None else node.visits for node in nodes]
        tried = [None if node is None else node.paid[seat] / node.visits for node in nodes]
        least = min(value for value in tried if value is not None)
        return Advice(
            tuple(shared_by_best(visits)),
            tuple(least if value is None else value for value in tried),
            tuple(visits),
        )


class BeliefAdviser:
    """A search over information sets, where a large game hides something."""

    source = (
        f"an estimate by {SIMULATIONS} simulations from {HISTORIES_DRAWN} histories that fit what "
        "the seat has seen, if the others chose at random until here"
    )
    reviews = False

    def __init__(self, game: Game) -> None:
        """Raises ValueError where steps say what is known at them: a seat then forgets."""
        if game.ir.asked_as:
            raise ValueError("a seat forgets")
        self._kernel = game.kernel()
        self._seats = game.ir.seats

    def advise(self, decision: Decision, episode: Episode) -> Advice:
        key, seat = decision.information_set, decision.seat
        dice = random.Random(key)
        found = fitting_histories(self._kernel.start(), key, seat, episode.seen(seat), dice)
        if not found:
            raise Unadvised("no history was found that fits what the seat has seen")
        simulations = max(SIMULATIONS, 3 * len(decision.legal))
        visits, worth = belief_search(found, key, self._seats, simulations, dice)
        if len(worth) > 1 and max(worth) == min(worth):
            raise Unadvised("all options earned the same in the simulations, which end at random")
        return Advice(tuple(shared_by_best(visits)), tuple(worth), tuple(visits))


def adviser_of(game: Game) -> Adviser | None:
    """Returns the adviser that fits a game; None where none does: in games with open decisions or
    referees, and in large games where a seat forgets."""
    if game.ir.open or game.ir.referees:
        return None
    if has_perfect_information(game.ir):
        return _by_position(game)
    try:
        return EquilibriumAdviser(game)
    except (PlayerError, TooLarge, ImportError, ValueError):
        pass
    try:
        return BeliefAdviser(game)
    except ValueError:
        return None


def _by_position(game: Game) -> Adviser:
    try:
        return PositionAdviser(game)
    except TooLarge:
        return SearchAdviser(game)
