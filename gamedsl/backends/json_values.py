"""Values of types as JSON: which can be, how they are written and read, and the schema of it.

Records and maps are objects, with all keys there and no others; lists, tuples, sets and grids (by
rows) are arrays, enum values and roles texts, none is null. Nothing is converted: `true` is no
number, `"3"` is not 3 and `3.0` no whole number. `schema_of` has the same to say of all data, but
for two things for which JSON Schema has no plain words: there `1.0` is a whole number, and a text
may have any characters.
"""

from __future__ import annotations

import re
from contextlib import suppress
from fractions import Fraction
from typing import Any, NamedTuple

from gamedsl.backends.strict_json import DEEPEST, LARGEST, Fault, check_characters, quoted
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
    domain,
)  # fmt: skip
from gamedsl.ir.values import name_of

_FRACTION = re.compile(r"-?[0-9]{1,500}/[1-9][0-9]{0,499}")


def readable(type: Type, seats: tuple[str, ...] = ()) -> str | None:
    """Why values of a type cannot be read from JSON; None where they can be."""
    return _unreadable(type, seats, "", 0)


def schema_of(type: Type, seats: tuple[str, ...]) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a type that is `readable`."""
    match type:
        case Bool():
            return {"type": "boolean"}
        case Number(whole=whole):
            least, most = range_of(type)
            kind = "integer" if whole else "number"
            return {"type": kind, "minimum": least, "maximum": most}
        case Enum(members=members):
            return {"type": "string", "enum": list(members)}
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
    raise TypeError(readable(type, seats))


class Field(NamedTuple):
    """A field of an object: its name in JSON, the key of the map or the place in the record."""

    name: str
    key: Any
    type: Type
    needed: bool


def fields_of(type: Record | PerValue | PerSeat, seats: tuple[str, ...]) -> list[Field]:
    """The fields of a record, or the entries of a map, in order."""
    if isinstance(type, Record):
        return [Field(name, i, of, True) for i, (name, of) in enumerate(type.fields)]
    if isinstance(type, PerSeat):
        return [Field(seat, seat, type.of, not type.partial) for seat in seats]
    return [Field(name_of(key), key, type.of, True) for key in domain(type.key, seats) or ()]


def lengths(type: List) -> tuple[int, int]:
    """The least and the greatest length of a list that has one."""
    if type.length is not None:
        return type.length, type.length
    return 0, type.at_most or 0


def range_of(type: Number) -> tuple[int, int]:
    """From where to where its numbers go in JSON."""
    low, high = type.low, type.high
    return (-LARGEST, LARGEST) if low is None or high is None else (low, high)


class Reader:
    """JSON data as values of a type. Raises Fault, which says where.

    `named` reads canonical names, where a number that is not whole is a string.
    """

    def __init__(self, seats: tuple[str, ...], named: bool = False) -> None:
        self._seats, self._named = seats, named

    def value(self, data: Any, type: Type, at: str) -> Any:
        match type, data:
            case Bool(), bool():
                return data
            case Number(), _:
                return self._number(data, type, at)
            case (Enum(members=names), str()) if data in names:
                return data
            case (Seat(), str()) if data in self._seats:
                return data
            case ((NoneType() | Option()), None):
                return None
            case Text(), str():
                return check_text(data, type, at)
            case Option(of=inner), _:
                return self.value(data, inner, at)
            case Union(of=options), _:
                return self._one_of(data, type, options, at)
            case List(of=inner), list():
                return self._row(data, inner, *lengths(type), at)
            case Tuple(of=types), list():
                return self._items(data, types, at)
            case Grid(rows=rows, columns=columns, of=inner), list():
                row = List(inner, columns)
                cells = self._row(data, row, rows, rows, at)
                return tuple(cell for row in cells for cell in row)
            case Set(of=inner), list():
                return self._set(data, inner, at)
            case ((Record() | PerValue() | PerSeat()), dict()):
                return self._object(data, type, at)
        raise Fault("value", f"{_place(at)} must be {type}")

    def _number(self, data: Any, type: Number, at: str) -> Any:
        if self._named and isinstance(data, str) and _FRACTION.fullmatch(data):
            data = Fraction(data)
        low, high = range_of(type)
        exact = isinstance(data, int if type.whole else int | Fraction)
        if not exact or isinstance(data, bool) or not low <= data <= high:
            raise Fault("value", f"{_place(at)} must be {type}")
        return int(data) if data.denominator == 1 else data

    def _one_of(self, data: Any, type: Type, options: tuple[Type, ...], at: str) -> Any:
        for option in options:
            with suppress(Fault):
                return self.value(data, option, at)
        raise Fault("value", f"{_place(at)} must be {type}")

    def _row(self, data: list[Any], type: Type, least: int, most: int, at: str) -> tuple[Any, ...]:
        if not least <= len(data) <= most:
            wanted = str(least) if least == most else f"{least} to {most}"
            raise Fault("length", f"{_place(at)} has {len(data)} items, not {wanted}")
        return self._items(data, (type,) * len(data), at)

    def _items(self, data: list[Any], types: tuple[Type, ...], at: str) -> tuple[Any, ...]:
        if len(data) != len(types):
            raise Fault("length", f"{_place(at)} has {len(data)} items, not {len(types)}")
        parts = enumerate(zip(types, data, strict=True))
        return tuple(self.value(item, of, f"{at}[{i}]") for i, (of, item) in parts)

    def _set(self, data: list[Any], type: Type, at: str) -> frozenset[Any]:
        items = self._row(data, type, 0, len(data), at)
        if len(set(items)) < len(items):
            raise Fault("value", f"{_place(at)} has an item twice")
        return frozenset(items)

    def _object(self, data: dict[str, Any], type: Record | PerValue | PerSeat, at: str) -> Any:
        fields = fields_of(type, self._seats)
        names = {field.name for field in fields}
        for name in data:
            if name not in names:
                raise Fault("fields", f"{_place(at)} has no {quoted(name)}")
        for field in fields:
            if field.needed and field.name not in data:
                raise Fault("fields", f"{_place(at)} lacks {quoted(field.name)}")
        read = {
            field.key: self.value(data[field.name], field.type, f"{at}.{field.name}".lstrip("."))
            for field in fields
            if field.name in data
        }
        return tuple(read.values()) if isinstance(type, Record) else read


def data_of(value: Any, type: Type, seats: tuple[str, ...]) -> Any:
    """A value of a type as JSON data, with `Fraction` for numbers that are not whole."""
    match type:
        case Number() if isinstance(value, Fraction) and value.denominator == 1:
            return int(value)
        case Option(of=inner) if value is not None:
            return data_of(value, inner, seats)
        case Union(of=options):
            of = next((of for of in options if value in (domain(of, seats) or ())), options[0])
            return data_of(value, of, seats)
        case List(of=inner):
            return [data_of(item, inner, seats) for item in value]
        case Tuple(of=types):
            return [data_of(item, of, seats) for of, item in zip(types, value, strict=True)]
        case Grid(columns=columns, of=inner):
            cells = [data_of(cell, inner, seats) for cell in value]
            return [cells[i : i + columns] for i in range(0, len(cells), columns)]
        case Set(of=inner):
            return [data_of(v, inner, seats) for v in domain(inner, seats) or () if v in value]
        case Record():
            parts = zip(type.fields, value, strict=True)
            return {name: data_of(part, of, seats) for (name, of), part in parts}
        case PerValue() | PerSeat():
            fields = fields_of(type, seats)
            return {f.name: data_of(value[f.key], f.type, seats) for f in fields if f.key in value}
    return value


def check_text(text: str, type: Type, at: str) -> str:
    """A text as it is. Fault: it is too long for its type, or has characters none may have."""
    check_characters(text, f"{_place(at)} has ")
    limit = type.limit if isinstance(type, Text) else None
    if limit is not None and len(text) > limit:
        raise Fault("length", f"{_place(at)} has {len(text)} characters, not {limit} at most")
    return text


def _array(items: dict[str, Any], least: int, most: int) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": least, "maxItems": most}


def _unreadable(type: Type, seats: tuple[str, ...], where: str, depth: int) -> str | None:
    """As `readable`, of a part at a place; `depth` is how many objects and lists it lies in."""
    why = ""
    parts: list[tuple[str, Type]] = []
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
        case PerValue(key=key) if domain(key, seats) is None:
            why = "its keys cannot all be listed"
        case Union(of=types) if any(domain(of, seats) is None for of in types):
            why = "it may be things that cannot all be listed"
        case Record(fields=fields):
            parts = [(f"{where}.{name}" if where else name, of) for name, of in fields]
        case Tuple(of=types) | Union(of=types):
            parts = [(where, of) for of in types]
        case Option(of=of) | List(of=of) | Set(of=of) | Grid(of=of) | PerValue(of=of):
            parts = [(where, of)]
        case PerSeat(of=of):
            parts = [(where, of)]
    inside = depth + (0 if isinstance(type, Option | Union) else 2 if isinstance(type, Grid) else 1)
    if not why and parts and inside > DEEPEST:
        why = f"it is nested more than {DEEPEST} deep"
    if why:
        return f"`{where}`: {why}" if where else why
    reasons = (_unreadable(of, seats, at, inside) for at, of in parts)
    return next((reason for reason in reasons if reason is not None), None)


def _place(at: str) -> str:
    return f"`{at}`" if at else "it"
