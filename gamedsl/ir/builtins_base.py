"""The row of a built-in, and helpers for its fields: limits, elements and the order of values.

All arithmetic is exact; a whole `Fraction` is given back as an `int`, so that equal numbers are
equal values. No number has more than `MAX_DIGITS` digits and no collection more than `MAX_ITEMS`
items, so that no expression can exhaust time or memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from operator import call
from typing import Any, Literal, NamedTuple, assert_never

from gamedsl.ir import values as play
from gamedsl.ir.abstract_values import (
    ANY_NUMBER,
    ANYTHING,
    NO_NUMBER,
    TRUTH,
    AbstractValue,
    Interval,
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
    component_types,
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


Undefined = Literal["never", "by zero", "by exponent", "by size", "of nothing", "by value"]
"""Operands without a value: the last argument is 0; it is negative or large; the result is too
large; the first argument is an empty collection; any others. Payoffs are proved defined by it, so
"by value" is the safe choice, and "never" needs a reason."""

Arguments = tuple[AbstractValue, ...]
"""What is known of each argument."""


class ValueFlow(NamedTuple):
    """The flow of values through a built-in: what it looks at of its first argument, and where the
    elements of its result, or the result if it is an element, come from."""

    looks_at: Literal["shape", "length", "places", "values"]
    """Its declared shape alone, its length alone, the order of its elements alone, or the
    elements."""
    elements: Literal["new", "first", "all", "others"]
    """"first": elements of the first argument; "all": of any argument; "others": all roles but the
    first argument; "new": anything else."""
    keeps_length: bool
    """Whether the result is as long as the first argument."""


@dataclass(frozen=True, slots=True)
class Builtin:
    """One built-in: all that the compiler, the engines, the proofs and the docs know of it."""

    name: str
    kind: Literal["operator", "comparison", "function"]
    usage: str
    """How it is written; messages show it where arguments do not fit."""
    about: str
    example: tuple[str, str]
    """An expression and its value, over the game in `tests/language/test_builtins.py`."""

    rule: Rule
    """The type of the result for the types of the arguments; None where they do not fit."""
    appended: Literal[
        "", "order of the type", "order of the values", "size of the grid", "values of the type",
        "graph", "graph instead",
    ]  # fmt: skip
    """The constant that typing appends to the arguments, since `run` needs it; "graph instead" is
    the graph of the first argument, in its place."""
    takes_map: bool
    """Whether the first argument may be a per-role map, by its bare name."""
    takes_none: frozenset[int]
    """The arguments that may be none, by their places."""
    types_argument: bool
    """Whether its first argument is read as a value of the type wanted of the result."""

    run: Callable[..., Any]
    """The value, for values of the arguments. Raises `UndefinedError` where there is none, which is
    not the value none."""
    undefined: Undefined
    """When `run` raises `UndefinedError`, numbers and collections that are too large aside."""

    may_be_none: Callable[[Arguments], bool]
    size: Callable[[Arguments], int | None]
    """The most items of the result, 1 for no collection; None without a bound."""
    interval: Callable[[Arguments], Interval]
    """Where the result lies if it is a number; of tuples that are worked out part by part, each
    part."""
    ranges_type: Literal["never", "bounded", "always"]
    """Whether typing counts on `interval` for the type of a range such as `1..f(x)`: never, where
    the numbers among the arguments are bounded, or always. It matters for whole results alone; a
    new row says "never" unless such ranges are wanted. Types are part of the hashes of rules: a
    change here changes those of games that write such ranges."""
    items: Callable[[Arguments], AbstractValue]
    """What is known of each item of the result; `ANYTHING` leaves it to the type."""
    order: Literal["any", "distinct", "ascending"]
    """What is known of the items of the result: nothing; that no two are equal; or that each is
    greater than the one before."""
    linear: Literal["no", "all", "first", "either"]
    """Where the result is linear: in all arguments together; in the first while the others are
    fixed; or in either of two while the other is fixed. Rewards whose split is linear in the
    streams can be passed on at every step."""
    narrowed: Literal["", "range", "power", "members"]
    """What typing narrows beyond `rule`: the items of a range, by its ends; a power, which is whole
    for a natural exponent; or the fields of a record that are looked through for a member."""

    flow: ValueFlow
    code: str
    """How generated code computes it: a Python expression with `{0}`, `{1}`, … for the arguments,
    the name of a form in `gamedsl.engine.codegen.builtin_code`, or "call", which calls `run`."""


def never(arguments: Arguments) -> bool:
    """Never none."""
    return False


def always(arguments: Arguments) -> bool:
    """Perhaps none, whatever the arguments."""
    return True


def is_item_none(arguments: Arguments) -> bool:
    """Perhaps none where an item of the only argument may be."""
    return len(arguments) == 1 and arguments[0].item.none


def one(arguments: Arguments) -> int | None:
    """The size of what is no collection."""
    return 1


def as_large(arguments: Arguments) -> int | None:
    """The size of the first argument."""
    return arguments[0].size


def item_size(arguments: Arguments) -> int | None:
    """The size of an item of the first argument."""
    return arguments[0].item.size


def no_number(arguments: Arguments) -> Interval:
    """The interval of a result that is no number."""
    return NO_NUMBER


def any_number(arguments: Arguments) -> Interval:
    """The interval of a result of which nothing is known but its type."""
    return ANY_NUMBER


def truth(arguments: Arguments) -> Interval:
    """The interval of a truth value."""
    return TRUTH


def item_number(arguments: Arguments) -> Interval:
    """The interval of the items of the first argument."""
    return arguments[0].item.number


def unknown_items(arguments: Arguments) -> AbstractValue:
    """Items of which only the type is known, or no items."""
    return ANYTHING


def same_items(arguments: Arguments) -> AbstractValue:
    """The items of the first argument."""
    return arguments[0].item


def inner_items(arguments: Arguments) -> AbstractValue:
    """The items of an item of the first argument."""
    return arguments[0].item.item


TAKES_SOME: frozenset[int] = frozenset()
"""The `takes_none` of a built-in none of whose arguments may be none."""

COMPUTES = ValueFlow("values", "new", False)
"""The flow of a built-in that computes a new value from all values of its arguments."""


def exact(value: int | Fraction) -> int | Fraction:
    """A number in its simplest form. Raises `UndefinedError` for one of too many digits."""
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS:
        raise UndefinedError(f"a number of more than {MAX_DIGITS} digits")
    return value.numerator if value.denominator == 1 else value


def element(type: Type) -> Type | None:
    """The type of what one goes through in a collection; None for what is no collection. A record
    of one field for each value of a type is one."""
    match type:
        case Record(types=types) if type.key is not None:
            return types[0]
        case (
            List(of=of) | Set(of=of) | Bag(of=of) | Grid(of=of) | PerSeat(of=of) | PerValue(of=of)
        ):  # fmt: skip
            return of
        case Tuple(of=parts):
            joined: Type | None = parts[0]
            for part in parts[1:]:
                joined = joined and join(joined, part)
            return joined
        case Never():
            return type
        case (
            Bool() | Number() | Enum() | Seat() | NoneType() | Text() | Option() | Record()
            | Union()
        ):  # fmt: skip
            return None
        case _:
            assert_never(type)


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
        return all(is_ordered(part, True) for part in component_types(type))
    return isinstance(type, Number | Enum | Never) or (inside and isinstance(type, Bool))


def order_of(type: Type) -> tuple[Any, ...] | None:
    """Returns the order of values whose run-time form does not have the order of their type: the
    members of an enum, the orders of the parts of a tuple; None if Python's own order is right."""
    match type:
        case Enum(members=members):
            return members
        case Tuple() | Record():
            orders = tuple(map(order_of, component_types(type)))
            return orders if any(orders) else None
        case (
            Bool() | Number() | Seat() | NoneType() | Text() | Option() | List() | Set() | Bag()
            | Grid() | PerSeat() | PerValue() | Union() | Never()
        ):  # fmt: skip
            return None
        case _:
            assert_never(type)


def ranked(value: Any, order: tuple[Any, ...] | None) -> Any:
    """Returns a value as one that Python compares as its type does; `order` is `order_of` its
    type."""
    return ranking(order)(value)


@lru_cache(maxsize=256)
def ranking(order: tuple[Any, ...] | None) -> Callable[[Any], Any]:
    """Returns `ranked` as a function of the value alone, for many values of one type."""
    if order is None:
        return lambda value: value
    if order and isinstance(order[0], str):
        return order.index
    parts = tuple(map(ranking, order))
    return lambda value: tuple(map(call, parts, value))


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
