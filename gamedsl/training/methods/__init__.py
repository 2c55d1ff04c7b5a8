"""Training methods: one module each, and the helpers that several share.

`gamedsl.recipe.methods` has the registry, and says what such a module declares.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gamedsl.recipe.methods import method_spec

if TYPE_CHECKING:
    from gamedsl.training.methods.base import Learner, Method


def method_of(learner: Learner) -> Method:
    """Returns the method that a recipe names, at its beginning."""
    method: Method = method_spec(learner.recipe.method).start(learner)
    return method
