"""Rows of the table of built-ins: arithmetic, comparison, and functions of numbers and roles."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from math import ceil, floor, inf, isinf
from typing import Any

from gamedsl.ir.abstract_values import (
    ANY_NUMBER,
    ANYTHING,
    NATURAL,
    SOMETHING,
    ZERO,
    AbstractValue,
    End,
    Interval,
    number_in,
)
from gamedsl.ir.builtins_base import (
    COMPUTES,
    MAX_BITS,
    MAX_DIGITS,
    MAX_ITEMS,
    TAKES_SOME,
    Arguments,
    Builtin,
    UndefinedError,
    ValueFlow,
    all_numbers,
    all_whole,
    exact,
    is_ordered,
    never,
    no_number,
    one,
    ranked,
    truth,
    unbounded,
    unknown_items,
    values,
    vector,
)
from gamedsl.ir.types import (
    BOOL,
    NUMBER,
    SEAT,
    WHOLE,
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
    Seat,
    Set,
    Tuple,
    Type,
    has_text,
    join,
    plain,
    text_or_record,
    valued,
)
from gamedsl.ir.values import Bag as BagValue
from gamedsl.ir.values import name_of


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


def _is_text(types: tuple[Type, ...]) -> Type | None:
    return BOOL if len(types) == 1 and text_or_record(plain(types[0])) is not None else None


def _range(types: tuple[Type, ...]) -> Type | None:
    return List(WHOLE) if len(types) == 2 and all_whole(types) else None


def _position(types: tuple[Type, ...]) -> Type | None:
    return WHOLE if len(types) == 1 and isinstance(types[0], Seat | Enum | Never) else None


def _seat(types: tuple[Type, ...]) -> Type | None:
    return SEAT if len(types) == 1 and isinstance(types[0], Seat | Never) else None


def _seats(types: tuple[Type, ...]) -> Type | None:
    return _seat(types) and List(SEAT)


def _named(types: tuple[Type, ...]) -> Type | None:
    """A name of a `values` type, or a collection of them; those of sets and bags become lists, in
    which equal values stay apart."""
    if len(types) != 1 or valued(types[0]) is None:
        return types[0] if len(types) == 1 and isinstance(types[0], Never) else None
    match types[0]:
        case Enum(of=of):
            return of
        case Option(of=inner):
            of = _named((inner,))
            return of and Option(of)
        case Set(of=inner) | Bag(of=inner):
            of = _named((inner,))
            return of and List(of)
        case List(of=inner) | Grid(of=inner) | PerSeat(of=inner) | PerValue(of=inner):
            of = _named((inner,))
            return of and replace(types[0], of=of)
        case _:  # `valued` says of no other type that it has names
            return None


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


def _valued(name: Any, table: dict[str, Any]) -> Any:
    """The value of a name, or of each name in a collection."""
    if name is None or isinstance(name, str):
        return None if name is None else table[name]
    if isinstance(name, dict) and not isinstance(name, BagValue):
        return {key: _valued(item, table) for key, item in name.items()}
    return tuple(_valued(item, table) for item in values(name))


def _others(seat: str, seats: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(s for s in seats if s != seat)


def _other(seat: str, seats: tuple[str, ...]) -> str:
    return _others(seat, seats)[0]


def _far(a: tuple[Any, ...], b: tuple[Any, ...]) -> Any:
    return exact(sum(abs(x - y) for x, y in zip(a, b, strict=True)))


def _quotient(a: End, b: End) -> End:
    """`a // b` of ends, for a positive `b`."""
    if isinf(a):
        return a
    return (0 if a >= 0 else -1) if isinf(b) else a // b


def _sums(arguments: Arguments) -> Interval:
    return arguments[0].number + arguments[1].number


def _differences(arguments: Arguments) -> Interval:
    return arguments[0].number - arguments[1].number


def _products(arguments: Arguments) -> Interval:
    return arguments[0].number * arguments[1].number


def _quotients(arguments: Arguments) -> Interval:
    left, right = arguments[0].number, arguments[1].number
    if right.low <= 0 <= right.high:
        return ANY_NUMBER
    low, high = (Fraction() if isinf(end) else 1 / Fraction(end) for end in (right.high, right.low))
    return left * Interval(low, high)


def _whole_quotients(arguments: Arguments) -> Interval:
    left, right = arguments[0].number, arguments[1].number
    if right.low <= 0:
        return replace(ANY_NUMBER, whole=True)
    low = min(_quotient(left.low, right.low), _quotient(left.low, right.high))
    high = max(_quotient(left.high, right.low), _quotient(left.high, right.high))
    return Interval(low, high, True)


def _remainders(arguments: Arguments) -> Interval:
    left, right = arguments[0].number, arguments[1].number
    whole = left.whole and right.whole
    if right.low <= 0:
        return replace(ANY_NUMBER, whole=whole)
    return Interval(0, right.high - 1 if whole else right.high, whole)


def _powers(arguments: Arguments) -> Interval:
    base, exponent = arguments[0].number, arguments[1].number
    whole = base.whole and exponent.low >= 0
    if base.low < 0 or exponent.low < 0:
        return replace(ANY_NUMBER, whole=whole)
    if base.high <= 1:
        return Interval(0, 1, whole)
    if not (base.bounded and exponent.bounded) or exponent.high > LARGEST_EXPONENT:
        return Interval(0, inf, whole)
    ends = [Fraction(x) ** int(e) for x in (base.low, base.high)
            for e in (exponent.low, exponent.high)]  # fmt: skip
    return Interval(exact(min(ends)), exact(max(ends)), whole)


def _negatives(arguments: Arguments) -> Interval:
    return -arguments[0].number


def _magnitudes(arguments: Arguments) -> Interval:
    inner = arguments[0].number
    return Interval(0, inner.magnitude, inner.whole)


def _rounded(arguments: Arguments) -> Interval:
    return arguments[0].number.rounded()


def _clips(arguments: Arguments) -> Interval:
    """A lower limit above the upper one wins."""
    inner, low, high = (argument.number for argument in arguments)
    whole = inner.whole and low.whole and high.whole
    return Interval(low.low, max(low.high, high.high), whole)


def _distances(arguments: Arguments) -> Interval:
    left, right = arguments
    if left.parts is None or right.parts is None:
        return Interval(0, inf)
    spans = [a.number - b.number for a, b in zip(left.parts, right.parts, strict=True)]
    apart = [Interval(0, s.magnitude, s.whole) for s in spans]
    return reduce(Interval.__add__, apart, ZERO)


def _place(value: Any, order: tuple[Any, ...]) -> int:
    if value not in order:  # `me` where a referee acts, or a role where some have an entry
        raise UndefinedError(f"`{name_of(value)}` is not among {', '.join(map(name_of, order))}")
    return order.index(value)


def _places(arguments: Arguments) -> Interval:
    order = arguments[1].size
    return NATURAL if order is None else Interval(0, max(order - 1, 0), True)


def _has_none(arguments: Arguments) -> bool:
    return arguments[0].none


def _worth(arguments: Arguments) -> Interval:
    return arguments[1].item.numbers


def _valued_size(arguments: Arguments) -> int | None:
    name, table = arguments[0], arguments[1]
    alone = name.items is None and name.parts is None
    if not alone:
        return name.size
    return table.item.size if name.size == 1 else None


def _valued_items(arguments: Arguments) -> AbstractValue:
    name, table = arguments[0], arguments[1]
    alone = name.items is None and name.parts is None
    if not alone:
        return table.item.perhaps() if name.item.none else table.item
    return table.item.item if name.size == 1 else ANYTHING


def _signs(arguments: Arguments) -> Interval:
    return Interval(-1, 1, True)


def _range_size(arguments: Arguments) -> int | None:
    low, high = arguments[0].number.low, arguments[1].number.high
    return None if isinf(low) or isinf(high) else max(0, int(high) - int(low) + 1)


def _range_items(arguments: Arguments) -> AbstractValue:
    return number_in(Interval(arguments[0].number.low, arguments[1].number.high, True))


def _roles(arguments: Arguments) -> AbstractValue:
    """Items that are roles."""
    return SOMETHING


def _others_size(arguments: Arguments) -> int | None:
    size = arguments[1].size
    return None if size is None else max(size - 1, 0)


LARGEST_EXPONENT = 64
"""Exponents up to which the interval of a power is worked out."""

_ORDERED = "numbers, enum values in their order, or tuples and records of these, part by part"

ROWS = (
    Builtin(
        "+", "operator", "number + number",
        "Sum; of tuples of numbers, part by part.",
        ("1 + 2", "3"),
        rule=_componentwise, appended="", takes_map=False, takes_none=TAKES_SOME,
        types_argument=False, run=_each(operator.add),
        undefined="never", may_be_none=never, size=one, interval=_sums, items=unknown_items,
        ranges_type="bounded", order="any", linear="all",
        narrowed="", flow=COMPUTES, code="arithmetic",
    ),
    Builtin(
        "-", "operator", "number - number",
        "Difference; of tuples of numbers, part by part.",
        ("5 - 2", "3"),
        rule=_componentwise, appended="", takes_map=False, takes_none=TAKES_SOME,
        types_argument=False, run=_each(operator.sub),
        undefined="never", may_be_none=never, size=one, interval=_differences, items=unknown_items,
        ranges_type="bounded", order="any", linear="all",
        narrowed="", flow=COMPUTES, code="arithmetic",
    ),
    Builtin(
        "*", "operator", "number * number",
        "Product; of a number and a tuple, part by part.",
        ("2 * 3", "6"),
        rule=_product, appended="", takes_map=False, takes_none=TAKES_SOME,
        types_argument=False, run=_times,
        undefined="never", may_be_none=never, size=one, interval=_products, items=unknown_items,
        ranges_type="bounded", order="any", linear="either",
        narrowed="", flow=COMPUTES, code="arithmetic",
    ),
    Builtin(
        "/", "operator", "number / number",
        "Exact quotient.",
        ("1 / 4", "0.25"),
        rule=_division, appended="", takes_map=False, takes_none=TAKES_SOME,
        types_argument=False, run=_divide,
        undefined="by zero", may_be_none=never, size=one, interval=_quotients, items=unknown_items,
        ranges_type="never", order="any", linear="first", narrowed="", flow=COMPUTES, code="call",
    ),
    Builtin(
        "//", "operator", "number // number",
        "Quotient, rounded down.",
        ("7 // 2", "3"),
        rule=_whole_division, appended="", takes_map=False, takes_none=TAKES_SOME,
        types_argument=False, run=_whole_quotient,
        undefined="by zero",
        may_be_none=never, size=one, interval=_whole_quotients, items=unknown_items,
        ranges_type="bounded", order="any", linear="no",
        narrowed="", flow=COMPUTES, code="whole division",
    ),
    Builtin(
        "%", "operator", "number % number",
        "Remainder of `//`.",
        ("7 % 2", "1"),
        rule=_arithmetic, appended="", takes_map=False, takes_none=TAKES_SOME,
        types_argument=False, run=_remainder,
        undefined="by zero", may_be_none=never, size=one, interval=_remainders, items=unknown_items,
        ranges_type="bounded", order="any", linear="no",
        narrowed="", flow=COMPUTES, code="whole division",
    ),
    Builtin(
        "**", "operator", "number ** whole number",
        "Power.",
        ("2 ** 3", "8"),
        rule=_power, appended="", takes_map=False, takes_none=TAKES_SOME,
        types_argument=False, run=_raise,
        undefined="by exponent", may_be_none=never, size=one, interval=_powers, items=unknown_items,
        ranges_type="never", order="any", linear="no",
        narrowed="power", flow=COMPUTES, code="call",
    ),
    Builtin(
        "neg", "operator", "-number",
        "The number with its sign turned; of a tuple, part by part.",
        ("-(1, 2)", "(-1, -2)"),
        rule=_negation, appended="", takes_map=False, takes_none=TAKES_SOME,
        types_argument=False, run=_minus,
        undefined="never", may_be_none=never, size=one, interval=_negatives, items=unknown_items,
        ranges_type="bounded", order="any", linear="all",
        narrowed="", flow=COMPUTES, code="negation",
    ),
    Builtin(
        "==", "operator", "value == value",
        "Equal; both of one type, or none.",
        ("hand == [3, 1, 3]", "true"),
        rule=_equality, appended="", takes_map=False, takes_none=frozenset({0, 1}),
        types_argument=False, run=operator.eq,
        undefined="never", may_be_none=never, size=one, interval=truth, items=unknown_items,
        ranges_type="never", order="any", linear="no", narrowed="", flow=COMPUTES, code="equality",
    ),
    Builtin(
        "!=", "operator", "value != value",
        "Not equal.",
        ("score.ann != none", "true"),
        rule=_equality, appended="", takes_map=False, takes_none=frozenset({0, 1}),
        types_argument=False, run=operator.ne,
        undefined="never", may_be_none=never, size=one, interval=truth, items=unknown_items,
        ranges_type="never", order="any", linear="no", narrowed="", flow=COMPUTES, code="equality",
    ),
    Builtin(
        "<", "comparison", "value < value",
        f"Less, of {_ORDERED}.",
        ("2 < 3", "true"),
        rule=_order, appended="order of the values", takes_map=False, takes_none=TAKES_SOME,
        types_argument=False, run=_comparison(operator.lt),
        undefined="never", may_be_none=never, size=one, interval=truth, items=unknown_items,
        ranges_type="never", order="any", linear="no", narrowed="", flow=COMPUTES, code="order",
    ),
    Builtin(
        "<=", "comparison", "value <= value",
        "Less or equal.",
        ("2 <= 2", "true"),
        rule=_order, appended="order of the values", takes_map=False, takes_none=TAKES_SOME,
        types_argument=False, run=_comparison(operator.le),
        undefined="never", may_be_none=never, size=one, interval=truth, items=unknown_items,
        ranges_type="never", order="any", linear="no", narrowed="", flow=COMPUTES, code="order",
    ),
    Builtin(
        ">", "comparison", "value > value",
        "Greater.",
        ("small > large", "false"),
        rule=_order, appended="order of the values", takes_map=False, takes_none=TAKES_SOME,
        types_argument=False, run=_comparison(operator.gt),
        undefined="never", may_be_none=never, size=one, interval=truth, items=unknown_items,
        ranges_type="never", order="any", linear="no", narrowed="", flow=COMPUTES, code="order",
    ),
    Builtin(
        ">=", "comparison", "value >= value",
        "Greater or equal.",
        ("(1, 2) >= (1, 1)", "true"),
        rule=_order, appended="order of the values", takes_map=False, takes_none=TAKES_SOME,
        types_argument=False, run=_comparison(operator.ge),
        undefined="never", may_be_none=never, size=one, interval=truth, items=unknown_items,
        ranges_type="never", order="any", linear="no", narrowed="", flow=COMPUTES, code="order",
    ),
    Builtin(
        "not", "operator", "not truth",
        "The opposite truth value.",
        ("not full(board)", "true"),
        rule=_not, appended="", takes_map=False, takes_none=TAKES_SOME,
        types_argument=False, run=operator.not_,
        undefined="never", may_be_none=never, size=one, interval=truth, items=unknown_items,
        ranges_type="never", order="any", linear="no",
        narrowed="", flow=COMPUTES, code="(not {0})",
    ),
    Builtin(
        "is text", "operator", "value is text",
        "Whether a value that is a text or a record is a text. `value is T` is whether it is the "
        "record `T`.",
        ("note is text", "false"),
        rule=_is_text, appended="", takes_map=False, takes_none=frozenset({0}),
        types_argument=False, run=lambda value: isinstance(value, str),
        undefined="never", may_be_none=never, size=one, interval=truth, items=unknown_items,
        ranges_type="never", order="any", linear="no",
        narrowed="", flow=COMPUTES, code="isinstance({0}, str)",
    ),
    Builtin(
        "..", "operator", "whole..whole",
        "The whole numbers from one to the other.",
        ("1..3", "[1, 2, 3]"),
        rule=_range, appended="", takes_map=False, takes_none=TAKES_SOME,
        types_argument=False, run=_from_to,
        undefined="by size",
        may_be_none=never, size=_range_size, interval=no_number, items=_range_items,
        ranges_type="never", order="ascending", linear="no",
        narrowed="range", flow=COMPUTES, code="range",
    ),
    Builtin(
        "abs", "function", "abs(number)",
        "The number without its sign.",
        ("abs(2 - 5)", "3"),
        rule=_absolute, appended="", takes_map=False, takes_none=TAKES_SOME,
        types_argument=False, run=abs,
        undefined="never", may_be_none=never, size=one, interval=_magnitudes, items=unknown_items,
        ranges_type="bounded", order="any", linear="no",
        narrowed="", flow=COMPUTES, code="abs({0})",
    ),
    Builtin(
        "ceil", "function", "ceil(number)",
        "Rounded up to a whole number.",
        ("ceil(5 / 2)", "3"),
        rule=_round, appended="", takes_map=False, takes_none=TAKES_SOME,
        types_argument=False, run=ceil,
        undefined="never", may_be_none=never, size=one, interval=_rounded, items=unknown_items,
        ranges_type="never", order="any", linear="no", narrowed="", flow=COMPUTES, code="call",
    ),
    Builtin(
        "clip", "function", "clip(number, low, high)",
        "The number, moved into the range; `clip(number)` into that of where it is stored.",
        ("clip(7, 0, 5)", "5"),
        rule=_clip, appended="", takes_map=False, takes_none=TAKES_SOME,
        types_argument=False, run=_clipped,
        undefined="never", may_be_none=never, size=one, interval=_clips, items=unknown_items,
        ranges_type="always", order="any", linear="no", narrowed="", flow=COMPUTES, code="call",
    ),
    Builtin(
        "distance", "function", "distance(cell, cell)",
        "Steps from one cell to another, along rows and columns.",
        ("distance((0, 0), (1, 2))", "3"),
        rule=_distance, appended="", takes_map=False, takes_none=TAKES_SOME,
        types_argument=False, run=_far,
        undefined="never", may_be_none=never, size=one, interval=_distances, items=unknown_items,
        ranges_type="never", order="any", linear="no", narrowed="", flow=COMPUTES, code="call",
    ),
    Builtin(
        "floor", "function", "floor(number)",
        "Rounded down to a whole number.",
        ("floor(5 / 2)", "2"),
        rule=_round, appended="", takes_map=False, takes_none=TAKES_SOME,
        types_argument=False, run=floor,
        undefined="never", may_be_none=never, size=one, interval=_rounded, items=unknown_items,
        ranges_type="never", order="any", linear="no", narrowed="", flow=COMPUTES, code="call",
    ),
    Builtin(
        "index", "function", "index(role)",
        "The place of a role among the roles, or of a value in its enum, from 0.",
        ("index(bob)", "1"),
        rule=_position, appended="order of the type", takes_map=False, takes_none=TAKES_SOME,
        types_argument=False, run=_place,
        undefined="never", may_be_none=never, size=one, interval=_places, items=unknown_items,
        ranges_type="bounded", order="any", linear="no", narrowed="", flow=COMPUTES, code="index",
    ),
    Builtin(
        "other", "function", "other(role)",
        "The other of two roles.",
        ("other(ann)", "bob"),
        rule=_seat, appended="order of the type", takes_map=False, takes_none=TAKES_SOME,
        types_argument=False, run=_other,
        undefined="never", may_be_none=never, size=one, interval=no_number, items=unknown_items,
        ranges_type="never", order="any", linear="no",
        narrowed="", flow=ValueFlow("values", "others", False), code="other",
    ),
    Builtin(
        "others", "function", "others(role)",
        "All roles but this one, in order.",
        ("others(ann)", "[bob]"),
        rule=_seats, appended="order of the type", takes_map=False, takes_none=TAKES_SOME,
        types_argument=False, run=_others,
        undefined="never", may_be_none=never, size=_others_size, interval=no_number, items=_roles,
        ranges_type="never", order="distinct", linear="no",
        narrowed="", flow=ValueFlow("values", "others", False), code="other",
    ),
    Builtin(
        "sign", "function", "sign(number)",
        "-1, 0 or 1.",
        ("sign(2 - 5)", "-1"),
        rule=_round, appended="", takes_map=False, takes_none=TAKES_SOME,
        types_argument=False, run=lambda x: (x > 0) - (x < 0),
        undefined="never", may_be_none=never, size=one, interval=_signs, items=unknown_items,
        ranges_type="never", order="any", linear="no", narrowed="", flow=COMPUTES, code="call",
    ),
    Builtin(
        "value_of", "function", "value_of(name)",
        "What a name of a `values` type stands for; of a collection or map, what each name does.",
        ("value_of(jack)", "10"),
        rule=_named, appended="values of the type", takes_map=True, takes_none=frozenset({0}),
        types_argument=False, run=_valued,
        undefined="never", may_be_none=_has_none, size=_valued_size, interval=_worth,
        items=_valued_items, ranges_type="always", order="any", linear="no",
        narrowed="", flow=COMPUTES, code="value",
    ),
)  # fmt: skip
