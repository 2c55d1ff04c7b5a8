"""`data:` sections: rows of a file of JSON lines, from which chance draws.

A row is a record; its fields have the types that the game declares, and each value in the file must
be of its field's type. Rows that are equal are one row, as much likelier. A share of them may be
held out from training: see `gamedsl.ir.rows`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, assert_never

from gamedsl.diagnostics import Problems
from gamedsl.frontend.source.nodes import Entry, Mapping, Node, Scalar
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

MAX_ROWS = 100_000
"""Rows of one file."""


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
                self.report_row(file, number, f"there are more than {MAX_ROWS:,} rows")
                return None
        if not rows:
            self.report_row(file, 1, "there is no row")
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

    def row(self, line: str, number: int, record: Record, file: Scalar) -> tuple[Any, ...] | None:
        """Returns one line as the tuple of its fields; fields that the game does not name are left
        out."""
        try:
            found = json.loads(line, parse_float=Fraction)
        except ValueError as error:
            self.report_row(file, number, f"this is no JSON: {error}")
            return None
        if not isinstance(found, dict):
            self.report_row(file, number, "a row is a JSON object")
            return None
        values = []
        for name, type in record.fields:
            if name not in found:
                self.report_row(file, number, f"the row has no `{name}`")
                return None
            value = _json_value(found[name])
            if not _is_of_type(value, type, self.types.names.seats):
                self.report_row(file, number, f"`{name}` must be {type}, and is {name_of(value)}")
                return None
            values.append(value)
        return tuple(values)

    def report_row(self, file: Scalar, line: int, what: str) -> None:
        self.problems.add(
            "GD0438", f"line {line} of `{file.text}` is not a row of this type", file.span,
            why=what, help="one JSON object a line, with the declared fields",
        )  # fmt: skip


def _json_value(value: Any) -> Any:
    if isinstance(value, Fraction) and value.denominator == 1:
        return value.numerator
    return str(value) if isinstance(value, list | dict) else value


def _is_of_type(value: Any, type: Type, seats: tuple[str, ...]) -> bool:
    """Whether a value of a data file is one of a field's type."""
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
            return value is None or _is_of_type(value, inner, seats)
        case (
            NoneType() | List() | Tuple() | Set() | Record() | Bag() | Grid() | PerSeat()
            | PerValue() | Union() | Never()
        ):  # fmt: skip
            return False
        case _:
            assert_never(type)
