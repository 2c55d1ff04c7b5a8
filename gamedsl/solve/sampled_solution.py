"""Games too large for a tree: a policy by sampling, what it earns, and how far it can be beaten.

Nothing here is exact, and all that is estimated is given with its standard error. The gains of the
replies that were found bound NashConv from below only: see `gamedsl.solve.response_search`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from random import Random
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

from gamedsl.engine.walk import amounts, play_out, sample_path
from gamedsl.solve.mccfr import Sampling, mccfr
from gamedsl.solve.response_search import Bound, Plays, nash_conv_bound, option_by
from gamedsl.solve.sharded_mccfr import Sampler, StartShards, sharded_mccfr
from gamedsl.solve.solution import Progress, Solution
from gamedsl.solve.tree import Utility

if TYPE_CHECKING:
    from gamedsl.engine.kernel import State
    from gamedsl.runtime import Game

MANY_WAYS = 3_000
"""Ways to play through a game for a seat against fixed others, above which its games are sampled
one by one."""
PROBES = 20
"""Games played at random to see how long they are."""
WORK = 100_000
"""Choices made to learn a policy, unless it is said how many iterations; and again, in all, to see
what it earns and to search for replies."""
FEW, MANY = 100, 20_000
"""The least and the most iterations that are chosen."""
GAMES = 1_000
"""The most games played for one estimate, and to find one reply."""


@dataclass(frozen=True)
class Effort:
    """Settings of sampling: the method, the iterations, and the number of games played for an
    estimate."""

    sampling: Sampling
    iterations: int
    games: int


@dataclass(frozen=True)
class Sampled:
    """Results of a sampled policy. `estimates` are each seat's mean and its standard error over
    `games` games in which all play the policy; `sets` is the number of visited information sets."""

    estimates: dict[str, tuple[float, float]]
    games: int
    sets: int
    bound: Bound

    def as_dict(self) -> dict[str, Any]:
        return {
            "values": {seat: {"mean": m, "error": e} for seat, (m, e) in self.estimates.items()},
            "games": self.games,
            "information_sets": self.sets,
            "gains": {
                seat: {
                    "gain": r.gain if r.exact or r.by else None,
                    "error": r.error,
                    "exact": r.exact,
                    "tried": r.tried,
                    "by": r.by,
                }
                for seat, r in self.bound.replies.items()
            },
            "nash_conv_at_least": self.bound.at_least,
        }


def solve_by_sampling(
    game: Game, utility: Utility, iterations: int | None, seed: int, progress: Progress,
    shards: StartShards | None = None,
) -> tuple[Solution, Sampled, Sampling]:  # fmt: skip
    """A policy by MCCFR, with estimates; `shards` share out its iterations. The solution's regrets
    are at least what replies that were found gain, and are there only for seats with such a reply.
    Equal seeds, and numbers of shards, give equal results. Raises EvaluationError, and as those who
    sample shards."""
    effort = effort_for(game, seed)
    count = iterations or effort.iterations

    def tell(done: int, sets: int) -> None:
        progress("sampling", done, count, f"{sets:,} information sets")

    if shards is None:
        learnt = mccfr(game, count, seed, tell, sampling=effort.sampling, utility=utility)
    else:
        progress("starting workers", 0, None, "")
        sampler = Sampler(game, effort.sampling, utility)
        learnt = sharded_mccfr(sampler, count, seed, shards, tell)
    progress("playing", 0, None, "")
    estimates = _estimate(game, learnt, utility, seed, effort.games)
    progress("searching for replies", 0, None, "")
    bound = nash_conv_bound(
        game, learnt, nodes=1_000, simulations=effort.games, games=effort.games, seed=seed,
        utility=utility,
    )  # fmt: skip
    solution = Solution(
        "policy", learnt.method, learnt.visited,
        {seat: mean for seat, (mean, _) in estimates.items()},
        {
            seat: reply.gain
            for seat, reply in bound.replies.items()
            if reply.exact or reply.gain > 1.96 * reply.error
        },
        False, "" if bound.exact else "regrets are bounds from below, by replies that were tried",
    )  # fmt: skip
    return solution, Sampled(estimates, effort.games, len(learnt.visited), bound), effort.sampling


def effort_for(game: Game, seed: int) -> Effort:
    """Returns settings that fit the length of some random games, and the number of ways in which
    a seat could have played through each against the same others."""
    kernel, random = game.kernel(), Random(seed)
    moves, ways = 0, []

    def uniform(state: State) -> list[int]:
        return [random.randrange(count) for count in state.counts]

    for _ in range(PROBES):
        own = dict.fromkeys(game.ir.seats, 1)
        for state in sample_path(kernel.start(), random.random, uniform):
            if state.kind == "end":
                break
            moves += len(state.asked) or 1
            for seat, count in zip(state.asked, state.counts, strict=True):
                own[seat] *= count
        ways.append(max(own.values()))
    length, seats = max(1.0, moves / PROBES), len(game.ir.seats)
    sampling: Sampling = "external" if max(ways) <= MANY_WAYS else "outcome"
    cost = seats * (fmean(ways) if sampling == "external" else length)
    games = WORK / (length * (1 + 3 * seats))  # to see its worth, and three times for each reply
    return Effort(
        sampling, round(min(max(WORK / cost, FEW), MANY)), round(min(max(games, FEW), GAMES))
    )


def _estimate(
    game: Game, plays: Plays, utility: Utility, seed: int, games: int
) -> dict[str, tuple[float, float]]:
    """Each seat's mean over games played by a policy, and its standard error."""
    kernel, random = game.kernel(), Random(f"{seed} values").random
    earned: dict[str, list[float]] = {seat: [] for seat in game.ir.seats}

    def choose(state: State) -> list[int]:
        return [option_by(plays, state, ask, random) for ask in state.asks]

    for _ in range(games):
        got = amounts(play_out(kernel.start(), random, choose), utility)
        for seat, row in earned.items():
            row.append(float(got[seat]))
    return {seat: (fmean(x), stdev(x) / sqrt(games)) for seat, x in earned.items()}
