"""Checks of `curriculum`: that its param is one, that its levels are levels, and that its rows can
be drawn by success."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gamedsl.diagnostics import Problems
from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.ir.game import GameIR, Setting
from gamedsl.ir.rows import row_draws
from gamedsl.recipe.model import Recipe


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
    if plan.rows is not None:
        _rows(ir, recipe, plan.rows, given["curriculum.rows"], clash, problems)


def _rows(
    ir: GameIR, recipe: Recipe, name: str, setting: Setting, clash: Callable[..., None],
    problems: Problems,
) -> None:  # fmt: skip
    """Rows are drawn where every game has one, and another chance moves no equilibrium that is
    held."""
    draws = row_draws(ir)
    if name not in draws:
        near = did_you_mean(name, draws)
        known = f"what is drawn from data: {', '.join(draws)}"
        help = f"did you mean `{near}`?" if near else known if draws else "leave it out"
        problems.add(
            "GD0705", f"`curriculum.rows` names nothing that is drawn from a data file: `{name}`",
            setting.span, why="unknown here" if draws else "this game draws no rows", help=help,
        )  # fmt: skip
    elif draws[name] is None:
        clash(
            f"not every game draws `{name}` once, before anybody acts, so it has no one row",
            "draw it first, one and without `if`, or leave `curriculum.rows` out",
            "curriculum.rows",
        )  # fmt: skip
    if recipe.holds:
        problems.add(
            "GD0706", f"`{recipe.method}` holds equilibria, and those of a game with rows drawn by"
            " success are others", setting.span, why="changes the odds of chance",
            help="leave `curriculum.rows` out, or write `method: grpo`",
        )  # fmt: skip
    if recipe.estimator == "tree":
        clash(
            "the `tree` goes through all rows, and none are drawn",
            "write `estimator: sampled`, or leave `curriculum.rows` out",
            "estimator", "curriculum.rows",
        )  # fmt: skip
    if recipe.curriculum.param is not None:
        clash(
            "a curriculum goes through levels or through rows: success in one level says nothing"
            " of another", "leave `curriculum.param` and its levels out, or `curriculum.rows`",
            "curriculum.param", "curriculum.rows",
        )  # fmt: skip
