"""Which roles learn in a step: all that are trained, one at a time in turns, or the weakest.

The samples of a role that does not learn leave the update, but not the statistics that others are
compared with; the adapters that no learning role has stay as they are to the last bit.

Training the weakest is the loop of weak-link training: every so many steps what each role adds to
what all earn together is measured (`gamedsl.training.contributions`), and until the next
measurement the role that adds least learns alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gamedsl.ir.game import GameIR
from gamedsl.recipe.table import Recipe


class Schedule:
    """The roles that learn, step by step. It keeps the last measurement."""

    def __init__(self, ir: GameIR, recipe: Recipe) -> None:
        parts = recipe.parts(ir)
        self._roles = recipe.learners(ir)
        self._adapters = {part.role: part.adapter for part in parts if part.adapter is not None}
        self._learn = recipe.learn
        self._order = recipe.learn.order or self._roles
        self._measured: dict[str, float] = {}

    def due(self, step: int) -> bool:
        """Returns whether what each role adds is to be measured before a step (from 1)."""
        return self._learn.who == "weakest" and (step - 1) % self._learn.every == 0

    def judge(self, measured: Mapping[str, float]) -> None:
        """Takes what each role adds."""
        self._measured = dict(measured)

    def learns(self, step: int) -> frozenset[str]:
        """Returns the names of the roles that learn in a step (from 1). Of equally weak roles the
        first in the order learns."""
        match self._learn.who:
            case "rotate":
                turn = (step - 1) // self._learn.every
                return frozenset({self._order[turn % len(self._order)]})
            case "weakest":
                return frozenset({min(self._order, key=lambda role: self._measured.get(role, 0.0))})
            case "all":
                return frozenset(self._roles)

    def may_learn(self, step: int) -> frozenset[str]:
        """Returns the roles of which some learn in a step, as far as that is known before it is
        played: all where what each adds is still to be measured."""
        return frozenset(self._roles) if self.due(step) else self.learns(step)

    def frozen(self, step: int) -> frozenset[str]:
        """Returns the adapters that stay as they are in a step: those that no learning role has."""
        learning = {self._adapters[role] for role in self.learns(step)}
        return frozenset(self._adapters.values()) - learning

    def record(self, step: int) -> dict[str, Any]:
        """Returns its fields of the step's record."""
        if self._learn.who == "all":
            return {}
        record: dict[str, Any] = {"learning": sorted(self.learns(step))}
        return record | ({"contributions": self._measured} if self.due(step) else {})

    def state(self) -> dict[str, Any]:
        """Returns what a checkpoint must hold of it."""
        return {"measured": self._measured}

    def restore(self, state: dict[str, Any]) -> None:
        """Goes on from what `state` returned."""
        self._measured = dict(state["measured"])
