"""`data:` sections: rows of a file of JSON lines, from which chance draws.

A row is a record; its fields have the types that the game declares, and each value in the file must
be of its field's type. Rows that are equal are one row, as much likelier.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from gamedsl.diagnostics import Problems
from gamedsl.ir.types import Bool, Enum, Number, Option, Record, Seat, Text, Type
from gamedsl.ir.values import name_of
from gamedsl.sema.scope import DataName, report_taken
from gamedsl.sema.types import Types
from gamedsl.source.nodes import Entry, Mapping, Node, Scalar

MAX_ROWS = 100_000
"""Rows of one file."""


@dataclass(frozen=True)
class Data:
    """Reads data files and declares their rows among the names of `types`."""

    types: Types
    problems: Problems

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
        text = self.types.file(file)
        if text is None:
            return None
        rows = []
        for number, line in enumerate(text.split("\n"), start=1):
            if not line.strip():
                continue
            row = self.row(line, number, record, file)
            if row is None:
                return None
            rows.append(row)
            if len(rows) > MAX_ROWS:
                self.wrong(file, number, f"there are more than {MAX_ROWS:,} rows")
                return None
        if not rows:
            self.wrong(file, 1, "there is no row")
            return None
        return DataName(record, tuple(rows), entry.key.span)

    def row(self, line: str, number: int, record: Record, file: Scalar) -> tuple[Any, ...] | None:
        """One line as the tuple of its fields; fields that the game does not name are left out."""
        try:
            found = json.loads(line, parse_float=Fraction)
        except ValueError as error:
            self.wrong(file, number, f"this is no JSON: {error}")
            return None
        if not isinstance(found, dict):
            self.wrong(file, number, "a row is a JSON object")
            return None
        values = []
        for name, type in record.fields:
            if name not in found:
                self.wrong(file, number, f"the row has no `{name}`")
                return None
            value = _value(found[name])
            if not _is_of(value, type, self.types.names.seats):
                self.wrong(file, number, f"`{name}` must be {type}, and is {name_of(value)}")
                return None
            values.append(value)
        return tuple(values)

    def wrong(self, file: Scalar, line: int, what: str) -> None:
        self.problems.add(
            "GD0438", f"line {line} of `{file.text}` is not a row of this type", file.span,
            why=what, help="one JSON object a line, with the declared fields",
        )  # fmt: skip


def _value(value: Any) -> Any:
    if isinstance(value, Fraction) and value.denominator == 1:
        return value.numerator
    return str(value) if isinstance(value, list | dict) else value


def _is_of(value: Any, type: Type, seats: tuple[str, ...]) -> bool:
    match type:
        case Bool():
            return isinstance(value, bool)
        case Number():
            if isinstance(value, bool) or not isinstance(value, int | Fraction):
                return False
            whole = isinstance(value, int) or not type.whole
            low, high = type.low, type.high
            return whole and (low is None or high is None or low <= value <= high)
        case Enum(members=members):
            return value in members
        case Text():
            return isinstance(value, str) and (type.limit is None or len(value) <= type.limit)
        case Seat():
            return value in seats
        case Option(of=inner):
            return value is None or _is_of(value, inner, seats)
    return False
