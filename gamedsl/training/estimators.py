"""The estimate of what actions are worth: from a step's games, or exactly, from the game's tree.

For scored replies both estimators give sums of advantages and counts per (query, action), which is
all that any loss over labels depends on, so that every method takes either. `sampled` sees the
games that were played and nothing else: no value, reach or equilibrium that was solved for. `tree`
gives what its sums and counts would be on average over all games that the policy could play, each
sample's baseline being the value of its information set. Written replies are kept one by one.

Shape letters: A labels of a query.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gamedsl.policies.base import Query
from gamedsl.recipe.table import Recipe
from gamedsl.training.advantages import Advantage, Advantages
from gamedsl.training.errors import TrainError
from gamedsl.training.scoring import Scorer
from gamedsl.training.trajectories import Batch

if TYPE_CHECKING:
    from gamedsl.runtime import Env
    from gamedsl.training.metrics import PolicyMetrics


@dataclass(frozen=True)
class ActionSums:
    """Per query, arrays [A] of float64: the sums of the positive and of the negative advantages of
    each action, and the counts of its samples. The clipped objective treats gains and losses
    differently, so they are summed apart. `samples` is the sum of all counts."""

    gains_A: list[np.ndarray]
    losses_A: list[np.ndarray]
    counts_A: list[np.ndarray]
    samples: int

    @property
    def sums_A(self) -> list[np.ndarray]:
        """Sum of the advantages of all samples, per query and action."""
        return [gains + losses for gains, losses in zip(self.gains_A, self.losses_A, strict=True)]


@dataclass(frozen=True)
class Experience:
    """A step's games as a method learns from them.

    Scored replies are `queries` with `sums` parallel to them; written ones `advantages`, one by
    one. `learns` are the roles that learn in the step, `frozen` the adapters that stay as they are.
    `samples` were counted, `void` ones left out because somebody forfeited.
    """

    step: int
    batch: Batch
    queries: Sequence[Query]
    sums: ActionSums
    advantages: Sequence[Advantage] = ()
    learns: Collection[str] = ()
    frozen: Collection[str] = ()
    samples: int = 0
    void: int = 0


Estimator = Callable[[Batch, Collection[str], Collection[str]], Experience]
"""From the games of a step, the roles that learn, and the adapters that stay as they are."""


def estimator_of(
    env: Env, recipe: Recipe, metrics: PolicyMetrics | None, advantages: Advantages, scorer: Scorer
) -> Estimator:
    """Returns the estimator that a recipe names; `metrics` is None where replies are written.
    Raises TrainError where there is no tree to take."""
    if metrics is None or recipe.estimator == "sampled":

        def sampled(batch: Batch, learns: Collection[str], frozen: Collection[str]) -> Experience:
            found = advantages.weigh(batch, learns)
            queries: Sequence[Query] = ()
            sums = ActionSums([], [], [], 0)
            if metrics is not None:
                sums = action_sums(batch.queries, found.advantages)
                queries, sums = counted(batch.queries, sums)
            return Experience(
                batch.step, batch, queries, sums, found.advantages, learns, frozen,
                found.samples, found.void,
            )  # fmt: skip

        return sampled
    from gamedsl.solve import TooLarge, tabulate

    try:
        tree = (metrics.tree or tabulate(env)) if metrics.known and metrics.odds_known else None
    except TooLarge:
        tree = None
    if tree is None:
        raise TrainError(
            f"`{env.ir.name}` is too large for exact action values, or a player's odds are unknown",
            "write `estimator: sampled`, or lower the game's params",
        )
    return _exact(tree, recipe.games, metrics, scorer)


def action_sums(queries: Sequence[Query], advantages: Sequence[Advantage]) -> ActionSums:
    """Returns the sums of the advantages of scored replies; `queries` are those of their batch."""
    gains, losses, counts = ([np.zeros(len(query.labels)) for query in queries] for _ in range(3))
    total = 0
    for one in advantages:
        query, action = one.sample.scored
        (gains if one.amount > 0 else losses)[query][action] += one.amount * one.games
        counts[query][action] += one.games
        total += one.games
    return ActionSums(gains, losses, counts, total)


def counted(queries: Sequence[Query], sums: ActionSums) -> tuple[Sequence[Query], ActionSums]:
    """Returns the queries with samples, and their sums: queries that were asked in void games alone
    take part in nothing, nor those of roles that do not learn."""
    kept = [i for i, counts_A in enumerate(sums.counts_A) if counts_A.any()]
    if len(kept) == len(queries):
        return queries, sums
    gains, losses, counts = (
        [rows[i] for i in kept] for rows in (sums.gains_A, sums.losses_A, sums.counts_A)
    )
    return [queries[i] for i in kept], ActionSums(gains, losses, counts, sums.samples)


def _exact(tree: Any, games: int, metrics: PolicyMetrics, scorer: Scorer) -> Estimator:
    from gamedsl.solve.action_values import action_worth

    def exact(batch: Batch, learns: Collection[str], frozen: Collection[str]) -> Experience:
        rows = [scorer.probabilities(query) for query in metrics.queries]
        named = zip(metrics.places, rows, strict=True)
        policy = {p.information_set: dict(zip(p.legal, row, strict=True)) for p, row in named}
        worth = action_worth(tree, policy | metrics.players)
        gains, losses, counts = [], [], []
        for place, row in zip(metrics.places, rows, strict=True):
            reach, q = worth[place.information_set]
            counts.append((games if place.role in learns else 0) * reach * row)
            sums = counts[-1] * (np.array(q) - row @ np.array(q))
            gains.append(np.maximum(sums, 0.0))
            losses.append(np.minimum(sums, 0.0))
        total = round(sum(float(count.sum()) for count in counts))
        sums = ActionSums(gains, losses, counts, total)
        return Experience(
            batch.step, batch, metrics.queries, sums, (), learns, frozen, samples=total
        )

    return exact
