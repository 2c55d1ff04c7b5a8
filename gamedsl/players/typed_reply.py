"""Replies of people to open decisions: the values of a record that are typed one by one, and why a
reply is refused."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from gamedsl.ir.json_types import fields_of
from gamedsl.ir.types import (
    Bool,
    Enum,
    NoneType,
    Number,
    Option,
    PerSeat,
    PerValue,
    Record,
    Seat,
    Text,
    plain,
)
from gamedsl.prompting.replies import REASONS, ParseFailure

if TYPE_CHECKING:
    from gamedsl.ir.types import Type
    from gamedsl.runtime import Decision

Place = tuple[str, ...]
"""The names that lead to a value inside of a record."""


def fields_to_type(decision: Decision) -> Sequence[tuple[Place, Type]] | None:
    """Returns the values that a person types one by one at an open decision; None where the reply
    is one text."""
    said = decision.said
    if said is None or said.form != "json" or isinstance(decision.type, Option):
        return None
    return typed_fields(decision.type, decision.env.seats) or None


def typed_fields(type: Type, seats: tuple[str, ...]) -> list[tuple[Place, Type]] | None:
    """Returns the values of a record that can be typed one by one, those of records and maps inside
    of it too; None for a type of which one could not."""
    match plain(type):
        case (Record() | PerValue() | PerSeat(partial=False)) as whole:
            found: list[tuple[Place, Type]] = []
            for field in fields_of(whole, seats):
                if isinstance(field.type, NoneType):
                    continue
                inner = typed_fields(field.type, seats)
                if inner is None:
                    return None
                found += [((field.name, *place), of) for place, of in inner]
            return found
        case Text() | Number() | Enum() | Seat() | Bool():
            return [((), type)]
        case Option(of=inner) if isinstance(plain(inner), Text | Number | Enum | Seat | Bool):
            return [((), type)]
        case _:
            return None


def _value(line: str, type: Type) -> Any:
    """Returns the JSON value that a typed line stands for; the game's parser judges it."""
    if isinstance(type, Option) and line in ("", "none", "null"):
        return None
    kind = plain(type.of if isinstance(type, Option) else type)
    if isinstance(kind, Bool):
        return {"true": True, "yes": True, "false": False, "no": False}.get(line, line)
    if isinstance(kind, Text | Seat):
        return line
    return int(line) if re.fullmatch(r"-?\d{1,15}", line) else line


def whole_reply(typed: Iterable[tuple[Place, Type, str]]) -> str:
    """Returns the JSON object whose values are these lines."""
    whole: dict[str, Any] = {}
    for place, type, line in typed:
        inside = whole
        for name in place[:-1]:
            inside = inside.setdefault(name, {})
        inside[place[-1]] = _value(line, type)
    return json.dumps(whole, ensure_ascii=False)


def fenced(code: str) -> str:
    """Returns code in a fence, which replies in code need."""
    return code if code.lstrip().startswith("```") else f"```\n{code}\n```"


def why_refused(failure: ParseFailure) -> str:
    """Returns the reason for which a reply is refused, as part of a sentence."""
    reason = REASONS.get(failure.reason, failure.reason)
    if not failure.detail:
        return reason
    if failure.reason == "invalid":  # the file's own words
        return failure.detail.rstrip(".")
    return f"{reason} ({failure.detail.rstrip('.')})"
