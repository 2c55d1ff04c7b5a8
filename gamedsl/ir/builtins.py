"""The table of operators and built-in functions: name, type rule, meaning, one row each.

The typing walk reads `rule`, the evaluator reads `run`, and the reference page is made from `usage`
and `about`. Adding a built-in is adding a row.

A rule takes the argument types and gives the result's type, or None where they do not fit; then
`usage` is what the message shows. All arithmetic is exact; a whole `Fraction` is given back as an
`int`, so that equal numbers are equal values. No number has more than `MAX_DIGITS` digits and no
collection more than `MAX_ITEMS` items, so that no expression can exhaust time or memory.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Any

from gamedsl.ir.types import (
    BOOL,
    NUMBER,
    SEAT,
    WHOLE,
    Bool,
    Enum,
    List,
    Never,
    Number,
    Option,
    PerSeat,
    Seat,
    Set,
    Tuple,
    Type,
    join,
)  # fmt: skip

Rule = Callable[[tuple[Type, ...]], Type | None]

MAX_DIGITS = 1000
"""Decimal digits of a numerator or denominator."""

MAX_ITEMS = 100_000
"""Items of a collection."""

_MAX_BITS = MAX_DIGITS * 3322 // 1000


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
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > _MAX_BITS:
        raise UndefinedError(f"a number of more than {MAX_DIGITS} digits")
    return value.numerator if value.denominator == 1 else value


def element(type: Type) -> Type | None:
    """The type of what one goes through in a collection; None for what is no collection."""
    if isinstance(type, List | Set | PerSeat):
        return type.of
    if isinstance(type, Tuple):
        joined: Type | None = type.of[0]
        for part in type.of[1:]:
            joined = joined and join(joined, part)
        return joined
    return type if isinstance(type, Never) else None


def values(collection: Any) -> tuple[Any, ...]:
    """The elements of a run-time collection, in order; sets in the order of their text."""
    if isinstance(collection, dict):
        return tuple(collection.values())
    if isinstance(collection, frozenset):
        return tuple(
            sorted(collection, key=lambda v: (str(type(v)), v if isinstance(v, int) else str(v)))
        )
    return tuple(collection)


def _all_numbers(types: tuple[Type, ...]) -> bool:
    return all(isinstance(t, Number | Never) for t in types)


def _whole(types: tuple[Type, ...]) -> bool:
    return all(isinstance(t, Never) or (isinstance(t, Number) and t.whole) for t in types)


def _arithmetic(types: tuple[Type, ...]) -> Type | None:
    if len(types) != 2 or not _all_numbers(types):
        return None
    return WHOLE if _whole(types) else NUMBER


def _division(types: tuple[Type, ...]) -> Type | None:
    return NUMBER if len(types) == 2 and _all_numbers(types) else None


def _whole_division(types: tuple[Type, ...]) -> Type | None:
    return WHOLE if len(types) == 2 and _all_numbers(types) else None


def _power(types: tuple[Type, ...]) -> Type | None:
    if len(types) != 2 or not _all_numbers(types) or not _whole(types[1:]):
        return None
    return NUMBER


def _negation(types: tuple[Type, ...]) -> Type | None:
    return types[0] if len(types) == 1 and _all_numbers(types) else None


def _equality(types: tuple[Type, ...]) -> Type | None:
    return BOOL if len(types) == 2 and join(*types) is not None else None


def _ordered(type: Type) -> bool:
    """Values of an enum are compared by their place in it: `sema` puts `index` around them."""
    if isinstance(type, Tuple):
        return all(map(_ordered, type.of))
    return isinstance(type, Number | Never)


def _order(types: tuple[Type, ...]) -> Type | None:
    if len(types) != 2 or join(*types) is None or not all(map(_ordered, types)):
        return None
    return BOOL


def _membership(types: tuple[Type, ...]) -> Type | None:
    inner = element(types[1])
    return BOOL if inner is not None and join(types[0], inner) is not None else None


def _not(types: tuple[Type, ...]) -> Type | None:
    return BOOL if len(types) == 1 and isinstance(types[0], Bool | Never) else None


def _range(types: tuple[Type, ...]) -> Type | None:
    return List(WHOLE) if len(types) == 2 and _whole(types) else None


def _size(types: tuple[Type, ...]) -> Type | None:
    return WHOLE if len(types) == 1 and element(types[0]) is not None else None


def _sum(types: tuple[Type, ...]) -> Type | None:
    inner = element(types[0]) if len(types) == 1 else None
    return inner if isinstance(inner, Number | Never) else None


def _average(types: tuple[Type, ...]) -> Type | None:
    inner = element(types[0]) if len(types) == 1 else None
    return NUMBER if isinstance(inner, Number | Bool | Never) else None


def _truths(types: tuple[Type, ...]) -> Type | None:
    inner = element(types[0]) if len(types) == 1 else None
    return BOOL if isinstance(inner, Bool | Never) else None


def _extreme(types: tuple[Type, ...]) -> Type | None:
    if len(types) == 1:
        inner = element(types[0])
        return inner if inner is not None and _ordered(inner) else None
    return (WHOLE if _whole(types) else NUMBER) if len(types) > 1 and _all_numbers(types) else None


def _count(types: tuple[Type, ...]) -> Type | None:
    inner = element(types[0]) if types else None
    if len(types) == 1:
        return WHOLE if isinstance(inner, Bool | Never) else None
    return (
        WHOLE
        if len(types) == 2 and inner is not None and join(inner, types[1]) is not None
        else None
    )


def _seat_argument(result: Type) -> Rule:
    def rule(types: tuple[Type, ...]) -> Type | None:
        if len(types) == 1 and isinstance(types[0], PerSeat) and _ordered(types[0].of):
            return result
        return None

    return rule


def _position(types: tuple[Type, ...]) -> Type | None:
    return WHOLE if len(types) == 1 and isinstance(types[0], Seat | Enum | Never) else None


def _seat(types: tuple[Type, ...]) -> Type | None:
    return SEAT if len(types) == 1 and isinstance(types[0], Seat | Never) else None


def _seats(types: tuple[Type, ...]) -> Type | None:
    return _seat(types) and List(SEAT)


def _others(seat: str, seats: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(s for s in seats if s != seat)


def _other(seat: str, seats: tuple[str, ...]) -> str:
    return _others(seat, seats)[0]


def _holds(value: Any, collection: Any) -> bool:
    return value in values(collection)


def _every(collection: Any) -> bool:
    return all(values(collection))


def _some(collection: Any) -> bool:
    return any(values(collection))


def _total(collection: Any) -> int | Fraction:
    return exact(sum(values(collection)))


def _round(types: tuple[Type, ...]) -> Type | None:
    return WHOLE if len(types) == 1 and _all_numbers(types) else None


def _clip(types: tuple[Type, ...]) -> Type | None:
    if len(types) != 3 or not _all_numbers(types):
        return None
    return WHOLE if _whole(types) else NUMBER


def _divide(a: Any, b: Any) -> Any:
    if b == 0:
        raise UndefinedError("division by zero")
    return exact(Fraction(a) / Fraction(b))


def _whole_quotient(a: Any, b: Any) -> Any:
    if b == 0:
        raise UndefinedError("division by zero")
    return int(a // b)


def _remainder(a: Any, b: Any) -> Any:
    if b == 0:
        raise UndefinedError("division by zero")
    return exact(a % b)


def _raise(a: Any, b: Any) -> Any:
    if a == 0 and b < 0:
        raise UndefinedError("division by zero")
    bits = max(a.numerator.bit_length(), a.denominator.bit_length())
    if bits > 1 and (bits - 1) * abs(b) > _MAX_BITS:
        raise UndefinedError(f"a number of more than {MAX_DIGITS} digits")
    return exact(Fraction(a) ** (b if bits > 1 else b % 2 if a < 0 else min(b, 1)))


def _mean(collection: Any) -> Any:
    items = values(collection)
    if not items:
        raise UndefinedError("the mean of nothing")
    return exact(Fraction(sum(items)) / len(items))


def _extremum(choose: Callable[..., Any], word: str) -> Callable[..., Any]:
    def run(*arguments: Any) -> Any:
        items = values(arguments[0]) if len(arguments) == 1 else arguments
        if not items:
            raise UndefinedError(f"the {word} of nothing")
        return choose(items)

    return run


def _best(per_seat: dict[str, Any]) -> frozenset[str]:
    top = max(per_seat.values())
    return frozenset(seat for seat, value in per_seat.items() if value == top)


def _argmax(per_seat: dict[str, Any]) -> str | None:
    top = _best(per_seat)
    return next(iter(top)) if len(top) == 1 else None


def _from_to(a: int, b: int) -> tuple[int, ...]:
    if b - a >= MAX_ITEMS:
        raise UndefinedError(f"a range of more than {MAX_ITEMS:,} numbers")
    return tuple(range(a, b + 1))


_ORDERED = "numbers, enum values in their order, or tuples"


def _counted(collection: Any, *wanted: Any) -> int:
    items = values(collection)
    return sum(item == wanted[0] for item in items) if wanted else sum(items)


_ROWS = (
    Builtin("+", "number + number", "Sum.", _arithmetic, lambda a, b: exact(a + b)),
    Builtin("-", "number - number", "Difference.", _arithmetic, lambda a, b: exact(a - b)),
    Builtin("*", "number * number", "Product.", _arithmetic, lambda a, b: exact(a * b)),
    Builtin("/", "number / number", "Exact quotient.", _division, _divide),
    Builtin("//", "number // number", "Quotient, rounded down.", _whole_division, _whole_quotient),
    Builtin("%", "number % number", "Remainder of `//`.", _arithmetic, _remainder),
    Builtin("**", "number ** whole number", "Power.", _power, _raise),
    Builtin("neg", "-number", "The number with its sign turned.", _negation, operator.neg),
    Builtin("==", "value == value", "Equal; both of one type, or none.", _equality, operator.eq),
    Builtin("!=", "value != value", "Not equal.", _equality, operator.ne),
    Builtin("<", "value < value", f"Less, of {_ORDERED}.", _order, operator.lt),
    Builtin("<=", "value <= value", "Less or equal.", _order, operator.le),
    Builtin(">", "value > value", "Greater.", _order, operator.gt),
    Builtin(">=", "value >= value", "Greater or equal.", _order, operator.ge),
    Builtin("in", "value in collection", "Is an element.", _membership, _holds),
    Builtin(
        "not in", "value not in collection", "Is no element.", _membership,
        lambda a, c: not _holds(a, c),
    ),
    Builtin("not", "not truth", "The opposite truth value.", _not, operator.not_),
    Builtin("..", "whole..whole", "The whole numbers from one to the other.", _range, _from_to),
    Builtin("abs", "abs(number)", "The number without its sign.", _negation, abs),
    Builtin("all", "all(truths)", "Whether every element is true.", _truths, _every),
    Builtin("any", "any(truths)", "Whether some element is true.", _truths, _some),
    Builtin(
        "argmax", "argmax(values per role)", "The role with the greatest value; none on a tie.",
        _seat_argument(Option(SEAT)), _argmax,
    ),
    Builtin(
        "best", "best(values per role)", "The set of roles with the greatest value.",
        _seat_argument(Set(SEAT)), _best,
    ),
    Builtin("ceil", "ceil(number)", "Rounded up to a whole number.", _round, ceil),
    Builtin(
        "clip", "clip(number, low, high)", "The number, moved into the range.", _clip,
        lambda x, low, high: max(low, min(high, x)),
    ),
    Builtin(
        "count", "count(collection, value) or count(truths)",
        "How many elements equal the value, or are true.", _count, _counted,
    ),
    Builtin("floor", "floor(number)", "Rounded down to a whole number.", _round, floor),
    Builtin(
        "index", "index(role)",
        "The place of a role among the roles, or of a value in its enum, from 0.",
        _position, lambda value, order: order.index(value),
    ),
    Builtin("len", "len(collection)", "The number of elements.", _size, len),
    Builtin(
        "max", "max(collection) or max(number, number, …)", "The greatest.",
        _extreme, _extremum(max, "maximum"),
    ),
    Builtin("mean", "mean(numbers)", "The average; of truth values, their share.", _average, _mean),
    Builtin(
        "min", "min(collection) or min(number, number, …)", "The least.",
        _extreme, _extremum(min, "minimum"),
    ),
    Builtin("other", "other(role)", "The other of two roles.", _seat, _other),
    Builtin("others", "others(role)", "All roles but this one, in order.", _seats, _others),
    Builtin("sign", "sign(number)", "-1, 0 or 1.", _round, lambda x: (x > 0) - (x < 0)),
    Builtin("size", "size(collection)", "The number of elements, as `len`.", _size, len),
    Builtin("sum", "sum(numbers)", "The sum; of nothing, 0.", _sum, _total),
)  # fmt: skip

COMPARISONS = frozenset({"<", "<=", ">", ">="})

ORDERED_BY_TYPE = frozenset({"index", "other", "others"})
"""Built-ins whose meaning needs the order of a type's values: sema adds it as a last argument."""

MAPS = frozenset(
    {"all", "any", "argmax", "best", "count", "len", "max", "mean", "min", "size", "sum"}
)
"""Built-ins over collections: their first argument may be a per-role map, by its bare name."""

BUILTINS: dict[str, Builtin] = {row.name: row for row in _ROWS}

FUNCTIONS = tuple(name for name in BUILTINS if f"{name}(" in BUILTINS[name].usage)
"""The built-ins that are called by name; the others are operators."""
