"""Which roles learn in a step.

The samples of a role that does not learn leave the update, but not the statistics that others are
compared with; the adapters that no learning role has stay as they are to the last bit.
"""

from __future__ import annotations

from typing import Any

from gamedsl.ir.game import GameIR
from gamedsl.ir.recipe import Recipe


class Schedule:
    """All roles that are trained learn in every step."""

    def __init__(self, ir: GameIR, recipe: Recipe) -> None:
        parts = [recipe.part(role.name) for role in ir.roles]
        self._roles = tuple(part.role for part in parts if part.learns)
        self._adapters = {part.role: part.adapter for part in parts if part.adapter is not None}

    def learns(self, step: int) -> frozenset[str]:
        """The names of the roles that learn in a step (from 1)."""
        return frozenset(self._roles)

    def held(self, step: int) -> frozenset[str]:
        """The adapters that stay as they are in a step: those that no learning role has."""
        learning = {self._adapters[role] for role in self.learns(step)}
        return frozenset(self._adapters.values()) - learning

    def state(self) -> dict[str, Any]:
        """What a checkpoint must hold of it."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from what `state` returned."""
