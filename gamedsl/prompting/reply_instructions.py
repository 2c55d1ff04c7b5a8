"""Instructions on how to reply: the texts of the slot `form`, and what follows an invalid reply."""

from __future__ import annotations

from typing import Literal, assert_never

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
)  # fmt: skip
from gamedsl.prompting.replies import REASONS, ParseFailure

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

_THINK = "Before that, think between <think> and </think>, in at most {} tokens."


def instruction(form: Form) -> str:
    """Returns how to answer a closed decision. The text has no name and no label of any game."""
    asked = ASKED[form.kind]
    return asked if form.think is None else f"{asked} {_THINK.format(form.think)}"


def form_of(step: Choose, seats: tuple[str, ...]) -> str:
    """Returns how to answer an open decision."""
    said = step.said
    assert said is not None
    limit = f"at most {said.max_tokens} tokens"
    if said.form == "code":
        return f"Reply with one block of code between lines of ```, {limit}."
    if said.form == "json":
        return f"Reply with one JSON object: {described(step.type, seats)}, {limit}."
    return f"Reply in {limit}."


def described(type: Type, seats: tuple[str, ...]) -> str:
    """Returns the description of a type that is read from a reply."""
    match type:
        case Record(fields=fields):
            inside = ", ".join(f'"{name}": {described(inner, seats)}' for name, inner in fields)
            return "{" + inside + "}"
        case Seat():
            return " or ".join(f'"{seat}"' for seat in seats)
        case Text(limit=limit):
            return "text" if limit is None else f"text of at most {limit} characters"
        case PerValue(key=Enum(members=members), of=inner):
            return described(Record("", tuple((name, inner) for name in members)), seats)
        case Enum(members=members):
            return " or ".join(f'"{name}"' for name in members)
        case Option(of=inner):
            return f"{described(inner, seats)}, or null"
        case Bool():
            return "true or false"
        case Number() | NoneType() | Never() | List() | Tuple() | Set() | Bag() | Grid():
            return str(type)
        case PerValue() | PerSeat() | Union():
            return str(type)
    assert_never(type)


def again(failure: ParseFailure) -> tuple[tuple[Literal["assistant", "user"], str], ...]:
    """Returns the messages that follow an invalid reply where its author may try again."""
    why = REASONS.get(failure.reason, failure.reason)
    return (
        ("assistant", failure.text[:QUOTED]),
        ("user", f"This is no valid reply: {why}. Try again."),
    )
