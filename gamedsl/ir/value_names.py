"""Values from their canonical names: the inverse of `gamedsl.ir.values.name_of`, by type.

Events know what was drawn or shown by its name alone; views and prompts read it back. Within one
type no two values have one name, so that there is one way to read a name at most. Collections of
texts are the exception, since a text may hold the marks between two items: of a map each text is
the shortest that another key follows, and a list that is told is named as a JSON array.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache
from typing import Any, assert_never

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
    plain,
)  # fmt: skip
from gamedsl.ir.values import Bag as BagValue
from gamedsl.ir.values import name_of

_NUMBER = re.compile(r"-?\d+(?:/[1-9]\d*)?")

Readings = Iterator[tuple[Any, str]]
"""Ways to read the beginning of a text: the value, and what is left of the text."""


@lru_cache(maxsize=65_536)
def is_text_list(type: Type) -> bool:
    """Returns whether a type is that of a list of texts, or of none."""
    kind = plain(type)
    return isinstance(kind, List) and isinstance(plain(kind.of), Text)


def texts_name(value: tuple[str | None, ...] | None) -> str:
    """Returns the name of a list of texts: a JSON array, since a text may hold any mark."""
    return name_of(None) if value is None else json.dumps(value, ensure_ascii=False)


def observed_name(value: Any, type: Type) -> str:
    """Returns the name by which those who are told of a value of a type know it."""
    return texts_name(value) if is_text_list(type) else name_of(value)


def texts_of(name: str) -> tuple[str | None, ...] | None:
    """Returns the texts of a list by its name; None for the name of none."""
    return None if name == name_of(None) else tuple(json.loads(name))


def value_of(name: str, type: Type, seats: tuple[str, ...]) -> Any:
    """The value of a type that has this name. ValueError where there is none."""
    for value, rest in _parse(name, type, seats):
        if not rest:
            return value
    raise ValueError(f"`{name}` is not {type}")


def _parse(text: str, type: Type, seats: tuple[str, ...]) -> Readings:
    match type:
        case Bool():
            yield from _one_of(text, {"true": True, "false": False})
        case Number():
            found = _NUMBER.match(text)
            if found:
                number = Fraction(found[0])
                yield int(number) if number.denominator == 1 else number, text[found.end() :]
        case Enum(members=members):
            yield from _one_of(text, {name: name for name in members})
        case Seat():
            yield from _one_of(text, {name: name for name in seats})
        case List() if is_text_list(type) and text.startswith("["):
            with suppress(ValueError):
                items, end = json.JSONDecoder().raw_decode(text)
                yield tuple(items), text[end:]
        case Text():
            yield text, ""
            yield from ((text[:end], text[end:]) for end in range(len(text)))
        case NoneType():
            yield from _one_of(text, {"none": None})
        case Option(of=inner):
            yield from _one_of(text, {"none": None})
            yield from _parse(text, inner, seats)
        case Union(of=options):
            for option in options:
                yield from _parse(text, option, seats)
        case Record(types=types) | Tuple(of=types):
            yield from _row(text, types, ",", seats)
        case Grid(rows=rows, columns=columns, of=inner):
            yield from _row(text, (inner,) * (rows * columns), ",", seats)
        case List(of=inner, length=length):
            yield from _items(text, inner, ",", seats, length)
        case Set(of=inner):
            yield from ((frozenset(v), rest) for v, rest in _braced(text, inner, seats))
        case Bag(of=inner):
            yield from ((BagValue.of(v), rest) for v, rest in _braced(text, inner, seats))
        case PerSeat() | PerValue():
            yield from _map(text, type, seats)
        case Never():
            return
        case _:
            assert_never(type)


def _one_of(text: str, values: dict[str, Any]) -> Readings:
    for name, value in values.items():
        if text.startswith(name):
            yield value, text[len(name) :]


def _row(text: str, types: tuple[Type, ...], mark: str, seats: tuple[str, ...]) -> Readings:
    """One value of each type, with marks between them."""
    if not types:
        yield (), text
        return
    tried, found = [_parse(text, types[0], seats)], list[Any]()
    while tried:
        value, rest = next(tried[-1], (None, None))
        if rest is None:
            tried.pop()
            del found[-1:]
        elif len(tried) == len(types):
            yield (*found, value), rest
        elif rest.startswith(mark):
            found.append(value)
            tried.append(_parse(rest[len(mark) :], types[len(tried)], seats))


def _items(
    text: str, type: Type, mark: str, seats: tuple[str, ...], length: int | None = None
) -> Readings:
    """Any number of values of a type, or `length`, with marks between them; the most first."""
    if length is not None:
        yield from _row(text, (type,) * length, mark, seats)
        return
    tried, found, rests = [_parse(text, type, seats)], list[Any](), [text]
    while tried:
        value, rest = next(tried[-1], (None, None))
        if rest is None:
            tried.pop()
            yield tuple(found), rests[-1]
            del found[-1:], rests[-1:]
            continue
        found.append(value)
        rests.append(rest)
        if rest.startswith(mark):
            tried.append(_parse(rest[len(mark) :], type, seats))
        else:
            yield tuple(found), rest
            del found[-1:], rests[-1:]


def _braced(text: str, type: Type, seats: tuple[str, ...]) -> Readings:
    """Items between braces, a space between them."""
    if text.startswith("{"):
        for values, rest in _items(text[1:], type, " ", seats):
            if rest.startswith("}"):
                yield values, rest[1:]


def _map(text: str, type: PerSeat | PerValue, seats: tuple[str, ...]) -> Readings:
    """`{ann:1 bob:2}`, its keys in their order; of a partial one, some of them."""
    keys = seats if isinstance(type, PerSeat) else domain(type.key, seats) or ()
    if text.startswith("{"):
        for values, rest in _entries(text[1:], keys, type.of, seats, first=True):
            if rest.startswith("}"):
                yield values, rest[1:]


def _entries(
    text: str, keys: tuple[Any, ...], type: Type, seats: tuple[str, ...], *, first: bool
) -> Readings:
    for place, key in enumerate(keys):
        head = f"{'' if first else ' '}{name_of(key)}:"
        if text.startswith(head):
            for value, rest in _parse(text[len(head) :], type, seats):
                more = _entries(rest, keys[place + 1 :], type, seats, first=False)
                for others, left in more:
                    yield {key: value, **others}, left
    yield {}, text
