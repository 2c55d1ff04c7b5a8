"""Lower bounds on the exploitability of a policy, by search, in games too large for a tree.

A seat's best response cannot be computed there, but any response shows a possible gain. Monte Carlo
tree search over the seat's own information sets looks for one, while the others play their policy
(the best response of Timbers et al. 2022, without their networks). Beside it simple replies are
tried: the best average at each information set of the search, random play, and each of the actions
that are offered most often wherever it is legal. The one that earns most in some games is then
played in fresh games against the policy itself; where none earns more there, the policy's own play
is the reply, which gains 0.

If the whole game has at most `nodes` nodes, the best response is computed and everything is exact,
up to floats. Else `gain` is an unbiased estimate of the gain of the response that was found, with
its standard error; the best response gains at least as much, by an unknown amount. A gain near 0
therefore proves nothing: more simulations may find more.
"""

from __future__ import annotations

from collections import Counter
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


Choice = Callable[[Sequence[str]], int | None]
"""A function from legal actions to the number of one: -1 for one at random, None where the policy
plays."""

SIMPLE = 4
"""Actions of which each is tried wherever it is legal."""
FEW_TRIALS = 20
"""The least number of games in which each reply is tried."""


@dataclass(frozen=True)
class Reply:
    """A seat's gain by a response to the others, in units of utility. `error` is the standard
    error of `gain`, 0 if it is `exact`. `actions` are those of the response, by information set;
    elsewhere it plays the policy itself, unless `by` says otherwise. `tried` is how many replies
    were tried, and `by` the one of which this is the gain: "" where none earned more than the
    policy, and `gain` is 0."""

    seat: str
    gain: float
    error: float
    exact: bool
    actions: Mapping[str, str] = field(repr=False)
    tried: int = 0
    by: str = ""


@dataclass(frozen=True)
class Bound:
    """NashConv is `gain` if `exact`; else at least `gain`, up to its standard error `error`. A seat
    for which no reply was found adds nothing to either, and may gain something all the same."""

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

    @property
    def tried(self) -> int:
        """The number of replies that were tried for a seat."""
        return max((reply.tried for reply in self.replies.values()), default=0)

    @property
    def found(self) -> bool:
        """Whether some reply gains for sure, with the confidence of `at_least`."""
        return self.at_least > 0


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
        found = search.replies()
        trials = max(FEW_TRIALS, games // 10)
        earned = {
            name: fmean(search.compare(pick, f"{seed} try:{n}") for n in range(trials))
            for name, pick in found.items()
        }
        name = max(earned, key=earned.__getitem__)
        if earned[name] <= 0:
            for _ in counted(before + simulations, games):
                pass
            replies[search.seat] = Reply(search.seat, 0.0, 0.0, False, {}, len(found))
            continue
        pick = found[name]
        gains = [search.compare(pick, f"{seed}:{n}") for n in counted(before + simulations, games)]
        error = stdev(gains) / sqrt(games)
        actions = pick if isinstance(pick, Mapping) else {}
        replies[search.seat] = Reply(
            search.seat, fmean(gains), error, False, actions, len(found), name
        )
    return Bound(replies)


def _exact(tree: Tree, plays: Plays, utility: Utility) -> Bound:
    policy = {info.key: plays(info.key, info.actions) for info in tree.info_sets}
    found = exploitability(tree, policy, utility)
    replies = {}
    for seat, best in found.best_responses.items():
        gain = float(best.value - found.values[seat])
        replies[seat] = Reply(seat, gain, 0.0, True, best.actions, 1, "the best reply")
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

    def replies(self) -> dict[str, Mapping[str, str] | Choice]:
        """Returns the replies to try, by what they are called."""
        found: dict[str, Mapping[str, str] | Choice] = {
            "tree search": self.best(),
            "the best averages of tree search": self.greedy(),
            "random play": lambda legal: -1,
        }
        offered = Counter(name for known in self.tried.values() for name in known.legal)
        for name, _ in offered.most_common(SIMPLE):
            found[f"`{name}` wherever it is legal"] = _always(name)
        return found

    def greedy(self) -> dict[str, str]:
        """Returns the action that earned most on average at each information set, of those that
        were tried."""
        found = {}
        for key, known in self.tried.items():
            places = [place for place, times in enumerate(known.times) if times]
            if places:
                best = max(places, key=lambda p: known.earned[p] / known.times[p])
                found[key] = known.legal[best]
        return found

    def compare(self, actions: Mapping[str, str] | Choice, seed: str) -> float:
        """Returns the response's gain over the policy, each in one game with the same random
        numbers."""

        def reply(key: str, legal: Sequence[str]) -> int:
            if not isinstance(actions, Mapping):
                option = actions(legal)
                if option is not None:
                    chance = random()
                    return option if option >= 0 else int(chance * len(legal))
            elif key in actions:
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


def _always(name: str) -> Choice:
    """The reply that takes an action wherever it is legal."""
    return lambda legal: legal.index(name) if name in legal else None


def option_by(plays: Plays, state: State, ask: Ask, random: Callable[[], float]) -> int:
    """The number of an option drawn from a policy; 0, without drawing, where there is one."""
    if len(ask.legal) == 1:
        return 0
    row = plays(key_of(state, ask), ask.legal)
    return draw([float(row.get(name, 0)) for name in ask.legal], random)
