"""Visibility: the seats that see a value, and the name by which each knows it.

A seat that sees only some fields of a record knows it by these: `rank=K,suit=a`. A text stands
between quotes, as in JSON, so that it may hold anything: `question="Is it so?"`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, assert_never

from gamedsl.ir.evaluate import Scope, evaluate
from gamedsl.ir.program import Binding, Choose, Draw
from gamedsl.ir.statements import ACTOR, OWNER, Readers
from gamedsl.ir.types import Bool, Enum, Number, Option, Record, Seat, Text, Type, plain
from gamedsl.ir.values import name_of


def reads(
    readers: Readers, seat: str, owner: str | None, scope: Scope, actor: str | None = None
) -> bool:
    """Returns whether a seat sees a value that is `owner`'s (None: nobody's), in a step in which
    `actor` acts (None: nobody). `scope` is the state."""
    match readers.kind:
        case "all":
            return True
        case "owner":
            return seat == owner
        case "others":
            return seat != owner
        case "seats":
            return seat in readers.seats
        case "test":
            assert readers.test is not None
            scope = scope.seated(seat)._replace(locals={OWNER: owner, ACTOR: actor})
            return bool(evaluate(readers.test, scope))
        case "nobody":
            return False
        case _:
            assert_never(readers.kind)


def may_read(readers: Readers, seat: str, owner: str | None) -> bool:
    """Returns whether a seat may in some play see a value, or a field of it, that is `owner`'s
    (None: the owner is not known)."""
    if readers.fields:
        return any(may_read(inner, seat, owner) for _, inner in readers.fields)
    match readers.kind:
        case "all" | "test":
            return True
        case "owner":
            return owner is None or seat == owner
        case "others":
            return owner is None or seat != owner
        case "seats":
            return seat in readers.seats
        case "nobody":
            return False
        case _:
            assert_never(readers.kind)


def observers(
    readers: Readers, owner: str | None, actor: str | None, chooser: str, value: Any, type: Type,
    name: str, scope: Scope, everyone: tuple[str, ...],
) -> Iterator[tuple[str, str]]:  # fmt: skip
    """Yields each seat of `everyone` that sees a value, in order, with the name it knows it by.

    The value is `owner`'s, and `actor` acts in the step. The name is `name`; if the fields of a
    record have readers of their own, the visible fields: `rank=K,suit=a`. The chooser of a value
    sees it whole.
    """
    record = plain(type)
    for seat in everyone:
        if seat == chooser or not readers.fields:
            if seat == chooser or reads(readers, seat, owner, scope, actor):
                yield seat, name
            continue
        fields = record.fields if isinstance(record, Record) else ()
        shown = [
            (fields[place][0], None if value is None else value[place], fields[place][1])
            for place, inner in readers.fields
            if reads(inner, seat, owner, scope, actor)
        ]
        if shown:
            yield seat, partial_name(shown)


def is_whole(name: str) -> bool:
    """Returns whether the name of a reply in JSON is that of all of it, and not of some fields."""
    return name.startswith("{") or name == "null"


_NONE = name_of(None)
_DECODER = json.JSONDecoder()


def partial_name(fields: Iterable[tuple[str, Any, Type]]) -> str:
    """Returns fields with their values as one name."""
    return ",".join(f"{field}={_name(value, type)}" for field, value, type in fields)


def _name(value: Any, type: Type) -> str:
    if isinstance(plain(type), Text) and value is not None:
        return json.dumps(value, ensure_ascii=False)
    return name_of(value)


def readings(name: str, type: Type) -> Iterator[tuple[str, str]]:
    """Yields each way in which a name may begin with a value of a type: the value's own name, and
    the rest of the name."""
    if isinstance(plain(type), Text) and name.startswith('"'):
        value, end = _DECODER.raw_decode(name)
        yield value, name[end + 1 :]
        return
    for end in range(len(name) + 1):
        if name[end : end + 1] in ("", ","):
            yield name[:end], name[end + 1 :]


def shows_fields(step: Binding) -> bool:
    """Returns whether templates may name the fields of the record that a step draws, shows or
    computes: its readers see them one by one, or its name splits at commas, and is of one record
    alone."""
    type = plain(step.type if isinstance(step, Choose | Draw) else step.entry_type)
    if not isinstance(type, Record) or step.readers.fields:
        return isinstance(type, Record)
    indices = len(step.per) - step.by_seat if isinstance(step, Draw) else 0
    simple = (Bool, Number, Enum, Seat)
    return indices == 0 and all(isinstance(plain(part), simple) for part in type.types)


def whole_field_texts(name: str, record: Record) -> dict[str, str | None] | None:
    """Returns the fields of a record of values without parts, by its canonical name."""
    parts = name.split(",")
    if len(parts) != len(record.fields):
        return None
    named = zip(record.fields, parts, strict=True)
    return {field: None if part == _NONE else part for (field, _), part in named}


def field_texts(name: str, record: Record) -> dict[str, str | None] | None:
    """Returns the fields that a name tells in any order, each with the name of its value, None for
    none; None for a name that tells no fields. Values other than texts are taken to hold no comma
    before another field."""
    found: dict[str, str | None] = {}
    rest, missing = name, dict(record.fields)
    while rest:
        field = next((field for field in missing if rest.startswith(f"{field}=")), None)
        if field is None:
            return None
        type, told = missing.pop(field), rest[len(field) + 1 :]
        later = tuple(f"{other}=" for other in missing)
        for value, rest in readings(told, type):
            if not rest or rest.startswith(later):
                is_none = isinstance(type, Option) and told.startswith(_NONE)
                found[field] = None if is_none and value == _NONE else value
                break
        else:
            return None
    return {field: found[field] for field, _ in record.fields if field in found} or None
