"""`expert`: do as the best games did, or as a teacher does; see `gamedsl.train.examples`.

With n(q, a) how often an action is an example at a prompt, the loss is the cross-entropy
-sum n log pi / sum n. It has no baseline and no negative examples: what was not kept is neither
raised nor lowered but by the softmax.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gamedsl.recipe.conflicts import Conflict
from gamedsl.recipe.methods import MethodSpec
from gamedsl.recipe.setting import setting

if TYPE_CHECKING:
    import torch

    from gamedsl.policies.base import Query
    from gamedsl.train.advantages import Weights
    from gamedsl.train.methods.base import Learner, Record


@dataclass(frozen=True)
class ExpertSettings:
    """What is imitated: the best share `keep` of the games, or a `teacher`."""

    keep: float = setting(
        0.25,
        "share of each group's games that `expert` imitates, by what they brought each role",
        low=0, high=1, above=True,
    )  # fmt: skip
    teacher: str | None = setting(
        "none",
        "the player whose moves `expert` imitates wherever the policy came, such as `mcts:200`",
        absent="none", names_player=True,
    )  # fmt: skip


class Expert:
    """It keeps nothing from step to step."""

    def __init__(self, learner: Learner) -> None:
        self._learner = learner

    def update(
        self, queries: Sequence[Query], weights: Weights, step: int, held: Collection[str] = ()
    ) -> Record:
        import numpy as np
        import torch

        from gamedsl.train.methods.base import descend, idle

        learner = self._learner
        pairs = zip(queries, weights.examples_A, strict=True)
        examples = [(query, counts) for query, counts in pairs if counts.any()]
        total = float(sum(counts.sum() for _, counts in examples))
        if not examples:  # no game did better than another
            return idle(learner.scorer) | {"examples": 0.0}
        wanted_L = torch.from_numpy(np.concatenate([counts for _, counts in examples])).float()

        def loss(log_pi_A: Sequence[torch.Tensor]) -> torch.Tensor:
            played_L = torch.cat(learner.played(log_pi_A))
            return -(wanted_L.to(played_L) * played_L).sum() / total

        asked = [query for query, _ in examples]
        return descend(learner, asked, loss, step, held) | {"examples": total}

    def state(self) -> dict[str, Any]:
        return {}

    def restore(self, state: dict[str, Any]) -> None: ...


def _unused(name: str) -> Conflict:
    """The conflict with a term that the objective does not have."""
    return Conflict(
        ("method", name), lambda recipe, _: recipe.value(name),
        f"`expert` imitates, and has no `{name}` in its objective",
        f"leave `{name}` out, or write `method: grpo`",
    )  # fmt: skip


METHOD = MethodSpec(
    doc="imitation of the best games, or of a teacher",
    start=Expert,
    settings={"expert": ExpertSettings},
    reads=("max_grad_norm", "max_change"),
    defaults={"inner_steps": 4},
    conflicts=(
        *map(_unused, ("kl", "entropy", "entropy_floor")),
        Conflict(
            ("method", "estimator"), lambda recipe, _: recipe.estimator == "tree",
            "`expert` imitates games that were played, and exact action values are no games",
            "write `estimator: sampled`, or another `method`",
        ),
        Conflict(
            ("expert.teacher", "expert.keep"),
            lambda recipe, _: recipe.of(ExpertSettings).teacher is not None,
            "with a teacher every decision is labelled, and no games are chosen",
            "leave `expert.keep` or `expert.teacher` out",
            given=("expert.keep",),
        ),
    ),
)  # fmt: skip
