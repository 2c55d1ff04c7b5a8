"""Abstract values: what is known of a value whatever the state, and the arithmetic of intervals.

An abstract value stands for every value that an expression can have. The rows of the built-ins
(`gamedsl.ir.builtins`) say how each function maps abstract values, and `gamedsl.bounds` applies
them to expressions and programs. A claim that nothing supports is never made: the defaults are
"may be none", "any number" and "any number of items".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, reduce
from math import ceil, floor, inf, isinf
from typing import Any, NamedTuple, assert_never

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
from gamedsl.ir.values import Bag as BagValue

End = int | Fraction | float
"""An end of an interval: exact, or an infinite float where there is no bound."""

LONGEST_CONSTANT = 1_000
"""Items of a constant that are looked at one by one; those of a longer one are known by type."""


@dataclass(frozen=True, slots=True)
class Interval:
    """The numbers from `low` to `high`, both included; only the whole ones if `whole`."""

    low: End
    high: End
    whole: bool = False

    @property
    def bounded(self) -> bool:
        """Whether both ends are finite."""
        return not (isinf(self.low) or isinf(self.high))

    @property
    def magnitude(self) -> End:
        """The largest absolute value of its numbers."""
        return max(self.high, -self.low)

    @property
    def ends(self) -> tuple[Fraction, Fraction] | None:
        """Both ends as exact numbers; None where one of them is infinite."""
        return (Fraction(self.low), Fraction(self.high)) if self.bounded else None

    def __add__(self, other: Interval) -> Interval:
        whole = self.whole and other.whole
        return Interval(_sum(self.low, other.low), _sum(self.high, other.high), whole)

    def __neg__(self) -> Interval:
        return Interval(-self.high, -self.low, self.whole)

    def __sub__(self, other: Interval) -> Interval:
        return self + -other

    def __mul__(self, other: Interval) -> Interval:
        ends = [_product(a, b) for a in (self.low, self.high) for b in (other.low, other.high)]
        return Interval(min(ends), max(ends), self.whole and other.whole)

    def __or__(self, other: Interval) -> Interval:
        """The smallest interval that contains both."""
        low, high = min(self.low, other.low), max(self.high, other.high)
        return Interval(low, high, self.whole and other.whole)

    def __and__(self, other: Interval) -> Interval:
        """The numbers in both intervals; this one where there are none."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        whole = self.whole or other.whole
        return Interval(low, high, whole) if low <= high else self

    def integers(self) -> Interval:
        """The interval of the whole numbers in it."""
        low = self.low if isinf(self.low) else ceil(self.low)
        return Interval(low, self.high if isinf(self.high) else floor(self.high), True)

    def rounded(self) -> Interval:
        """The interval of what its numbers become by rounding, up or down."""
        low = self.low if isinf(self.low) else floor(self.low)
        return Interval(low, self.high if isinf(self.high) else ceil(self.high), True)


ANY_NUMBER = Interval(-inf, inf)
NO_NUMBER = Interval(inf, -inf, True)
"""The empty interval, of values that are no numbers."""

NATURAL = Interval(0, inf, True)
ZERO = Interval(0, 0, True)
TRUTH = Interval(0, 1, True)
"""Truth values are counted as 0 and 1."""


@dataclass(frozen=True, slots=True)
class AbstractValue:
    """All values for which every claim holds.

    `none`: the value may be none. `number`: it lies there if it is a number. `size`: the most items
    of a collection, copies counted, 1 for a value that is no collection; None without a bound.
    `parts`: the fields of a record or tuple, in order. `items`: each item of another collection,
    each value of a map. Both are None for a value without items, or of which nothing is known.
    """

    none: bool
    number: Interval
    size: int | None
    parts: tuple[AbstractValue, ...] | None
    items: AbstractValue | None

    @property
    def item(self) -> AbstractValue:
        """Any item: of a record or tuple, any of its parts."""
        if self.parts:
            return reduce(AbstractValue.__or__, self.parts)
        return ANYTHING if self.items is None else self.items

    @property
    def numbers(self) -> Interval:
        """The interval of all numbers in it, of any depth."""
        inner = self.item.numbers if self._has_items else self.number
        return self.number | inner

    def part(self, index: int) -> AbstractValue:
        """The part of that index."""
        if self.parts is not None and index < len(self.parts):
            return self.parts[index]
        return ANYTHING if self.items is None else self.items

    def __or__(self, other: AbstractValue) -> AbstractValue:
        """The values of both."""
        for one, another in ((self, other), (other, self)):
            if one in (NOTHING, NONE_ALONE) or one == another:
                return another.perhaps() if one.none else another
        sizes, parts = (self.size, other.size), None
        mine, others = self.parts, other.parts
        if mine is not None and others is not None and len(mine) == len(others):
            parts = tuple(a | b for a, b in zip(mine, others, strict=True))
        items = None
        if parts is None and (self._has_items or other._has_items):
            items = self.item | other.item
        return AbstractValue(
            self.none or other.none,
            self.number | other.number,
            None if None in sizes else max(size for size in sizes if size is not None),
            parts,
            items,
        )

    @property
    def _has_items(self) -> bool:
        return bool(self.parts) or self.items is not None

    def some(self) -> AbstractValue:
        """The same without none."""
        return replace(self, none=False) if self.none else self

    def perhaps(self) -> AbstractValue:
        """The same, or none."""
        return self if self.none else replace(self, none=True)

    def within(self, number: Interval) -> AbstractValue:
        """The same with all numbers in it, of any depth, in an interval."""
        return AbstractValue(
            self.none,
            self.number & number,
            self.size,
            None if self.parts is None else tuple(part.within(number) for part in self.parts),
            None if self.items is None else self.items.within(number),
        )

    def no_larger(self, size: int) -> AbstractValue:
        """The same where every collection of unknown size has at most so many items."""
        return AbstractValue(
            self.none,
            self.number,
            size if self.size is None else self.size,
            None if self.parts is None else tuple(part.no_larger(size) for part in self.parts),
            None if self.items is None else self.items.no_larger(size),
        )


ANYTHING = AbstractValue(True, ANY_NUMBER, None, None, None)
"""The abstract value of which nothing is known."""

NOTHING = AbstractValue(False, NO_NUMBER, 0, None, None)
"""The abstract value of no value: what the items of an empty list are."""

NONE_ALONE = AbstractValue(True, NO_NUMBER, 0, None, None)
"""None, and no other value."""

SOMETHING = AbstractValue(False, NO_NUMBER, 1, None, None)
"""A value that is not none, no number and no collection."""


def number_in(interval: Interval) -> AbstractValue:
    """A number in an interval."""
    return AbstractValue(False, interval, 1, None, None)


def collection_of(size: int | None, items: AbstractValue, *, none: bool = False) -> AbstractValue:
    """A collection of at most so many items, each like `items`."""
    return AbstractValue(none, NO_NUMBER, size, None, items)


def record_of(parts: Iterable[AbstractValue], *, none: bool = False) -> AbstractValue:
    """A record or tuple of its parts."""
    listed = tuple(parts)
    return AbstractValue(none, NO_NUMBER, len(listed), listed, None)


def joined(values: Iterable[AbstractValue]) -> AbstractValue:
    """Returns the facts that hold of each of several values; `NOTHING` for none."""
    return reduce(AbstractValue.__or__, values, NOTHING)


class Seats(NamedTuple):
    """The seats of a game: those with payoffs, and with those of referees."""

    players: tuple[str, ...]
    everyone: tuple[str, ...]


@lru_cache(maxsize=4096)
def of_type(type: Type, seats: Seats) -> AbstractValue:
    """Returns the facts of a type's values, which may be none: state is none before it is set."""
    match type:
        case Bool():
            return replace(number_in(TRUTH), none=True)
        case Number(whole=whole, low=low, high=high):
            interval = Interval(-inf if low is None else low, inf if high is None else high, whole)
            return replace(number_in(interval), none=True)
        case Option(of=inner):
            return of_type(inner, seats)
        case Enum(members=members):
            return replace(SOMETHING, none=True, size=1 if members else None)
        case Seat() | NoneType() | Text():
            return replace(SOMETHING, none=True)
        case List(of=inner, length=length, at_most=at_most):
            size = at_most if length is None else length
            return collection_of(size, of_type(inner, seats), none=True)
        case Grid(rows=rows, columns=columns, of=inner):
            return collection_of(rows * columns, of_type(inner, seats), none=True)
        case Tuple(of=types):
            return record_of((of_type(part, seats) for part in types), none=True)
        case Record():
            return record_of((of_type(part, seats) for part in type.types), none=True)
        case Set(of=inner):
            values = domain(inner, seats.everyone)
            size = None if values is None else len(values)
            return collection_of(size, of_type(inner, seats), none=True)
        case Bag(of=inner):
            return collection_of(None, of_type(inner, seats), none=True)
        case PerSeat(of=inner, partial=partial):
            size = len(seats.everyone if partial else seats.players)
            return collection_of(size, of_type(inner, seats), none=True)
        case PerValue(key=key, of=inner):
            keys = domain(key, seats.everyone)
            size = None if keys is None else len(keys)
            return collection_of(size, of_type(inner, seats), none=True)
        case Union(of=types):
            return joined(of_type(part, seats) for part in types)
        case Never():
            return ANYTHING
        case _:
            assert_never(type)


def of_constant(value: Any, type: Type, seats: Seats) -> AbstractValue:
    """Returns the facts of a constant of some type."""
    if value is None:
        return NONE_ALONE
    if isinstance(value, int | Fraction):
        end = int(value) if isinstance(value, bool) else value
        return number_in(Interval(end, end, isinstance(value, int)))
    if not isinstance(value, tuple | frozenset | dict):
        return SOMETHING
    size = value.total if isinstance(value, BagValue) else len(value)
    whole = of_type(type, seats)
    if len(value) > LONGEST_CONSTANT:
        return AbstractValue(False, NO_NUMBER, size, whole.parts, whole.items or ANYTHING)
    if isinstance(value, dict) and not isinstance(value, BagValue):
        items = list(value.values())
    else:
        items = list(value)
    known = [of_constant(item, inner, seats) for item, inner in zip(items, _inner(type, items))]
    if isinstance(type, Tuple | Record):
        return record_of(known)
    return collection_of(size, joined(known))


def _inner(type: Type, items: list[Any]) -> Iterable[Type]:
    """The types of the items of a constant."""
    match type:
        case Tuple(of=types) if len(types) == len(items):
            return types
        case Record() if len(type.types) == len(items):
            return type.types
        case Option(of=inner):
            return _inner(inner, items)
        case (
            List(of=inner) | Set(of=inner) | Bag(of=inner) | Grid(of=inner) | PerSeat(of=inner)
            | PerValue(of=inner)
        ):  # fmt: skip
            return [inner] * len(items)
        case (
            Bool() | Number() | Enum() | Seat() | NoneType() | Text() | Tuple() | Record()
            | Union() | Never()
        ):  # fmt: skip
            return [Never()] * len(items)
        case _:
            assert_never(type)


def _sum(a: End, b: End) -> End:
    if isinf(a):
        return a
    return b if isinf(b) else a + b


def _product(a: End, b: End) -> End:
    if a == 0 or b == 0:
        return 0
    if isinf(a) or isinf(b):
        return inf if (a > 0) == (b > 0) else -inf
    return a * b
