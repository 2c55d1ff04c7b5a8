"""Support for generated modules: small functions on values, exact or raising.

Each does what the reference does wherever that has a value. Without a value, or if deciding would
take long, it raises any exception (`ReplayError` if no other comes by itself), upon which the
reference backend decides. See `gamedsl.engine.codegen`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

from gamedsl.diagnostics.spans import Source, Span
from gamedsl.engine.chance import Lottery, Single, equally, weighted
from gamedsl.engine.storage import misfit, nested, part, stored, with_less, with_more
from gamedsl.ir.builtins import BUILTINS, exact, values
from gamedsl.ir.builtins_base import MAX_BITS
from gamedsl.ir.builtins_grids import lanes
from gamedsl.ir.graphs import Graph, NodeSet, graph_of, is_connected
from gamedsl.ir.types import Type
from gamedsl.ir.value_names import texts_name
from gamedsl.ir.values import Bag, name_of

__all__ = [
    "EMPTY",
    "NO_CELLS",
    "Bag",
    "FromBag",
    "ReplayError",
    "UNKNOWN",
    "at_cell",
    "at_most",
    "beyond",
    "cells_of",
    "component_at",
    "connection",
    "draw_from",
    "draw_one",
    "empty_cells",
    "end",
    "entry",
    "exact",
    "few",
    "field",
    "fits",
    "get",
    "in_range",
    "in_range_or_none",
    "known_as",
    "graph_of",
    "grouped",
    "is_connected",
    "less_cell",
    "lined",
    "lines_through",
    "linked",
    "name_of",
    "texts_name",
    "nested",
    "pairs",
    "part_of",
    "put",
    "put_entry",
    "put_item",
    "refuse",
    "remember",
    "remembered",
    "settled_on",
    "small",
    "small_or_none",
    "some",
    "taken",
    "truth",
    "values",
    "whole",
    "weighted",
    "with_less",
    "with_more",
    "without_item",
]

EMPTY: Mapping[str, Any] = {}

KEPT = 10_000
"""Results of a function that are cached."""

NOWHERE = Span(Source("generated", ""), 0, 0)

_BEYOND = 1 << MAX_BITS


class ReplayError(Exception):
    """The fast path does not know the result: the reference decides."""


def refuse() -> Any:
    """Raises ReplayError: the reference decides."""
    raise ReplayError


beyond = refuse
"""Stands for an expression that may take more work than is allowed."""


# numbers and truth


def some(value: Any) -> Any:
    """Returns a value that is not none."""
    if value is None:
        raise ReplayError
    return value


def truth(value: Any) -> bool:
    if value is None:
        raise ReplayError
    return bool(value)


def whole(number: int) -> int:
    """Returns an integer of no more digits than are allowed."""
    if -_BEYOND < number < _BEYOND:
        return number
    raise ReplayError


def in_range(number: Any, low: int, high: int) -> Any:
    if low <= number <= high:
        return number
    raise ReplayError


def in_range_or_none(number: Any, low: int, high: int) -> Any:
    if number is None or low <= number <= high:
        return number
    raise ReplayError


# sizes


def few(items: Any, most: int) -> Any:
    """Returns a collection if it has no more than `most` items."""
    if len(items) > most:
        raise ReplayError
    return items


def small(value: Any, most: int) -> Any:
    """Returns a value that is not none and, if it is a collection, has no more than `most`
    items."""
    if value is None:
        raise ReplayError
    if isinstance(value, Bag):
        if value.total > most:
            raise ReplayError
    elif isinstance(value, tuple | dict | frozenset) and len(value) > most:
        raise ReplayError
    return value


def at_most(number: int, most: int) -> int:
    if number > most:
        raise ReplayError
    return number


def small_or_none(value: Any, most: int) -> Any:
    return None if value is None else small(value, most)


def pairs(collection: Any) -> Iterable[tuple[Any, Any]]:
    """Returns the keys of a map with their values; the elements of anything else, counted from
    0."""
    if isinstance(collection, dict) and not isinstance(collection, Bag):
        return collection.items()
    return enumerate(values(collection))


# parts of values


def get(of: Any, key: Any) -> Any:
    """`of[key]`, none of none."""
    if of is None or key is None:
        return None
    if isinstance(of, dict):
        return of.get(key)
    if not 0 <= key < len(of):
        raise ReplayError
    return of[key]


def end(items: Any, place: int) -> Any:
    """Returns the first or last item of a list; none if there is none."""
    return items[place] if items else None


def field(of: Any, index: int) -> Any:
    return None if of is None else of[index]


def at_cell(cells: Any, place: Any, rows: int, columns: int) -> Any:
    """`cells[row, column]`, none of none."""
    if cells is None or place is None or None in place:
        return None
    row, column = place
    if not (0 <= row < rows and 0 <= column < columns):
        raise ReplayError
    return cells[row * columns + column]


# places


def entry(key: Any) -> Any:
    """Returns the key of a place."""
    if key is None:
        raise ReplayError
    return key


def taken(bag: Bag, item: Any) -> Bag:
    """Returns a bag with one less of an item that it has."""
    left = bag[item] - 1
    bag = Bag(bag)
    if left:
        bag[item] = left
    else:
        del bag[item]
    return bag


def put(whole: Any, path: tuple[Any, ...], new: Any) -> Any:
    """Returns a value with the part at a path replaced."""
    return stored(whole, path, new, NOWHERE)


def part_of(whole: Any, path: tuple[Any, ...]) -> Any:
    return part(whole, path, NOWHERE)


def put_entry(entries: Any, key: Any, new: Any) -> Any:
    """Returns a map with the value of one key replaced."""
    if key not in entries:
        raise ReplayError
    return {**entries, key: new}


def put_item(items: Any, place: int, new: Any) -> Any:
    """Returns a list or grid with one item replaced."""
    if not 0 <= place < len(items):
        raise ReplayError
    changed = [*items]
    changed[place] = new
    return tuple(changed)


def without_item(items: Any, place: int) -> Any:
    if not 0 <= place < len(items):
        raise ReplayError
    return items[:place] + items[place + 1 :]


def fits(value: Any, type: Type) -> Any:
    """Returns a value that may be stored under a type."""
    if misfit(value, type) is not None:
        raise ReplayError
    return value


def settled_on(found: Iterable[tuple[tuple[Any, ...], Any]]) -> dict[tuple[Any, ...], Any]:
    """Returns the value of each place. Raises ReplayError if one is given two different values."""
    given: dict[tuple[Any, ...], Any] = {}
    for path, value in found:
        if given.setdefault(path, value) != value:
            raise ReplayError
    return given


# grids


UNKNOWN: Any = object()
"""Stands for a line that has not been looked for."""


def cells_of(rows: int, columns: int) -> dict[tuple[int, int], int]:
    """Returns the position of each cell."""
    return {
        (row, column): row * columns + column for row in range(rows) for column in range(columns)
    }


def empty_cells(state: Any, slot: str, cells: tuple[Any, ...]) -> list[int]:
    """Returns the positions of the empty cells of a grid, in a list that is never changed, and
    caches it in a slot of the state."""
    found = [at for at, value in enumerate(cells) if value is None]
    setattr(state, slot, found)
    return found


def less_cell(empty: list[int], at: int) -> list[int]:
    """Returns the empty cells after one of them is filled."""
    place = bisect_left(empty, at)
    return empty[:place] + empty[place + 1 :]


def lines_through(rows: int, columns: int, length: int) -> list[list[int]]:
    """Returns, for each cell, the lines of this length through it, as numbers whose bits are
    cells."""
    through: list[list[int]] = [[] for _ in range(rows * columns)]
    for lane in lanes(rows, columns, length):
        for first in range(len(lane) - length + 1):
            cells = lane[first : first + length]
            for cell in cells:
                through[cell].append(sum(1 << other for other in cells))
    return through


def lined(
    state: Any, masks: str, line: str, cells: tuple[Any, ...], length: int, rows: int, columns: int
) -> Any:
    """Looks for a line; caches its value, and the cells of each value, in slots of the state."""
    held: dict[Any, int] = {}
    for place, value in enumerate(cells):
        if value is not None:
            held[value] = held.get(value, 0) | 1 << place
    setattr(state, masks, held)
    found = BUILTINS["line"].run(cells, length, rows, columns)
    setattr(state, line, found)
    return found


Components = dict[Any, tuple[list[NodeSet], int]]
"""For each value but none the connected components of the cells that hold it, in a list that is
never changed, and as bits which connections one of them makes."""
Connections = list[tuple[NodeSet, ...]]
"""The groups of nodes of each connection that a game asks for; its place is that of its bit."""
NO_CELLS: tuple[list[NodeSet], int] = ([], 0)


def connection(known: Connections, *groups: NodeSet) -> int:
    """Adds a connection to the known ones; returns its bit."""
    known.append(groups)
    return 1 << len(known) - 1


def connections_of(component: NodeSet, known: Connections) -> int:
    """Returns as bits the connections that a component makes: it has a node in each group."""
    found, bit = 0, 1
    for groups in known:
        for group in groups:
            if not component & group:
                break
        else:
            found |= bit
        bit <<= 1
    return found


def grouped(
    state: Any, slot: str, cells: tuple[Any, ...], graph: Graph, known: Connections
) -> Components:
    """Returns the connected components of a grid, and caches them in a slot of the state."""
    found = {}
    for value in set(cells) - {None}:
        components, made = graph.components(graph.holding(cells, value)), 0
        for component in components:
            made |= connections_of(component, known)
        found[value] = [*components], made
    setattr(state, slot, found)
    return found


def linked(
    components: Components, value: Any, at: int, graph: Graph, known: Connections
) -> Components:
    """Returns the components after an empty cell is filled: those beside it become one."""
    near, (before, made) = graph.near[at], components.get(value, NO_CELLS)
    apart, merged = [each for each in before if not each & near], 1 << at
    if len(apart) < len(before):
        for each in before:
            if each & near:
                merged |= each
    apart.append(merged)
    return {**components, value: (apart, made | connections_of(merged, known))}


def component_at(
    components: Components, cells: tuple[Any, ...], node: Any, graph: Graph
) -> frozenset[Any]:
    """Returns the component of a cell: of an empty one, by a search."""
    at = graph.place(node)
    value = cells[at]
    if value is None:
        found = graph.reachable(1 << at, graph.holding(cells, None))
    else:
        found = next(each for each in components[value][0] if each >> at & 1)
    return frozenset(graph.listed(found))


def remembered(memo: dict[Any, Any], make: Callable[..., Any], key: tuple[Any, ...]) -> Any:
    """Returns the result of a function of these arguments, cached in `memo`."""
    found = memo.get(key)
    if found is None:
        if len(memo) > KEPT:
            memo.clear()
        found = memo[key] = make(*key)
    return found


# names


def known_as(names: dict[Any, str], value: Any) -> str:
    """Returns the canonical name of a value, cached in `names`; all values in it are of one
    type."""
    name = names.get(value)
    if name is None:
        if len(names) > KEPT:
            names.clear()
        name = names[value] = name_of(value)
    return name


class FromBag:
    """The outcomes of one draw from a bag that is in the order of its type. A `Lottery`."""

    __slots__ = ("_bag", "total")

    def __init__(self, bag: Bag) -> None:
        self._bag = bag
        self.total = sum(bag.values())
        if not bag:
            raise ReplayError

    @property
    def size(self) -> int:
        return len(self._bag)

    def value(self, outcome: int) -> Any:
        return tuple(self._bag)[outcome]

    def probability(self, outcome: int) -> Fraction:
        return Fraction(self._bag[self.value(outcome)], self.total)

    def outcome(self, ticket: int) -> int:
        outcome = 0
        for copies in self._bag.values():
            ticket -= copies
            if ticket < 0:
                break
            outcome += 1
        return outcome

    def named(self, name: str) -> int | None:
        numbered = enumerate(self._bag)
        return next((number for number, value in numbered if name_of(value) == name), None)


def draw_one(items: Any, ranks: Callable[[], Mapping[Any, int]]) -> Lottery:
    """Returns the outcomes of one draw from a bag, set or list: as `draw_from`."""
    if items.__class__ is not Bag:
        return draw_from(items, ranks, None, ())
    order = ranks()
    try:
        listed = sorted(items, key=order.__getitem__)
    except KeyError:
        return draw_from(items, ranks, None, ())
    if not listed:
        raise ReplayError
    return Single(listed, [items[item] for item in listed])


def draw_from(
    items: Any, ranks: Callable[[], Mapping[Any, int]], take: int | None, dealt: Iterable[Any]
) -> Lottery:
    """Returns the possible outcomes, as `gamedsl.engine.chance.Drawing.lottery`."""
    if isinstance(items, Bag | frozenset):
        order = ranks()
        missing = len(order)
        distinct = list(items)
        ranked = [order.get(item, missing) for item in distinct]
        if missing in ranked:
            distinct = list(dict.fromkeys(values(items)))
        distinct.sort(key=lambda item: order.get(item, missing))
        bag = Bag({v: items[v] for v in distinct}) if isinstance(items, Bag) else Bag.of(distinct)
    else:
        bag = Bag.of(values(items))
    for item in dealt:
        bag = bag.without(item) if item in bag else bag
    if bag.total < (1 if take is None else take):
        raise ReplayError
    return equally(bag, take)


def remember(memo: dict[Any, Lottery], dealt: Any, lottery: Lottery) -> Lottery:
    """Caches a lottery under the outcomes of the earlier indices."""
    if len(memo) > KEPT:
        memo.clear()
    memo[dealt] = lottery
    return lottery
