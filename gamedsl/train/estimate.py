"""What a step says about the worth of actions: from its games, or exactly, from the game's tree.

Both estimators give the same thing, sums of advantages and counts per (query, action), so that
every method takes either. `sampled` sees the games that were played and nothing else: no value,
reach or equilibrium that was solved for. `tree` gives what its sums and counts would be on average
over all games that the policy could play, each sample's baseline being the value of its
information set.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gamedsl.policies.base import Query
from gamedsl.recipe.table import Recipe
from gamedsl.train.advantages import Advantages, Weights
from gamedsl.train.errors import TrainError
from gamedsl.train.examples import Teacher, best
from gamedsl.train.methods.expert import ExpertSettings
from gamedsl.train.rollout import Batch
from gamedsl.train.scoring import Scorer

if TYPE_CHECKING:
    from gamedsl.runtime import Env, Game
    from gamedsl.train.cast import Cast
    from gamedsl.train.gauge import Gauge

Estimate = tuple[Sequence[Query], Weights]
Estimator = Callable[[Batch, Scorer, Collection[str]], Estimate]
"""Of the games of a step, what scored them, and the roles that learn."""


def estimator_of(
    game: Game, env: Env, recipe: Recipe, gauge: Gauge, advantages: Advantages, cast: Cast
) -> Estimator:
    """The estimator that a recipe names. Raises TrainError where there is no tree to take, or no
    teacher."""
    if recipe.method == "expert":
        return _examples(game, recipe, advantages, cast)
    if recipe.estimator == "sampled":
        return lambda batch, _, learns: _counted(batch.queries, advantages.weigh(batch, learns))
    from gamedsl.solve import TooLarge, tabulate

    try:
        tree = (gauge.tree or tabulate(env)) if gauge.known and gauge.told else None
    except TooLarge:
        tree = None
    if tree is None:
        raise TrainError(
            f"`{env.ir.name}` is too large for exact action values, or a player's odds are unknown",
            "write `estimator: sampled`, or lower the game's params",
        )
    return _exact(tree, recipe.games, gauge)


def _examples(game: Game, recipe: Recipe, advantages: Advantages, cast: Cast) -> Estimator:
    """What the method `expert` imitates, beside the rest."""
    expert = recipe.of(ExpertSettings)
    teacher = None if expert.teacher is None else Teacher(game, recipe, cast.budget)

    def estimate(batch: Batch, _: Scorer, learns: Collection[str]) -> Estimate:
        weights = advantages.weigh(batch, learns)
        if teacher is None:
            found = best(batch, expert.keep, learns)
        else:
            found = teacher.labels(batch, learns)
        return batch.queries, replace(weights, examples_A=found)

    return estimate


def _counted(queries: Sequence[Query], weights: Weights) -> Estimate:
    """The queries with samples that count: what was asked in void games alone takes part in
    nothing, nor what a role was asked that does not learn."""
    kept = [i for i, counts in enumerate(weights.counts_A) if counts.any()]
    if len(kept) == len(queries):
        return queries, weights
    gains, losses, counts = (
        [each[i] for i in kept] for each in (weights.gains_A, weights.losses_A, weights.counts_A)
    )
    left = replace(weights, gains_A=gains, losses_A=losses, counts_A=counts)
    return [queries[i] for i in kept], left


def _exact(tree: Any, games: int, gauge: Gauge) -> Estimator:
    from gamedsl.solve.worth import action_worth

    def estimate(_: Batch, scorer: Scorer, learns: Collection[str]) -> Estimate:
        rows = [scorer.probabilities(query) for query in gauge.queries]
        named = zip(gauge.places, rows, strict=True)
        policy = {p.information_set: dict(zip(p.legal, row, strict=True)) for p, row in named}
        policy |= gauge.players
        worth = action_worth(tree, policy)
        gains, losses, counts = [], [], []
        for place, row in zip(gauge.places, rows, strict=True):
            reach, q = worth[place.information_set]
            counts.append((games if place.role in learns else 0) * reach * row)
            sums = counts[-1] * (np.array(q) - row @ np.array(q))
            gains.append(np.maximum(sums, 0.0))
            losses.append(np.minimum(sums, 0.0))
        total = round(sum(float(count.sum()) for count in counts))
        return gauge.queries, Weights(gains, losses, counts, total, 0)

    return estimate
