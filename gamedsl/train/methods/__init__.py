"""How a policy is changed by what a step's games showed: one module for each `method`."""

from __future__ import annotations

from gamedsl.train.methods.base import Learner, Method


def method_of(learner: Learner) -> Method:
    """The method that a recipe names, at its beginning."""
    from gamedsl.train.methods.expert import Expert
    from gamedsl.train.methods.grpo import Grpo
    from gamedsl.train.methods.magnet import MagnetGrpo
    from gamedsl.train.methods.project import Projection

    methods: dict[str, type[Grpo] | type[MagnetGrpo] | type[Projection] | type[Expert]] = {
        "grpo": Grpo,
        "magnet": MagnetGrpo,
        "project": Projection,
        "expert": Expert,
    }
    return methods[learner.recipe.method](learner)
