"""Settings that are given where nothing reads them: those of another method, or of a part that is
not there."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Set
from typing import NamedTuple

from gamedsl.diagnostics import Note, Problems
from gamedsl.ir.game import Setting
from gamedsl.recipe.model import Recipe


class Reading(NamedTuple):
    """When settings are read. `settings` are names, or the heads of groups; `decider` is the
    setting that decides, and `instead` what to write there."""

    settings: tuple[str, ...]
    decider: str
    read: Callable[[Recipe], bool]
    instead: str


def _under(*methods: str) -> Callable[[Recipe], bool]:
    return lambda recipe: recipe.method in methods


def _calls(recipe: Recipe) -> bool:
    """Whether an endpoint may be asked: that of a player, or of one that a run was trained with."""
    return any(name.partition(":")[0].strip() in ("endpoint", "run") for name in recipe.players)


READINGS = (
    Reading(("project",), "method", _under("project"), "`method: project`"),
    Reading(("magnet",), "method", _under("magnet", "project"), "`method: magnet`"),
    Reading(("expert",), "method", _under("expert"), "`method: expert`"),
    Reading(("clip",), "method", _under("grpo", "magnet"), "`method: grpo`"),
    Reading(
        ("max_grad_norm", "max_change"), "method", _under("grpo", "magnet", "expert"),
        "another `method`",
    ),
    Reading(
        ("scale", "baseline", "compare", "credit"), "method", _under("grpo", "magnet", "project"),
        "another `method`",
    ),
    Reading(
        ("scale", "baseline", "compare"), "estimator",
        lambda recipe: recipe.estimator == "sampled", "`estimator: sampled`",
    ),
    Reading(
        ("replays",), "credit",
        lambda recipe: recipe.credit in ("difference", "counterfactual"),
        "`credit: counterfactual`",
    ),
    Reading(
        ("pool",), "opponents", lambda recipe: recipe.keeps_pool, "`opponents: {self: 1, pool: 1}`"
    ),
    Reading(
        ("budget",), "roles", _calls, "a player such as `endpoint:URL#MODEL`"
    ),
    Reading(
        ("warm_up",), "warm_up.expert", lambda recipe: recipe.warm_up.expert is not None,
        "a `warm_up.expert`",
    ),
    Reading(
        ("warm_up.rounds",), "warm_up.expert",
        lambda recipe: not (recipe.warm_up.expert or "").startswith("file:"),
        "a player as `warm_up.expert`",
    ),
    Reading(
        ("until.over",), "until.exploitability",
        lambda recipe: recipe.until.exploitability is not None, "`until.exploitability`",
    ),
    Reading(
        ("curriculum.at", "curriculum.over", "curriculum.held_out"), "curriculum.param",
        lambda recipe: recipe.curriculum.param is not None, "`curriculum.param` and its levels",
    ),
    Reading(
        ("curriculum.floor",), "curriculum.rows",
        lambda recipe: recipe.curriculum.rows is not None, "`curriculum.rows`",
    ),
    Reading(("vllm",), "engine", lambda recipe: recipe.engine == "vllm", "`engine: vllm`"),
    Reading(
        ("learn.every",), "learn.who", lambda recipe: recipe.learn.who != "all",
        "`learn.who: rotate`",
    ),
)  # fmt: skip
"""What is not read everywhere. A setting that is in several rows is read where all say so."""


def check_unread(
    recipe: Recipe, given: Mapping[str, Setting], usual: Collection[str],
    overrides: Set[str], problems: Problems,
) -> None:  # fmt: skip
    """Warn of settings without effect, but those that are as `usual`, at their defaults.

    `overrides` are the names of those that were given for this run alone: where one of these
    decides, what the file says of another method is no mistake of anybody's.
    """
    for name, setting in given.items():
        head = name.partition(".")[0]
        for reading in READINGS:
            named = name in reading.settings or head in reading.settings
            if name in usual or not named or reading.read(recipe):
                continue
            decided = [key for key in given if f"{key}.".startswith(f"{reading.decider}.")]
            if name in overrides or overrides.isdisjoint(decided):
                problems.add(
                    "GD0716", f"nothing reads `{name}` here", setting.span, severity="warning",
                    why="has no effect", help=f"leave it out, or write {reading.instead}",
                    notes=tuple(Note(given[key].span, f"`{key}` is set here") for key in decided),
                )  # fmt: skip
