"""Registered functions as the rules of a game see them: their arguments and results, typed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gamedsl.calls import registry
from gamedsl.calls.types import ListOf, OrNone
from gamedsl.calls.types import Type as Described
from gamedsl.ir.types import BOOL, NUMBER, TEXT, WHOLE, Enum, List, Option, Record, Type


@dataclass(frozen=True)
class Signature:
    """A function's name, version, arguments (None: a value of any type) and result."""

    name: str
    version: int
    arguments: tuple[tuple[str, Type | None], ...]
    result: Type
    text: str
    function: registry.Function


def signature_of(name: str) -> Signature | None:
    """The function of a name; None where there is none. Raises `gamedsl.calls.registry.CallError`
    where a package that brings functions cannot be imported."""
    found = registry.lookup(name)
    if found is None:
        return None
    arguments = tuple((name, argument_type(type)) for name, type in found.arguments.items())
    result = argument_type(found.result, found.name)
    assert result is not None, "a result has a type of its own"
    return Signature(found.name, found.version, arguments, result, found.usage, found)


def argument_type(type: Described, name: str = "") -> Type | None:
    """A described type as one of the language; None for a value of any type."""
    match type:
        case OrNone(of=inner):
            of = argument_type(inner, name)
            return None if of is None else Option(of)
        case ListOf(of=inner):
            of = argument_type(inner, name)
            return None if of is None else List(of)
        case tuple():
            return Enum(name, type)
        case Mapping():
            fields = ((field, argument_type(inner, field)) for field, inner in type.items())
            return Record(name, tuple((field, of) for field, of in fields if of is not None))
    plain: dict[str, Type] = {"text": TEXT, "int": WHOLE, "number": NUMBER, "bool": BOOL}
    return plain.get(type)


def signatures() -> tuple[str, ...]:
    """The names of all functions. Raises as `signature_of`."""
    return registry.names()
