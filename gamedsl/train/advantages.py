"""From rewards to what the loss needs: sums of advantages per (query, action).

The advantage of a sample is its return to go less a baseline (`gamedsl.train.baselines`), by
default the mean over the samples of the same group, deal, role, step and occurrence (GRPO; Shao et
al. 2024, without the division by the standard deviation, which Liu et al. 2025 found to bias it and
which kills mixed strategies). The return to go is the seat's reward less what it had earned already
when it was asked. A history that n games took counts n times. Arithmetic is exact until the end, so
a batch in which all earn the same has advantages of exactly zero. Samples whose reward is None
(somebody forfeited) take part in nothing.

What a sample is compared with is `compare`: the same turn of its role (AT-GRPO; Zhao et al. 2025,
"Stronger Together"), all turns of its role (M-GRPO; Hong et al. 2025), or all of the team.

The clipped objective treats gains and losses differently, so they are summed apart; with the
counts they are all that any loss here depends on.

Shape letters: A labels of a query.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from gamedsl.ir.outcome import rewards_so_far
from gamedsl.recipe.table import Recipe
from gamedsl.train.baselines import OF_A_STEP, Earned, Running
from gamedsl.train.credit import Replays
from gamedsl.train.rollout import Batch, History, Sample


@dataclass(frozen=True)
class Weights:
    """Per query of a batch, arrays [A] of float64; `samples` is the sum of all counts."""

    gains_A: list[np.ndarray]
    losses_A: list[np.ndarray]
    counts_A: list[np.ndarray]
    samples: int
    void: int
    """Samples left out, because somebody forfeited."""
    examples_A: list[np.ndarray] = field(default_factory=list)
    """How often each action is to be imitated; empty unless the method imitates."""

    @property
    def sums_A(self) -> list[np.ndarray]:
        """Sum of the advantages of all samples, per query and action."""
        return [gains + losses for gains, losses in zip(self.gains_A, self.losses_A, strict=True)]


_COMPARED: dict[str, Callable[[int, Sample], Hashable]] = {
    "turn": lambda group, s: (group, s.deal, s.role, s.step, s.occurrence),
    "role": lambda group, s: (group, s.deal, s.role),
    "team": lambda group, s: (group, s.deal),
}
"""What a sample of a group is compared with, by `compare`."""


class Advantages:
    """What a recipe makes of rewards. One lasts for a run, and what it keeps is in the
    checkpoint."""

    def __init__(self, recipe: Recipe, replays: Replays | None = None) -> None:
        """`replays` plays out alternatives, for a `credit` that asks for them."""
        self._recipe = recipe
        self._team = recipe.credit == "team"
        self._replays = replays if recipe.credit in ("difference", "counterfactual") else None
        self._cell = _COMPARED[recipe.compare]
        self._scale = recipe.scale
        self._running = Running()
        self._over = OF_A_STEP.get(recipe.baseline, self._running.over)

    def weigh(self, batch: Batch, learns: Collection[str]) -> Weights:
        """The advantages of a step's games, of the roles that learn in it."""
        samples = self._counted(batch, learns)
        earned = [self._earned(batch, number, sample) for number, sample in samples]
        if self._replays is None:
            advantages = self._over(earned)
        else:
            advantages = list(map(Fraction, self._replays.advantages(batch, samples)))
        divisors = _divisors(earned, advantages, self._scale)
        sizes = [len(query.labels) for query in batch.queries]
        gains, losses, counts = ([np.zeros(size) for size in sizes] for _ in range(3))
        total = 0
        for one, advantage, divisor in zip(earned, advantages, divisors, strict=True):
            if one.role in learns:
                scaled = float(advantage) / divisor * one.games
                (gains if advantage > 0 else losses)[one.query][one.action] += scaled
                counts[one.query][one.action] += one.games
                total += one.games
        void = sum(
            history.games
            for history in batch.histories
            for sample in history.samples
            if sample.role in learns and history.episode.rewards[sample.seat] is None
        )
        return Weights(gains, losses, counts, total, void)

    def state(self) -> dict[str, Any]:
        """What a checkpoint must hold of it."""
        return {"running": self._running.state()}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from what `state` returned."""
        self._running.restore(state["running"])

    def _counted(self, batch: Batch, learns: Collection[str]) -> list[tuple[int, Sample]]:
        """The samples that take part in anything, with the numbers of their histories: not void,
        and of a role that is trained. Credit by replays compares nothing with what other roles
        earned, so only those that learn now."""
        return [
            (number, sample)
            for number, history in enumerate(batch.histories)
            for sample in history.samples
            if history.episode.rewards[sample.seat] is not None
            and self._recipe.part(sample.role).learns
            and (self._replays is None or sample.role in learns)
        ]

    def _earned(self, batch: Batch, number: int, sample: Sample) -> Earned:
        history = batch.histories[number]
        made = sample.query, sample.action, history.games, number, sample.role
        return Earned(*made, self._cell(history.group, sample), self._to_go(history, sample))

    def _to_go(self, history: History, sample: Sample) -> Fraction:
        """The return from a sample on: its seat's, or the mean of all seats'."""
        if not self._team or sample.asked is None:
            return Fraction(history.episode.rewards[sample.seat] or 0) - sample.paid
        rewards = {s: r for s, r in history.episode.rewards.items() if r is not None}
        before = rewards_so_far(history.episode.env.ir, sample.asked.episode.paid)
        to_go = [Fraction(reward) - before.get(seat, 0) for seat, reward in rewards.items()]
        return sum(to_go, Fraction(0)) / len(to_go)


def _divisors(earned: Sequence[Earned], advantages: Sequence[Fraction], scale: str) -> list[float]:
    """What each advantage is divided by: 1, or a root mean square (1 where it is 0).

    "group" takes it over what a sample is compared with, "batch" over all samples of the role.
    """
    if scale == "none":
        return [1.0] * len(earned)
    over: list[Hashable] = [one.cell if scale == "group" else one.role for one in earned]
    squares: dict[Hashable, Fraction] = defaultdict(Fraction)
    games: dict[Hashable, int] = defaultdict(int)
    for one, key, advantage in zip(earned, over, advantages, strict=True):
        squares[key] += one.games * advantage**2
        games[key] += one.games
    roots = {key: math.sqrt(squares[key] / games[key]) or 1.0 for key in squares}
    return [roots[key] for key in over]
