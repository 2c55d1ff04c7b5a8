"""Rows of the table of built-ins: functions of collections and maps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import chain
from typing import Any, assert_never

from gamedsl.ir.abstract_values import (
    NATURAL,
    AbstractValue,
    Interval,
    joined,
    number_in,
    record_of,
)
from gamedsl.ir.builtins_base import (
    COMPUTES,
    MAX_ITEMS,
    TAKES_SOME,
    Arguments,
    Builtin,
    Rule,
    UndefinedError,
    ValueFlow,
    all_numbers,
    all_whole,
    always,
    any_number,
    as_large,
    element,
    exact,
    inner_items,
    is_item_none,
    is_ordered,
    item_number,
    item_size,
    never,
    no_number,
    one,
    ranking,
    same_items,
    truth,
    unbounded,
    unknown_items,
    values,
)
from gamedsl.ir.expr import CHAIN
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
    Record,
    Seat,
    Set,
    Text,
    Tuple,
    Type,
    Union,
    has_text,
    join,
    plain,
    range_type,
)
from gamedsl.ir.values import Bag as BagValue


def inner_of(types: tuple[Type, ...]) -> Type | None:
    """Returns the element type of the only argument."""
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
        if len(types) == 2:  # values of a comprehension, and its elements
            inner, key = inner_of(types[:1]), inner_of(types[1:])
            if key is None or not may_be_member(key):
                return None
        else:
            inner, key = inner_of(types), _key(types[0]) if types else None
        if inner is None or key is None or not is_ordered(inner, True):
            return None
        return result(key)

    return rule


def _of_modes(result: Callable[[Type], Type]) -> Rule:
    def rule(types: tuple[Type, ...]) -> Type | None:
        inner = inner_of(types)
        if inner is None or isinstance(inner, Option | NoneType) or has_text(inner):
            return None
        return result(inner) if may_be_member(inner) else None

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
        case Bool() | Number() | Enum() | Seat() | NoneType() | Text() | Union() | Never():
            return True
        case _:
            assert_never(type)


def _two_sets(types: tuple[Type, ...]) -> Type | None:
    if len(types) != 2 or not all(isinstance(t, Set) for t in types):
        return None
    return join(*types)


def _pairs(types: tuple[Type, ...]) -> Type | None:
    inner = [element(t) for t in types]
    known = tuple(t for t in inner if t is not None)
    return List(Tuple(known)) if len(known) == len(types) == 2 else None


def _chained(types: tuple[Type, ...]) -> Type | None:
    lists = inner_of(types)
    return List(lists.of) if isinstance(lists, List) else None


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
            return choose(items, key=ranking(more[0]))
        return choose(items)

    return run


def _ranks(of: Any, more: tuple[Any, ...]) -> tuple[list[Any], list[Any]]:
    """Returns the keys of a map, or the elements that stand beside a list of values, and parallel
    to them the ranks of the values; an order of values may come last."""
    if isinstance(of, dict):
        return list(of), list(map(ranking(more[0] if more else None), of.values()))
    keys, *order = more
    if len(keys) != len(of):
        raise ValueError(f"{len(of)} values stand beside {len(keys)} elements")
    return list(keys), list(map(ranking(order[0] if order else None), of))


def _leaders(of: Any, more: tuple[Any, ...]) -> list[Any]:
    """Returns the keys whose value ranks highest, in the order of the keys."""
    keys, ranks = _ranks(of, more)
    if not ranks:
        raise UndefinedError("the best of nothing")
    top = max(ranks)
    return [key for key, rank in zip(keys, ranks, strict=True) if rank == top]


def _best(of: Any, *more: Any) -> frozenset[Any]:
    return frozenset(_leaders(of, more))


def _modes(collection: Any) -> frozenset[Any]:
    counts = Counter(values(collection))
    if None in counts:
        raise TypeError("none is no value")
    most = max(counts.values(), default=0)
    return frozenset(value for value, count in counts.items() if count == most)


def _most(collection: Any) -> Any:
    found = _modes(collection)
    return next(iter(found)) if len(found) == 1 else None


def _ranked(of: Any, *more: Any) -> tuple[Any, ...]:
    keys, ranks = _ranks(of, more)
    pairs = sorted(zip(keys, ranks, strict=True), key=lambda pair: pair[1], reverse=True)
    return tuple(key for key, _ in pairs)


def _argmax(of: Any, *more: Any) -> Any:
    leaders = _leaders(of, more)
    return leaders[0] if len(leaders) == 1 else None


def _counted(collection: Any, *wanted: Any) -> int:
    items = values(collection)
    return sum(item == wanted[0] for item in items) if wanted else sum(items)


def _length(collection: Any) -> int:
    return collection.total if isinstance(collection, BagValue) else len(collection)


def _sorted(collection: Any, order: tuple[Any, ...] | None = None) -> tuple[Any, ...]:
    return tuple(sorted(values(collection), key=ranking(order)))


def _keys_of(map: dict[Any, Any]) -> tuple[Any, ...]:
    if isinstance(map, BagValue):
        return values(frozenset(map))
    return tuple(map)


def _united(a: frozenset[Any], b: frozenset[Any]) -> frozenset[Any]:
    if len(a) + len(b) > MAX_ITEMS:
        raise UndefinedError(f"a set of more than {MAX_ITEMS:,} items")
    return a | b


def _chain(lists: tuple[tuple[Any, ...], ...]) -> tuple[Any, ...]:
    if sum(map(len, lists)) > MAX_ITEMS:
        raise UndefinedError(f"a list of more than {MAX_ITEMS:,} items")
    return tuple(chain.from_iterable(lists))


def _size_of_all(arguments: Arguments) -> int | None:
    """The items of all lists in the first argument."""
    size, each = arguments[0].size, arguments[0].item.size
    return None if size is None or each is None else size * each


def _counts(arguments: Arguments) -> Interval:
    """From 0 to the size of the first argument."""
    size = arguments[0].size
    return NATURAL if size is None else Interval(0, size, True)


def _totals(arguments: Arguments) -> Interval:
    return arguments[0].item.number * _counts(arguments)


def _averages(arguments: Arguments) -> Interval:
    return replace(arguments[0].item.number, whole=False)


def _greatest(arguments: Arguments) -> Interval:
    numbers = [argument.number for argument in arguments]
    if len(numbers) == 1:
        return item_number(arguments)
    whole = all(n.whole for n in numbers)
    return Interval(max(n.low for n in numbers), max(n.high for n in numbers), whole)


def _least(arguments: Arguments) -> Interval:
    numbers = [argument.number for argument in arguments]
    if len(numbers) == 1:
        return item_number(arguments)
    whole = all(n.whole for n in numbers)
    return Interval(min(n.low for n in numbers), min(n.high for n in numbers), whole)


def _extreme_size(arguments: Arguments) -> int | None:
    return 1 if len(arguments) > 1 else item_size(arguments)


def _slot_items(arguments: Arguments) -> AbstractValue:
    size = arguments[0].size
    return number_in(NATURAL if size is None else Interval(0, max(size - 1, 0), True))


def _smaller_size(arguments: Arguments) -> int | None:
    return min((a.size for a in arguments if a.size is not None), default=None)


def _added_sizes(arguments: Arguments) -> int | None:
    sizes = [argument.size for argument in arguments if argument.size is not None]
    return sum(sizes) if len(sizes) == len(arguments) else None


def _all_items(arguments: Arguments) -> AbstractValue:
    return joined(argument.item for argument in arguments)


def _paired_items(arguments: Arguments) -> AbstractValue:
    return record_of(argument.item for argument in arguments)


ROWS = (
    Builtin(
        "in", "operator", "value in collection",
        "Is an element of a collection, or a field of a record.",
        ("1 in hand", "true"),
        rule=_membership, appended="", takes_map=False, takes_none=frozenset({0}),
        types_argument=False, run=_holds,
        undefined="never", may_be_none=never, size=one, interval=truth, items=unknown_items,
        ranges_type="never", order="any", linear="no",
        narrowed="members", flow=COMPUTES, code="membership",
    ),
    Builtin(
        "not in", "operator", "value not in collection",
        "Is no element.",
        ("2 not in hand", "true"),
        rule=_membership, appended="", takes_map=False, takes_none=frozenset({0}),
        types_argument=False, run=lambda value, collection: not _holds(value, collection),
        undefined="never", may_be_none=never, size=one, interval=truth, items=unknown_items,
        ranges_type="never", order="any", linear="no",
        narrowed="members", flow=COMPUTES, code="membership",
    ),
    Builtin(
        CHAIN, "operator", "item for x in collection for y in collection if test",
        "The items of several loops, each inside the one before it, as one list.",
        ("[10 * x + y for x in 1..2 for y in x..2]", "[11, 12, 22]"),
        rule=_chained, appended="", takes_map=False, takes_none=TAKES_SOME,
        types_argument=False, run=_chain,
        undefined="never",
        may_be_none=never, size=_size_of_all, interval=no_number, items=inner_items,
        ranges_type="never", order="any", linear="all",
        narrowed="", flow=ValueFlow("values", "all", False), code="chain",
    ),
    Builtin(
        "all", "function", "all(truths)",
        "Whether every element is true.",
        ("all(x > 0 for x in hand)", "true"),
        rule=_truths, appended="", takes_map=True, takes_none=TAKES_SOME,
        types_argument=False, run=lambda truths: all(_all_truths(truths)),
        undefined="never", may_be_none=never, size=one, interval=truth, items=unknown_items,
        ranges_type="never", order="any", linear="no",
        narrowed="", flow=COMPUTES, code="quantifier",
    ),
    Builtin(
        "any", "function", "any(truths)",
        "Whether some element is true.",
        ("any(x > 3 for x in hand)", "false"),
        rule=_truths, appended="", takes_map=True, takes_none=TAKES_SOME,
        types_argument=False, run=lambda truths: any(_all_truths(truths)),
        undefined="never", may_be_none=never, size=one, interval=truth, items=unknown_items,
        ranges_type="never", order="any", linear="no",
        narrowed="", flow=COMPUTES, code="quantifier",
    ),
    Builtin(
        "argmax", "function", "argmax(values per role)",
        "The role with the greatest value; none on a tie. `argmax(value for x in xs)`: the `x` for "
        "which the value is greatest.",
        ("argmax(score)", "bob"),
        rule=_of_best(Option), appended="order of the values", takes_map=True,
        takes_none=TAKES_SOME, types_argument=False, run=_argmax,
        undefined="of nothing",
        may_be_none=always, size=one, interval=any_number, items=unknown_items,
        ranges_type="never", order="any", linear="no", narrowed="", flow=COMPUTES, code="call",
    ),
    Builtin(
        "best", "function", "best(values per role)",
        "The set of roles with the greatest value. `best(value for x in xs)`: of the `x` for which "
        "the value is greatest.",
        ("best(score)", "set([bob])"),
        rule=_of_best(Set), appended="order of the values", takes_map=True, takes_none=TAKES_SOME,
        types_argument=False, run=_best,
        undefined="of nothing",
        may_be_none=never, size=as_large, interval=no_number, items=unknown_items,
        ranges_type="never", order="distinct", linear="no",
        narrowed="", flow=COMPUTES, code="call",
    ),
    Builtin(
        "count", "function", "count(collection, value) or count(truths)",
        "How many elements equal the value, or are true; `count(x for x in xs if test)`: "
        "how many pass.",
        ("count(hand, 3)", "2"),
        rule=_count, appended="", takes_map=True, takes_none=frozenset({1}),
        types_argument=False, run=_counted,
        undefined="never", may_be_none=never, size=one, interval=_counts, items=unknown_items,
        ranges_type="never", order="any", linear="no", narrowed="", flow=COMPUTES, code="count",
    ),
    Builtin(
        "difference", "function", "difference(set, set)",
        "The elements of the first, not of the second.",
        ("difference(set(hand), set([3]))", "set([1])"),
        rule=_two_sets, appended="", takes_map=False, takes_none=TAKES_SOME,
        types_argument=False, run=lambda a, b: a - b,
        undefined="never", may_be_none=never, size=as_large, interval=no_number, items=same_items,
        ranges_type="never", order="distinct", linear="no",
        narrowed="", flow=ValueFlow("values", "first", False),
        code="({0} - {1})",
    ),
    Builtin(
        "first", "function", "first(list)",
        "The first item; none if there is none.",
        ("first(hand)", "3"),
        rule=_end, appended="", takes_map=False, takes_none=TAKES_SOME,
        types_argument=False, run=lambda items: items[0] if items else None,
        undefined="never",
        may_be_none=always, size=item_size, interval=item_number, items=inner_items,
        ranges_type="never", order="any", linear="no",
        narrowed="", flow=ValueFlow("places", "first", False), code="end",
    ),
    Builtin(
        "intersection", "function", "intersection(set, set)",
        "The elements that both have.",
        ("intersection(set(hand), set([3, 5]))", "set([3])"),
        rule=_two_sets, appended="", takes_map=False, takes_none=TAKES_SOME,
        types_argument=False, run=lambda a, b: a & b,
        undefined="never",
        may_be_none=never, size=_smaller_size, interval=no_number, items=same_items,
        ranges_type="never", order="distinct", linear="no",
        narrowed="", flow=ValueFlow("values", "first", False),
        code="({0} & {1})",
    ),
    Builtin(
        "keys", "function", "keys(map)",
        "What a map has values for; the different elements of a bag.",
        ("keys(score)", "[ann, bob]"),
        rule=_keys, appended="", takes_map=True, takes_none=TAKES_SOME,
        types_argument=False, run=_keys_of,
        undefined="never",
        may_be_none=never, size=as_large, interval=no_number, items=unknown_items,
        ranges_type="never", order="distinct", linear="no",
        narrowed="", flow=COMPUTES, code="call",
    ),
    Builtin(
        "last", "function", "last(list)",
        "The last item; none if there is none.",
        ("last(hand)", "3"),
        rule=_end, appended="", takes_map=False, takes_none=TAKES_SOME,
        types_argument=False, run=lambda items: items[-1] if items else None,
        undefined="never",
        may_be_none=always, size=item_size, interval=item_number, items=inner_items,
        ranges_type="never", order="any", linear="no",
        narrowed="", flow=ValueFlow("places", "first", False), code="end",
    ),
    Builtin(
        "len", "function", "len(collection)",
        "The number of elements.",
        ("len(hand)", "3"),
        rule=_size, appended="", takes_map=True, takes_none=TAKES_SOME,
        types_argument=False, run=_length,
        undefined="never", may_be_none=never, size=one, interval=_counts, items=unknown_items,
        ranges_type="bounded", order="any", linear="no",
        narrowed="", flow=ValueFlow("length", "new", False), code="size",
    ),
    Builtin(
        "list", "function", "list(collection)",
        "The elements as a list.",
        ("list(score)", "[2, 5]"),
        rule=_listed, appended="", takes_map=True, takes_none=TAKES_SOME,
        types_argument=True, run=values,
        undefined="never", may_be_none=never, size=as_large, interval=no_number, items=same_items,
        ranges_type="never", order="any", linear="no",
        narrowed="", flow=ValueFlow("places", "first", True), code="list",
    ),
    Builtin(
        "max", "function", "max(collection) or max(number, number, …)",
        "The greatest.",
        ("max(hand)", "3"),
        rule=_extreme, appended="order of the values", takes_map=True, takes_none=TAKES_SOME,
        types_argument=True, run=_extremum(max, "maximum"),
        undefined="of nothing",
        may_be_none=is_item_none, size=_extreme_size, interval=_greatest, items=inner_items,
        ranges_type="bounded", order="any", linear="no",
        narrowed="", flow=ValueFlow("values", "first", False), code="extreme",
    ),
    Builtin(
        "mean", "function", "mean(numbers)",
        "The average; of truth values, their share.",
        ("mean([1, 2])", "1.5"),
        rule=_average, appended="", takes_map=True, takes_none=TAKES_SOME,
        types_argument=False, run=_mean,
        undefined="of nothing",
        may_be_none=never, size=one, interval=_averages, items=unknown_items,
        ranges_type="never", order="any", linear="all", narrowed="", flow=COMPUTES, code="call",
    ),
    Builtin(
        "min", "function", "min(collection) or min(number, number, …)",
        "The least.",
        ("min(4, 2)", "2"),
        rule=_extreme, appended="order of the values", takes_map=True, takes_none=TAKES_SOME,
        types_argument=True, run=_extremum(min, "minimum"),
        undefined="of nothing",
        may_be_none=is_item_none, size=_extreme_size, interval=_least, items=inner_items,
        ranges_type="bounded", order="any", linear="no",
        narrowed="", flow=ValueFlow("values", "first", False), code="extreme",
    ),
    Builtin(
        "modes", "function", "modes(collection)",
        "The set of the elements that occur most often; empty of nothing.",
        ("modes(hand)", "set([3])"),
        rule=_of_modes(Set), appended="", takes_map=True, takes_none=TAKES_SOME,
        types_argument=False, run=_modes,
        undefined="never", may_be_none=never, size=as_large, interval=no_number, items=same_items,
        ranges_type="never", order="distinct", linear="no",
        narrowed="", flow=ValueFlow("values", "first", False), code="call",
    ),
    Builtin(
        "most", "function", "most(collection)",
        "The element that occurs most often; none on a tie, and of nothing.",
        ("most(hand)", "3"),
        rule=_of_modes(Option), appended="", takes_map=True, takes_none=TAKES_SOME,
        types_argument=False, run=_most,
        undefined="never",
        may_be_none=always, size=item_size, interval=item_number, items=inner_items,
        ranges_type="never", order="any", linear="no",
        narrowed="", flow=ValueFlow("values", "first", False), code="call",
    ),
    Builtin(
        "past", "function", "past(variable)",
        "The list of what steps bound so far, the latest included.",
        ("past(bid)", "[bid]"),
        rule=lambda types: None, appended="", takes_map=False, takes_none=TAKES_SOME,
        types_argument=False, run=lambda bindings: bindings,
        undefined="never", may_be_none=never, size=as_large, interval=no_number, items=same_items,
        ranges_type="never", order="any", linear="no",
        narrowed="", flow=ValueFlow("places", "first", True), code="call",
    ),
    Builtin(
        "prev", "function", "prev(variable)",
        "What was bound before the latest; none if nothing was.",
        ("prev(bid)", "none"),
        rule=lambda types: None, appended="", takes_map=False, takes_none=TAKES_SOME,
        types_argument=False, run=lambda bindings: bindings[-2] if len(bindings) > 1 else None,
        undefined="never",
        may_be_none=always, size=item_size, interval=item_number, items=inner_items,
        ranges_type="never", order="any", linear="no",
        narrowed="", flow=ValueFlow("places", "first", False), code="call",
    ),
    Builtin(
        "ranked", "function", "ranked(values per role)",
        "The roles, that with the greatest value first; of equal ones, the earlier. "
        "`ranked(value for x in xs)`: the elements of `xs`.",
        ("ranked(score)", "[bob, ann]"),
        rule=_of_best(List), appended="order of the values", takes_map=True, takes_none=TAKES_SOME,
        types_argument=False, run=_ranked,
        undefined="never",
        may_be_none=never, size=as_large, interval=no_number, items=unknown_items,
        ranges_type="never", order="distinct", linear="no",
        narrowed="", flow=COMPUTES, code="call",
    ),
    Builtin(
        "reversed", "function", "reversed(list)",
        "The list from its end.",
        ("reversed(1..3)", "[3, 2, 1]"),
        rule=_reversal, appended="", takes_map=False, takes_none=TAKES_SOME,
        types_argument=True, run=lambda items: items[::-1],
        undefined="never", may_be_none=never, size=as_large, interval=no_number, items=same_items,
        ranges_type="never", order="any", linear="no",
        narrowed="", flow=ValueFlow("places", "first", True),
        code="{0}[::-1]",
    ),
    Builtin(
        "set", "function", "set(collection)",
        "The different elements.",
        ("len(set(hand))", "2"),
        rule=_unique, appended="", takes_map=True, takes_none=TAKES_SOME,
        types_argument=True, run=lambda collection: frozenset(values(collection)),
        undefined="never", may_be_none=never, size=as_large, interval=no_number, items=same_items,
        ranges_type="never", order="distinct", linear="no",
        narrowed="", flow=ValueFlow("values", "first", False), code="set",
    ),
    Builtin(
        "size", "function", "size(collection)",
        "The number of elements, as `len`.",
        ("size(set(hand))", "2"),
        rule=_size, appended="", takes_map=True, takes_none=TAKES_SOME,
        types_argument=False, run=_length,
        undefined="never", may_be_none=never, size=one, interval=_counts, items=unknown_items,
        ranges_type="bounded", order="any", linear="no",
        narrowed="", flow=ValueFlow("length", "new", False), code="size",
    ),
    Builtin(
        "slots", "function", "slots(list)",
        "The indices of a list: from 0 to its length less one.",
        ("slots(hand)", "[0, 1, 2]"),
        rule=_slots, appended="", takes_map=False, takes_none=TAKES_SOME,
        types_argument=False, run=lambda items: tuple(range(len(items))),
        undefined="never", may_be_none=never, size=as_large, interval=no_number, items=_slot_items,
        ranges_type="never", order="ascending", linear="no", narrowed="",
        flow=ValueFlow("length", "new", True), code="slots",
    ),
    Builtin(
        "sorted", "function", "sorted(collection)",
        "The elements, the least first.",
        ("sorted(hand)", "[1, 3, 3]"),
        rule=_in_order, appended="order of the values", takes_map=True, takes_none=TAKES_SOME,
        types_argument=True, run=_sorted,
        undefined="never", may_be_none=never, size=as_large, interval=no_number, items=same_items,
        ranges_type="never", order="any", linear="no",
        narrowed="", flow=ValueFlow("values", "first", True), code="call",
    ),
    Builtin(
        "sum", "function", "sum(numbers)",
        "The sum; of nothing, 0.",
        ("sum(hand)", "7"),
        rule=_sum, appended="", takes_map=True, takes_none=TAKES_SOME,
        types_argument=False, run=_total,
        undefined="never", may_be_none=never, size=one, interval=_totals, items=unknown_items,
        ranges_type="never", order="any", linear="all", narrowed="", flow=COMPUTES, code="sum",
    ),
    Builtin(
        "union", "function", "union(set, set)",
        "The elements that one of them has.",
        ("union(set(hand), set([2]))", "set(1..3)"),
        rule=_two_sets, appended="", takes_map=False, takes_none=TAKES_SOME,
        types_argument=False, run=_united,
        undefined="never",
        may_be_none=never, size=_added_sizes, interval=no_number, items=_all_items,
        ranges_type="never", order="distinct", linear="no",
        narrowed="", flow=ValueFlow("values", "all", False), code="call",
    ),
    Builtin(
        "zip", "function", "zip(collection, collection)",
        "The pairs of their first elements, their second, and so on, while both have one.",
        ("zip([1, 2], hand)", "[(1, 3), (2, 1)]"),
        rule=_pairs, appended="", takes_map=False, takes_none=TAKES_SOME,
        types_argument=False, run=lambda a, b: tuple(zip(values(a), values(b), strict=False)),
        undefined="never",
        may_be_none=never, size=_smaller_size, interval=no_number, items=_paired_items,
        ranges_type="never", order="any", linear="no", narrowed="", flow=COMPUTES, code="call",
    ),
)  # fmt: skip
