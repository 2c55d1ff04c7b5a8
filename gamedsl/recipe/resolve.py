"""The one way from `train:` and `--set` to a `Recipe`, by the table of settings.

Nothing here loads torch, so a wrong setting is reported by `gamedsl validate`, at its place in the
file.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace
from fractions import Fraction
from functools import cache
from itertools import chain
from typing import Any

from gamedsl.diagnostics import Problems
from gamedsl.diagnostics.fixes import Fix, Help, respell, substitute
from gamedsl.diagnostics.spans import Source, Span
from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.frontend.source.edits import key_of, respell_word
from gamedsl.ir.game import GameIR, Setting
from gamedsl.recipe.conflicts import CONFLICTS, RecipeCheck, check_group_std, check_models
from gamedsl.recipe.curriculum import check_curriculum
from gamedsl.recipe.methods import METHODS, default_of, method_spec, table
from gamedsl.recipe.relevance import check_preset, check_unread, check_words
from gamedsl.recipe.roles import check_roles, read_opponents, read_roles
from gamedsl.recipe.rotation import check_learn
from gamedsl.recipe.setting import SettingSpec, field_types
from gamedsl.recipe.start import read_start
from gamedsl.recipe.table import Recipe, RoleSettings, Start


def parse_overrides(texts: Iterable[str]) -> tuple[Setting, ...]:
    """Settings out of `--set key=value` texts; each text is a source of its own, named `--set`.

    ValueError for a text of another form.
    """
    settings = []
    for text in texts:
        source = Source("--set", text)
        key, equals, value = text.partition("=")
        if not equals or not key.strip() or not value.strip():
            raise ValueError(f"`--set {text}` is not of the form key=value, such as lr=1e-4")
        span = Span(source, len(key) + 1, len(text))
        settings.append(Setting(key.strip(), _yaml_value(value), span))
    return tuple(settings)


def override(key: str, value: Any, place: str = "--set") -> Setting:
    """A setting given as a plain Python value. Problems are shown at a `place` of this name."""
    shown = f"{key}={value}"
    return Setting(key, _exact(value), Span(Source(place, shown), len(key) + 1, len(shown)))


def resolve(ir: GameIR, overrides: Iterable[Setting], problems: Problems) -> Recipe:
    """The recipe of a game: defaults, then its `train:` section, then overrides, later ones
    winning.

    Always returns a recipe; where `problems` has errors it holds defaults in the wrong places.
    """
    overridden = list(_flat(overrides))
    given: dict[str, Setting] = {}
    for setting in chain(map(_beside, _flat(ir.settings)), overridden):
        row = table().get(setting.key) or table().get(setting.key.partition(".")[0])
        if row is None or (row.name != setting.key and row.kind != "map"):
            _report_unknown(setting, problems)
        else:
            given[setting.key] = setting
    method = _value(table()["method"], given.get("method"), default_of(table()["method"], "grpo"),
                    problems)  # fmt: skip
    preset = _value(table()["preset"], given.get("preset"), "none", problems)
    replies = _value(table()["replies"], given.get("replies"), "scored", Problems())
    words = ir.in_words or replies == "free"
    values, usual = {}, set()
    for row in table().values():
        if row.kind == "map":
            continue
        default = _default(row, method, preset, words=words)
        values[row.name] = value = _value(row, given.get(row.name), default, problems)
        if value == row.converted(default):
            usual.add(row.name)
    maps = {
        name: [one for key, one in given.items() if key.partition(".")[0] == name]
        for name, row in table().items() if row.kind == "map"
    }  # fmt: skip
    values["roles"] = read_roles(ir, maps["roles"], problems)
    values["opponents"] = read_opponents(maps["opponents"], problems)
    values["start"] = read_start(ir, maps["start"], problems)
    recipe = _recipe(values)
    check = RecipeCheck(ir, recipe, given, frozenset(usual), problems)
    check.check((*CONFLICTS, *method_spec(method).conflicts))
    for check_part in (
        check_models, check_roles, check_words, check_learn, check_curriculum, check_group_std,
    ):  # fmt: skip
        check_part(check)
    alone = {setting.key for setting in overridden}
    check_unread(check, alone)
    check_preset(check, alone)
    return recipe


def _default(row: SettingSpec, method: str, preset: str | None, *, words: bool) -> Any:
    """The default of a setting in a game: that of its method, unless games in words cannot have
    it."""
    default = default_of(row, method, preset)
    if words and row.in_words is not None and row.converted(default) not in row.in_words:
        return row.default
    return default


def read_recipe(saved: Mapping[str, Any]) -> Recipe:
    """The recipe that `Recipe.as_dict` gave. What it lacks is as it would be by default: an older
    run did not have that setting. Ranges are not checked: those of an older version may have been
    wider. Raises ValueError for a setting that cannot be read."""
    flat = {one.key: one.value for one in _flat(override(*item) for item in saved.items())}
    method = str(flat.get("method", table()["method"].default))
    values: dict[str, Any] = {}
    for row in table().values():
        value = flat.get(row.name, row.default if row.name == "method" else None)
        if row.kind == "map":
            continue
        if value is None:
            value = default_of(row, method)
        elif not row.fits(value):
            raise ValueError(f"`{row.name}` must be {row.accepts()}, not {_described(value)}")
        values[row.name] = row.converted(value)
    values["roles"] = tuple(
        RoleSettings.from_dict(role, given) for role, given in (saved.get("roles") or {}).items()
    )
    values["opponents"] = tuple((saved.get("opponents") or {}).items())
    values["start"] = tuple(
        start for role, given in (saved.get("start") or {}).items()
        for start in Start.from_dict(role, given)
    )  # fmt: skip
    return _recipe(values)


def _recipe(values: Mapping[str, Any]) -> Recipe:
    """The recipe of values by dotted name."""
    own = tuple(
        (name, _group(settings, f"{name}.", values))
        for method in METHODS for name, settings in method_spec(method).settings.items()
    )  # fmt: skip
    recipe: Recipe = _group(Recipe, "", {**values, "of_methods": own})
    return recipe


def _group(settings: type, prefix: str, values: Mapping[str, Any]) -> Any:
    """A group of settings, and the groups in it."""
    hints = field_types(settings)
    given = {}
    for one in fields(settings):
        name = f"{prefix}{one.name}"
        given[one.name] = (
            values[name] if name in values else _group(hints[one.name], f"{name}.", values)
        )
    return settings(**given)


def span_of(key: str, settings: Iterable[Setting]) -> Span | None:
    """Returns the place where a setting was given, or None."""
    return next((s.span for s in reversed(list(_flat(settings))) if s.key == key), None)


def _exact(value: Any) -> Any:
    """Floats as the fractions that their shortest text names, also inside lists and maps."""
    if isinstance(value, float):
        return Fraction(repr(value)) if math.isfinite(value) else repr(value)
    if isinstance(value, dict):
        return {key: _exact(inner) for key, inner in value.items()}
    return [_exact(item) for item in value] if isinstance(value, list | tuple) else value


def _yaml_value(text: str) -> Any:
    """A value as YAML would read it; text that is not YAML stays text."""
    from gamedsl.frontend.source.compose import compose
    from gamedsl.frontend.source.nodes import Mapping as MappingNode
    from gamedsl.frontend.source.nodes import Node, Scalar

    def plain(node: Node) -> Any:
        if isinstance(node, Scalar):
            return node.value
        if isinstance(node, MappingNode):
            return {entry.key.text: plain(entry.value) for entry in node}
        return tuple(map(plain, node))

    ignored = Problems()
    node = compose(Source("--set", text), ignored)
    return text.strip() if node is None or ignored.errors else plain(node)


def flat_settings(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yields nested settings by dotted names, with their values."""
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from flat_settings(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _flat(*settings: Iterable[Setting]) -> Iterable[Setting]:
    """All settings in order, a map as settings with dotted keys."""
    for setting in chain(*settings):
        if isinstance(setting.value, dict):
            parts = (
                Setting(f"{setting.key}.{name}", value, setting.span)
                for name, value in setting.value.items()
            )
            yield from _flat(parts)
        else:
            yield replace(setting, key=_renamed().get(setting.key, setting.key))


def _beside(setting: Setting) -> Setting:
    """Returns a setting of a game's file, where the path of `file:PATH` is seen from that file, as
    paths of data are."""
    kind, _, path = str(setting.value).partition(":")
    if kind != "file" or not setting.key.endswith("expert") or not path.strip() or path[0] == "~":
        return setting
    return replace(setting, value=f"file:{setting.span.source.folder / path}")


@cache
def _renamed() -> dict[str, str]:
    """The present names of settings by their earlier ones."""
    return {
        f"{row.name.rpartition('.')[0]}.{row.formerly}": row.name
        for row in table().values() if row.formerly
    }  # fmt: skip


def _report_unknown(setting: Setting, problems: Problems) -> None:
    """Report a name that is no setting."""
    known = table()
    head, _, tail = setting.key.partition(".")
    inside = [name for name in known if name.startswith(f"{setting.key}.")]
    if inside:
        message = f"`{setting.key}` is a group of settings"
        help: Help = f"set one of {', '.join(f'`{name}`' for name in inside)}"
    elif tail and head in known:
        message = f"`{head}` has no parts"
        help = f"write `{head}: {_yaml_text(known[head].default)}`"
    else:
        near = did_you_mean(setting.key, known)
        message = f"there is no training setting `{setting.key}`"
        groups = ", ".join(dict.fromkeys(row.group for row in known.values()))
        help = _respelled(setting, near) if near else f"the settings are {groups}"
    problems.add("GD0701", message, key_of(setting.span), why="not a setting", help=help)


def _respelled(setting: Setting, near: str) -> Fix:
    """Returns the fix of a misspelt setting: another word, where it stays in its group."""
    (group, _, written), (home, _, meant) = (n.rpartition(".") for n in (setting.key, near))
    edits = respell_word(setting.span, written, meant) if group == home else ()
    return Fix(f"did you mean `{near}`?", edits)


def _value(row: SettingSpec, setting: Setting | None, default: Any, problems: Problems) -> Any:
    """The value of a setting as the recipe holds it: its default if it is not given, or wrong."""
    if setting is None:
        return row.converted(default)
    value = list(setting.value) if isinstance(setting.value, tuple) else setting.value
    if not row.fits(value):
        near = did_you_mean(value, row.choices) if isinstance(value, str) else None
        usual = _yaml_text(default)
        such = substitute(setting.span, usual, f"such as `{row.name}: {usual}`")
        help = respell(setting.span, near, such)
        problems.add(
            "GD0702", f"`{row.name}` must be {row.accepts()}", setting.span,
            why=f"this is {_described(value)}", help=help,
        )  # fmt: skip
    elif not row.in_range(value):
        problems.add(
            "GD0703", f"`{row.name}` must be {row.accepts()}", setting.span, why="out of range",
            help=substitute(
                setting.span, _yaml_text(default), f"the default is `{_yaml_text(default)}`"
            ),
        )  # fmt: skip
    else:
        return row.converted(value)
    return row.converted(default)


def _described(value: Any) -> str:
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, Mapping):
        return "a map"
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "a truth value"
    return f"`{_yaml_text(value)}`" if isinstance(value, str) else f"the number {_yaml_text(value)}"


def _yaml_text(value: Any) -> str:
    if isinstance(value, Fraction | float):
        return f"{float(value):g}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_yaml_text, value)) + "]"
    return str(value)
