"""Options as calls of typed tools: `hint(bob,red)` is `hint` with `to: bob` and `what: red`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from gamedsl.ir.program import Choose
from gamedsl.ir.values import name_of

CHOOSE, OPTION = "choose", "option"
"""The tool for options that are no calls of their own, and its argument."""

_TOOL = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
"""Names that chat interfaces take for a tool."""

Scalar = str | int | bool


class OptionCall(NamedTuple):
    """A tool and its arguments, in the order in which the action declares them."""

    name: str
    arguments: tuple[tuple[str, Scalar], ...] = ()


def option_calls(steps: Iterable[Choose], seats: Iterable[str]) -> dict[str, OptionCall]:
    """Returns the calls of the options that are actions, or bare names other than those of seats,
    by their canonical names; none where two actions would be one tool."""
    taken = {CHOOSE, *seats}
    found: dict[str, OptionCall] = {}
    fields: dict[str, tuple[str, ...]] = {}
    for step in steps:
        actions = {action.name: action.parameters for action in step.moves}
        for option in (option for options in step.options for option in options):
            name, *values = option.value if isinstance(option.value, tuple) else (option.value,)
            if not isinstance(name, str) or not _TOOL.fullmatch(name) or name in taken:
                continue
            parameters = tuple(field for field, _ in actions.get(name, ()))
            if len(values) != len(parameters) or (not values and option.name != name):
                continue
            if fields.setdefault(name, parameters) != parameters:
                return {}
            given = zip(parameters, map(_scalar, values), strict=True)
            found[option.name] = OptionCall(name, tuple(given))
    return found


def _scalar(value: Any) -> Scalar:
    return value if isinstance(value, str | int) else name_of(value)


def call_of(label: str, calls: Mapping[str, OptionCall]) -> OptionCall:
    """Returns the call that gives a label: of its own tool, or of `choose`."""
    return calls.get(label) or OptionCall(CHOOSE, ((OPTION, label),))


def parameters_of(name: str, calls: Iterable[OptionCall]) -> dict[str, Any]:
    """Returns the JSON Schema of a tool's arguments: each value that one of the calls gives."""
    values: dict[str, dict[Scalar, None]] = {}
    for call in calls:
        for field, value in call.arguments if call.name == name else ():
            values.setdefault(field, {})[value] = None
    return {
        "type": "object",
        "properties": {field: _one_of(list(given)) for field, given in values.items()},
        "required": list(values),
        "additionalProperties": False,
    }


def _one_of(values: list[Scalar]) -> dict[str, Any]:
    kinds = {type(value) for value in values}
    if kinds == {bool}:
        return {"type": "boolean"}
    if kinds == {int}:
        numbers = sorted(map(int, values))
        least, most = numbers[0], numbers[-1]
        if len(numbers) == most - least + 1:
            return {"type": "integer", "minimum": least, "maximum": most}
        return {"type": "integer", "enum": numbers}
    return ({"type": "string"} if kinds == {str} else {}) | {"enum": values}
