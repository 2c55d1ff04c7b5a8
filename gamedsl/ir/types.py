"""Types of expressions. All are finite or numeric; `text` is opaque.

Values at run time are plain Python and never changed in place: `int` and `Fraction` for numbers,
`bool`, `str` for members of an enum and for seats, `None` for none, `tuple` for lists, tuples and
records (their fields in order) and for grids (their cells row by row), `frozenset` for sets, `Bag`
(a dict of value to number of copies) for bags, and `dict` for maps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations, product
from math import prod
from typing import Any, NamedTuple, assert_never

Value = Any

UNLESS_NONE = {"hashed": "unless none"}
"""Of a field that hashes leave out where it is None: games that do without it keep theirs."""

NO_RULE = {"hashed": "never"}
"""Of a field that hashes of rules leave out: it changes what is shown, and not what happens."""


@dataclass(frozen=True, slots=True)
class Bool:
    def __str__(self) -> str:
        return "a truth value"


@dataclass(frozen=True, slots=True)
class Number:
    """An exact number; `whole` where it is provably an integer, `low` to `high` where it is
    declared to be in a range (both, or neither; then it is whole)."""

    whole: bool = False
    low: int | None = None
    high: int | None = None

    def __str__(self) -> str:
        if self.low is not None:
            return f"a whole number from {self.low} to {self.high}"
        return "a whole number" if self.whole else "a number"


@dataclass(frozen=True, slots=True)
class Enum:
    """An ordered list of named values. Two enums are one type if name and members agree.

    A `values` type gives each member a value too, parallel to `members`, of the type `of`. Its
    values at run time are the names, so that members of one value stay apart; typing converts them
    where a rule needs what they are worth (`gamedsl.sema.named_values`).
    """

    name: str
    members: tuple[str, ...]
    values: tuple[Value, ...] | None = field(default=None, metadata=UNLESS_NONE)
    of: Type | None = field(default=None, metadata=UNLESS_NONE)

    def __str__(self) -> str:
        shown = ", ".join(self.members[:4]) + (", …" if len(self.members) > 4 else "")
        return f"one of {shown}"


@dataclass(frozen=True, slots=True)
class Seat:
    """A seat at the table: the acting unit behind every role name."""

    def __str__(self) -> str:
        return "a role"


@dataclass(frozen=True, slots=True)
class NoneType:
    def __str__(self) -> str:
        return "none"


@dataclass(frozen=True, slots=True)
class Text:
    """Free text: stored, shown and handed on, never looked into by rules. `limit` is how many
    characters (Unicode code points) it may have at most; texts of any limits are one type."""

    limit: int | None = field(default=None, metadata=UNLESS_NONE)

    def __str__(self) -> str:
        return "text"


@dataclass(frozen=True, slots=True)
class Option:
    """A value or none."""

    of: Type

    def __str__(self) -> str:
        return f"{self.of} or none"


@dataclass(frozen=True, slots=True)
class List:
    """A list whose items have one type; `length` where the compiler knows it, `at_most` where it is
    declared how long it may become."""

    of: Type
    length: int | None = None
    at_most: int | None = None

    def __str__(self) -> str:
        return f"a list of {_plural(self.of)}"


@dataclass(frozen=True, slots=True)
class Tuple:
    of: tuple[Type, ...]

    def __str__(self) -> str:
        return "(" + ", ".join(map(str, self.of)) + ")"


@dataclass(frozen=True, slots=True)
class Set:
    of: Type

    def __str__(self) -> str:
        return f"a set of {_plural(self.of)}"


@dataclass(frozen=True, slots=True)
class Record:
    """Named fields, in order; compared field by field. A value is the tuple of its fields.

    Where `key` is there, the fields are named by all values of that finite type, in order, and have
    one type: the record is read as a map too.
    """

    name: str
    fields: tuple[tuple[str, Type], ...]
    key: Type | None = field(default=None, metadata=UNLESS_NONE)

    def __str__(self) -> str:
        article = "an" if self.name[:1] in "AEIOUaeiou" else "a"
        return f"{article} {self.name}" if self.name else "a record"

    @property
    def types(self) -> tuple[Type, ...]:
        return tuple(type for _, type in self.fields)

    def index(self, name: str) -> int | None:
        """The place of a field; None where there is none of that name."""
        return next((i for i, (field, _) in enumerate(self.fields) if field == name), None)


@dataclass(frozen=True, slots=True)
class Bag:
    """A collection that may hold a value several times, in no order."""

    of: Type

    def __str__(self) -> str:
        return f"a bag of {_plural(self.of)}"


@dataclass(frozen=True, slots=True)
class Grid:
    """Cells in rows and columns, counted from (0, 0); a value is a flat tuple, row by row.
    `neighbors` names the neighborhood of its cells (`gamedsl.ir.graphs`), where one is declared."""

    rows: int
    columns: int
    of: Type
    neighbors: str | None = field(default=None, metadata=UNLESS_NONE)

    def __str__(self) -> str:
        return f"a {self.rows} by {self.columns} grid"

    @property
    def cell(self) -> Tuple:
        """The type of its cells' places, (row, column)."""
        return cell_type(self.rows, self.columns)


@dataclass(frozen=True, slots=True)
class PerValue:
    """One value for every value of a finite type."""

    key: Type
    of: Type

    def __str__(self) -> str:
        key = str(self.key)
        for start in ("a ", "an ", "one of "):
            key = key.removeprefix(start)
        return f"{self.of} per {key}"


@dataclass(frozen=True, slots=True)
class Union:
    """A value of one of several finite types that share none, or a text or a record."""

    of: tuple[Type, ...]

    def __str__(self) -> str:
        return " or ".join(map(str, self.of))


@dataclass(frozen=True, slots=True)
class PerSeat:
    """One value for every seat; `partial` where it is only for the seats that acted."""

    of: Type
    partial: bool = False

    def __str__(self) -> str:
        return f"{self.of} per role"


@dataclass(frozen=True, slots=True)
class Never:
    """The type of an expression that has already been reported: it fits everywhere."""

    def __str__(self) -> str:
        return "an error"


Type = (
    Bool | Number | Enum | Seat | NoneType | Text | Option | List | Tuple | Set | PerSeat | Never
    | Record | Bag | Grid | PerValue | Union
)  # fmt: skip

BOOL, NUMBER, WHOLE, SEAT, NONE, TEXT, NEVER = (
    Bool(), Number(), Number(whole=True), Seat(), NoneType(), Text(), Never(),
)  # fmt: skip


def plain(type: Type) -> Type:
    """Returns the type without none."""
    return type.of if isinstance(type, Option) else type


def component_types(type: Type) -> tuple[Type, ...]:
    """Returns the types of a type's parts: of the elements of a collection, of the fields of a
    record, of the keys and the values of a map. Empty where a value has no parts."""
    match type:
        case Bool() | Number() | Enum() | Seat() | NoneType() | Text() | Never():
            return ()
        case Option(of=of) | List(of=of) | Set(of=of) | Bag(of=of) | Grid(of=of) | PerSeat(of=of):
            return (of,)
        case PerValue(key=key, of=of):
            return key, of
        case Record():
            return type.types
        case Tuple(of=parts) | Union(of=parts):
            return parts
        case _:
            assert_never(type)


def valued(type: Type) -> Enum | None:
    """Returns the enum with values that a type is, or that is the type of its elements; None where
    there is none."""
    inner = plain(type)
    if isinstance(inner, List | Set | Bag | Grid | PerSeat | PerValue):
        inner = plain(inner.of)
    return inner if isinstance(inner, Enum) and inner.values is not None else None


def walk_types(type: Type) -> Iterator[Type]:
    """Yields a type and the types of all parts of its values, each before its own parts."""
    yield type
    for part in component_types(type):
        yield from walk_types(part)


def has_text(type: Type) -> bool:
    """Returns whether values of a type contain free text, which rules cannot look into."""
    return any(isinstance(part, Text) for part in walk_types(type))


class TextOrRecord(NamedTuple):
    """The parts of a union whose values are texts (Python's `str`) or records (tuples)."""

    text: Text
    record: Record


def text_or_record(type: Type) -> TextOrRecord | None:
    """Returns the parts of a union of a text and a record; None for any other type."""
    match type:
        case Union(of=(Text() as text, Record() as record) | (Record() as record, Text() as text)):
            return TextOrRecord(text, record)
        case _:
            return None


def is_by_role(type: Type) -> bool:
    """Returns whether a type is that of a record with one field for each role, or of none."""
    record = plain(type)
    return isinstance(record, Record) and record.key == SEAT


def range_type(low: int, high: int) -> Number:
    """Returns the type of the whole numbers from one to the other."""
    return Number(True, low, high)


def cell_type(rows: int, columns: int) -> Tuple:
    """Returns the type of the places of a grid, (row, column)."""
    return Tuple((range_type(0, rows - 1), range_type(0, columns - 1)))


MAX_DOMAIN = 100_000
"""Values of a type that are listed."""


def domain(type: Type, seats: tuple[str, ...]) -> tuple[Value, ...] | None:
    """Returns every value of a finite type, in order; None for a type that is infinite or has more
    than `MAX_DOMAIN` values."""
    match type:
        case Bool():
            return (False, True)
        case Number(low=int() as low, high=int() as high):
            return tuple(range(low, high + 1)) if high - low < MAX_DOMAIN else None
        case Enum(members=members):
            return members
        case Seat():
            return seats
        case NoneType():
            return (None,)
        case Option(of=inner):
            values = domain(inner, seats)
            return None if values is None else (None, *values)
        case Record() | Tuple():
            parts = [domain(part, seats) for part in component_types(type)]
            known = [part for part in parts if part is not None]
            if len(known) < len(parts) or prod(map(len, known)) > MAX_DOMAIN:
                return None
            return tuple(product(*known))
        case Union(of=options):
            lists = [domain(t, seats) for t in options]
            if None in lists:
                return None
            return tuple(dict.fromkeys(v for values in lists if values for v in values))
        case Set(of=inner):
            items = domain(inner, seats)
            if items is None or len(items) >= MAX_DOMAIN.bit_length():
                return None
            sizes = range(len(items) + 1)
            return tuple(frozenset(v) for size in sizes for v in combinations(items, size))
        case Number() | Text() | List() | Bag() | Grid() | PerValue() | PerSeat() | Never():
            return None
        case _:
            assert_never(type)


def infinite_part(type: Type, seats: tuple[str, ...]) -> tuple[str, Type]:
    """Returns the first field of a type that has no list of its values, with its type: fields of
    records in records have points between them. Empty for a type that is infinite as a whole."""
    match type:
        case Record(fields=fields):
            for name, inner in fields:
                if domain(inner, seats) is None:
                    path, part = infinite_part(inner, seats)
                    return f"{name}.{path}".rstrip("."), part
        case Option(of=inner):
            return infinite_part(inner, seats)
        case Union(of=options):
            infinite = next((part for part in options if domain(part, seats) is None), None)
            return ("", type) if infinite is None else infinite_part(infinite, seats)
        case (
            Bool() | Number() | Enum() | Seat() | NoneType() | Tuple() | Text() | List() | Set()
            | Bag() | Grid() | PerValue() | PerSeat() | Never()
        ):  # fmt: skip
            pass
        case _:
            assert_never(type)
    return "", type


def _plural(type: Type) -> str:
    match type:
        case Number(low=int() as low, high=int() as high):
            return f"whole numbers from {low} to {high}"
        case Number(whole=whole):
            return "whole numbers" if whole else "numbers"
        case Record(name=name):
            return (name if name.endswith("s") else f"{name}s") if name else "records"
        case List(of=of):
            return f"lists of {_plural(of)}"
        case Set(of=of):
            return f"sets of {_plural(of)}"
        case Bag(of=of):
            return f"bags of {_plural(of)}"
        case Grid(of=of):
            return f"grids of {_plural(of)}"
        case Seat():
            return "roles"
        case Bool():
            return "truth values"
        case (
            Enum() | NoneType() | Text() | Option() | Tuple() | PerValue() | PerSeat() | Union()
            | Never()
        ):  # fmt: skip
            return str(type)
        case _:
            assert_never(type)


def join(left: Type, right: Type) -> Type | None:
    """Returns the smallest type that holds the values of both; None where there is none."""
    if left == right or isinstance(right, Never):
        return left
    match left, right:
        case Never(), _:
            return right
        case Number() as a, Number() as b:
            if a.low is None or b.low is None or a.high is None or b.high is None:
                return WHOLE if a.whole and b.whole else NUMBER
            return range_type(min(a.low, b.low), max(a.high, b.high))
        case Text(m), Text(n):
            return Text(None if m is None or n is None else max(m, n))
        case NoneType(), Option() | NoneType():
            return right
        case Option() | NoneType(), NoneType():
            return left
        case NoneType(), _:
            return Option(right)
        case _, NoneType():
            return Option(left)
        case Option(a), Option(b):
            return _optional(join(a, b))
        case (Option(a), b) | (b, Option(a)):
            return _optional(join(a, b))
        case List(a, m, k), List(b, n, o):
            inner = join(a, b)
            most = max(k, o) if k is not None and o is not None else None
            return inner and List(inner, m if m == n else None, most)
        case Set(a), Set(b):
            inner = join(a, b)
            return inner and Set(inner)
        case Bag(a), Bag(b):
            inner = join(a, b)
            return inner and Bag(inner)
        case Grid(r, c, a, n), Grid(q, d, b, m) if (r, c) == (q, d):
            inner = join(a, b)
            return inner and Grid(r, c, inner, n if n == m else None)
        case PerValue(k, a), PerValue(m, b) if k == m:
            inner = join(a, b)
            return inner and PerValue(k, inner)
        case Union(a), Union(b) if all(any(fits(t, u) for u in b) for t in a):
            return right
        case Union(a), Union(b) if all(any(fits(t, u) for u in a) for t in b):
            return left
        case Union(a), _ if any(fits(right, t) for t in a):
            return left
        case _, Union(b) if any(fits(left, t) for t in b):
            return right
        case PerSeat(a, m), PerSeat(b, n):
            inner = join(a, b)
            return inner and PerSeat(inner, m or n)
        case Tuple(a), Tuple(b) if len(a) == len(b):
            parts = [join(x, y) for x, y in zip(a, b, strict=True)]
            return Tuple(tuple(p for p in parts if p)) if all(parts) else None
        case _:  # of other pairs, only equal types share their values
            return None


def _optional(inner: Type | None) -> Type | None:
    return inner and Option(inner)


def fits(value: Type, wanted: Type) -> bool:
    """Returns whether every value of one type is a value of the other."""
    if isinstance(value, Never) or isinstance(wanted, Never):
        return True
    return _same_but_for_numbers(join(value, wanted), wanted)


def _same_but_for_numbers(joined: Type | None, wanted: Type) -> bool:
    """Returns whether two types agree but for the ranges of numbers, which are checked when a value
    is stored."""
    if joined is None or joined == wanted:
        return joined is not None
    match joined, wanted:
        case Number() as a, Number() as b:
            return a.whole or not b.whole
        case Text(), Text():
            return True
        case (Option(a), Option(b)) | (Set(a), Set(b)) | (Bag(a), Bag(b)):
            return _same_but_for_numbers(a, b)
        case List(a, m), List(b, n):
            return (n is None or n == m) and _same_but_for_numbers(a, b)
        case Tuple(a), Tuple(b):
            return all(map(_same_but_for_numbers, a, b))
        case PerSeat(a, m), PerSeat(b, n):
            return m == n and _same_but_for_numbers(a, b)
        case (Grid(_, _, a), Grid(_, _, b)) | (PerValue(_, a), PerValue(_, b)):
            return _same_but_for_numbers(a, b)
        case _:  # other types have no ranges in which they could differ
            return False
