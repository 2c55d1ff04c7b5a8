"""Rows of the table of built-ins: arithmetic, comparison, and functions of numbers and roles."""

from __future__ import annotations

import operator
from collections.abc import Callable
from fractions import Fraction
from math import ceil, floor
from typing import Any

from gamedsl.ir.builtins_base import (
    MAX_BITS,
    MAX_DIGITS,
    MAX_ITEMS,
    Builtin,
    Rule,
    UndefinedError,
    all_numbers,
    all_whole,
    exact,
    is_ordered,
    ranked,
    unbounded,
    vector,
)
from gamedsl.ir.types import (
    BOOL,
    NUMBER,
    SEAT,
    WHOLE,
    Bool,
    Enum,
    List,
    Never,
    NoneType,
    Number,
    Seat,
    Tuple,
    Type,
    has_text,
    join,
)


def _arithmetic(types: tuple[Type, ...]) -> Type | None:
    if len(types) != 2 or not all_numbers(types):
        return None
    return WHOLE if all_whole(types) else NUMBER


def _componentwise(types: tuple[Type, ...]) -> Type | None:
    """Numbers, or two vectors of one length of which one is a tuple."""
    if len(types) == 2 and any(isinstance(t, Tuple) for t in types):
        left, right = map(vector, types)
        if left is None or right is None or len(left) != len(right):
            return None
        return Tuple(tuple(_arithmetic(p) or NUMBER for p in zip(left, right, strict=True)))
    return _arithmetic(types)


def _product(types: tuple[Type, ...]) -> Type | None:
    """Numbers, or a number and a tuple of numbers."""
    for number, other in (types, types[::-1]) if len(types) == 2 else ():
        parts = vector(other) if isinstance(other, Tuple) else None
        if parts is not None and isinstance(number, Number | Never):
            return Tuple(tuple(_arithmetic((number, part)) or NUMBER for part in parts))
    return _arithmetic(types)


def _division(types: tuple[Type, ...]) -> Type | None:
    return NUMBER if len(types) == 2 and all_numbers(types) else None


def _whole_division(types: tuple[Type, ...]) -> Type | None:
    return WHOLE if len(types) == 2 and all_numbers(types) else None


def _power(types: tuple[Type, ...]) -> Type | None:
    if len(types) != 2 or not all_numbers(types) or not all_whole(types[1:]):
        return None
    return NUMBER


def _absolute(types: tuple[Type, ...]) -> Type | None:
    return unbounded(types[0]) if len(types) == 1 and all_numbers(types) else None


def _negation(types: tuple[Type, ...]) -> Type | None:
    if len(types) == 1 and isinstance(types[0], Tuple) and all_numbers(types[0].of):
        return Tuple(tuple(map(unbounded, types[0].of)))
    return _absolute(types)


def _equality(types: tuple[Type, ...]) -> Type | None:
    if len(types) != 2 or join(*types) is None:
        return None
    with_none = any(isinstance(type, NoneType) for type in types)
    return BOOL if with_none or not any(map(has_text, types)) else None


def _order(types: tuple[Type, ...]) -> Type | None:
    if len(types) != 2 or join(*types) is None or not all(map(is_ordered, types)):
        return None
    return BOOL


def _not(types: tuple[Type, ...]) -> Type | None:
    return BOOL if len(types) == 1 and isinstance(types[0], Bool | Never) else None


def _range(types: tuple[Type, ...]) -> Type | None:
    return List(WHOLE) if len(types) == 2 and all_whole(types) else None


def _position(types: tuple[Type, ...]) -> Type | None:
    return WHOLE if len(types) == 1 and isinstance(types[0], Seat | Enum | Never) else None


def _seat(types: tuple[Type, ...]) -> Type | None:
    return SEAT if len(types) == 1 and isinstance(types[0], Seat | Never) else None


def _seats(types: tuple[Type, ...]) -> Type | None:
    return _seat(types) and List(SEAT)


def _round(types: tuple[Type, ...]) -> Type | None:
    return WHOLE if len(types) == 1 and all_numbers(types) else None


def _clip(types: tuple[Type, ...]) -> Type | None:
    if len(types) != 3:
        return None
    return _componentwise(types[:2]) and _componentwise(types[1:]) and _componentwise(types[::2])


def _distance(types: tuple[Type, ...]) -> Type | None:
    if len(types) != 2:
        return None
    left, right = map(vector, types)
    if left is None or right is None or len(left) != len(right):
        return None
    return WHOLE if all_whole((*left, *right)) else NUMBER


def _each(run: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """An operation on numbers, taken to two tuples of them."""

    def componentwise(a: Any, b: Any) -> Any:
        if isinstance(a, tuple) and isinstance(b, tuple):
            return tuple(exact(run(x, y)) for x, y in zip(a, b, strict=True))
        return exact(run(a, b))

    return componentwise


def _times(a: Any, b: Any) -> Any:
    if isinstance(a, tuple):
        return tuple(exact(x * b) for x in a)
    if isinstance(b, tuple):
        return tuple(exact(a * x) for x in b)
    return exact(a * b)


def _minus(a: Any) -> Any:
    return tuple(-x for x in a) if isinstance(a, tuple) else -a


def _comparison(run: Callable[[Any, Any], bool]) -> Callable[..., bool]:
    def compare(a: Any, b: Any, order: tuple[Any, ...] | None = None) -> bool:
        return run(ranked(a, order), ranked(b, order))

    return compare


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
    if bits > 1 and (bits - 1) * abs(b) > MAX_BITS:
        raise UndefinedError(f"a number of more than {MAX_DIGITS} digits")
    return exact(Fraction(a) ** (b if bits > 1 else b % 2 if a < 0 else min(b, 1)))


def _from_to(a: int, b: int) -> tuple[int, ...]:
    if b - a >= MAX_ITEMS:
        raise UndefinedError(f"a range of more than {MAX_ITEMS:,} numbers")
    return tuple(range(a, b + 1))


def _clipped(x: Any, low: Any, high: Any) -> Any:
    if isinstance(x, tuple):
        return tuple(map(_clipped, x, low, high))
    return max(low, min(high, x))


def _others(seat: str, seats: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(s for s in seats if s != seat)


def _other(seat: str, seats: tuple[str, ...]) -> str:
    return _others(seat, seats)[0]


def _far(a: tuple[Any, ...], b: tuple[Any, ...]) -> Any:
    return exact(sum(abs(x - y) for x, y in zip(a, b, strict=True)))


def _row(name: str, usage: str, about: str, rule: Rule, run: Callable[..., Any]) -> Builtin:
    return Builtin(name, usage, about, rule, run)


_ORDERED = "numbers, enum values in their order, or tuples and records of these, part by part"

ROWS = (
    _row("+", "number + number", "Sum; of tuples of numbers, part by part.",
         _componentwise, _each(operator.add)),
    _row("-", "number - number", "Difference; of tuples of numbers, part by part.",
         _componentwise, _each(operator.sub)),
    _row("*", "number * number", "Product; of a number and a tuple, part by part.",
         _product, _times),
    _row("/", "number / number", "Exact quotient.", _division, _divide),
    _row("//", "number // number", "Quotient, rounded down.", _whole_division, _whole_quotient),
    _row("%", "number % number", "Remainder of `//`.", _arithmetic, _remainder),
    _row("**", "number ** whole number", "Power.", _power, _raise),
    _row("neg", "-number", "The number with its sign turned; of a tuple, part by part.",
         _negation, _minus),
    _row("==", "value == value", "Equal; both of one type, or none.", _equality, operator.eq),
    _row("!=", "value != value", "Not equal.", _equality, operator.ne),
    _row("<", "value < value", f"Less, of {_ORDERED}.", _order, _comparison(operator.lt)),
    _row("<=", "value <= value", "Less or equal.", _order, _comparison(operator.le)),
    _row(">", "value > value", "Greater.", _order, _comparison(operator.gt)),
    _row(">=", "value >= value", "Greater or equal.", _order, _comparison(operator.ge)),
    _row("not", "not truth", "The opposite truth value.", _not, operator.not_),
    _row("..", "whole..whole", "The whole numbers from one to the other.", _range, _from_to),
    _row("abs", "abs(number)", "The number without its sign.", _absolute, abs),
    _row("ceil", "ceil(number)", "Rounded up to a whole number.", _round, ceil),
    _row("clip", "clip(number, low, high)",
         "The number, moved into the range; `clip(number)` into that of where it is stored.",
         _clip, _clipped),
    _row("distance", "distance(cell, cell)",
         "Steps from one cell to another, along rows and columns.", _distance, _far),
    _row("floor", "floor(number)", "Rounded down to a whole number.", _round, floor),
    _row("index", "index(role)",
         "The place of a role among the roles, or of a value in its enum, from 0.",
         _position, lambda value, order: order.index(value)),
    _row("other", "other(role)", "The other of two roles.", _seat, _other),
    _row("others", "others(role)", "All roles but this one, in order.", _seats, _others),
    _row("sign", "sign(number)", "-1, 0 or 1.", _round, lambda x: (x > 0) - (x < 0)),
)  # fmt: skip
