"""Which roles learn in a step.

The samples of a role that does not learn leave the update, but not the statistics that others are
compared with; the adapters that no learning role has stay as they are to the last bit.
"""

from __future__ import annotations

from typing import Any

from gamedsl.ir.game import GameIR
from gamedsl.ir.recipe import Recipe
from gamedsl.train.rollout import adapter_of


class Schedule:
    """All roles learn in every step."""

    def __init__(self, ir: GameIR, recipe: Recipe) -> None:
        self._roles = tuple(role.name for role in ir.roles)
        self._adapter = adapter_of(recipe)

    def learns(self, step: int) -> frozenset[str]:
        """The names of the roles that learn in a step (from 1)."""
        return frozenset(self._roles)

    def held(self, step: int) -> frozenset[str]:
        """The adapters that stay as they are in a step: those that no learning role has."""
        learns = self.learns(step)
        learning = {self._adapter(role) for role in learns}
        return frozenset(map(self._adapter, self._roles)) - learning

    def state(self) -> dict[str, Any]:
        """What a checkpoint must hold of it."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from what `state` returned."""
