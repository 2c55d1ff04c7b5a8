"""Types as JSON: their JSON Schemas, the values that JSON can write, and the lengths of its texts.

`gamedsl.prompting.json_values` reads and writes the values.
"""

from __future__ import annotations

from typing import Any, NamedTuple, assert_never

from gamedsl.ir.abstract_values import Seats, of_type
from gamedsl.ir.program import Said
from gamedsl.ir.types import (
    NONE,
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
    component_types,
    domain,
    plain,
    text_or_record,
)  # fmt: skip
from gamedsl.ir.values import name_of

LARGEST = 2**53 - 1
"""Numbers lie between this and its negative: there every reader of JSON has the same integers."""

DEEPEST = 64
"""Objects and lists inside one another."""


def readable(type: Type, seats: tuple[str, ...] = ()) -> str | None:
    """Returns why values of a type cannot be read from JSON; None where they can be."""
    return _unreadable(type, seats, "", 0)


def schema_of(type: Type, seats: tuple[str, ...]) -> dict[str, Any]:
    """Returns the JSON Schema (draft 2020-12) of a type that is `readable`."""
    match type:
        case Bool():
            return {"type": "boolean"}
        case Number(whole=whole):
            least, most = range_of(type)
            kind = "integer" if whole else "number"
            return {"type": kind, "minimum": least, "maximum": most}
        case Enum():
            members = list(members_in_json(type))
            kind = "string" if isinstance(members[0], str) else "integer"
            return {"type": kind, "enum": members}
        case Seat():
            return {"type": "string", "enum": list(seats)}
        case NoneType():
            return {"type": "null"}
        case Text(limit=limit):
            return {"type": "string"} | ({} if limit is None else {"maxLength": limit})
        case Option(of=inner):
            return {"anyOf": [schema_of(inner, seats), {"type": "null"}]}
        case Union(of=options):
            return {"anyOf": [schema_of(option, seats) for option in options]}
        case List(of=inner):
            least, most = lengths(type)
            return _array(schema_of(inner, seats), least, most)
        case Grid(rows=rows, columns=columns, of=inner):
            return _array(_array(schema_of(inner, seats), columns, columns), rows, rows)
        case Set(of=inner):
            most = len(domain(inner, seats) or ())
            return _array(schema_of(inner, seats), 0, most) | {"uniqueItems": True}
        case Tuple(of=types):
            items = [schema_of(part, seats) for part in types]
            size = len(items)
            whole_row = {"prefixItems": items, "items": False, "minItems": size, "maxItems": size}
            return {"type": "array", **whole_row}
        case Record() | PerValue() | PerSeat():
            fields = fields_of(type, seats)
            return {
                "type": "object",
                "properties": {field.name: schema_of(field.type, seats) for field in fields},
                "required": [field.name for field in fields if field.needed],
                "additionalProperties": False,
            }
        case Bag() | Never():
            raise TypeError(readable(type, seats))
        case _:
            assert_never(type)


def tools_of(
    type: Type, about: tuple[tuple[str, str], ...], seats: tuple[str, ...]
) -> list[dict[str, Any]]:
    """Returns the tools of a decision as chat interfaces list them: each with its name, the JSON
    Schema of its arguments as `parameters`, and what is said of it as `description`."""
    assert isinstance(type, Record)
    told = dict(about)
    found = []
    for name, of in type.fields:
        parameters = schema_of(plain(of), seats)
        for field, schema in parameters["properties"].items():
            if f"{name}.{field}" in told:
                schema["description"] = told[f"{name}.{field}"]
        described = {"description": told[name]} if name in told else {}
        found.append({"name": name, **described, "parameters": parameters})
    return found


def call_schema(
    type: Type, about: tuple[tuple[str, str], ...], seats: tuple[str, ...]
) -> dict[str, Any]:
    """Returns the JSON Schema of a call of one of these tools."""
    calls = [
        {
            "type": "object",
            **({"description": tool["description"]} if "description" in tool else {}),
            "properties": {"name": {"const": tool["name"]}, "arguments": tool["parameters"]},
            "required": ["name", "arguments"],
            "additionalProperties": False,
        }
        for tool in tools_of(type, about, seats)
    ]
    return calls[0] if len(calls) == 1 else {"anyOf": calls}


def reply_schema(said: Said, type: Type, seats: tuple[str, ...]) -> dict[str, Any] | None:
    """Returns the JSON Schema of what is read from an open reply; None where that need not be
    JSON."""
    if said.form == "tool":
        return call_schema(type, said.about, seats)
    return schema_of(type, seats) if said.form == "json" else None


def members_in_json(type: Enum) -> dict[str | int, str]:
    """Returns the members of an enum by what is written for them in JSON: the name, or the number
    where all are whole numbers by their own names, as in `[1, 3, 5]`."""
    values = type.values or ()
    if values and all(
        isinstance(value, int) and not isinstance(value, bool) and str(value) == member
        for value, member in zip(values, type.members, strict=True)
    ):
        return {int(member): member for member in type.members}
    return {member: member for member in type.members}


class Field(NamedTuple):
    """A field of an object: its name in JSON, the key of the map or the place in the record."""

    name: str
    key: Any
    type: Type
    needed: bool


def fields_of(type: Record | PerValue | PerSeat, seats: tuple[str, ...]) -> list[Field]:
    """Returns the fields of a record, or the entries of a map, in order. A field that is always
    none is not written."""
    if isinstance(type, Record):
        fields = enumerate(type.fields)
        return [Field(name, i, of, True) for i, (name, of) in fields if of != NONE]
    if isinstance(type, PerSeat):
        return [Field(seat, seat, type.of, not type.partial) for seat in seats]
    return [Field(name_of(key), key, type.of, True) for key in domain(type.key, seats) or ()]


def lengths(type: List) -> tuple[int, int]:
    """Returns the least and the greatest length of a list."""
    if type.length is not None:
        return type.length, type.length
    return 0, type.at_most or 0


def range_of(type: Number) -> tuple[int, int]:
    """Returns the least and the greatest number of a type, within what JSON can write exactly."""
    low, high = type.low, type.high
    return (-LARGEST, LARGEST) if low is None or high is None else (low, high)


def _array(items: dict[str, Any], least: int, most: int) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": least, "maxItems": most}


def _unreadable(type: Type, seats: tuple[str, ...], where: str, depth: int) -> str | None:
    """Returns as `readable` for a part at a place, which lies in `depth` objects and lists."""
    why, parts = "", [(where, part) for part in component_types(type)]
    match type:
        case Bag():
            why = "a bag has no form in JSON: use a list"
        case Never():
            why = "it has no type"
        case Number(low=int() as low, high=int() as high) if max(-low, high) > LARGEST:
            why = "JSON has no exact numbers beyond 2**53 - 1"
        case List(length=None, at_most=None):
            why = "the list has no greatest length: write `at_most`"
        case Set(of=inner) if domain(inner, seats) is None:
            why = "it is a set of things that cannot all be listed"
        case PerValue(key=key, of=inner):
            parts = [(where, inner)]
            if domain(key, seats) is None:
                why = "its keys cannot all be listed"
        case Union(of=types) if text_or_record(type) is None and any(
            domain(of, seats) is None for of in types
        ):
            why = "it may be things that cannot all be listed"
        case Record(fields=fields):
            parts = [(f"{where}.{name}" if where else name, of) for name, of in fields]
        case (
            Bool() | Number() | Enum() | Seat() | NoneType() | Text() | Option() | List() | Set()
            | Tuple() | Grid() | PerSeat() | Union()
        ):  # fmt: skip
            pass
        case _:
            assert_never(type)
    inside = depth + (0 if isinstance(type, Option | Union) else 2 if isinstance(type, Grid) else 1)
    if not why and parts and inside > DEEPEST:
        why = f"it is nested more than {DEEPEST} deep"
    if why:
        return f"`{where}`: {why}" if where else why
    reasons = (_unreadable(of, seats, at, inside) for at, of in parts)
    return next((reason for reason in reasons if reason is not None), None)


def longest(type: Type, seats: tuple[str, ...]) -> int | None:
    """Returns the characters of the longest JSON text of a type's values, written without blanks;
    None for no bound. Each character of a text may take six: `\\u0000`."""
    match type:
        case Text(limit=limit):
            return None if limit is None else 2 + 6 * limit
        case Option(of=inner):
            return _most((longest(inner, seats), len("null")))
        case List(of=inner) | Set(of=inner):
            return _repeated(longest(inner, seats), of_type(type, Seats(seats, seats)).size)
        case PerSeat(of=inner):
            return _mapped(seats, longest(inner, seats))
        case PerValue(key=key, of=inner):
            keys = domain(key, seats)
            names = None if keys is None else tuple(map(name_of, keys))
            return None if names is None else _mapped(names, longest(inner, seats))
        case Record(fields=fields):
            parts = [longest(inner, seats) for _, inner in fields]
            known = [part for part in parts if part is not None]
            written = sum(len(name) + 4 for name, _ in fields)
            return None if len(known) < len(parts) else 2 + written + sum(known)
        case Tuple(of=of):
            parts = [longest(inner, seats) for inner in of]
            known = [part for part in parts if part is not None]
            return None if len(known) < len(parts) else 2 + sum(known) + len(known)
        case Union(of=of):
            return _most(tuple(longest(inner, seats) for inner in of))
        case Bool() | Number() | Enum() | Seat() | NoneType() | Bag() | Grid() | Never():
            values = domain(type, seats)
            return None if not values else 2 + max(len(name_of(value)) for value in values)
        case _:
            assert_never(type)


def _most(lengths: tuple[int | None, ...]) -> int | None:
    known = [length for length in lengths if length is not None]
    return max(known) if len(known) == len(lengths) else None


def _repeated(length: int | None, count: int | None) -> int | None:
    return None if length is None or count is None else 2 + count * (length + 1)


def _mapped(names: tuple[str, ...], length: int | None) -> int | None:
    return None if length is None else 2 + sum(len(name) + 4 + length for name in names)
