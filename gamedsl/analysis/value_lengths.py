"""Bounds on the length of the text of a value, from its type and what is known of it.

What `gamedsl.prompting.value_text` and `gamedsl.ir.values.name_of` write of a value is bounded here
case by case, in the units of a measure of texts that is additive: characters, or bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple, assert_never

from gamedsl.bounds.programs import UnboundedError
from gamedsl.ir.abstract_values import ANYTHING, AbstractValue, Seats, of_type
from gamedsl.ir.types import (
    SEAT,
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
    plain,
    walk_types,
)  # fmt: skip
from gamedsl.ir.values import name_of
from gamedsl.prompting.labels import LabelBook
from gamedsl.prompting.value_text import NOTHING, is_short, slant

Measure = Callable[[str], int]
"""The length of a text; that of two in a row is the sum of theirs."""

_LISTED = 1_000
"""Numbers of a range that are named one by one."""

_BETWEEN = 2
"""The length of a mark between the items of a list, such as `, `."""


class Extent(NamedTuple):
    """The most that a text of at most so many lines is long, the ends of its lines included."""

    length: int
    lines: int = 1


class ValueLengths:
    """The bounds for one game under one set of labels; `roles` is how prompts call each seat."""

    def __init__(
        self, seats: tuple[str, ...], roles: Mapping[str, str], book: LabelBook, measure: Measure
    ) -> None:
        self._seats, self._roles, self._book, self.measure = seats, roles, book, measure
        self._longest = max((measure(label) for _, label in book.pairs), default=0)
        self._named = cache(self._name_uncached)

    def label(self, names: Iterable[str]) -> int:
        """Returns the length of the longest label of some options."""
        return max((self.measure(self._book.label(name)) for name in names), default=0)

    def prompt_name(self, name: str) -> int:
        """Returns the length of a canonical name as prompts write it."""
        return self.measure(self._book.relabelled(name, self._roles))

    def name(self, type: Type, known: AbstractValue = ANYTHING) -> int:
        """Returns a bound on the canonical name of a value, as prompts write it. Raises
        `UnboundedError` without one."""
        return self._named(type, known)

    def _name_uncached(self, type: Type, known: AbstractValue) -> int:
        """A value with parts may have the label of an option."""
        values = domain(type, self._seats) if _is_listed(type) else None
        if values is not None:
            return max((self.prompt_name(name_of(value)) for value in values), default=0)
        match type:
            case Number():
                return self._number(type, known)
            case Option(of=inner):
                return max(self.prompt_name("none"), self.name(inner, known))
            case Union(of=types):
                return max(map(self.name, types))
            case _:
                return max(self._longest, self._compound(type, known))

    def _compound(self, type: Type, known: AbstractValue) -> int:
        match type:
            case Record() | Tuple():
                types = type.types if isinstance(type, Record) else type.of
                return sum(map(self.name, types)) + max(len(types) - 1, 0)
            case Grid(rows=rows, columns=columns, of=inner):
                return rows * columns * (self.name(inner, known.item) + 1)
            case List(of=inner):
                return self._count(type, known) * (self.name(inner, known.item) + 1)
            case Set(of=inner) | Bag(of=inner):
                return 2 + self._count(type, known) * (self.name(inner, known.item) + 1)
            case PerSeat(of=inner) | PerValue(of=inner):
                keys = sum(self.prompt_name(name_of(key)) for key in self._keys(type))
                return 2 + keys + len(self._keys(type)) * (self.name(inner, known.item) + 2)
            case (
                Bool() | Number() | Enum() | Seat() | NoneType() | Text() | Option() | Union()
                | Never()
            ):  # fmt: skip
                raise UnboundedError(f"nothing says how long the text of {type} is")
            case _:
                assert_never(type)

    def _number(self, type: Number, known: AbstractValue) -> int:
        ends = known.number.ends if type.whole else None
        if type.low is not None and type.high is not None:
            ends = Fraction(type.low), Fraction(type.high)
        if ends is None:
            raise UnboundedError(f"nothing says how many digits {type} has")
        low, high = int(ends[0]), int(ends[1])
        if high - low < _LISTED:
            return max(self.prompt_name(str(number)) for number in range(low, high + 1))
        return max(self._longest, len(str(low)), len(str(high)))

    def _keys(self, type: PerSeat | PerValue) -> tuple[Any, ...]:
        keys = self._seats if isinstance(type, PerSeat) else domain(type.key, self._seats)
        if keys is None:
            raise UnboundedError(f"nothing says how many values {type} has")
        return keys

    def _count(self, type: List | Set | Bag, known: AbstractValue) -> int:
        """Returns the most items of a collection. Raises `UnboundedError` without a bound."""
        sizes = known.size, of_type(type, Seats(self._seats, self._seats)).size
        found = [size for size in sizes if size is not None]
        if not found:
            raise UnboundedError(f"nothing says how many items {type} has")
        return min(found)

    # as views show them

    def view(
        self, type: Type, known: AbstractValue, called: int, marks: Mapping[str, str]
    ) -> Extent:
        """Returns the extent of a value as `as_text` writes it. `called` is the length of the
        longest label that one of its parts may have as the value of an option; `marks` are the
        short names of roles on boards."""
        called_whole = isinstance(plain(type), Record | Tuple | List | Grid)
        found = self._as_text(type, known, called, marks)
        return Extent(max(found.length, self._longest * called_whole), found.lines)

    def extent_in_event(self, type: Type, known: AbstractValue, marks: Mapping[str, str]) -> Extent:
        """Returns the extent of a value that was drawn or shown, in a line or in several."""
        found = self.view(type, known, 0, marks)
        if any(isinstance(part, Grid) for part in walk_types(type)):
            return found
        return Extent(max(found.length, self._one_line(type, known, 0)), found.lines)

    def _as_text(
        self, type: Type, known: AbstractValue, called: int, marks: Mapping[str, str]
    ) -> Extent:
        match plain(type):
            case Grid() as grid:
                found = self._board(grid, known, called, marks if plain(grid.of) == SEAT else {})
                return Extent(max(found.length, len(NOTHING)), found.lines)
            case PerSeat(of=inner) | PerValue(of=inner) as kind:
                keys = self._keys(kind)
                if is_short(inner):
                    return Extent(self._one_line(kind, known, called))
                part = self._as_text(inner, known.item, called, marks)
                names = (max(called, self.prompt_name(name_of(key))) for key in keys)
                rows = [titled(name, part) for name in names]
                found = below(rows)
                return Extent(max(found.length, len(NOTHING)), max(found.lines, 1))
            case Record() as record:
                parts = sum(
                    self.prompt_name(name) + 1 + self._one_line(of, ANYTHING, called) + _BETWEEN
                    for name, of in record.fields
                )
                return Extent(max(parts, len(NOTHING)))
            case _:  # every other value stands on one line, or is refused there
                return Extent(self._one_line(type, known, called))

    def _one_line(self, type: Type, known: AbstractValue, called: int) -> int:
        """State may not be bound yet, whatever its type."""
        return max(len(NOTHING), self._bound_line(type, known, called))

    def _bound_line(self, type: Type, known: AbstractValue, called: int) -> int:
        match type:
            case Option(of=inner):
                return self._one_line(inner, known, called)
            case NoneType():
                return len(NOTHING)
            case List(of=inner):
                each = self._bound_line(inner, known.item, called) + _BETWEEN
                return self._count(type, known) * each
            case Set(of=inner):
                each = max(called, self.name(inner, known.item)) + _BETWEEN
                return 2 + self._count(type, known) * each
            case Bag(of=inner):
                count = self._count(type, known)
                each = max(called, self.name(inner, known.item)) + len(f" x{count}") + _BETWEEN
                return count * each
            case PerSeat(of=inner) | PerValue(of=inner):
                keys = self._keys(type)
                length = self._one_line(inner, known.item, called)
                if isinstance(plain(inner), Record):
                    length = max(length, self._as_text(inner, known.item, called, {}).length)
                each = len(": ") + length + _BETWEEN
                names = sum(max(called, self.prompt_name(name_of(key))) for key in keys)
                return names + len(keys) * each
            case _:  # a canonical name, or refused there
                return max(called, self.name(type, known))

    def _board(
        self, grid: Grid, known: AbstractValue, called: int, marks: Mapping[str, str]
    ) -> Extent:
        """Rows and columns with their numbers, and below what marks mean."""
        cell = self._bound_line(plain(grid.of), known.item, called)
        if marks:
            cell = max(self.measure(mark) for mark in marks.values())
        width = max(1, cell, len(str(grid.columns - 1)))
        width, shift = slant(grid, width)
        line = len(str(grid.rows - 1)) + grid.columns * (1 + width) + (grid.rows - 1) * shift
        rows = [Extent(line)] * (grid.rows + 1)
        if marks:
            legend = sum(self.measure(f"{mark} is {name}, ") for name, mark in marks.items())
            rows.append(Extent(legend))
        return below(rows)


def titled(title: int, text: Extent) -> Extent:
    """Returns the extent of a text after a title, as `gamedsl.prompting.value_text.titled` writes
    it."""
    if text.lines == 1:
        return Extent(title + 2 + text.length)
    return Extent(title + 2 + text.length + 2 * text.lines, text.lines + 1)


def below(parts: Iterable[Extent]) -> Extent:
    """Returns the extent of texts one below the other."""
    rows = list(parts)
    lines = sum(row.lines for row in rows)
    return Extent(sum(row.length for row in rows) + max(len(rows) - 1, 0), lines)


def _is_listed(type: Type) -> bool:
    """Whether a type has values that can be named one by one, and few enough."""
    match type:
        case Number(low=int() as low, high=int() as high):
            return high - low < _LISTED
        case Number() | List() | Set() | Bag() | Grid() | PerSeat() | PerValue():
            return False
        case Option(of=inner):
            return _is_listed(inner)
        case Record() | Tuple() | Union():
            return all(map(_is_listed, type.types if isinstance(type, Record) else type.of))
        case Bool() | Enum() | Seat() | NoneType() | Text() | Never():
            return True
        case _:
            assert_never(type)
