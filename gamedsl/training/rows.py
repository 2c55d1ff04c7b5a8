"""Which rows of a data file a run trains on: those that the policy sometimes succeeds at.

An update compares the games of a group, which share their row. Where all earn the same it has
nothing to learn from, and the gradient's size goes with the variance of what they earn: of success
and failure, p(1-p), which Rutherford et al. 2024 ("No Regrets") call learnability, and by which
Foster et al. 2025 ("Learning to Reason at the Frontier of Learnability") draw problems.
DAPO (Yu et al. 2025) gets there by playing groups until enough of them differ; here their games
are not played.

A row's variance is that of what it paid each role that learns, between the least and the most that
can be paid (`gamedsl.training.success`), on average over these roles: p(1-p) in a game that is won
or lost. Where no bounds are known they are what was paid so far. A forfeit counts as the least.
Games count the less the older they are, by visits to the row. A row is drawn with a probability in
proportion to what the file gives it times its variance, but for a share of the draws that is the
file's own.

What is maximised is then the mean over the rows as they are drawn, and not over the file's.

Shape letters: R rows that can be drawn, L roles that learn, T tallies: games, the sum of what they
paid and that of its square.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from gamedsl.ir.rows import row_draws, rows_of
from gamedsl.ir.values import Bag
from gamedsl.recipe.table import Recipe
from gamedsl.runtime.game import Game
from gamedsl.training.errors import TrainError
from gamedsl.training.monitors.text import STANDINGS
from gamedsl.training.success import Record, Spans, spans_of

if TYPE_CHECKING:
    from gamedsl.training.trajectories import Batch, Trajectory

UNSEEN = 0.5
"""Games of success, and as many of failure, that a row has had before its first: Jeffreys' prior.
So one that was never drawn has the highest variance that there is."""
KEPT = 0.75
"""What games of a row count for once it is drawn in another step."""
SOLVED = 0.9
"""Success from which on a row is called solved; one less it, and a row is called failed."""
MANY = 64
"""Rows of a step of which its record tells the success."""


class RowSampler:
    """The odds of the rows, from how the games of each row went. A part of the loop that keeps
    state."""

    def __init__(self, game: Game, recipe: Recipe, spans: Spans) -> None:
        draw = row_draws(game.ir)[recipe.curriculum.rows or ""]
        assert draw is not None, "checked with the recipe"
        whole = row_draws(game.of("all").ir)[draw.variable]
        assert whole is not None
        bag, places = Bag.of(rows_of(draw) or ()), rows_of(whole) or ()
        first = {row: place for place, row in reversed([*enumerate(places, 1)])}
        self.step = draw.id
        self._numbers = [first[row] for row in bag]
        """The number of each row in its file, from 1: the first of those that are equal."""
        self._file_R = np.array([*bag.values()], dtype=np.float64) / bag.total
        self._unweighted = recipe.curriculum.unweighted
        self._roles = tuple(spans)
        self._known = [span is not None for span in spans.values()]
        self._ends = np.array([span or (np.inf, -np.inf) for span in spans.values()])
        """The least and the most that each role is paid, [L, 2], so far where that is not known."""
        self._tally_RLT = np.zeros((len(bag), len(spans), 3))

    def odds(self) -> np.ndarray:
        """Returns the probability of each row now, [R] of float64."""
        learnable_R = self._file_R * self._variance()
        odds_R: np.ndarray = learnable_R / learnable_R.sum()
        return self._unweighted * self._file_R + (1 - self._unweighted) * odds_R

    def drawn(self, rng: np.random.Generator, groups: int) -> list[int]:
        """Returns the row of each group of a step."""
        return [int(row) for row in rng.choice(len(self._file_R), size=groups, p=self.odds())]

    def given(self, row: int) -> Mapping[str, int]:
        """Returns what chance is to bring, for `Env.reset`."""
        return {self.step: row}

    def see(self, batch: Batch) -> Record:
        """Takes a step's games; returns its part of the record."""
        self._widen(batch)
        step_RLT = np.zeros_like(self._tally_RLT)
        for one in batch.played:
            if one.row is not None:
                for place, amount in self._paid(batch, one):
                    paid = min(max(amount, self._ends[place, 0]), self._ends[place, 1])
                    step_RLT[one.row, place] += one.games * np.array([1.0, paid, paid**2])
        drawn = step_RLT[:, :, 0].any(axis=1)
        self._tally_RLT[drawn] = KEPT * self._tally_RLT[drawn] + step_RLT[drawn]
        return {"rows": self._summary(step_RLT) | {"teach": _teaching(batch, self._roles)}}

    def state(self) -> dict[str, Any]:
        """Returns what a checkpoint must hold of it."""
        kept = {"tally": self._tally_RLT, "ends": self._ends}
        return {name: torch.from_numpy(array.copy()) for name, array in kept.items()}

    def restore(self, state: dict[str, Any]) -> None:
        """Goes on from what `state` returned."""
        self._tally_RLT, self._ends = (state[name].numpy().copy() for name in ("tally", "ends"))

    def _widen(self, batch: Batch) -> None:
        """Widens the bounds of roles without known ones by what they are paid, but for forfeits."""
        for one in batch.played:
            if not one.episode.failures:
                for place, amount in self._paid(batch, one):
                    if not self._known[place]:
                        low, high = self._ends[place]
                        self._ends[place] = min(low, amount), max(high, amount)

    def _paid(self, batch: Batch, one: Trajectory) -> Iterator[tuple[int, float]]:
        """Yields what the policy's seats were paid in a trajectory, by the place of their roles;
        of roles of which nothing is known yet only what is no forfeit."""
        role_of, others = one.episode.env.ir.role_of, batch.lineup(one).seats
        payoffs = one.episode.payoffs | one.episode.referee_payoffs
        for seat, amount in payoffs.items():
            if amount is not None and seat not in others and role_of[seat] in self._roles:
                place = self._roles.index(role_of[seat])
                if not one.episode.failures or self._ends[place, 0] <= self._ends[place, 1]:
                    yield place, float(amount)

    def _success(self, tally_RLT: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Returns games, and the sums of success and of its square, each [R, L]."""
        low_L, high_L = self._ends.T
        span_L = np.where(high_L > low_L, high_L - low_L, np.inf)
        low_L = np.where(np.isfinite(low_L), low_L, 0.0)
        games_RL, sum_RL, square_RL = np.moveaxis(tally_RLT, 2, 0)
        square_RL = square_RL - 2 * low_L * sum_RL + low_L**2 * games_RL
        return games_RL, (sum_RL - low_L * games_RL) / span_L, square_RL / span_L**2

    def _variance(self) -> np.ndarray:
        """Returns the variance of the success of each row, on average over roles, [R]; above 0."""
        games_RL, sum_RL, square_RL = self._success(self._tally_RLT)
        games_RL = games_RL + 2 * UNSEEN
        mean_RL, square_RL = (sum_RL + UNSEEN) / games_RL, (square_RL + UNSEEN) / games_RL
        variance_R: np.ndarray = (square_RL - mean_RL**2).mean(axis=1)
        return variance_R

    def _means(self, tally_RLT: np.ndarray) -> dict[int, float]:
        """Returns the mean success of the rows that have games, over the roles that do."""
        games_RL, sum_RL, _ = self._success(tally_RLT)
        found = {}
        for row in np.flatnonzero(games_RL.any(axis=1)):
            there_L = games_RL[row] > 0
            found[int(row)] = float((sum_RL[row, there_L] / games_RL[row, there_L]).mean())
        return found

    def _summary(self, step_RLT: np.ndarray) -> Record:
        """Returns success by row in a step, and the standings of the rows of the file."""
        last = [(self._numbers[row], mean) for row, mean in self._means(step_RLT).items()]
        known = [*self._means(self._tally_RLT).values()]
        solved = sum(mean >= SOLVED for mean in known)
        failed = sum(mean <= 1 - SOLVED for mean in known)
        mixed, unseen = len(known) - solved - failed, len(self._file_R) - len(known)
        standing = dict(zip(STANDINGS, (solved, mixed, failed, unseen), strict=True))
        return {"success": {str(number): mean for number, mean in sorted(last)[:MANY]}} | standing


def row_sampler(game: Game, recipe: Recipe) -> RowSampler | None:
    """Returns the sampler of a run's rows; None where chance alone draws them. Raises TrainError
    where all plays pay the same."""
    if recipe.curriculum.rows is None:
        return None
    spans = spans_of(game, recipe)
    differing = {role: span for role, span in spans.items() if span is None or span[0] < span[1]}
    if not differing:
        raise TrainError(
            "all plays pay those who learn the same, so no row has success or failure",
            "leave `curriculum.rows` out",
        )
    return RowSampler(game, recipe, differing)


def _teaching(batch: Batch, roles: Collection[str]) -> float:
    """Returns the share of a step's games whose group differs in the reward of a role that
    learns."""
    games: dict[Hashable, int] = defaultdict(int)
    earned: dict[Hashable, set[tuple[Any, ...]]] = defaultdict(set)
    for one in batch.played:
        role_of, group = one.episode.env.ir.role_of, (one.group, one.row)
        rewards = one.episode.earnings.items()
        games[group] += one.games
        earned[group].add(tuple(paid for seat, paid in rewards if role_of[seat] in roles))
    return sum(games[group] for group in games if len(earned[group]) > 1) / sum(games.values())
