"""Instructions on how to reply: the texts of the slot `form`, and what follows an invalid reply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from json import dumps
from typing import Any, Literal, assert_never

from gamedsl.ir.json_types import fields_of, members_in_json
from gamedsl.ir.option_calls import CHOOSE, OPTION
from gamedsl.ir.program import Choose
from gamedsl.ir.replies import Form
from gamedsl.ir.types import (
    Bag,
    Bool,
    Enum,
    Grid,
    List,
    Never,
    NoneType,
    Number,
    Option,
    PerSeat,
    PerValue,
    Record,
    Seat,
    Set,
    Text,
    Tuple,
    Type,
    Union,
    plain,
    text_or_record,
)  # fmt: skip
from gamedsl.prompting.replies import REASONS, ParseFailure
from gamedsl.prompting.tool_calls import Tool

QUOTED = 2000
"""Characters of an invalid reply that its author is shown again."""


ASKED = {
    "label": "Reply with exactly one of the options.",
    "tag": "Reply with exactly one of the options, in this form: <answer>OPTION</answer>",
    "tool": (
        "Reply with exactly one of the options, in this form: "
        '<tool_call>{"name": "choose", "arguments": {"option": "OPTION"}}</tool_call>'
    ),
}
"""The instruction for each form. It has as few words as can be, none of them a label of any style,
since no action of a masked game may be called by one of them."""

_CALL = "Reply with exactly one of the options, as one of these calls:"
_FEW = 6
"""A range of at most so many numbers is listed."""

_THINK = "Before that, think between <think> and </think>, in at most {} tokens."


def instruction(form: Form, tools: Sequence[Tool] = (), *, native: bool = False) -> str:
    """Returns how to answer a closed decision. The text has no name and no label of any game but
    those of typed `tools`. `native`: a chat template lists these."""
    asked = ASKED[form.kind]
    if native:
        asked = "Call exactly one tool, for one of the options."
    elif any(tool["name"] != CHOOSE for tool in tools):
        asked = "\n".join((_CALL, *map(_call_of, tools)))
    if form.think is None:
        return asked
    return f"{asked}{chr(10) if chr(10) in asked else ' '}{_THINK.format(form.think)}"


def _call_of(tool: Tool) -> str:
    """Returns a call of a typed tool, with the values that its arguments may have."""
    fields = tool["parameters"]["properties"].items()
    given = ", ".join(f'"{name}": {_values(schema)}' for name, schema in fields)
    given = f'"{OPTION}": "OPTION"' if tool["name"] == CHOOSE else given
    return f'<tool_call>{{"name": "{tool["name"]}", "arguments": {{{given}}}}}</tool_call>'


def _values(schema: Mapping[str, Any]) -> str:
    """Returns the values of an argument whose values are listed, or are a range of numbers."""
    if "enum" in schema:
        return " or ".join(dumps(value, ensure_ascii=False) for value in schema["enum"])
    if "minimum" not in schema:
        return "true or false"
    least, most = schema["minimum"], schema["maximum"]
    few = most - least < _FEW
    return " or ".join(map(str, range(least, most + 1))) if few else f"{least}..{most}"


def form_of(step: Choose, seat: str, seats: tuple[str, ...], *, native: bool = False) -> str:
    """Returns how a seat answers an open decision. `native`: a chat template lists its tools."""
    said = step.said
    assert said is not None
    limit = f"at most {said.max_tokens} tokens"
    type = step.reply_type(seat)
    match said.form:
        case "code":
            return f"Reply with one block of code between lines of ```, {limit}."
        case "tool" if native:
            return _native_call(step)
        case "tool":
            return f"Reply with one JSON object that calls a tool, {limit}:\n{_tools(step, seats)}"
        case "json" if isinstance(type, Option):
            return f"Reply with one JSON object, or null: {described(type.of, seats)}, {limit}."
        case "json":
            return f"Reply with one JSON object: {described(type, seats)}, {limit}."
        case "either":
            kinds = text_or_record(type)
            assert kinds is not None
            text, record = (described(kind, seats) for kind in kinds)
            record = f"one JSON object and nothing else: {record}"
            return f"Reply with {text}, or with {record}, {limit}."
        case "text" if isinstance(type, Text) and type.limit is not None:
            told = described(type, seats)  # no token is shorter than a character
            return f"Reply with {told}{f', {limit}' * (said.max_tokens < type.limit)}."
        case "text":
            return f"Reply in {limit}."
        case _:
            assert_never(said.form)


def tools_again(step: Choose) -> str:
    """Returns how to answer a decision by a tool call, where the chat lists the tools already."""
    assert step.said is not None
    limit = step.said.max_tokens
    return f"Reply with one JSON object that calls {_names(step)}, at most {limit} tokens."


def _native_call(step: Choose) -> str:
    assert step.said is not None
    return f"Call {_names(step)}, at most {step.said.max_tokens} tokens."


def _names(step: Choose) -> str:
    assert isinstance(step.type, Record)
    return " or ".join(name for name, _ in step.type.fields)


def _tools(step: Choose, seats: tuple[str, ...]) -> str:
    """Returns a line for each tool: its call, and what it and its arguments are for."""
    assert step.said is not None
    assert isinstance(step.type, Record)
    about, lines = dict(step.said.about), []
    for name, of in step.type.fields:
        arguments = plain(of)
        assert isinstance(arguments, Record)
        call = f'{{"name": "{name}", "arguments": {described(arguments, seats)}}}'
        told = [about[name]] if name in about else []
        told += [
            f"`{field}`: {about[f'{name}.{field}']}." for field, _ in arguments.fields
            if f"{name}.{field}" in about
        ]  # fmt: skip
        lines.append(" ".join((call, *told)))
    return "\n".join(lines)


def described(type: Type, seats: tuple[str, ...]) -> str:
    """Returns the description of a type that is read from a reply."""
    match type:
        case Record(fields=fields):
            inside = ", ".join(
                f'"{name}": {described(inner, seats)}'
                for name, inner in fields if not isinstance(inner, NoneType)
            )  # fmt: skip
            return "{" + inside + "}"
        case Seat():
            return " or ".join(f'"{seat}"' for seat in seats)
        case Text(limit=limit):
            return "text" if limit is None else f"text of at most {limit} characters"
        case PerValue() | PerSeat(partial=False):
            entries = tuple((field.name, field.type) for field in fields_of(type, seats))
            return described(Record("", entries), seats)
        case Enum():
            return " or ".join(map(dumps, members_in_json(type)))
        case Option(of=inner):
            return f"{described(inner, seats)}, or null"
        case Bool():
            return "true or false"
        case List(at_most=int() as most, length=None):
            return f"{type}, {most} at most"
        case Number() | NoneType() | Never() | List() | Tuple() | Set() | Bag() | Grid():
            return str(type)
        case Union() if (kinds := text_or_record(type)) is not None:
            return " or ".join(described(kind, seats) for kind in kinds)
        case PerSeat() | Union():
            return str(type)
    assert_never(type)


def again(failure: ParseFailure) -> tuple[tuple[Literal["assistant", "user"], str], ...]:
    """Returns the messages that follow an invalid reply where its author may try again."""
    why = REASONS.get(failure.reason, failure.reason)
    if failure.reason == "invalid" and failure.detail:  # the file's own words
        why = failure.detail
    stop = "" if why.endswith((".", "!", "?")) else "."
    return (
        ("assistant", failure.text[:QUOTED]),
        ("user", f"This is no valid reply: {why}{stop} Try again."),
    )
