"""Checks of `curriculum`: that its param is one, and that its levels are levels."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gamedsl.diagnostics import Problems
from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.ir.game import GameIR, Setting
from gamedsl.ir.recipe import Recipe


def check_curriculum(
    ir: GameIR, recipe: Recipe, given: Mapping[str, Setting], clash: Callable[..., None],
    problems: Problems,
) -> None:  # fmt: skip
    """`given` are the settings that were set. What a level makes of the game is seen when it is
    compiled, before training."""
    plan = recipe.curriculum
    params = [param.name for param in ir.params]
    if plan.param is not None and plan.param not in params:
        near = did_you_mean(plan.param, params)
        problems.add(
            "GD0705", f"`curriculum` names no param `{plan.param}`", given["curriculum.param"].span,
            why="unknown here",
            help=f"did you mean `{near}`?" if near else f"its params: {', '.join(params)}",
        )  # fmt: skip
    if (plan.param is None) != (not plan.levels):
        clash(
            "a curriculum has a param and its levels",
            "write both, such as `curriculum: {param: rounds, levels: [1, 2, 4]}`",
            "curriculum.param", "curriculum.levels",
        )  # fmt: skip
    shared = [level for level in plan.held_out if level in plan.levels]
    if shared:
        clash(
            f"the level {shared[0]} is trained on and held out",
            "leave it out of one of the two", "curriculum.levels", "curriculum.held_out",
        )  # fmt: skip
