"""Results of the games of one seating: rows of payoffs, sampled or exact."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from gamedsl.evaluate.intervals import Estimate, exact, mean, share_of_clusters
from gamedsl.evaluate.replies import Counts
from gamedsl.evaluate.seating import Holders

Utility = Literal["payoffs", "rewards"]


@dataclass(frozen=True, eq=False)
class Games:
    """G rows and S seats. A row is a game that was played, of weight 1/G, or, where `exact`, an end
    of the game with its probability. NaN is void: somebody else forfeited."""

    holders: Holders
    exact: bool
    weights_G: np.ndarray
    payoffs_GS: np.ndarray
    rewards_GS: np.ndarray
    failed_GS: np.ndarray
    """Whether a seat gave an invalid reply."""
    asked_GS: np.ndarray
    """Decisions that each seat was asked for."""
    invalid_GS: np.ndarray
    """Invalid replies of each seat."""
    own_ends_G: np.ndarray
    """Whether no invalid reply ended a game."""
    reply_counts: Counts = field(default_factory=dict)
    """The counts of replies, in games in words."""
    carry: int = 1
    """Episodes of a lineage: each begins with the memory that the one before left. Its rows stand
    one after another, and only lineages are independent of each other."""
    referee_payoffs: Mapping[str, np.ndarray] = field(default_factory=dict)
    """The payoff of each referee that has one in each game, [G], on average over its seats."""

    @property
    def games(self) -> int:
        """Games played; 0 where exact."""
        return 0 if self.exact else len(self.weights_G)

    def amounts(self, utility: Utility) -> np.ndarray:
        return self.payoffs_GS if utility == "payoffs" else self.rewards_GS

    def mean(self, seats: Sequence[int], utility: Utility) -> Estimate | None:
        """Returns the mean payoff of some seats in a game; None if all were void."""
        rows = row_means(self.amounts(utility)[:, list(seats)])
        return self._expected(rows) if self.exact else mean(self.by_lineage(rows))

    def by_lineage(self, rows_G: np.ndarray) -> np.ndarray:
        """Returns the mean of each lineage; the rows themselves where nothing is carried."""
        return row_means(rows_G.reshape(-1, self.carry))

    def of_episode(self, number: int) -> Games:
        """Returns the rows of one episode of each lineage, counted from 0. `reply_counts` are
        those of all episodes."""
        here = slice(number, None, self.carry)
        return replace(
            self, carry=1, weights_G=self.weights_G[here] * self.carry,
            payoffs_GS=self.payoffs_GS[here], rewards_GS=self.rewards_GS[here],
            failed_GS=self.failed_GS[here], asked_GS=self.asked_GS[here],
            invalid_GS=self.invalid_GS[here], own_ends_G=self.own_ends_G[here],
            referee_payoffs={who: paid_G[here] for who, paid_G in self.referee_payoffs.items()},
        )  # fmt: skip

    def _expected(self, rows_G: np.ndarray) -> Estimate:
        return exact(float(self.weights_G @ rows_G))

    @cached_property
    def results_GS(self) -> np.ndarray:
        """For two seats: 1 for the one that was paid more, 1/2 for a draw, 0 for the other.
        Whoever forfeits has lost; NaN where both did, or the game is void for both."""
        first, second = self.payoffs_GS[:, 0], self.payoffs_GS[:, 1]
        won = np.select([nearly_equal(first, second), first > second], [0.5, 1.0], 0.0)
        failed_first, failed_second = self.failed_GS[:, 0], self.failed_GS[:, 1]
        won = np.where(failed_first, 0.0, np.where(failed_second, 1.0, won))
        void = (failed_first & failed_second) | (np.isnan(first) & np.isnan(second))
        won = np.where(void, np.nan, won)
        return np.stack([won, 1 - won], axis=1)


def share_by_seed(
    parts: Iterable[tuple[Games, np.ndarray, np.ndarray]],
) -> Estimate | None:
    """Returns the share of trials that succeeded, of seatings with their successes and trials in
    each game, [G]. The games of one seed, in all seatings, are a cluster; with memory, those of one
    lineage. None where there was no trial."""
    rows: list[tuple[np.ndarray, ...]] = [
        tuple(counts_G.reshape(-1, games.carry).sum(axis=1) for counts_G in counts)
        for games, *counts in parts
        if not games.exact
    ]
    clusters = max((len(trials_C) for _, trials_C in rows), default=0)
    both_2C = np.zeros((2, clusters))
    for part in rows:
        for total_C, found_C in zip(both_2C, part, strict=True):
            total_C[: len(found_C)] += found_C
    return share_of_clusters(*both_2C, least_effect=1)


class Contest(NamedTuple):
    """A game for two of constant sum: the least and the most that the first seat can be paid; None
    if unknown."""

    low: float | None
    high: float | None

    def points(self, games: Games) -> np.ndarray:
        """Returns the points of the first seat in each game, [G]: its payoff on the scale from
        the least to the most, which is 1 for a win, ½ for a draw and 0 for a loss in a game
        without other stakes. Without a scale only these three count. A seat that forfeits has 0;
        NaN if both did."""
        results = games.results_GS[:, 0]
        if self.low is None or self.high is None or self.high <= self.low:
            return results
        graded = np.clip((games.payoffs_GS[:, 0] - self.low) / (self.high - self.low), 0, 1)
        return np.where(games.failed_GS.any(axis=1), results, graded)


def one_sum(played: Iterable[Games]) -> bool:
    """Whether all whole games paid the same in sum; not where there was none."""
    sums = np.concatenate([[], *(games.payoffs_GS.sum(axis=1) for games in played)])
    sums = sums[~np.isnan(sums)]
    return bool(len(sums)) and bool(nearly_equal(sums, sums[0]).all())


def nearly_equal(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    found: np.ndarray = np.isclose(a, b, rtol=0, atol=1e-12)
    return found


def row_means(rows_GK: np.ndarray) -> np.ndarray:
    """The mean of each row without its NaN entries; NaN if all are."""
    there = ~np.isnan(rows_GK)
    count = there.sum(axis=1)
    total = np.where(there, rows_GK, 0.0).sum(axis=1)
    found: np.ndarray = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return found


def mean_over_seatings(
    parts: Sequence[tuple[Games, Sequence[int]]], utility: Utility = "payoffs"
) -> Estimate | None:
    """Returns a contestant's mean over several seatings of equal weight, in its seats in each.
    Games of one number share a seed, so the mean of their rows is one observation; with memory, the
    mean over a lineage."""
    columns = [row_means(games.amounts(utility)[:, list(seats)]) for games, seats in parts]
    if parts[0][0].exact:
        values = [
            float(games.weights_G @ rows) for (games, _), rows in zip(parts, columns, strict=True)
        ]
        return exact(sum(values) / len(values))
    return mean(parts[0][0].by_lineage(row_means(np.stack(columns, axis=1))))


@dataclass(frozen=True)
class WinRecord:
    """Shares of games won, drawn and lost, of `games` that had a result (0: exact)."""

    won: Estimate
    drawn: Estimate
    lost: Estimate
    games: int


def record(parts: Sequence[tuple[Games, int]]) -> WinRecord | None:
    """The results of a contestant over seatings of two seats, at the seat that it has in each. The
    games of one seed are a cluster; with memory, those of one lineage."""
    if parts[0][0].exact:
        shares = np.mean(
            [
                [float(g.weights_G[g.results_GS[:, s] == r].sum()) for r in (1.0, 0.5, 0.0)]
                for g, s in parts
            ],
            axis=0,
        )
        won, drawn, lost = (exact(float(p)) for p in shares)
        return WinRecord(won, drawn, lost, 0)
    results_CK = np.concatenate(
        [games.results_GS[:, seat].reshape(-1, games.carry) for games, seat in parts], axis=1
    )
    games_C = (~np.isnan(results_CK)).sum(axis=1)
    every = [share_of_clusters((results_CK == r).sum(axis=1), games_C) for r in (1.0, 0.5, 0.0)]
    known = [part for part in every if part is not None]
    return WinRecord(known[0], known[1], known[2], int(games_C.sum())) if known else None
