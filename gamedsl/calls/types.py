"""The types of arguments and results, described in plain Python, and the values that have them.

| description | values |
| --- | --- |
| `"text"` | `str` |
| `"int"` | `int` |
| `"number"` | `int` or `Fraction`: always exact |
| `"bool"` | `bool` |
| `("low", "high")` | one of these names, a `str` |
| `ListOf(type)` | a list or tuple of them |
| `OrNone(type)` | one of them, or None |
| `{"field": type}` | a record: a dict of exactly these fields |
| `"any"` | a value of any game type, as plain data: of arguments alone |
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from gamedsl.storage.strict_json import exact_number


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list whose items have one type."""

    of: Type


@dataclass(frozen=True, slots=True)
class OrNone:
    """A value or None."""

    of: Type


Type = (
    Literal["text", "int", "number", "bool", "any"]
    | tuple[str, ...]
    | ListOf
    | OrNone
    | Mapping[str, "Type"]
)


def is_definite(type: Type) -> bool:
    """Whether a type says what its values are, as that of a result must."""
    match type:
        case ListOf(of=inner) | OrNone(of=inner):
            return is_definite(inner)
        case Mapping():
            return all(map(is_definite, type.values()))
        case str() | tuple():
            return type != "any"


MAX_DEPTH = 32
"""Levels of lists and records in one value."""


class WrongType(Exception):
    """A value that is not of its type; the text says which part of it, and what was wanted."""


def type_text(type: Type) -> str:
    """A type in words, as `{ok: bool, value: number or none}`."""
    match type:
        case str():
            return type
        case tuple():
            return "one of " + ", ".join(type)
        case ListOf(of=inner):
            return f"list of {type_text(inner)}"
        case OrNone(of=inner):
            return f"{type_text(inner)} or none"
        case Mapping():
            fields = (f"{field}: {type_text(inner)}" for field, inner in type.items())
            return "{" + ", ".join(fields) + "}"


def checked(type: Type, value: Any, where: str = "") -> Any:
    """The value in its canonical form, made anew: lists as tuples, records as dicts in the order of
    their fields. Raises `WrongType` for a value of another type."""
    match type:
        case OrNone(of=inner):
            return None if value is None else checked(inner, value, where)
        case ListOf(of=inner) if isinstance(value, list | tuple):
            return tuple(checked(inner, item, f"{where}[{i}]") for i, item in enumerate(value))
        case Mapping() if isinstance(value, Mapping) and value.keys() == type.keys():
            return {f: checked(inner, value[f], f"{where}.{f}") for f, inner in type.items()}
        case "any":
            key_of(value)
            return value
        case str() | tuple() if _is_plain(type, value):
            return value
    found = f"{value!r:.60}"
    raise WrongType(f"{where.removeprefix('.') or 'it'} is {found}, not {type_text(type)}")


def as_json(value: Any) -> Any:
    """A value as JSON has it: a fraction is its text."""
    match value:
        case Fraction():
            return str(value)
        case list() | tuple():
            return [as_json(item) for item in value]
        case Mapping():
            return {field: as_json(item) for field, item in value.items()}
        case _:  # JSON has every other value as it is
            return value


def from_json(type: Type, data: Any) -> Any:
    """The value of a definite type that `as_json` wrote. Raises `WrongType`."""
    match type:
        case OrNone(of=inner):
            return None if data is None else from_json(inner, data)
        case ListOf(of=inner) if isinstance(data, list):
            return tuple(from_json(inner, item) for item in data)
        case Mapping() if isinstance(data, dict) and data.keys() == type.keys():
            return {field: from_json(inner, data[field]) for field, inner in type.items()}
        case "number" if isinstance(data, str):
            with suppress(ValueError):
                return exact_number(data)
    return checked(type, data)


def _is_plain(type: str | tuple[str, ...], value: Any) -> bool:
    """Whether a value is of a type without parts."""
    match type:
        case "bool":
            return isinstance(value, bool)
        case "int":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, int | Fraction) and not isinstance(value, bool)
        case "text":
            return isinstance(value, str)
        case _:  # one of the texts of a tuple
            return isinstance(value, str) and value in type


def key_of(value: Any, depth: int = 0) -> Hashable:
    """Returns a cache key of a value: equal only for equal values of equal types, so that 1 and
    true differ. Raises `WrongType` for anything that is no game value."""
    if depth > MAX_DEPTH:
        raise WrongType(f"it is more than {MAX_DEPTH} levels deep")
    match value:
        case None | bool() | str():
            return (value.__class__.__name__, value)
        case int() | Fraction():
            return ("number", Fraction(value))
        case list() | tuple():
            return ("list", *[key_of(item, depth + 1) for item in value])
        case AbstractSet():
            return ("set", frozenset(key_of(item, depth + 1) for item in value))
        case Mapping():
            pairs = ((key_of(k, depth + 1), key_of(v, depth + 1)) for k, v in value.items())
            return ("map", frozenset(pairs))
        case _:
            raise WrongType(f"it holds {value!r:.60}, which no game value is")


def size_of(key: Hashable) -> int:
    """Returns the characters and parts of a cache key."""
    size, waiting = 0, [key]
    while waiting:
        part = waiting.pop()
        if isinstance(part, tuple | frozenset):
            waiting += part
        size += len(part) if isinstance(part, str) else 1
    return size
