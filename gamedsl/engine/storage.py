"""Storage: parts of values are read and replaced, and statements carried out.

Values are never changed in place: storing makes new containers along the path and shares the rest,
so that a copy of a state is a copy of one dict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, NamedTuple, assert_never

from gamedsl.diagnostics.spans import Span
from gamedsl.engine.kernel import PlayError
from gamedsl.ir.evaluate import Scope, evaluate, none_here
from gamedsl.ir.expr import Build, Collect, Local
from gamedsl.ir.statements import Add, Assign, Drop, DropItem, ForEach, Key, Place, Statement, Write
from gamedsl.ir.types import (
    NONE,
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
    plain,
)
from gamedsl.ir.values import Bag as BagValue
from gamedsl.ir.values import name_of

Path = tuple[Any, ...]
"""The keys that lead to a part: a key of a map, or a position in a list, grid or record, at each
level."""


def path_of(place: Place, scope: Scope) -> Path:
    """Returns the path of a place, its keys worked out. Raises PlayError where one is none or no
    cell."""
    return tuple(_key_value(key, place, scope) for key in place.keys)


def _key_value(key: Key, place: Place, scope: Scope) -> Any:
    if key.kind == "field":
        return key.size[0]
    assert key.expr is not None
    value = evaluate(key.expr, scope)
    if value is None:
        raise PlayError("there is no such place: its key is none", place.span)
    if key.kind != "cell":
        return value
    rows, columns = key.size
    row, column = value
    if not (0 <= row < rows and 0 <= column < columns):
        raise PlayError(
            f"a {rows} by {columns} grid has no cell ({row}, {column})", place.span,
            help=f"rows are 0 to {rows - 1} and columns 0 to {columns - 1}: write such a cell, or "
            "give the step an `if:` that holds only for one",
        )  # fmt: skip
    return row * columns + column


def part(value: Any, path: Path, span: Span) -> Any:
    """Returns the part at a path. Raises PlayError where there is none."""
    for key in path:
        value = _inside(value, key, span)
    return value


def stored(value: Any, path: Path, new: Any, span: Span) -> Any:
    """Returns a value with one part of it replaced. Raises PlayError where there is no such
    part."""
    if not path:
        return new
    key, *rest = path
    inner = stored(_inside(value, key, span), tuple(rest), new, span)
    if isinstance(value, dict):
        return {**value, key: inner}
    return (*value[:key], inner, *value[key + 1 :])


def _inside(value: Any, key: Any, span: Span) -> Any:
    if isinstance(value, dict):
        if key not in value:
            raise PlayError(f"there is nothing for {name_of(key)}", span)
    elif value is None:
        raise PlayError("none has no parts", span)
    elif not 0 <= key < len(value):
        raise PlayError(f"a list of {len(value)} has no item {key}, counted from 0", span)
    return value[key]


def misfit(value: Any, type: Type) -> str | None:
    """Returns why a value cannot be stored under a type: none where a value is needed, a number out
    of range, a list too long. None if it can; all else is proved when the game is compiled."""
    if value is None and not admits_none(type):
        return "it is none"
    if value is None or not is_bounded(type):
        return None
    match type:
        case Number(low=low, high=high):
            if low is None or high is None or low <= value <= high:
                return None
            return f"{name_of(value)} is not from {low} to {high}"
        case Option(of=inner):
            return misfit(value, inner)
        case List(of=inner):
            most = most_items(type)
            if most is not None and len(value) > most:
                return f"the list has {len(value)} items, more than {most}"
            return _first_misfit(value, inner)
        case Grid(of=inner) | Set(of=inner) | Bag(of=inner):
            return _first_misfit(value, inner)
        case PerSeat(of=inner) | PerValue(of=inner):
            return _first_misfit(value.values(), inner)
        case Tuple(of=types) | Record(types=types):
            return next(filter(None, map(misfit, value, types)), None)
        case Bool() | Enum() | Seat() | NoneType() | Text() | Never() | Union():
            return None
    assert_never(type)


def _first_misfit(values: Iterable[Any], type: Type) -> str | None:
    return next(filter(None, (misfit(value, type) for value in values)), None)


def admits_none(type: Type) -> bool:
    """Returns whether none may be stored under a type."""
    return isinstance(type, Option | NoneType | Never | Union)


def most_items(type: List) -> int | None:
    """Returns how many items a list of a type may have; None if there is no bound."""
    bounds = [bound for bound in (type.length, type.at_most) if bound is not None]
    return min(bounds, default=None)


@lru_cache(maxsize=4096)
def is_bounded(type: Type) -> bool:
    """Returns whether a type bounds a number or a list somewhere, which is checked in play."""
    match type:
        case Number(low=low):
            return low is not None
        case List(of=inner):
            return most_items(type) is not None or is_bounded(inner)
        case Option(of=inner) | Set(of=inner) | Bag(of=inner) | Grid(of=inner):
            return is_bounded(inner)
        case PerSeat(of=inner) | PerValue(of=inner):
            return is_bounded(inner)
        case Tuple(of=types) | Record(types=types):
            return any(map(is_bounded, types))
        case Bool() | Enum() | Seat() | NoneType() | Text() | Never() | Union():
            return False
    assert_never(type)


def fitting(value: Any, type: Type, place: Place, span: Span) -> Any:
    """Returns the value if a place may hold it. Raises PlayError where it may not."""
    why = misfit(value, type)
    if why is not None:
        help = ""
        if value is not None and isinstance(plain(type), Number):
            help = "declare a wider range, or keep the number in this one: `clip(…)`"
        raise PlayError(f"`{place.variable}` cannot hold this: {why}", span, help=help)
    return value


def with_more(collection: Any, value: Any) -> Any:
    """Returns a list with a value at its end, or a set or bag with it inside."""
    if isinstance(collection, BagValue):
        return collection.with_one(value)
    if isinstance(collection, frozenset):
        return collection | {value}
    return (*collection, value)


def with_less(collection: Any, value: Any) -> Any:
    """Returns a collection without the first copy of a value. Raises KeyError where there is
    none."""
    if isinstance(collection, BagValue):
        return collection.without(value)
    if value not in collection:
        raise KeyError(value)
    if isinstance(collection, frozenset):
        return collection - {value}
    at = collection.index(value)
    return (*collection[:at], *collection[at + 1 :])


class PlannedWrite(NamedTuple):
    """A statement that writes one place, with the place and the value worked out."""

    statement: Write
    path: Path
    value: Any


def planned_writes(statement: Statement, scope: Scope) -> list[PlannedWrite]:
    """Returns the writes of a statement, all worked out in the state before it."""
    match statement:
        case Assign() | Add() | Drop():
            value = evaluate(statement.value, scope)
            return [PlannedWrite(statement, path_of(statement.place, scope), value)]
        case DropItem():
            index = evaluate(statement.index, scope)
            if index is None:
                raise none_here(statement.index)
            return [PlannedWrite(statement, path_of(statement.place, scope), index)]
        case ForEach():
            found = [
                write
                for row in evaluate(_rows(statement), scope)
                for write in planned_writes(statement.body, _bound(scope, statement.targets, row))
            ]
            found.sort(key=lambda write: isinstance(write.statement, DropItem) and -write.value)
            _require_one_value(found)
            return found
    assert_never(statement)


def apply(write: PlannedWrite, get: Callable[[str], Any]) -> tuple[str, Any]:
    """Carries out a write. Returns the variable that it changes, and the variable's new value.

    `get` returns the present value of a variable. Raises PlayError where the place does not hold
    the value to drop, or may not hold the value to store.
    """
    statement, path, value = write
    place, span = statement.place, statement.span
    whole = get(place.variable)
    match statement:
        case Assign():
            new = fitting(value, place.type, place, span)
        case Add():
            new = fitting(with_more(part(whole, path, span), value), place.type, place, span)
        case Drop():
            try:
                new = with_less(part(whole, path, span), value)
            except KeyError:
                membership = f"{statement.value.span.text} in {place.span.text}"
                raise PlayError(
                    f"there is no {name_of(value)} to drop", span,
                    help=f"drop it where it is there: `if: {membership}`",
                ) from None  # fmt: skip
        case DropItem():
            old = part(whole, path, span)
            _inside(old, value, span)
            new = (*old[:value], *old[value + 1 :])
        case _:
            assert_never(statement)
    return place.variable, stored(whole, path, new, span)


def _require_one_value(found: list[PlannedWrite]) -> None:
    """Raises PlayError where one place is given two different values: the order of the elements
    must not matter."""
    given: dict[tuple[str, Path], Any] = {}
    for statement, path, value in found:
        if isinstance(statement, Assign):
            place = (statement.place.variable, path)
            if given.setdefault(place, value) != value:
                raise PlayError(
                    f"one place is given two values: {name_of(given[place])} and {name_of(value)}",
                    statement.span,
                )


def _rows(statement: ForEach) -> Collect:
    """Returns an expression for the values of the targets: a tuple for each element."""
    targets = tuple(Local(NONE, statement.span, name) for name in statement.targets)
    return Collect(
        NONE, statement.span, Build(NONE, statement.span, targets), statement.targets,
        statement.source, statement.condition, statement.keyed,
    )  # fmt: skip


def _bound(scope: Scope, targets: tuple[str, ...], row: tuple[Any, ...]) -> Scope:
    return scope._replace(locals={**scope.locals, **dict(zip(targets, row, strict=True))})


def nested(value: Any, index: Path, new: Any) -> Any:
    """Returns a map of maps with one more entry, at an index."""
    if not index:
        return new
    inner = value or {}
    return {**inner, index[0]: nested(inner.get(index[0]), index[1:], new)}
