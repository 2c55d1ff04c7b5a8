"""How those who see only some fields of a record know it: `rank=K,suit=a`.

A text stands between quotes, as JSON has it, so that it may hold anything: `question="Is it so?"`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from gamedsl.ir.types import Record, Text, Type, plain
from gamedsl.ir.values import name_of

_DECODER = json.JSONDecoder()


def written(fields: Iterable[tuple[str, Any, Type]]) -> str:
    """Fields with their values as one name."""
    return ",".join(f"{field}={_name(value, type)}" for field, value, type in fields)


def _name(value: Any, type: Type) -> str:
    if isinstance(plain(type), Text) and value is not None:
        return json.dumps(value, ensure_ascii=False)
    return name_of(value)


def ways(name: str, type: Type) -> Iterator[tuple[str, str]]:
    """The ways in which a name may begin with a value of a type: the value's own name, and what is
    left after it."""
    if isinstance(plain(type), Text) and name.startswith('"'):
        value, end = _DECODER.raw_decode(name)
        yield value, name[end + 1 :]
        return
    for end in range(len(name) + 1):
        if name[end : end + 1] in ("", ","):
            yield name[:end], name[end + 1 :]


def texts(name: str, record: Record) -> dict[str, str] | None:
    """The fields that a name tells, each with the name of its value; None for a name that tells no
    fields. Values that are not texts are taken to hold no comma before another field."""
    found: dict[str, str] = {}
    rest = name
    for place, (field, type) in enumerate(record.fields):
        head = f"{field}="
        if not rest.startswith(head):
            continue
        later = tuple(f"{other}=" for other, _ in record.fields[place + 1 :])
        for value, left in ways(rest[len(head) :], type):
            if not left or left.startswith(later):
                found[field], rest = value, left
                break
    return found if found and not rest else None
