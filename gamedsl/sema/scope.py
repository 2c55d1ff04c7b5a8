"""The names that an expression may use, and where each was declared.

One namespace holds params, variables, lets and roles; enum values are found by the type expected at
their place (`gamedsl.sema.infer`); built-ins are known by their parentheses.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from gamedsl.ir.types import Enum, Type
from gamedsl.source.spans import Span
from gamedsl.syntax import ast

WORDS = ("me", "other", "others", "roles", "true", "false", "none")
"""Names with a meaning of their own everywhere."""


@dataclass(frozen=True, slots=True)
class ParamName:
    type: Type
    value: Any
    span: Span


@dataclass(frozen=True, slots=True)
class VariableName:
    """What a step binds; `joint` where several seats choose it, so that it is a map."""

    type: Type
    joint: bool
    span: Span


@dataclass(frozen=True, slots=True)
class StreamName:
    """A per-role map of payoffs, as reward files read it."""

    type: Type
    span: Span


@dataclass
class LetName:
    """A `let` before it is typed: its text, and after: its type and whether it depends on me."""

    name: str
    parameters: tuple[ast.Name, ...]
    body: ast.Node | None
    span: Span
    state: str = "new"
    type: Type | None = None
    types: tuple[Type, ...] = ()
    """Of the parameters, as the first call gives them."""
    per_seat: bool = False


Declared = ParamName | VariableName | StreamName | LetName


@dataclass
class Names:
    """Everything that can be named in a file."""

    seats: tuple[str, ...] = ()
    roles: dict[str, tuple[str, ...]] = field(default_factory=dict)
    role_spans: dict[str, Span] = field(default_factory=dict)
    enums: list[Enum] = field(default_factory=list)
    declared: dict[str, Declared] = field(default_factory=dict)

    def all(self) -> Iterable[str]:
        """Every name, for suggestions."""
        yield from self.declared
        yield from self.seats
        yield from self.roles
        yield from WORDS
        for enum in self.enums:
            yield from enum.members

    def enum_of(self, member: str) -> Enum | None:
        """The only enum with that member; None if there are none or several."""
        found = {enum for enum in self.enums if member in enum.members}
        return found.pop() if len(found) == 1 else None

    def place(self, name: str) -> Span | None:
        """Where a name was declared."""
        if name in self.declared:
            return self.declared[name].span
        return self.role_spans.get(name)
