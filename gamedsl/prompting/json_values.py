"""Values of types as JSON: which can be, how they are written and read, and the schema of it.

Records and maps are objects, with all keys there and no others; lists, tuples, sets and grids (by
rows) are arrays, enum values and roles texts, none is null. Nothing is converted: `true` is no
number, `"3"` is not 3 and `3.0` no whole number. `schema_of` has the same to say of all data, but
for two things for which JSON Schema has no plain words: there `1.0` is a whole number, and a text
may have any characters.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import suppress
from decimal import Context, Decimal, Inexact
from fractions import Fraction
from typing import Any, assert_never

from gamedsl.ir.json_types import (
    DEEPEST,
    LARGEST,
    fields_of,
    lengths,
    members_in_json,
    range_of,
)
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
    text_or_record,
)  # fmt: skip
from gamedsl.storage import strict_json

_FRACTION = re.compile(r"-?[0-9]{1,500}/[1-9][0-9]{0,499}")


class JsonReader:
    """Reads JSON data as values of a type. Raises Fault, which says where.

    `named` reads canonical names, where a number that is not whole is a string.
    """

    def __init__(self, seats: tuple[str, ...], named: bool = False) -> None:
        self._seats, self._named = seats, named

    def value(self, data: Any, type: Type, at: str) -> Any:
        match type, data:
            case Bool(), bool():
                return data
            case Number(), _:
                return self._read_number(data, type, at)
            case (Enum(), str() | int()) if not isinstance(data, bool):
                written = members_in_json(type)
                if data not in written:
                    raise Fault("value", f"{_named_place(at)} must be {type}")
                return written[data]
            case (Seat(), str()) if data in self._seats:
                return data
            case ((NoneType() | Option()), None):
                return None
            case Text(), str():
                return check_text(data, type, at)
            case Option(of=inner), _:
                return self.value(data, inner, at)
            case Union(of=options), _:
                kinds = text_or_record(type)
                if kinds is not None and isinstance(data, str | dict):
                    return self.value(data, kinds[isinstance(data, dict)], at)
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
            case _:  # data of another form than the type has
                raise Fault("value", f"{_named_place(at)} must be {type}")

    def _read_number(self, data: Any, type: Number, at: str) -> Any:
        if self._named and isinstance(data, str) and _FRACTION.fullmatch(data):
            data = Fraction(data)
        low, high = range_of(type)
        exact = isinstance(data, int if type.whole else int | Fraction)
        if not exact or isinstance(data, bool) or not low <= data <= high:
            raise Fault("value", f"{_named_place(at)} must be {type}")
        return int(data) if data.denominator == 1 else data

    def _one_of(self, data: Any, type: Type, options: tuple[Type, ...], at: str) -> Any:
        for option in options:
            with suppress(Fault):
                return self.value(data, option, at)
        raise Fault("value", f"{_named_place(at)} must be {type}")

    def _row(self, data: list[Any], type: Type, least: int, most: int, at: str) -> tuple[Any, ...]:
        if not least <= len(data) <= most:
            wanted = str(least) if least == most else f"{least} to {most}"
            raise Fault("length", f"{_named_place(at)} has {len(data)} items, not {wanted}")
        return self._items(data, (type,) * len(data), at)

    def _items(self, data: list[Any], types: tuple[Type, ...], at: str) -> tuple[Any, ...]:
        if len(data) != len(types):
            raise Fault("length", f"{_named_place(at)} has {len(data)} items, not {len(types)}")
        parts = enumerate(zip(types, data, strict=True))
        return tuple(self.value(item, of, f"{at}[{i}]") for i, (of, item) in parts)

    def _set(self, data: list[Any], type: Type, at: str) -> frozenset[Any]:
        items = self._row(data, type, 0, len(data), at)
        if len(set(items)) < len(items):
            raise Fault("value", f"{_named_place(at)} has an item twice")
        return frozenset(items)

    def _object(self, data: dict[str, Any], type: Record | PerValue | PerSeat, at: str) -> Any:
        fields = fields_of(type, self._seats)
        names = {field.name for field in fields}
        for name in data:
            if name not in names:
                raise Fault("fields", f"{_named_place(at)} has no {quoted(name)}")
        for field in fields:
            if field.needed and field.name not in data:
                raise Fault("fields", f"{_named_place(at)} lacks {quoted(field.name)}")
        read = {
            field.key: self.value(data[field.name], field.type, f"{at}.{field.name}".lstrip("."))
            for field in fields
            if field.name in data
        }
        if isinstance(type, Record):
            return tuple(map(read.get, range(len(type.fields))))
        return read


def data_of(value: Any, type: Type, seats: tuple[str, ...]) -> Any:
    """Returns a value of a type as JSON data, with `Fraction` for numbers that are not whole."""
    match type:
        case Number():
            whole = isinstance(value, Fraction) and value.denominator == 1
            return int(value) if whole else value
        case Option(of=inner):
            return None if value is None else data_of(value, inner, seats)
        case Union() if (kinds := text_or_record(type)) is not None:
            return data_of(value, kinds[not isinstance(value, str)], seats)
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
            return {f.name: data_of(value[f.key], f.type, seats) for f in fields_of(type, seats)}
        case PerValue() | PerSeat():
            fields = fields_of(type, seats)
            return {f.name: data_of(value[f.key], f.type, seats) for f in fields if f.key in value}
        case Enum():
            return next((w for w, m in members_in_json(type).items() if m == value), value)
        case Bool() | Seat() | NoneType() | Text() | Bag() | Never():
            return value
    assert_never(type)


def check_text(text: str, type: Type, at: str) -> str:
    """Returns a text as it is. Raises Fault where it is too long for its type, or has characters
    that none may have."""
    check_characters(text, f"{_named_place(at)} has ")
    limit = type.limit if isinstance(type, Text) else None
    if limit is not None and len(text) > limit:
        raise Fault("length", f"{_named_place(at)} has {len(text)} characters, not {limit} at most")
    return text


def _named_place(at: str) -> str:
    return f"`{at}`" if at else "it"


LONGEST = 1_000_000
"""Characters of a reply."""

_LONGEST_NUMBER = 40
_SHOWN = 40

_BRACKETS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{}]', re.DOTALL)
"""A text in quotes, up to the end where it is not closed, or a bracket."""

_UNWRITABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


class Fault(ValueError):
    """A text is not as it must be: a reason of `replies.REASONS`, with details."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(detail or reason)
        self.reason = reason
        self.detail = detail


def loads(text: str) -> Any:
    """Returns the value of a JSON text: dict, list, str, bool, None, `int` for a number that is
    written without point and exponent, `Fraction` for another. Raises Fault."""
    try:
        return strict_json.parse(text, exact=True, limit=LONGEST, bounds=_BOUNDS)
    except strict_json.JsonRefused as error:
        raise Fault(_REASONS[error.kind], _detail(error)) from error


_BOUNDS = strict_json.Bounds(DEEPEST, _LONGEST_NUMBER, LARGEST, surrogates=True)
"""Halves of characters are left to the place that they stand in: a label with one is unknown."""

_REASONS: dict[strict_json.Kind, str] = {
    "size": "large",
    "depth": "large",
    "duplicate": "fields",
    "number": "value",
    "surrogate": "characters",
    "syntax": "malformed",
    "encoding": "malformed",
}


def _detail(error: strict_json.JsonRefused) -> str:
    token = error.token
    match error.kind:
        case "duplicate":
            return f"{quoted(token)} is given twice"
        case "number" if token.lstrip("-").isdigit():
            return f"a number of {len(token)} digits"
        case "number" if "too large" in error.reason:
            return f"{token} is too large"
        case "number":
            return f"a number of {len(token)} characters"
        case "syntax" if not token:
            return f"no JSON from character {error.offset + 1} on"
        case _:
            return error.reason


def find_object(text: str) -> str:
    """Returns the one object in a text. Raises Fault where it has none, a half one, or a brace
    outside it."""
    start = text.find("{")
    if start < 0:
        raise Fault("half" if "}" in text else "missing")
    end = _end(text, start)
    outside = text[:start] + ("" if end is None else text[end:])
    if "{" in outside or "}" in outside:
        raise Fault("several")
    if end is None:
        raise Fault("half")
    return text[start:end]


def check_characters(text: str, where: str = "") -> None:
    """Raises Fault where a text has a control character other than a new line and a tab, or a lone
    surrogate. Neither can be shown, and the latter cannot be written to a file."""
    found = _UNWRITABLE.search(text)
    if found is not None:
        raise Fault("characters", f"{where}U+{ord(found[0]):04X}")


def quoted(text: str) -> str:
    """Returns a text of a reply for messages: one line, and not long."""
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")


def dumps(
    value: Any, fraction: Callable[[Fraction], str], *, spaced: bool = False
) -> str:  # fmt: skip
    """Returns the shortest text of a JSON value, keys in their order; `fraction` writes numbers
    that are not whole. `spaced` has a space after each comma and colon, as Python and chat
    templates write JSON."""
    comma, colon = (", ", ": ") if spaced else (",", ":")

    def text(part: Any) -> str:
        return dumps(part, fraction, spaced=spaced)

    if isinstance(value, dict):
        return "{" + comma.join(f"{text(k)}{colon}{text(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + comma.join(map(text, value)) + "]"
    if isinstance(value, Fraction):
        return fraction(value)
    return json.dumps(value, ensure_ascii=False)


def decimal(number: Fraction) -> str:
    """Returns a number as JSON, exactly. Raises ValueError where it has no end, or is too long to
    read back."""
    exact = Context(prec=strict_json.MAX_EXPONENT, traps=[Inexact])
    try:
        text = str(exact.divide(Decimal(number.numerator), Decimal(number.denominator)))
    except Inexact:
        text = ""
    if not text or loads(text) != number:
        raise ValueError(f"{number} has no short decimal")
    return text


def _end(text: str, start: int) -> int | None:
    """Returns the end of the bracket that opens at `start`; None where it is not closed."""
    depth = 0
    for found in _BRACKETS.finditer(text, start):
        if found[0] in ("{", "["):
            depth += 1
        elif found[0] in ("}", "]"):
            depth -= 1
            if depth <= 0:
                return found.end()
    return None
