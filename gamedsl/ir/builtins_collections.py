"""Rows of the table of built-ins: functions of collections and maps."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from gamedsl.ir.builtins_base import (
    MAX_ITEMS,
    Builtin,
    Rule,
    UndefinedError,
    all_numbers,
    all_whole,
    element,
    exact,
    is_ordered,
    ranked,
    unbounded,
    values,
)
from gamedsl.ir.types import (
    BOOL,
    NUMBER,
    SEAT,
    WHOLE,
    Bag,
    Bool,
    Grid,
    List,
    Never,
    Number,
    Option,
    PerSeat,
    PerValue,
    Record,
    Set,
    Tuple,
    Type,
    has_text,
    join,
    plain,
    range_type,
)
from gamedsl.ir.values import Bag as BagValue


def inner_of(types: tuple[Type, ...]) -> Type | None:
    """What the only argument is a collection of."""
    return element(types[0]) if len(types) == 1 else None


def fields_of(type: Type) -> tuple[Type, ...]:
    """The types of what `in` looks through: the fields of a record or tuple, or the elements."""
    if isinstance(type, Record):
        return type.types
    if isinstance(type, Tuple):
        return type.of
    inner = element(type)
    return () if inner is None else (inner,)


def _membership(types: tuple[Type, ...]) -> Type | None:
    if len(types) != 2:
        return None
    found = any(join(types[0], part) for part in fields_of(types[1]))
    return BOOL if found and not has_text(types[0]) else None


def _size(types: tuple[Type, ...]) -> Type | None:
    return WHOLE if inner_of(types) is not None else None


def _sum(types: tuple[Type, ...]) -> Type | None:
    inner = inner_of(types)
    return unbounded(inner) if isinstance(inner, Number | Never) else None


def _average(types: tuple[Type, ...]) -> Type | None:
    return NUMBER if isinstance(inner_of(types), Number | Bool | Never) else None


def _truths(types: tuple[Type, ...]) -> Type | None:
    return BOOL if isinstance(inner_of(types), Bool | Never) else None


def _extreme(types: tuple[Type, ...]) -> Type | None:
    if len(types) == 1:
        inner = element(types[0])
        return inner if inner is not None and is_ordered(inner, True) else None
    if len(types) < 2 or not all_numbers(types):
        return None
    return WHOLE if all_whole(types) else NUMBER


def _count(types: tuple[Type, ...]) -> Type | None:
    inner = element(types[0]) if types else None
    if len(types) == 1:
        return WHOLE if isinstance(inner, Bool | Never) else None
    known = len(types) == 2 and inner is not None and join(inner, types[1]) is not None
    return WHOLE if known and not has_text(types[1]) else None


def _key(type: Type) -> Type | None:
    if isinstance(type, PerSeat):
        return SEAT
    return type.key if isinstance(type, PerValue) else None


def _of_best(result: Callable[[Type], Type]) -> Rule:
    def rule(types: tuple[Type, ...]) -> Type | None:
        inner, key = inner_of(types), _key(types[0]) if types else None
        if inner is None or key is None or not is_ordered(inner, True):
            return None
        return result(key)

    return rule


def _keys(types: tuple[Type, ...]) -> Type | None:
    if len(types) == 1 and isinstance(types[0], Bag):
        return List(types[0].of)
    key = _key(types[0]) if len(types) == 1 else None
    return key and List(key)


def _slots(types: tuple[Type, ...]) -> Type | None:
    if len(types) != 1 or not isinstance(types[0], List):
        return None
    bound = types[0].at_most if types[0].length is None else types[0].length
    return List(range_type(0, max(bound - 1, 0)) if bound is not None else WHOLE)


def _listed(types: tuple[Type, ...]) -> Type | None:
    inner = inner_of(types)
    if inner is None:
        return None
    known = isinstance(types[0], List) and types[0]
    return List(inner, known.length, known.at_most) if known else List(inner)


def _in_order(types: tuple[Type, ...]) -> Type | None:
    inner = inner_of(types)
    return _listed(types) if inner is not None and is_ordered(inner, True) else None


def _reversal(types: tuple[Type, ...]) -> Type | None:
    return types[0] if len(types) == 1 and isinstance(types[0], List) else None


def _unique(types: tuple[Type, ...]) -> Type | None:
    inner = inner_of(types)
    return None if inner is None or not may_be_member(inner) else Set(inner)


def may_be_member(type: Type) -> bool:
    """Whether values of a type may be in a set: no maps and bags."""
    match type:
        case PerSeat() | PerValue() | Bag():
            return False
        case List(of=of) | Set(of=of) | Option(of=of) | Grid(of=of):
            return may_be_member(of)
        case Tuple() | Record():
            return all(map(may_be_member, fields_of(type)))
    return True


def _two_sets(types: tuple[Type, ...]) -> Type | None:
    if len(types) != 2 or not all(isinstance(t, Set) for t in types):
        return None
    return join(*types)


def _pairs(types: tuple[Type, ...]) -> Type | None:
    inner = [element(t) for t in types]
    known = tuple(t for t in inner if t is not None)
    return List(Tuple(known)) if len(known) == len(types) == 2 else None


def _end(types: tuple[Type, ...]) -> Type | None:
    inner = inner_of(types)
    return Option(plain(inner)) if inner is not None and isinstance(types[0], List) else None


def _holds(value: Any, collection: Any) -> bool:
    if isinstance(collection, frozenset | BagValue):
        return value in collection
    return value in values(collection)


def _all_truths(collection: Any) -> tuple[bool, ...]:
    items = values(collection)
    if None in items:
        raise TypeError("none is no truth value")
    return items


def _total(collection: Any) -> int | Fraction:
    return exact(sum(values(collection)))


def _mean(collection: Any) -> Any:
    items = values(collection)
    if not items:
        raise UndefinedError("the mean of nothing")
    return exact(Fraction(sum(items)) / len(items))


def _extremum(choose: Callable[..., Any], word: str) -> Callable[..., Any]:
    def run(first: Any, *more: Any) -> Any:
        if isinstance(first, int | Fraction):
            return choose((first, *more))
        items = values(first)
        if not items:
            raise UndefinedError(f"the {word} of nothing")
        if more:
            return choose(items, key=lambda value: ranked(value, more[0]))
        return choose(items)

    return run


def _best(map: dict[Any, Any], order: tuple[Any, ...] | None = None) -> frozenset[Any]:
    ranks = {key: ranked(value, order) for key, value in map.items()}
    if not ranks:
        raise UndefinedError("the best of nothing")
    top = max(ranks.values())
    return frozenset(key for key, rank in ranks.items() if rank == top)


def _ranked(map: dict[Any, Any], order: tuple[Any, ...] | None = None) -> tuple[Any, ...]:
    return tuple(sorted(map, key=lambda key: ranked(map[key], order), reverse=True))


def _argmax(map: dict[Any, Any], order: tuple[Any, ...] | None = None) -> Any:
    top = _best(map, order)
    return next(iter(top)) if len(top) == 1 else None


def _counted(collection: Any, *wanted: Any) -> int:
    items = values(collection)
    return sum(item == wanted[0] for item in items) if wanted else sum(items)


def _length(collection: Any) -> int:
    return collection.total if isinstance(collection, BagValue) else len(collection)


def _sorted(collection: Any, order: tuple[Any, ...] | None = None) -> tuple[Any, ...]:
    return tuple(sorted(values(collection), key=lambda value: ranked(value, order)))


def _keys_of(map: dict[Any, Any]) -> tuple[Any, ...]:
    if isinstance(map, BagValue):
        return values(frozenset(map))
    return tuple(map)


def _united(a: frozenset[Any], b: frozenset[Any]) -> frozenset[Any]:
    if len(a) + len(b) > MAX_ITEMS:
        raise UndefinedError(f"a set of more than {MAX_ITEMS:,} items")
    return a | b


ROWS = (
    Builtin("in", "value in collection",
            "Is an element of a collection, or a field of a record.", _membership, _holds),
    Builtin("not in", "value not in collection", "Is no element.", _membership,
            lambda value, collection: not _holds(value, collection)),
    Builtin("all", "all(truths)", "Whether every element is true.", _truths,
            lambda truths: all(_all_truths(truths))),
    Builtin("any", "any(truths)", "Whether some element is true.", _truths,
            lambda truths: any(_all_truths(truths))),
    Builtin("argmax", "argmax(values per role)",
            "The role with the greatest value; none on a tie.", _of_best(Option), _argmax),
    Builtin("best", "best(values per role)", "The set of roles with the greatest value.",
            _of_best(Set), _best),
    Builtin("count", "count(collection, value) or count(truths)",
            "How many elements equal the value, or are true; `count(x for x in xs if test)`: how "
            "many pass.", _count, _counted),
    Builtin("difference", "difference(set, set)", "The elements of the first, not of the second.",
            _two_sets, lambda a, b: a - b),
    Builtin("first", "first(list)", "The first item; none if there is none.", _end,
            lambda items: items[0] if items else None),
    Builtin("intersection", "intersection(set, set)", "The elements that both have.", _two_sets,
            lambda a, b: a & b),
    Builtin("keys", "keys(map)", "What a map has values for; the different elements of a bag.",
            _keys, _keys_of),
    Builtin("last", "last(list)", "The last item; none if there is none.", _end,
            lambda items: items[-1] if items else None),
    Builtin("len", "len(collection)", "The number of elements.", _size, _length),
    Builtin("list", "list(collection)", "The elements as a list.", _listed, values),
    Builtin("max", "max(collection) or max(number, number, …)", "The greatest.", _extreme,
            _extremum(max, "maximum")),
    Builtin("mean", "mean(numbers)", "The average; of truth values, their share.", _average, _mean),
    Builtin("min", "min(collection) or min(number, number, …)", "The least.", _extreme,
            _extremum(min, "minimum")),
    Builtin("past", "past(variable)", "The list of what steps bound so far, the latest included.",
            lambda types: None, lambda bindings: bindings),
    Builtin("prev", "prev(variable)", "What was bound before the latest; none if nothing was.",
            lambda types: None, lambda bindings: bindings[-2] if len(bindings) > 1 else None),
    Builtin("ranked", "ranked(values per role)",
            "The roles, that with the greatest value first; of equal ones, the earlier.",
            _of_best(List), _ranked),
    Builtin("reversed", "reversed(list)", "The list from its end.", _reversal,
            lambda items: items[::-1]),
    Builtin("set", "set(collection)", "The different elements.", _unique,
            lambda collection: frozenset(values(collection))),
    Builtin("size", "size(collection)", "The number of elements, as `len`.", _size, _length),
    Builtin("slots", "slots(list)", "The indices of a list: from 0 to its length less one.",
            _slots, lambda items: tuple(range(len(items)))),
    Builtin("sorted", "sorted(collection)", "The elements, the least first.", _in_order, _sorted),
    Builtin("sum", "sum(numbers)", "The sum; of nothing, 0.", _sum, _total),
    Builtin("union", "union(set, set)", "The elements that one of them has.", _two_sets, _united),
    Builtin("zip", "zip(collection, collection)",
            "The pairs of their first elements, their second, and so on, while both have one.",
            _pairs, lambda a, b: tuple(zip(values(a), values(b), strict=False))),
)  # fmt: skip
