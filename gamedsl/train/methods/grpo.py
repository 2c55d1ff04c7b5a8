"""`grpo`: the clipped policy gradient of group-relative advantages; see `gamedsl.train.losses`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from gamedsl.policies.base import Query
from gamedsl.train.advantages import Weights
from gamedsl.train.losses import objective
from gamedsl.train.methods.base import Learner, Record, descend


class Grpo:
    """It keeps nothing from step to step."""

    def __init__(self, learner: Learner) -> None:
        self._learner = learner

    def update(
        self, queries: Sequence[Query], weights: Weights, step: int, held: Collection[str] = ()
    ) -> Record:
        learner, recipe = self._learner, self._learner.recipe
        loss = objective(
            [learner.scorer.log_pi(query) for query in queries],
            weights,
            temperature=recipe.temperature,
            clip=recipe.clip,
            kl=recipe.kl,
            entropy=recipe.entropy,
            reference_A=learner.reference.log_pi(queries) if recipe.kl else None,
        )
        return descend(learner, queries, loss, step, held)

    def state(self) -> dict[str, Any]:
        return {}

    def restore(self, state: dict[str, Any]) -> None: ...
