"""`grpo`: clipped policy gradient of group-relative advantages (`gamedsl.training.losses`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gamedsl.recipe.methods import MethodSpec

if TYPE_CHECKING:
    from gamedsl.training.estimators import Experience
    from gamedsl.training.methods.base import Learner, Record


class Grpo:
    """Keeps the stake of its entropy floor."""

    def __init__(self, learner: Learner) -> None:
        from gamedsl.training.methods.entropy_floor import EntropyFloor

        self._learner = learner
        self._floor = EntropyFloor(learner.recipe.entropy_floor)

    def update(self, experience: Experience) -> Record:
        from gamedsl.training.losses import Pulls, descend, surrogate

        learner, kl = self._learner, self._learner.recipe.kl
        pulls = Pulls(
            kl, floor=self._floor,
            options=learner.reference.log_pi if kl else None,
            tokens=learner.reference.token_log_pi if kl else None,
        )  # fmt: skip
        return descend(learner, surrogate(learner, experience, pulls), experience)

    def state(self) -> dict[str, Any]:
        return {"stake": self._floor.stake}

    def restore(self, state: dict[str, Any]) -> None:
        self._floor.stake = state.get("stake", 0.0)


METHOD = MethodSpec(
    doc="policy gradients as they are",
    start=Grpo,
    reads=(
        "clip", "clip_high", "dual_clip", "ratio", "length_norm", "minibatches",
        "max_grad_norm", "max_change", "scale", "baseline", "critic", "compare", "credit",
    ),
)  # fmt: skip
