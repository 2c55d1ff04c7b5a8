"""What the rows of the table of built-ins share: limits, and the elements and order of values.

A rule takes the argument types and gives the result's type, or None where they do not fit; then
`usage` is what the message shows. All arithmetic is exact; a whole `Fraction` is given back as an
`int`, so that equal numbers are equal values. No number has more than `MAX_DIGITS` digits and no
collection more than `MAX_ITEMS` items, so that no expression can exhaust time or memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from gamedsl.ir import values as play
from gamedsl.ir.types import (
    Bag,
    Bool,
    Enum,
    Grid,
    List,
    Never,
    Number,
    PerSeat,
    PerValue,
    Record,
    Set,
    Tuple,
    Type,
    join,
)

Rule = Callable[[tuple[Type, ...]], Type | None]

MAX_DIGITS = 1000
"""Decimal digits of a numerator or denominator."""

MAX_ITEMS = 100_000
"""Items of a collection."""

MAX_BITS = MAX_DIGITS * 3322 // 1000


class UndefinedError(Exception):
    """An operation has no value for these operands (a division by zero, the mean of nothing)."""


@dataclass(frozen=True, slots=True)
class Builtin:
    name: str
    usage: str
    about: str
    rule: Rule
    run: Callable[..., Any]


def exact(value: int | Fraction) -> int | Fraction:
    """A number in its simplest form. Raises `UndefinedError` for one of too many digits."""
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS:
        raise UndefinedError(f"a number of more than {MAX_DIGITS} digits")
    return value.numerator if value.denominator == 1 else value


def element(type: Type) -> Type | None:
    """The type of what one goes through in a collection; None for what is no collection."""
    if isinstance(type, List | Set | Bag | Grid | PerSeat | PerValue):
        return type.of
    if isinstance(type, Tuple):
        joined: Type | None = type.of[0]
        for part in type.of[1:]:
            joined = joined and join(joined, part)
        return joined
    return type if isinstance(type, Never) else None


def values(collection: Any) -> tuple[Any, ...]:
    """The elements of a run-time collection, in order; those of bags with their copies.

    Sets and bags are in the order of their text, whatever was put into them first.
    """
    if isinstance(collection, play.Bag):
        copies = collection
        return tuple(v for v in sorted(copies, key=_by_text) for _ in range(copies[v]))
    if isinstance(collection, dict):
        return tuple(collection.values())
    if isinstance(collection, frozenset):
        return tuple(sorted(collection, key=_by_text))
    return tuple(collection)


def _by_text(value: Any) -> tuple[str, Any]:
    return (str(type(value)), value if isinstance(value, int) else str(value))


def is_ordered(type: Type, inside: bool = False) -> bool:
    """Whether values of a type can be compared; truth values only `inside` of others."""
    if isinstance(type, Tuple | Record):
        parts = type.of if isinstance(type, Tuple) else type.types
        return all(is_ordered(part, True) for part in parts)
    return isinstance(type, Number | Enum | Never) or (inside and isinstance(type, Bool))


def order_of(type: Type) -> tuple[Any, ...] | None:
    """How to compare values whose run-time form does not have the order of their type: the members
    of an enum, the orders of the parts of a tuple; None where Python's own order is right."""
    if isinstance(type, Enum):
        return type.members
    if isinstance(type, Tuple | Record):
        orders = tuple(map(order_of, type.of if isinstance(type, Tuple) else type.types))
        return orders if any(orders) else None
    return None


def ranked(value: Any, order: tuple[Any, ...] | None) -> Any:
    """A value as one that Python compares as its type does; `order` is `order_of` its type."""
    if order is None:
        return value
    if order and isinstance(order[0], str):
        return order.index(value)
    return tuple(map(ranked, value, order))


def all_numbers(types: tuple[Type, ...]) -> bool:
    return all(isinstance(t, Number | Never) for t in types)


def all_whole(types: tuple[Type, ...]) -> bool:
    return all(isinstance(t, Never) or (isinstance(t, Number) and t.whole) for t in types)


def unbounded(type: Type) -> Type:
    """The type of a number that is worked out from one of this type."""
    return Number(type.whole) if isinstance(type, Number) else type


def vector(type: Type) -> tuple[Type, ...] | None:
    """The parts of a tuple of numbers, or of a list of them whose length is known."""
    if isinstance(type, List) and type.length:
        parts: tuple[Type, ...] = (type.of,) * type.length
    elif isinstance(type, Tuple):
        parts = type.of
    else:
        return None
    return parts if all_numbers(parts) else None
