"""Tool calls: the tools that a role has, the call of an option, and which option a call names.

An option of a closed decision is a call of a typed tool (`gamedsl.ir.option_calls`), or of
`choose`. A chat template that lists tools has its own syntax for calls; a role whose model has such
a template reads its tools there, and writes its calls so. Whatever the syntax, all are read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from gamedsl.call_syntax import ARGUMENTS, CALL_TAG, CallSyntax
from gamedsl.ir.game import GameIR
from gamedsl.ir.json_types import tools_of
from gamedsl.ir.option_calls import CHOOSE, OPTION, OptionCall, call_of, parameters_of
from gamedsl.ir.program import Choose
from gamedsl.prompting.json_values import Fault, decimal, dumps

Tool = dict[str, Any]
"""`name`, `parameters` (a JSON Schema), and perhaps `description`."""

_BARE = re.compile(rf"\s*(<{CALL_TAG}>)?\s*\{{.*\}}\s*(</{CALL_TAG}>)?\s*", re.DOTALL)

NO_CALLS: Mapping[str, OptionCall] = {}


def write_call(syntax: CallSyntax, name: str, arguments: Any) -> str:
    """Returns the call of a tool in a syntax; `arguments` are JSON data with fractions."""
    return syntax.around(dumps({"name": name, syntax.arguments: arguments}, decimal, spaced=True))


def write_option(syntax: CallSyntax, label: str, calls: Mapping[str, OptionCall]) -> str:
    """Returns the call that gives a label."""
    call = call_of(label, calls)
    return write_call(syntax, call.name, dict(call.arguments))


def is_bare_call(text: str) -> bool:
    """Whether a reply that was read as a call has nothing else around its object but tags."""
    return _BARE.fullmatch(text) is not None


def parts_of_call(data: Any) -> tuple[Any, Any]:
    """Returns the name and the arguments of a call, as JSON data. Raises Fault where it has other
    parts."""
    key = next((k for k in ARGUMENTS if isinstance(data, dict) and k in data), ARGUMENTS[0])
    if not isinstance(data, dict) or data.keys() != {"name", key}:
        raise Fault("fields", "a call has `name` and `arguments`, and no more")
    return data["name"], data[key]


def label_of_call(data: Any, calls: Mapping[str, OptionCall]) -> str:
    """Returns the label that a call gives. Raises Fault where it gives none."""
    name, arguments = parts_of_call(data)
    if name == CHOOSE:
        if not isinstance(arguments, dict) or arguments.keys() != {OPTION}:
            raise Fault("fields", f"`arguments` has `{OPTION}`, and no more")
        option = arguments[OPTION]
        if not isinstance(option, str):
            raise Fault("value", f"`{OPTION}` is a text")
        return option.strip()
    tools = dict.fromkeys(call.name for call in calls.values())
    if not isinstance(name, str) or name not in tools:
        raise Fault("value", f"`name` must be {' or '.join(tools) or CHOOSE}")
    own = {label: dict(call.arguments) for label, call in calls.items() if call.name == name}
    fields = next(iter(own.values())).keys()
    if not isinstance(arguments, dict) or arguments.keys() != fields:
        raise Fault("fields", f"`arguments` has {_listed(fields)}, and no more")
    for field in fields:
        if not any(_same(arguments[field], given[field]) for given in own.values()):
            raise Fault("value", f"`arguments.{field}` is none of its values")
    for label, given in own.items():
        if all(_same(arguments[field], value) for field, value in given.items()):
            return label
    raise Fault("unknown")


def _same(said: Any, value: Any) -> bool:
    """Whether JSON data is this value: `true` is not 1."""
    return type(said) is type(value) and bool(said == value)


def _listed(fields: Any) -> str:
    return " and ".join(f"`{field}`" for field in fields) or "no field"


def tools_for(ir: GameIR, role: str) -> tuple[Tool, ...]:
    """Returns the tools of a role. They are the same at each of its decisions, and each takes every
    value that it ever takes for anybody, so that prompts begin alike."""
    found = {tool["name"]: tool for tool in option_tools(ir, role)}
    for step in ir.steps:
        if step.said is not None and step.said.form == "tool" and _asks(ir, step, role):
            for tool in tools_of(step.type, step.said.about, ir.seats):
                _add(found, tool)
    return tuple(found.values())


def option_tools(ir: GameIR, role: str) -> tuple[Tool, ...]:
    """Returns those of closed decisions."""
    if ir.respond.kind != "tool":
        return ()
    calls = ir.option_calls
    given = [call_of(o.name, calls) for step in ir.steps for own in step.options for o in own]
    names = dict.fromkeys(
        call_of(option.name, calls).name
        for step in ir.steps if _asks(ir, step, role)
        for own in step.options for option in own
    )  # fmt: skip
    found = []
    for name in names:
        parameters = parameters_of(name, given)
        if name == CHOOSE and ir.labels.kind != "plain":  # what episodes draw is no part of a list
            parameters["properties"][OPTION] = {"type": "string"}
        found.append({"name": name, "parameters": parameters})
    return tuple(found)


def _asks(ir: GameIR, step: Choose, role: str) -> bool:
    return any(ir.role_of[seat] == role for seat in step.actors)


def _add(found: dict[str, Tool], tool: Tool) -> None:
    """Adds a tool; where another of its name takes other arguments, it takes either."""
    known = found.setdefault(tool["name"], tool)
    if known["parameters"] != tool["parameters"]:
        either = {"type": "object", "anyOf": [known["parameters"], tool["parameters"]]}
        found[tool["name"]] = {**known, "parameters": either}


def tools_as_text(tools: tuple[Tool, ...]) -> str:
    """Returns a list of tools as a message holds it, and as `function` of chat interfaces."""
    listed = [{"type": "function", "function": tool} for tool in tools]
    return json.dumps(listed, ensure_ascii=False)
