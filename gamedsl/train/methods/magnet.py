"""`magnet`: policy gradients of mean-only advantages, with a pull to a magnet (Magnet GRPO).

The objective is that of `grpo` with KL(pi || magnet) as its divergence, exact over the labels and
weighted by `magnet.weight`. With a fixed magnet and small steps the policy settles at the
equilibrium of the game with that divergence taken off its rewards, a quantal response equilibrium
for a uniform magnet, and the annealed weight then leads it towards the game's own (Sokota et al.
2023, magnetic mirror descent). The pull also brings back actions that are hardly played, which
plain gradients cannot: those are in proportion to how often an action is played.

Momentum must be off (`betas: [0, ...]`, the method's default): the game that a step answers is
another one a few steps later.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from gamedsl.policies.base import Query
from gamedsl.train.advantages import Weights
from gamedsl.train.anchor import Anchor
from gamedsl.train.losses import objective
from gamedsl.train.methods.base import Learner, Record, between, descend
from gamedsl.train.methods.floor import EntropyFloor


class MagnetGrpo:
    """It keeps the magnet, and what its floor under the entropy does."""

    def __init__(self, learner: Learner) -> None:
        self._learner = learner
        self._floor = EntropyFloor(learner.recipe.entropy_floor)
        self._anchor = Anchor(learner.policy, learner.recipe, learner.known)

    def update(
        self, queries: Sequence[Query], weights: Weights, step: int, held: Collection[str] = ()
    ) -> Record:
        learner, recipe = self._learner, self._learner.recipe
        weight = between(recipe.magnet.weight, step, recipe.steps)
        log_pi_A = [learner.scorer.log_pi(query) for query in queries]
        loss = objective(
            log_pi_A,
            weights,
            temperature=recipe.temperature,
            clip=recipe.clip,
            kl=weight,
            entropy=recipe.entropy,
            entropies=self._floor.weights(learner.played(log_pi_A), weights),
            reference_A=[recipe.temperature * row for row in self._anchor.log_rho(queries)],
        )
        record = descend(learner, queries, loss, step, held)
        if self._anchor.due(step):
            self._anchor.move()
        return record | {"magnet_weight": weight}

    def state(self) -> dict[str, Any]:
        return {"magnet": self._anchor.adapters, "stake": self._floor.stake}

    def restore(self, state: dict[str, Any]) -> None:
        self._anchor.put(state["magnet"])
        self._floor.stake = state.get("stake", 0.0)
