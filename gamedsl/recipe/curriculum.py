"""Checks of `curriculum`: its param, its levels, and whether rows can be drawn by success."""

from __future__ import annotations

from gamedsl.ir.rows import row_draws
from gamedsl.recipe.conflicts import Conflict, RecipeCheck, report_unknown
from gamedsl.recipe.methods import method_spec
from gamedsl.recipe.table import Recipe


def _shared_level(recipe: Recipe) -> object:
    """The first level that is both trained on and held out; None if there is none."""
    plan = recipe.curriculum
    return next((level for level in plan.held_out if level in plan.levels), None)


_CONFLICTS = (
    Conflict(
        ("curriculum.param", "curriculum.levels"),
        lambda recipe, _: (recipe.curriculum.param is None) != (not recipe.curriculum.levels),
        "a curriculum has a param and its levels",
        "write both, such as `curriculum: {param: rounds, levels: [1, 2, 4]}`",
    ),
    Conflict(
        ("curriculum.levels", "curriculum.held_out"),
        lambda recipe, _: _shared_level(recipe) is not None,
        lambda recipe: f"the level {_shared_level(recipe)} is trained on and held out",
        "leave it out of one of the two",
    ),
    Conflict(
        ("estimator", "curriculum.rows"),
        lambda recipe, _: recipe.curriculum.rows is not None and recipe.estimator == "tree",
        "the `tree` goes through all rows, and none are drawn",
        "write `estimator: sampled`, or leave `curriculum.rows` out",
    ),
    Conflict(
        ("curriculum.param", "curriculum.rows"),
        lambda recipe, _: recipe.curriculum.rows is not None
        and recipe.curriculum.param is not None,
        "a curriculum goes through levels or through rows: success in one level says nothing of"
        " another",
        "leave `curriculum.param` and its levels out, or `curriculum.rows`",
    ),
)  # fmt: skip


def check_curriculum(check: RecipeCheck) -> None:
    """Report a curriculum that does not fit the game. What a level makes of the game is seen when
    it is compiled, before training."""
    plan = check.recipe.curriculum
    params = [param.name for param in check.ir.params]
    if plan.param is not None and plan.param not in params:
        message, span = (
            f"`curriculum` names no param `{plan.param}`",
            check.span("curriculum.param"),
        )
        if params:
            report_unknown(
                check.problems, "GD0705", message, plan.param, params, span, "its params"
            )
        else:
            check.problems.add(
                "GD0705", message, span, why="this game has no params",
                help="declare it under `params`, or leave `curriculum` out",
            )  # fmt: skip
    check.check(_CONFLICTS)
    if plan.rows is not None:
        _check_rows(check, plan.rows)


def _check_rows(check: RecipeCheck, name: str) -> None:
    """Report rows that not every game draws, and a method whose equilibria they would move."""
    draws, span = row_draws(check.ir), check.span("curriculum.rows")
    message = f"`curriculum.rows` names nothing that is drawn from a data file: `{name}`"
    if not draws:
        check.problems.add(
            "GD0705", message, span, why="this game draws no rows", help="leave it out"
        )
    elif name not in draws:
        report_unknown(
            check.problems, "GD0705", message, name, draws, span, "what is drawn from data"
        )
    elif draws[name] is None:
        check.conflict(
            f"not every game draws `{name}` once, before anybody acts, so it has no one row",
            "draw it first, one and without `if`, or leave `curriculum.rows` out",
            "curriculum.rows",
        )  # fmt: skip
    if method_spec(check.recipe.method).mixes:
        check.problems.add(
            "GD0706",
            f"`{check.recipe.method}` holds equilibria, and those of a game with rows drawn by"
            " success are others", span, why="changes the odds of chance",
            help="leave `curriculum.rows` out, or write `method: grpo`",
        )  # fmt: skip
