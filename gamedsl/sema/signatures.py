"""Registered functions in the types of the language, and the arguments that they take: for `call:`
steps, and for the conditions of what is said."""

from __future__ import annotations

from collections.abc import Mapping as Map
from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from gamedsl.calls import registry
from gamedsl.calls.types import ListOf, OrNone
from gamedsl.calls.types import Type as Described
from gamedsl.diagnostics import Help, Note, Problems
from gamedsl.diagnostics.spans import Span
from gamedsl.ir import expr as ir
from gamedsl.ir.types import (
    BOOL,
    NUMBER,
    TEXT,
    WHOLE,
    Enum,
    List,
    Option,
    Record,
    Seat,
    Text,
    Type,
    Union,
    fits,
    plain,
)
from gamedsl.sema.typing_context import TypingContext


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
    """Returns the function of a name; None where there is none. Raises
    `gamedsl.calls.registry.CallError` where a package that brings functions cannot be imported."""
    found = registry.lookup(name)
    if found is None:
        return None
    arguments = tuple((name, argument_type(type)) for name, type in found.arguments.items())
    result = argument_type(found.result, found.name)
    assert result is not None, "a result has a type of its own"
    return Signature(found.name, found.version, arguments, result, found.usage, found)


BROKEN = "mend the package that brings functions, or uninstall it"
"""The help where a package that brings functions cannot be imported."""


def report_unregistered(problems: Problems, name: str, span: Span, why: str, help: Help) -> None:
    """Reports a name that no registered function has."""
    problems.add("GD0482", f"no function `{name}` is registered", span, why=why, help=help)


def argument_type(type: Described, name: str = "") -> Type | None:
    """Returns a described type as one of the language; None for a value of any type."""
    match type:
        case OrNone(of=inner):
            of = argument_type(inner, name)
            return None if of is None else Option(of)
        case ListOf(of=inner):
            of = argument_type(inner, name)
            return None if of is None else List(of)
        case tuple():
            return Enum(name, type)
        case Map():
            fields = ((field, argument_type(inner, field)) for field, inner in type.items())
            return Record(name, tuple((field, of) for field, of in fields if of is not None))
        case "text" | "int" | "number" | "bool" | "any":
            return _PLAIN_TYPES[type]
        case _:
            assert_never(type)


_PLAIN_TYPES: dict[str, Type | None] = {
    "text": TEXT, "int": WHOLE, "number": NUMBER, "bool": BOOL, "any": None,
}  # fmt: skip


def takes(wanted: Type | None, type: Type | None) -> bool:
    """Whether a function's argument takes values of a type; None takes any. Where a text is wanted,
    a name is one: of an enum's value, or of a role."""
    if type is None or wanted is None:
        return type is not None
    of, needed = plain(type), plain(wanted)
    return fits(of, needed) or (isinstance(needed, Text) and _is_name(of))


def _is_name(type: Type) -> bool:
    """Whether every value of a type is a name."""
    if isinstance(type, Union):
        return all(map(_is_name, type.of))
    return isinstance(type, Enum | Seat)


def report_argument(
    context: TypingContext, name: str, typed: ir.Expr, signature: Signature
) -> None:
    """Reports an argument of a type that a function does not take."""
    place: Span | None = None
    if isinstance(typed, ir.Read):
        place = context.names.place(typed.name)
    wanted = dict(signature.arguments)[name]
    context.problems.add(
        "GD0483", f"`{name}` of `{signature.name}` must be {wanted}", typed.span,
        why=f"this is {typed.type}",
        notes=(Note(place, "declared here"),) if place else (),
        help=f"it is {signature.text}",
    )  # fmt: skip


def report_fault(
    context: TypingContext, arguments: Sequence[tuple[str, ir.Expr]], signature: Signature,
    head: Span,
) -> bool:  # fmt: skip
    """Reports what is wrong with the arguments that a game writes out; returns whether it did.
    `head` is the function's name."""
    fixed = {name: typed for name, typed in arguments if isinstance(typed, ir.Const)}
    fault = signature.function.fault_of({name: typed.value for name, typed in fixed.items()})
    if fault is None:
        return False
    context.problems.add(
        "GD0483", f"`{signature.name}` cannot be called like this",
        next((typed.span for typed in fixed.values()), head), why=fault,
        help=f"it is {signature.text}",
    )  # fmt: skip
    return True
