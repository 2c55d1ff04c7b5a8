"""Settings that are given where nothing reads them, or for a kind of game that cannot have them."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from typing import Any

from gamedsl.diagnostics import Note
from gamedsl.diagnostics.fixes import Fix
from gamedsl.frontend.source.edits import delete_entry
from gamedsl.recipe.conflicts import RecipeCheck
from gamedsl.recipe.methods import method_spec, table
from gamedsl.recipe.presets import PRESETS
from gamedsl.recipe.setting import SettingSpec
from gamedsl.recipe.table import Recipe, RoleSettings

_SCORED = "is for written replies, and in this game none is written: options are scored"
_DRAWN = "needs the policy, which after a thought is estimated where the recipe draws `thoughts`"
_WORDS = "is not for games in words, whose decisions cannot be listed"


def check_words(check: RecipeCheck) -> None:
    """Report settings that a game in words cannot be trained with, or no other game."""
    if not (check.ir.written or check.recipe.replies == "free"):
        for row in table().values():
            if row.written_only:
                _refuse(check, row, _SCORED)
    if not check.recipe.in_words(check.ir):
        return
    if check.ir.respond.think is None:
        _refuse(check, table()["thoughts"], "is for choices that a thought comes before: none does")
    thinks = check.recipe.scores_after_thoughts(check.ir)
    for row in table().values():
        value = None if row.kind == "map" else check.recipe.value(row.name)
        if thinks and row.after_thoughts != "no":
            if row.after_thoughts == "drawn" and check.recipe.thoughts is None:
                _refuse(check, row, _DRAWN, "set `thoughts`, or ")
        elif row.closed_only:
            _refuse(check, row, _in_words(row.closed_because))
        elif row.in_words is not None and value not in row.in_words:
            known = " or ".join(f"`{row.absent if one is None else one}`" for one in row.in_words)
            given = row.name in check.given and row.name not in check.usual
            because = method_spec(value).closed_because if row.name == "method" else None
            check.conflict(
                f"`{row.name}: {value}` {_in_words(because or row.closed_because)}",
                f"write {known}" if given else f"set `{row.name}` to {known}", row.name,
            )  # fmt: skip


def _in_words(because: str) -> str:
    """Returns why games in words cannot have a setting."""
    return f"is not for games in words: {because}" if because else _WORDS


def _as_read(value: Any) -> Any:
    """A value as the rows of the table take it: of a setting's tuple, a list."""
    return list(value) if isinstance(value, tuple) else value


def _refuse(check: RecipeCheck, row: SettingSpec, because: str, instead: str = "") -> None:
    """Report a setting for other games, unless it is as it would be by default."""
    if row.kind == "map":
        given = [name for name in check.given if name.startswith(f"{row.name}.")]
    else:
        given = [row.name] if row.name in check.given and row.name not in check.usual else []
    for name in given:
        help = f"{instead}leave `{row.name}` out"
        if check.given[name].span.source.name.endswith(".yaml"):
            help += "; of a file that is extended, write `train: null` and your own"
        check.conflict(f"`{row.name}` {because}", help, name)


def check_unread(check: RecipeCheck, overrides: Set[str]) -> None:
    """Warn of settings without effect, except those at their defaults.

    `overrides` are the names of those that were given for this run alone: where one of these
    decides, what the file says of another method is no mistake of anybody's. A decider with a
    wrong value decides nothing: its own error is enough.
    """
    rows = table()
    wrong = {
        name for name, setting in check.given.items()
        if name in rows and not rows[name].fits(_as_read(setting.value))
    }  # fmt: skip
    for name, setting in check.given.items():
        if name in check.usual:
            continue
        row, recipe = _row_and_recipe(check, name)
        for condition in row.read_if if row else ():
            if condition.decider in wrong or condition.holds(recipe):
                continue
            decided = [key for key in check.given if f"{key}.".startswith(f"{condition.decider}.")]
            if name in overrides or overrides.isdisjoint(decided):
                check.problems.add(
                    "GD0716", f"nothing reads `{name}` here", setting.span, severity="warning",
                    why="has no effect", help=Fix(
                        f"leave it out, or write {condition.instead}", delete_entry(setting.span)
                    ),
                    notes=tuple(
                        Note(check.given[key].span, f"`{key}` is set here") for key in decided
                    ),
                )  # fmt: skip
                break


def check_preset(check: RecipeCheck, overrides: Set[str]) -> None:
    """Warn of settings of the file that win over a preset which was given for this run alone."""
    name, setting = check.recipe.preset, check.given.get("preset")
    if name is None or setting is None or "preset" not in overrides:
        return
    for key, usual in PRESETS[name].settings.items():
        row, own = table()[key], check.given.get(key)
        if own is None or key in overrides or row.converted(usual) == check.recipe.value(key):
            continue
        check.problems.add(
            "GD0716", f"`preset: {name}` has `{key}: {usual}`, and the game's own setting wins",
            setting.span, severity="warning", why=f"is not all of `{name}` here",
            help=f"add `--set {key}={usual}`, if it should be", notes=(
                Note(own.span, f"`{key}` is set here"),
            ),
        )  # fmt: skip


def _row_and_recipe(check: RecipeCheck, name: str) -> tuple[SettingSpec | None, Recipe]:
    """Returns the row of a setting, and the recipe that reads it: for `roles.ROLE.SETTING` one
    whose only model is the role's."""
    recipe, (head, _, tail) = check.recipe, name.partition(".")
    if head != "roles":
        return table().get(name), recipe
    role, _, own = tail.partition(".")
    given = next((one for one in recipe.roles if one.role == role), None)
    model = given.model if given and given.model is not None else recipe.model
    row = RoleSettings.rows().get(own)
    if row is not None:
        row = table().get(own, row)
    return row, replace(recipe, model=model, roles=())
