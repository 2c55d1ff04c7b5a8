"""`data:` sections: rows of a file of JSON lines, from which chance draws.

A row is a record; its fields have the types that the game declares, and each value in the file must
be of its field's type: a name, role or text as a string, a record as an object, a tuple, list or
set as an array, none as null. Rows that are equal are one row, as much likelier. A share of them
may be held out from training: see `gamedsl.ir.rows`.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, assert_never

from gamedsl.diagnostics import Note, Problems
from gamedsl.diagnostics.spans import Span
from gamedsl.frontend.source import loader
from gamedsl.frontend.source.nodes import Entry, Mapping, Node, Scalar
from gamedsl.frontend.source.scalars import MAX_DIGITS
from gamedsl.ir.rows import is_held_out
from gamedsl.ir.types import (
    NUMBER,
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
)
from gamedsl.ir.values import name_of
from gamedsl.sema.scope import DataName, report_taken
from gamedsl.sema.types import Types
from gamedsl.sema.values import constant
from gamedsl.storage import strict_json
from gamedsl.storage.characters import find_refused

MAX_ROWS = 100_000
"""Rows of one file."""

MAX_BYTES = 1 << 26
"""Bytes of one file."""

_BOUNDS = strict_json.Bounds(digits=MAX_DIGITS)
_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[^\s,:\[\]{}"]++|.')


class _Line(NamedTuple):
    """A line of a data file, with the scalar that names the file."""

    file: Scalar
    span: Span
    number: int


@dataclass(frozen=True)
class Data:
    """Reads data files and declares their rows among the names of `types`."""

    types: Types

    @property
    def problems(self) -> Problems:
        return self.types.problems

    def declare(self, section: Node | None) -> None:
        for entry in section.entries if isinstance(section, Mapping) else ():
            name, span = entry.key.text, entry.key.span
            if report_taken(name, span, self.types.names.anywhere(name), self.problems):
                continue
            found = self.read(entry)
            if found is not None:
                self.types.names.declared[name] = found

    def read(self, entry: Entry) -> DataName | None:
        node = entry.value
        assert isinstance(node, Mapping)
        file, fields = node.get("file"), node.get("fields")
        assert isinstance(file, Scalar)
        assert isinstance(fields, Mapping)
        found = self.types.record(fields, entry.key.text)
        if found is None:
            return None
        record = found.type
        assert isinstance(record, Record)
        rows = self.read_rows(file, record)
        if rows is None:
            return None
        share, held = node.get("held_out"), None
        if share is not None:
            held = self.held_out(share, record, rows)
            if held is None:
                return None
        return DataName(record, tuple(rows), entry.key.span, held)

    def held_out(
        self, share: Node, record: Record, rows: list[tuple[Any, ...]]
    ) -> tuple[int, ...] | None:
        """Returns the places of the rows that are held out, some and not all."""
        found = constant(share, self.types.typer, NUMBER)
        if found is None:
            return None
        _, part, type = found
        if not isinstance(type, Number) or not 0 < part < 1:
            self.problems.add(
                "GD0489", "the share that is held out is a number above 0 and below 1", share.span,
                why=f"this is {name_of(part)}",
                help="write a share such as `0.2`; to train on all rows, delete the key",
            )  # fmt: skip
            return None
        names = [name for name, _ in record.fields]
        held = tuple(
            place
            for place, row in enumerate(rows)
            if is_held_out(dict(zip(names, row, strict=True)), part)
        )
        if 0 < len(held) < len(rows):
            return held
        self.problems.add(
            "GD0489", f"of {len(rows)} row{'s' * (len(rows) > 1)} this share "
            f"{'holds all' if held else 'holds none'} out", share.span,
            why=f"no row is left to {'train on' if held else 'evaluate on'}",
            help=f"take a {'smaller' if held else 'larger'} share, or add rows",
        )  # fmt: skip
        return None

    def read_rows(self, file: Scalar, record: Record) -> list[tuple[Any, ...]] | None:
        """Returns the rows of a file; None with a problem."""
        source = loader.read_named(file, MAX_BYTES, self.problems)
        if source is None:
            return None
        rows: list[tuple[Any, ...]] = []
        start = 0
        for number, line in enumerate(source.text.split("\n"), start=1):
            place = _Line(file, Span(source, start, start + len(line)), number)
            start += len(line) + 1
            if not line.strip():
                continue
            row = self.row(line, place, record)
            if row is None:
                return None
            rows.append(row)
            if len(rows) > MAX_ROWS:
                self.report_row(place, 0, f"there are more than {MAX_ROWS:,} rows")
                return None
        if not rows:
            self.report_row(_Line(file, Span(source, 0, 0), 1), 0, "there is no row")
            return None
        return rows

    def row(self, line: str, place: _Line, record: Record) -> tuple[Any, ...] | None:
        """Returns one line as the tuple of its fields; fields that the game does not name are left
        out."""
        try:
            found = strict_json.parse(line, exact=True, bounds=_BOUNDS)
        except strict_json.JsonRefused as error:
            self.report_row(place, error.column - 1, error.reason)
            return None
        if not isinstance(found, dict):
            self.report_row(place, 0, "a row is a JSON object")
            return None
        values = []
        for name, type in record.fields:
            if name not in found:
                self.report_row(place, 0, f"the row has no `{name}`")
                return None
            try:
                values.append(_read_value(found[name], type, name, self.types.names.seats))
            except _RefusedValueError as error:
                self.report_row(place, strict_json.find_values(line)[name], str(error))
                return None
        return tuple(values)

    def report_row(self, place: _Line, column: int, what: str) -> None:
        """Reports a line of a data file, at the token that begins after `column` characters."""
        start = place.span.start + column
        token = _TOKEN.match(place.span.source.text, start, place.span.end)
        span = Span(place.span.source, start, token.end() if token else start)
        self.problems.add(
            "GD0438", f"line {place.number} of `{place.file.text}` is not a row of this type", span,
            why=what, notes=(Note(place.file.span, "named here"),),
            help="one JSON object a line, with the declared fields",
        )  # fmt: skip


class _RefusedValueError(Exception):
    """A value of a data file is none of its field's type."""

    def __init__(self, at: str, why: str) -> None:
        super().__init__(f"`{at}` {why}")


def _read_value(data: Any, type: Type, at: str, seats: tuple[str, ...]) -> Any:
    """Returns JSON data as a value of a field's type; `at` is the field, and the parts inside it.

    Raises `_RefusedValueError` where it is none.
    """
    match type, data:
        case Bool(), bool():
            return data
        case Number(low=low, high=high), (int() | Fraction()) if not isinstance(data, bool):
            number = data.numerator if data.denominator == 1 else data
            whole = isinstance(number, int) or not type.whole
            if whole and (low is None or high is None or low <= number <= high):
                return number
        case Enum(members=members), (str() | int() | Fraction()) if not isinstance(data, bool):
            if str(data) in members:
                return str(data)
        case Text(limit=limit), str() if limit is None or len(data) <= limit:
            place = find_refused(data, separators=True)
            if place is not None:
                raise _RefusedValueError(at, f"has U+{ord(data[place]):04X}, which is invisible")
            return data
        case Seat(), str() if data in seats:
            return data
        case ((Option() | NoneType()), None):
            return None
        case Option(of=inner), _:
            return _read_value(data, inner, at, seats)
        case Union(of=options), _:
            for option in options:
                with suppress(_RefusedValueError):
                    return _read_value(data, option, at, seats)
        case Record(fields=fields), dict():
            missing = next((name for name, _ in fields if name not in data), None)
            if missing is not None:
                raise _RefusedValueError(at, f"has no `{missing}`")
            return tuple(_read_value(data[n], of, f"{at}.{n}", seats) for n, of in fields)
        case Tuple(of=types), list() if len(data) == len(types):
            parts = enumerate(zip(data, types, strict=True))
            return tuple(_read_value(item, of, f"{at}[{i}]", seats) for i, (item, of) in parts)
        case List(of=inner, length=length), list() if length in (None, len(data)):
            return tuple(_read_value(v, inner, f"{at}[{i}]", seats) for i, v in enumerate(data))
        case Set(of=inner), list():
            items = [_read_value(v, inner, f"{at}[{i}]", seats) for i, v in enumerate(data)]
            if len(set(items)) < len(items):
                raise _RefusedValueError(at, "has an item twice")
            return frozenset(items)
        case _:  # data of another form than the type has
            pass
    raise _RefusedValueError(at, f"must be {type}{_form(type)}, and is {_described(data)}")


def _form(type: Type) -> str:
    """Returns how a value with parts is written in a row; nothing for other values."""
    match type:
        case Record(fields=fields):
            names = ", ".join(f'"{name}": …' for name, _ in fields)
            return f", an object {{{names}}}"
        case Tuple() | List() | Set():
            return ", an array"
        case Option(of=inner):
            return _form(inner)
        case (
            Bool() | Number() | Enum() | Seat() | NoneType() | Text() | Bag() | Grid() | PerSeat()
            | PerValue() | Union() | Never()
        ):  # fmt: skip
            return ""
        case _:
            assert_never(type)


def _described(value: Any) -> str:
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    return name_of(value) if not isinstance(value, str) else strict_json.shortened(value)
