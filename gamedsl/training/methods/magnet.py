"""`magnet`: policy gradients of mean-only advantages, with a pull to a magnet (Magnet GRPO).

The objective is that of `grpo` with KL(pi || magnet) as its divergence, exact over the labels and
weighted by `magnet.weight`. With a fixed magnet and small steps the policy settles at the
equilibrium of the game with that divergence taken off its rewards, a quantal response equilibrium
for a uniform magnet, and the annealed weight then leads it towards the game's own (Sokota et al.
2023, magnetic mirror descent). The pull also brings back actions that are hardly played, which
plain gradients cannot: those are in proportion to how often an action is played.

In games in words the divergence is that of options: of the choice after a thought, exact given the
thought. Written tokens have no magnet, and are trained as `grpo` trains them.

Momentum must be off (`betas: [0, ...]`, the method's default): the game that a step answers is
another one a few steps later.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gamedsl.recipe.conflicts import Conflict, all_written
from gamedsl.recipe.methods import MethodSpec
from gamedsl.recipe.setting import is_set, setting
from gamedsl.recipe.table import LARGE, MOST_STEPS
from gamedsl.storage.shapes import NUMBER

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch

    from gamedsl.policies.base import Query
    from gamedsl.training.estimators import Experience
    from gamedsl.training.methods.base import Learner, Record


@dataclass(frozen=True)
class MagnetSettings:
    """A pull towards a distribution over the legal labels, which holds a mixed policy open.

    The magnet is uniform. With `every` it becomes the policy each so many steps, mixed with a share
    `uniform` of uniform play.
    """

    weight: tuple[float, float] = setting(
        (0.5, 0.05),
        "weight of the divergence from the magnet, at the first step and at the last", low=0,
        high=LARGE,
    )  # fmt: skip
    every: int | None = setting(
        "never", "steps after which the magnet moves to the policy; it is uniform until then",
        low=1, high=MOST_STEPS, absent="never",
    )  # fmt: skip
    uniform: float = setting(
        0.02, "share of uniform play in a magnet that has moved", low=0, high=1, above=True,
        read_if=is_set("magnet.every"), formerly="floor",
    )  # fmt: skip


class MagnetGrpo:
    """Keeps the magnet, and the stake of its entropy floor."""

    def __init__(self, learner: Learner) -> None:
        from gamedsl.training.methods.entropy_floor import EntropyFloor
        from gamedsl.training.methods.magnet_policy import MagnetPolicy

        self._learner, self._settings = learner, learner.recipe.of(MagnetSettings)
        self._floor = EntropyFloor(learner.recipe.entropy_floor)
        self._magnet = MagnetPolicy(
            learner.policy, learner.known, every=self._settings.every,
            uniform=self._settings.uniform, temperature=learner.recipe.temperature,
        )  # fmt: skip

    def update(self, experience: Experience) -> Record:
        from gamedsl.training.losses import Pulls, descend, surrogate
        from gamedsl.training.optimizer import between

        learner, recipe = self._learner, self._learner.recipe
        weight = between(self._settings.weight, experience.step, recipe.steps)

        def magnet(queries: Sequence[Query]) -> list[torch.Tensor]:
            # `surrogate` takes scores before the temperature
            return [recipe.temperature * row for row in self._magnet.log_rho(queries)]

        pulls = Pulls(weight, magnet, floor=self._floor)
        record = descend(learner, surrogate(learner, experience, pulls), experience)
        if self._magnet.due(experience.step):
            self._magnet.move()
        return record | {"magnet_weight": weight}

    def state(self) -> dict[str, Any]:
        return {"magnet": self._magnet.adapters, "stake": self._floor.stake}

    def restore(self, state: dict[str, Any]) -> None:
        self._magnet.put(state["magnet"])
        self._floor.stake = state.get("stake", 0.0)


METHOD = MethodSpec(
    doc="with a pull to a magnet, which holds mixed policies open",
    start=MagnetGrpo,
    settings={"magnet": MagnetSettings},
    reads=(
        "clip", "clip_high", "dual_clip", "minibatches", "max_grad_norm", "max_change", "scale",
        "baseline", "critic", "compare", "credit",
    ),
    defaults={"games": 4096, "lr_schedule": "linear", "betas": (0, 0.999), "group_by": "deal"},
    conflicts=(
        Conflict(
            ("method", "kl"), lambda recipe, _: recipe.kl,
            "`magnet` pulls to a magnet, not to the policy that training started with",
            "leave `kl` out, or write `method: grpo`",
        ),
        all_written("a magnet"),
    ),
    mixes=True,
    swaps_adapters=lambda recipe: recipe.of(MagnetSettings).every is not None,
    records={"magnet_weight": (NUMBER, "weight of the divergence from the magnet")},
)  # fmt: skip
