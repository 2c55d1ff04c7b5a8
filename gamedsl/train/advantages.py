"""From rewards to what the loss needs: sums of advantages per (query, action).

The advantage of a sample is its reward less a baseline: the mean over the samples of the same
group, deal, role, step and occurrence (GRPO; Shao et al. 2024, without the division by the standard
deviation, which Liu et al. 2025 found to bias it and which kills mixed strategies). A history
that n games took counts n times. Arithmetic is exact until the end, so a batch in which all earn
the same has advantages of exactly zero. Samples whose reward is None (somebody forfeited) take
part in nothing.

The clipped objective treats gains and losses differently, so they are summed apart; with the
counts they are all that any loss here depends on.

Shape letters: A labels of a query.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from gamedsl.ir.recipe import Recipe
from gamedsl.train.rollout import Batch


@dataclass(frozen=True)
class Weights:
    """Per query of a batch, arrays [A] of float64; `samples` is the sum of all counts."""

    gains_A: list[np.ndarray]
    losses_A: list[np.ndarray]
    counts_A: list[np.ndarray]
    samples: int
    void: int
    """Samples left out, because somebody forfeited."""

    @property
    def sums_A(self) -> list[np.ndarray]:
        """Sum of the advantages of all samples, per query and action."""
        return [gains + losses for gains, losses in zip(self.gains_A, self.losses_A, strict=True)]


class _Earned(NamedTuple):
    """What `games` equal samples earned."""

    query: int
    action: int
    games: int
    reward: Fraction
    role: str


_Cell = tuple[int, int, str, str, int]  # group, deal, role, step, occurrence


class Advantages:
    """What a recipe makes of rewards. One lasts for a run, and what it keeps is in the
    checkpoint."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe

    def weigh(self, batch: Batch, learns: Collection[str]) -> Weights:
        """The advantages of a step's games, of the roles that learn in it. The return to go of
        every sample is its episode's reward."""
        recipe = self._recipe
        cells, void = _cells(batch, learns)
        advantages = {cell: _advantages(earned, recipe.baseline) for cell, earned in cells.items()}
        divisors = _divisors(cells, advantages, recipe.scale)
        sizes = [len(query.labels) for query in batch.queries]
        gains, losses, counts = ([np.zeros(size) for size in sizes] for _ in range(3))
        total = 0
        for cell, earned in cells.items():
            for one, advantage in zip(earned, advantages[cell], strict=True):
                if one.role not in learns:
                    continue
                scaled = float(advantage) / divisors[cell] * one.games
                (gains if advantage > 0 else losses)[one.query][one.action] += scaled
                counts[one.query][one.action] += one.games
                total += one.games
        return Weights(gains, losses, counts, total, void)

    def state(self) -> dict[str, Any]:
        """What a checkpoint must hold of it."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from what `state` returned."""


def _cells(batch: Batch, learns: Collection[str]) -> tuple[dict[_Cell, list[_Earned]], int]:
    """The samples of a batch, by what they are compared with, and how many of those that learn were
    left out."""
    cells: dict[_Cell, list[_Earned]] = defaultdict(list)
    void = 0
    for history in batch.histories:
        for sample in history.samples:
            reward = history.episode.rewards[sample.seat]
            if reward is None:
                void += history.games if sample.role in learns else 0
                continue
            cell = (history.group, sample.deal, sample.role, sample.step, sample.occurrence)
            one = _Earned(sample.query, sample.action, history.games, Fraction(reward), sample.role)
            cells[cell].append(one)
    return cells, void


def _advantages(earned: list[_Earned], baseline: str) -> list[Fraction]:
    """Advantage of each; a cell of one sample has no other to compare with, and gets zero."""
    if baseline == "none":
        return [one.reward for one in earned]
    games = sum(one.games for one in earned)
    mean = sum(one.games * one.reward for one in earned) / Fraction(games)
    # r - mean of the others = (r - mean of all) * n / (n - 1)
    factor = Fraction(games, games - 1) if baseline == "leave_one_out" and games > 1 else 1
    return [(one.reward - mean) * factor for one in earned]


def _divisors(
    cells: dict[_Cell, list[_Earned]], advantages: dict[_Cell, list[Fraction]], scale: str
) -> dict[_Cell, float]:
    """What the advantages of each cell are divided by: 1, or a root mean square (1 where it is
    0).

    "group" takes it over the cell, "batch" over all cells of the role.
    """
    if scale == "none":
        return dict.fromkeys(cells, 1.0)
    squares: dict[object, Fraction] = defaultdict(Fraction)
    games: dict[object, int] = defaultdict(int)
    for cell, earned in cells.items():
        over = cell if scale == "group" else cell[2]
        for one, advantage in zip(earned, advantages[cell], strict=True):
            squares[over] += one.games * advantage**2
            games[over] += one.games
    roots = {over: math.sqrt(squares[over] / games[over]) or 1.0 for over in squares}
    return {cell: roots[cell if scale == "group" else cell[2]] for cell in cells}
