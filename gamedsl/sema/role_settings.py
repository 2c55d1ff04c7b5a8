"""The setting `roles`: who answers for each role, and who learns.

`roles: {second: {adapter: theirs, trained: false}}` names adapters and holds what is not trained;
`roles: {second: {player: random}}` gives a role to a player. What is not said is as `adapters`
says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from gamedsl.diagnostics import Problems
from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.ir.game import GameIR, Setting
from gamedsl.ir.recipe import Part
from gamedsl.source.spans import Span

ROLES = "roles"

_ADAPTER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""An adapter is a folder, and a part of a name in torch."""

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
}  # fmt: skip
"""What can be said of a role: whether a value will do, what will, and an example."""


def declare_roles(ir: GameIR, settings: Iterable[Setting], problems: Problems) -> tuple[Part, ...]:
    """What settings under `roles.` say, in the order of the game's roles."""
    said: dict[str, dict[str, Any]] = {role.name: {} for role in ir.roles}
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
    return tuple(Part(role, **given) for role, given in said.items() if given)


def _unknown(
    message: str, word: str, known: Iterable[str], noun: str, span: Span, problems: Problems
) -> None:
    names = list(known)
    near = did_you_mean(word, names)
    help = f"did you mean `{near}`?" if near else f"its {noun}: {', '.join(names)}"
    problems.add("GD0710", message, span, why="unknown here", help=help)
