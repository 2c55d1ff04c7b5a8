"""Lower bounds on the exploitability of a policy, by search, in games too large for a tree.

A seat's best response cannot be computed there, but any response shows a possible gain. Monte Carlo
tree search over the seat's own information sets looks for one, while the others play their policy
(the best response of Timbers et al. 2022, without their networks). The response is then fixed and
played in fresh games against the policy itself.

If the whole game has at most `nodes` nodes, the best response is computed and everything is exact,
up to floats. Else `gain` is an unbiased estimate of the gain of the response that was found, with
its standard error; the best response gains at least as much, by an unknown amount. A gain near 0
therefore proves nothing: more simulations may find more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, log, sqrt
from random import Random
from statistics import fmean, stdev
from typing import TYPE_CHECKING

from gamedsl.engine.walk import amounts, play_out
from gamedsl.runtime.decision import key_of
from gamedsl.solve.best_responses import Number, Policy, exploitability
from gamedsl.solve.mccfr import REPORTS, draw
from gamedsl.solve.tree import ImperfectRecall, TooLarge, Tree, Utility, tabulate

if TYPE_CHECKING:
    from gamedsl.engine.kernel import Ask, State
    from gamedsl.runtime import Game

Plays = Callable[[str, Sequence[str]], Mapping[str, Number]]
"""A function from the key of an information set and its actions to their probabilities."""

Pick = Callable[[str, Sequence[str]], int]
"""A function from the key of an information set and its actions to the number of one."""

Progress = Callable[[int, int], None]
"""A callback with the numbers of simulations and comparisons done, and of all."""


@dataclass(frozen=True)
class Reply:
    """A seat's gain by a response to the others, in units of utility. `error` is the standard
    error of `gain`, 0 if it is `exact`. `actions` are those of the response, by information set;
    elsewhere it plays the policy itself."""

    seat: str
    gain: float
    error: float
    exact: bool
    actions: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True)
class Bound:
    """NashConv is `gain` if `exact`; else at least `gain`, up to its standard error `error`."""

    replies: Mapping[str, Reply]

    @property
    def gain(self) -> float:
        """The sum of what the seats gain, each alone."""
        return sum(reply.gain for reply in self.replies.values())

    @property
    def error(self) -> float:
        return sqrt(sum(reply.error**2 for reply in self.replies.values()))

    @property
    def exact(self) -> bool:
        return all(reply.exact for reply in self.replies.values())

    @property
    def at_least(self) -> float:
        """A lower bound of NashConv, with 97.5% confidence if it is not exact; never below 0,
        which always holds."""
        return self.gain if self.exact else max(0.0, self.gain - 1.96 * self.error)


def nash_conv_bound(
    game: Game,
    policy: Policy | Plays,
    *,
    nodes: int = 20_000,
    simulations: int = 2_000,
    games: int = 1_000,
    seed: int = 0,
    utility: Utility = "payoffs",
    progress: Progress | None = None,
) -> Bound:
    """NashConv of a policy, or a bound from below (see the module).

    `nodes` is how large a game is worked out whole; `simulations` are played per seat to find its
    reply, and `games` (at least 2) to see what it gains. Equal seeds give equal bounds. Raises as
    `exploitability`, and EvaluationError where the rules fail.
    """
    if simulations < 1 or games < 2:
        raise ValueError("a reply takes at least 1 simulation and 2 games")
    plays: Plays = (lambda key, _: policy[key]) if isinstance(policy, Mapping) else policy
    try:
        return _exact(tabulate(game.env(), limit=nodes), plays, utility)
    except (TooLarge, ImperfectRecall):
        pass
    searches = [Search(game, plays, seat, seed, utility) for seat in game.ir.seats]
    return searched(searches, simulations, games, seed, progress)


def searched(
    searches: Sequence[Search],
    simulations: int,
    games: int,
    seed: int = 0,
    progress: Progress | None = None,
) -> Bound:
    """The bound that searches find, one for each seat; see `nash_conv_bound`."""
    replies = {}
    rounds = (simulations + games) * len(searches)
    every = -(-rounds // REPORTS)

    def counted(before: int, count: int) -> Iterator[int]:
        for n in range(count):
            yield n
            done = before + n + 1
            if progress is not None and (done % every == 0 or done == rounds):
                progress(done, rounds)

    for place, search in enumerate(searches):
        before = (simulations + games) * place
        for _ in counted(before, simulations):
            search.simulate()
        actions = search.best()
        compared = counted(before + simulations, games)
        gains = [search.compare(actions, f"{seed}:{n}") for n in compared]
        error = stdev(gains) / sqrt(games)
        replies[search.seat] = Reply(search.seat, fmean(gains), error, False, actions)
    return Bound(replies)


def _exact(tree: Tree, plays: Plays, utility: Utility) -> Bound:
    policy = {info.key: plays(info.key, info.actions) for info in tree.info_sets}
    found = exploitability(tree, policy, utility)
    replies = {}
    for seat, best in found.best_responses.items():
        gain = float(best.value - found.values[seat])
        replies[seat] = Reply(seat, gain, 0.0, True, best.actions)
    return Bound(replies)


class _Tried:
    """The actions of one information set, with the visits and the total payoff of each."""

    __slots__ = ("earned", "legal", "times")

    def __init__(self, legal: Sequence[str]) -> None:
        self.legal = legal
        self.times = [0] * len(legal)
        self.earned = [0.0] * len(legal)

    def choose(self, spread: float) -> int:
        """Returns the most promising action: upper confidence bounds (Auer et al. 2002), untried
        actions first. `spread` is the range of payoffs seen in games."""
        wide = spread * sqrt(2 * log(max(1, sum(self.times))))

        def promise(place: int) -> float:
            times = self.times[place]
            return self.earned[place] / times + wide / sqrt(times) if times else inf

        return max(range(len(self.legal)), key=promise)


class Search:
    """The search for one seat's reply to the others' policy."""

    def __init__(self, game: Game, plays: Plays, seat: str, seed: int, utility: Utility) -> None:
        self.seat = seat
        self.tried: dict[str, _Tried] = {}
        self._kernel = game.kernel()
        self._plays = plays
        self._random = Random(f"{seed} {seat}").random
        self._utility = utility
        self._least, self._most = inf, -inf

    def simulate(self) -> None:
        """Play one game: by what promises most as far as the tree goes, then by the policy; the
        tree grows by one information set."""
        way: list[tuple[_Tried, int]] = []

        def pick(key: str, legal: Sequence[str]) -> int:
            known = self.tried.get(key)
            if known is None:
                if way and not sum(way[-1][0].times):
                    return self.by_policy(key, legal, self._random)
                known = self.tried[key] = _Tried(legal)
            option = known.choose(max(0.0, self._most - self._least))
            way.append((known, option))
            return option

        earned = self.play(pick, self._random)
        self._least, self._most = min(self._least, earned), max(self._most, earned)
        for known, option in way:
            known.times[option] += 1
            known.earned[option] += earned

    def best(self) -> dict[str, str]:
        """Returns the most tried action at each information set whose actions were all tried."""
        return {
            key: known.legal[known.times.index(max(known.times))]
            for key, known in self.tried.items()
            if min(known.times)
        }

    def compare(self, actions: Mapping[str, str], seed: str) -> float:
        """Returns the response's gain over the policy, each in one game with the same random
        numbers."""

        def reply(key: str, legal: Sequence[str]) -> int:
            if key in actions:
                random()
                return legal.index(actions[key])
            return self.by_policy(key, legal, random)

        random = Random(seed).random
        earned = self.play(reply, random)
        random = Random(seed).random
        return earned - self.play(lambda k, names: self.by_policy(k, names, random), random)

    def by_policy(self, key: str, legal: Sequence[str], random: Callable[[], float]) -> int:
        """The place of an action that is drawn from the policy."""
        row = self._plays(key, legal)
        return draw([float(row.get(name, 0)) for name in legal], random)

    def play(self, pick: Pick, random: Callable[[], float]) -> float:
        """Returns the seat's payoff in a game in which `pick` chooses for it."""

        def choose(state: State) -> list[int]:
            return [self._option(state, ask, pick, random) for ask in state.asks]

        end = play_out(self._kernel.start(), random, choose)
        return float(amounts(end, self._utility)[self.seat])

    def _option(self, state: State, ask: Ask, pick: Pick, random: Callable[[], float]) -> int:
        if len(ask.legal) > 1 and ask.seat == self.seat:
            return pick(key_of(state, ask), ask.legal)
        return option_by(self._plays, state, ask, random)


def option_by(plays: Plays, state: State, ask: Ask, random: Callable[[], float]) -> int:
    """The number of an option drawn from a policy; 0, without drawing, where there is one."""
    if len(ask.legal) == 1:
        return 0
    row = plays(key_of(state, ask), ask.legal)
    return draw([float(row.get(name, 0)) for name in ask.legal], random)
