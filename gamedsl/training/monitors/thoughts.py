"""Estimates what a policy that thinks plays at each decision, from thoughts that are drawn there.

Its policy is the mean of its exact choices over thoughts, and so only estimated; so is how
exploitable it is, with an interval (`gamedsl.solve.sampled_policy`). It takes no part in training.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from gamedsl.players.model_replies import Asked, odds_after_thoughts
from gamedsl.recipe.table import Recipe
from gamedsl.solve import ImperfectRecall, TooLarge, Tree, equilibrium_ranges, tabulate
from gamedsl.solve.sampled_policy import mean_policy, sampled_exploitability
from gamedsl.training.errors import TrainError
from gamedsl.training.information_sets import information_sets
from gamedsl.training.monitors.extinction import ExtinctionMonitor, gains_in
from gamedsl.training.rollout import generator
from gamedsl.training.seats import SeatAssignment

if TYPE_CHECKING:
    from gamedsl.policies.generation import Writing
    from gamedsl.runtime import Env


class ThoughtMonitor:
    """Draws the recipe's `thoughts` at each decision: at the start, at each step with a checkpoint,
    and at the last."""

    def __init__(self, env: Env, recipe: Recipe, seating: SeatAssignment, policy: Writing) -> None:
        """Raises TrainError where they are asked for and decisions cannot be listed."""
        self._recipe, self._seating, self._policy = recipe, seating, policy
        self._tree: Tree | None = None
        self._watch = ExtinctionMonitor(None, None)
        if recipe.thoughts is None:
            return
        asked = information_sets(env, recipe.seed)
        try:
            self._tree = tabulate(env) if asked is not None else None
        except (TooLarge, ImperfectRecall):
            self._tree = None
        free = recipe.replies == "free"
        if asked is None or self._tree is None or free or seating.players:
            raise TrainError(
                f"the exploitability of `{env.ir.name}` cannot be estimated from thoughts: its"
                " decisions cannot be listed, a seat forgets, choices are written too, or a player"
                " holds a role",
                "leave `thoughts` out",
            )
        self._asked = {key: decision for key, (decision, _) in asked.items()}
        found = equilibrium_ranges(self._tree)
        self._ranges = None if found is None else found.as_dict()
        gains = partial(gains_in, self._tree)
        self._watch = ExtinctionMonitor(recipe.extinct, self._ranges, gains, seating.learners)

    def opening(self) -> dict[str, Any]:
        """Returns the fields of the record of the start."""
        return {} if self._tree is None else self.measured(0) | {"ranges": self._ranges}

    def resume(self, records: Sequence[Mapping[str, Any]]) -> None:
        """Goes on from the records of a run, the start's first."""
        for record in records:
            self._watch.look(record)

    def measured(self, step: int) -> dict[str, Any]:
        """Returns the fields of a step's record, where it is time for them. Where at a decision no
        thought led to a choice, the policy there is unknown, and nothing is returned."""
        recipe = self._recipe
        due = step % recipe.checkpoint_every == 0 or step == recipe.steps
        if self._tree is None or recipe.thoughts is None or not due:
            return {}
        rng = generator(recipe.seed, step, "thoughts")
        asked = [
            Asked(decision, self._seating.adapter(decision.role), int(rng.integers(2**31)))
            for decision in self._asked.values()
        ]
        drawn = odds_after_thoughts(self._policy, asked, recipe.thoughts, recipe.temperature)
        self._policy.forget()  # later passes are to be those of a run that was resumed here
        if not all(drawn):
            return {}
        samples = {key: np.array(rows) for key, rows in zip(self._asked, drawn, strict=True)}
        found = sampled_exploitability(self._tree, samples, seed=recipe.seed)
        mean = mean_policy(self._tree, samples)
        rows = {
            key: {"role": one.role, "seat": one.seat, "step": one.step, "probs": mean[key]}
            for key, one in self._asked.items()
        }
        record: dict[str, Any] = {
            "policy": rows, "decisions": len(rows), "thoughts": recipe.thoughts,
            "exploitability": found.value, "exploitability_interval": [found.low, found.high],
        }  # fmt: skip
        return record | self._watch.fields(record)
