"""What is asked at a step, and how to reply: the default texts of the slot `ask` and the form."""

from __future__ import annotations

from typing import Literal

from gamedsl.ir.game import GameIR
from gamedsl.ir.program import Choose
from gamedsl.ir.types import Bool, Enum, Option, PerValue, Record, Seat, Text, Type
from gamedsl.prompting.replies import REASONS, ParseFailure

QUOTED = 2000
"""Characters of an invalid reply that its author is shown again."""


def asked_to_say(ir: GameIR, step: Choose) -> str:
    """The ask slot of an open decision: what it is called, where a masked game does not hide it."""
    at_once = "All reply at the same time." if step.joint and len(step.actors) > 1 else ""
    what = "" if ir.labels.kind == "masked" else f"Now your {step.variable.replace('_', ' ')}."
    return " ".join(part for part in (at_once, what) if part)


def form_of(step: Choose, seats: tuple[str, ...]) -> str:
    """What a reply to an open decision must look like."""
    said = step.said
    assert said is not None
    limit = f"at most {said.max_tokens} tokens"
    if said.form == "code":
        return f"Reply with one block of code between lines of ```, {limit}."
    if said.form == "json":
        return f"Reply with one JSON object: {described(step.type, seats)}, {limit}."
    return f"Reply in {limit}."


def described(type: Type, seats: tuple[str, ...]) -> str:
    """A type that is read from a reply, in words."""
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
    return str(type)


def again(failure: ParseFailure) -> tuple[tuple[Literal["assistant", "user"], str], ...]:
    """What follows an invalid reply where its author may try once more."""
    why = REASONS.get(failure.reason, failure.reason)
    return (
        ("assistant", failure.text[:QUOTED]),
        ("user", f"This is no valid reply: {why}. Try again."),
    )


def default_ask(
    ir: GameIR, step: Choose, options: tuple[str, ...], shown_role: dict[str, str]
) -> str:
    """The ask slot: whether others choose at the same time, and the exact texts of the answers.

    Of the wordings tried, this leaves a model least skewed before training: an option a line, and
    the instruction apart from them (`benchmarks/label_skew.py`).
    """
    listed = "\n".join(("Options:", *options))
    if not step.joint or len(step.actors) == 1:
        return listed
    *first, last = (shown_role[seat] for seat in step.actors)
    actors = "All" if set(step.actors) == set(ir.seats) else f"{', '.join(first)} and {last}"
    return f"{actors} choose at the same time.\n{listed}"
