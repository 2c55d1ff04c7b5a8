"""`grpo`: the clipped policy gradient of group-relative advantages; see `gamedsl.train.losses`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from gamedsl.recipe.methods import MethodSpec

if TYPE_CHECKING:
    from gamedsl.policies.base import Query
    from gamedsl.train.advantages import Weights
    from gamedsl.train.methods.base import Learner, Record


class Grpo:
    """It keeps what its floor under the entropy does."""

    def __init__(self, learner: Learner) -> None:
        from gamedsl.train.methods.floor import EntropyFloor

        self._learner = learner
        self._floor = EntropyFloor(learner.recipe.entropy_floor)

    def update(
        self, queries: Sequence[Query], weights: Weights, step: int, held: Collection[str] = ()
    ) -> Record:
        from gamedsl.train.losses import objective
        from gamedsl.train.methods.base import descend

        learner, recipe = self._learner, self._learner.recipe
        log_pi_A = [learner.scorer.log_pi(query) for query in queries]
        loss = objective(
            log_pi_A,
            weights,
            temperature=recipe.temperature,
            clip=recipe.clip,
            kl=recipe.kl,
            entropy=recipe.entropy,
            entropies=self._floor.weights(learner.played(log_pi_A), weights),
            reference_A=learner.reference.log_pi(queries) if recipe.kl else None,
        )
        return descend(learner, queries, loss, step, held)

    def state(self) -> dict[str, Any]:
        return {"stake": self._floor.stake}

    def restore(self, state: dict[str, Any]) -> None:
        self._floor.stake = state.get("stake", 0.0)


METHOD = MethodSpec(
    doc="policy gradients as they are",
    start=Grpo,
    reads=("clip", "max_grad_norm", "max_change", "scale", "baseline", "compare", "credit"),
    in_words=True,
)
