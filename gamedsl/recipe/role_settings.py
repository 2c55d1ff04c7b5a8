"""The settings `roles` and `opponents`: who answers for each role, who learns, and against whom.

`roles: {second: {adapter: theirs, trained: false}}` names adapters and holds what is not trained;
`roles: {second: {player: random}}` gives a role to a player, and `{model: NAME}` a model other than
the run's; `{lr: 1e-4, lora: {rank: 8}}` a learning rate and a size of its adapter. What is not said
is as `adapters`, `lr` and `lora` say.
`opponents: {self: 0.5, pool: 0.35, random: 0.15}` are shares of games, by whom they are played
against.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

from gamedsl.diagnostics import Problems
from gamedsl.diagnostics.spans import Span
from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.ir.game import GameIR, Setting
from gamedsl.recipe.model import Part, Size

ROLES, OPPONENTS = "roles", "opponents"

_ADAPTER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""An adapter is a folder, and a part of a name in torch."""


def _number(value: Any) -> bool:
    return isinstance(value, int | Fraction) and not isinstance(value, bool)


_FIELDS: dict[str, tuple[Callable[[Any], bool], str, str]] = {
    "adapter": (
        lambda value: isinstance(value, str) and bool(_ADAPTER.fullmatch(value)),
        "a name of letters, digits and _", "adapter: defender",
    ),
    "trained": (lambda value: isinstance(value, bool), "`true` or `false`", "trained: false"),
    "player": (
        lambda value: isinstance(value, str) and bool(value.strip()),
        "a player, as on the command line", "player: random",
    ),
    "model": (
        lambda value: isinstance(value, str) and bool(value.strip()),
        "a model, as the setting `model`", "model: smollm2-135m",
    ),
    "lr": (
        lambda value: _number(value) and value > 0, "a number above 0, as the setting `lr`",
        "lr: 1e-4",
    ),
    **dict.fromkeys(("lora.rank", "lora.alpha"), (
        lambda value: _number(value) and value >= 1 and Fraction(value).denominator == 1,
        "a whole number of at least 1, as the settings of `lora`", "lora: {rank: 8}",
    )),
}  # fmt: skip
"""What can be said of a role: whether a value will do, what will, and an example."""


def declare_roles(ir: GameIR, settings: Iterable[Setting], problems: Problems) -> tuple[Part, ...]:
    """What settings under `roles.` say, in the order of the game's roles."""
    said: dict[str, dict[str, Any]] = {role.name: {} for role in (*ir.roles, *ir.referees)}
    for setting in settings:
        role, _, name = setting.key.removeprefix(ROLES).removeprefix(".").partition(".")
        if role not in said:
            message = f"`roles` names no role `{role}`" if role else "`roles` is a map of roles"
            _unknown(message, role, said, "roles", setting.span, problems)
        elif name not in _FIELDS:
            message = f"nothing of a role is called `{name}`" if name else f"`{role}` needs a map"
            _unknown(message, name, _FIELDS, "settings", setting.span, problems)
        elif not _FIELDS[name][0](setting.value):
            problems.add(
                "GD0702", f"`{name}` must be {_FIELDS[name][1]}", setting.span,
                why="this is something else", help=f"such as `{_FIELDS[name][2]}`",
            )  # fmt: skip
        else:
            said[role][name] = setting.value
    return tuple(_part(role, given) for role, given in said.items() if given)


def _part(role: str, given: Mapping[str, Any]) -> Part:
    inside = {name: name.removeprefix("lora.") for name in given if name.startswith("lora.")}
    size = {short: int(given[name]) for name, short in inside.items()}
    plain = {name: value for name, value in given.items() if name not in inside}
    if "lr" in plain:
        plain["lr"] = float(plain["lr"])
    return Part(role, **plain, lora=Size(**size) if size else None)


def declare_opponents(
    settings: Iterable[Setting], problems: Problems
) -> tuple[tuple[str, float], ...]:
    """Whom the policy meets and the share of each; a share of 0 is nobody."""
    shares: dict[str, float] = {}
    for setting in settings:
        name = setting.key.removeprefix(OPPONENTS).removeprefix(".")
        if not name or not _number(setting.value):
            problems.add(
                "GD0702", "`opponents` must be a map of `self`, `pool` or a player to its share",
                setting.span, why="this is something else",
                help="such as `opponents: {self: 0.5, pool: 0.5}`",
            )  # fmt: skip
        elif setting.value < 0:
            problems.add(
                "GD0703", "the share of an opponent must be a number of at least 0", setting.span,
                why="out of range", help="shares may have any sum, and leave one out or give it 0",
            )  # fmt: skip
        elif setting.value:
            shares[name] = float(setting.value)
    return tuple(shares.items())


def _unknown(
    message: str, word: str, known: Iterable[str], noun: str, span: Span, problems: Problems
) -> None:
    names = list(known)
    near = did_you_mean(word, names)
    help = f"did you mean `{near}`?" if near else f"its {noun}: {', '.join(names)}"
    problems.add("GD0710", message, span, why="unknown here", help=help)
