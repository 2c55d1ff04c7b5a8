"""The one way from `train:` and `--set` to a `Recipe`, by the table of settings.

Nothing here loads torch, so a wrong setting is reported by `gamedsl validate`, at its place in the
file.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import chain
from typing import Any

from gamedsl.diagnostics import Problems
from gamedsl.diagnostics.spans import Source, Span
from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.ir.game import GameIR, Setting
from gamedsl.recipe.checks import contradictions
from gamedsl.recipe.keys import KEYS, Key
from gamedsl.recipe.model import (
    Curriculum,
    Expert,
    Learn,
    Lora,
    Magnet,
    PoolSettings,
    Project,
    Recipe,
    Spending,
    Until,
    Vllm,
    WarmUp,
)
from gamedsl.recipe.role_settings import OPPONENTS, ROLES, declare_opponents, declare_roles
from gamedsl.recipe.start import START, declare_start
from gamedsl.recipe.unread_settings import check_unread

_BY_NAME = {key.name: key for key in KEYS if key.kind != "map"}
_MAPS = tuple(key.name for key in KEYS if key.kind == "map")
_PARTS: dict[str, Any] = {
    "until": Until, "learn": Learn, "curriculum": Curriculum, "lora": Lora, "magnet": Magnet,
    "pool": PoolSettings, "budget": Spending, "project": Project,
    "expert": Expert, "vllm": Vllm, "warm_up": WarmUp,
}  # fmt: skip
"""Groups of settings, and what the recipe holds them in."""


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


def override(key: str, value: Any) -> Setting:
    """A setting given as a plain Python value."""
    shown = f"{key}={value}"
    return Setting(key, _exact(value), Span(Source("--set", shown), len(key) + 1, len(shown)))


def resolve(ir: GameIR, overrides: Iterable[Setting], problems: Problems) -> Recipe:
    """The recipe of a game: defaults, then its `train:` section, then overrides, later ones
    winning.

    Always returns a recipe; where `problems` has errors it holds defaults in the wrong places.
    """
    given: dict[str, Setting] = {}
    maps: dict[str, dict[str, Setting]] = {name: {} for name in _MAPS}
    overridden = list(_flat(overrides))
    for setting in chain(_flat(ir.settings), overridden):
        if (head := setting.key.partition(".")[0]) in maps:
            maps[head][setting.key] = setting
        elif setting.key in _BY_NAME:
            given[setting.key] = setting
        else:
            _unknown(setting, problems)
    method = _value(_BY_NAME["method"], given.get("method"), "", problems)
    values: dict[str, Any] = {}
    parts: dict[str, dict[str, Any]] = {name: {} for name in _PARTS}
    usual = set()
    for name, key in _BY_NAME.items():
        head, _, tail = name.rpartition(".")
        into = parts[head] if head else values
        into[tail] = method if name == "method" else _value(key, given.get(name), method, problems)
        if into[tail] == _converted(key, key.default_of(method)):
            usual.add(name)
    built = {name: part(**parts[name]) for name, part in _PARTS.items()}
    built["roles"] = declare_roles(ir, maps[ROLES].values(), problems)
    built["opponents"] = declare_opponents(maps[OPPONENTS].values(), problems)
    built["start"] = declare_start(ir, maps[START].values(), problems)
    recipe = Recipe(**built, **values)
    given |= maps[ROLES] | maps[OPPONENTS]
    contradictions(ir, recipe, given, usual, problems)
    check_unread(recipe, given, usual, {setting.key for setting in overridden}, problems)
    return recipe


def span_of(key: str, settings: Iterable[Setting]) -> Span | None:
    """Where a setting was given its value; None where it was not given."""
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
            yield setting


def _unknown(setting: Setting, problems: Problems) -> None:
    known = [key.name for key in KEYS]
    heads = dict.fromkeys(name.partition(".")[0] for name in known)
    head, _, tail = setting.key.partition(".")
    if setting.key in _PARTS:
        inside = [name for name in _BY_NAME if name.startswith(f"{setting.key}.")]
        message = f"`{setting.key}` is a group of settings"
        help = f"set one of {', '.join(f'`{name}`' for name in inside)}"
    elif tail and head in _BY_NAME:
        message, help = (
            f"`{head}` has no parts",
            f"write `{head}: {_shown(_BY_NAME[head].default)}`",
        )
    else:
        near = did_you_mean(setting.key, known)
        message = f"there is no training setting `{setting.key}`"
        help = f"did you mean `{near}`?" if near else f"the settings are {', '.join(heads)}"
    problems.add("GD0701", message, setting.span, why="not a setting", help=help)


def _value(key: Key, setting: Setting | None, method: str, problems: Problems) -> Any:
    default = key.default_of(method)
    if setting is None:
        return _converted(key, default)
    value = list(setting.value) if isinstance(setting.value, tuple) else setting.value
    if not _right_type(key, value):
        near = did_you_mean(value, key.words) if isinstance(value, str) and key.words else None
        help = f"did you mean `{near}`?" if near else f"such as `{key.name}: {_shown(default)}`"
        problems.add(
            "GD0702", f"`{key.name}` must be {key.accepts()}", setting.span,
            why=f"this is {_described(value)}", help=help,
        )  # fmt: skip
    elif not all(key.holds(number) for number in _numbers(value)):
        problems.add(
            "GD0703", f"`{key.name}` must be {key.accepts()}", setting.span, why="out of range",
            help=f"the default is `{_shown(default)}`",
        )  # fmt: skip
    else:
        return _converted(key, value)
    return _converted(key, default)


def _right_type(key: Key, value: Any) -> bool:
    if isinstance(value, str):
        return value in key.words or (key.kind == "name" and bool(value.strip()))
    match key.kind:
        case "whole":
            return _is_number(value) and Fraction(value).denominator == 1
        case "number":
            return _is_number(value)
        case "pair":
            return isinstance(value, list) and len(value) == 2 and all(map(_is_number, value))
        case "names":
            return (
                isinstance(value, list) and bool(value) and all(isinstance(v, str) for v in value)
            )
        case "flags":
            return isinstance(value, list) and all(v in key.words for v in value)
        case "list":
            return isinstance(value, list) and all(
                isinstance(v, int | Fraction | str) for v in value
            )
    return False


def _is_number(value: Any) -> bool:
    return isinstance(value, int | Fraction) and not isinstance(value, bool)


def _numbers(value: Any) -> list[int | Fraction]:
    return [v for v in (value if isinstance(value, list) else [value]) if _is_number(v)]


def _converted(key: Key, value: Any) -> Any:
    """As the recipe holds it: floats for fractions, tuples for lists, None for the absent
    word."""
    if key.absent is not None and value == key.absent:
        return None
    match key.kind:
        case "whole":
            return int(value)
        case "number":
            return float(value)
        case "pair":
            return tuple(map(float, value))
        case "names" | "flags":
            return tuple(value)
        case "list":
            return tuple(float(v) if isinstance(v, Fraction) else v for v in value)
    return value


def _described(value: Any) -> str:
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, Mapping):
        return "a map"
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "a truth value"
    return f"`{_shown(value)}`" if isinstance(value, str) else f"the number {_shown(value)}"


def _shown(value: Any) -> str:
    if isinstance(value, Fraction):
        return f"{float(value):g}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_shown, value)) + "]"
    return str(value)
