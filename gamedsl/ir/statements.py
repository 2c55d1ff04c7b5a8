"""The state of a game, the places in it, who sees it, and the statements that write it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from gamedsl.diagnostics.spans import Span
from gamedsl.ir.expr import Expr, Local, walk
from gamedsl.ir.types import UNLESS_NONE, Type

OWNER = "owner"
"""The local of a test of readers that is the seat whose value it is."""

ACTOR = "actor"
"""The local of a test of readers that is the seat which acts in the step."""


@dataclass(frozen=True)
class Readers:
    """The readers of a value: the seats that see it.

    "owner" is the actor of a choice, the seat that a per-role value is for; "others" is everyone
    else; "seats" are those listed; "test" asks each seat an expression over `me`, in which the
    locals `OWNER` and `ACTOR` may stand. `fields` gives the readers of each field of a record, if
    they differ; unnamed fields: nobody.
    """

    kind: Literal["all", "owner", "others", "nobody", "seats", "test"]
    seats: tuple[str, ...] = ()
    test: Expr | None = None
    fields: tuple[tuple[int, Readers], ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)

    @cached_property
    def locals(self) -> frozenset[str]:
        """Returns those of `OWNER` and `ACTOR` that decide who sees the value, without fields."""
        if self.kind in ("owner", "others"):
            return frozenset({OWNER})
        parts = () if self.test is None else walk(self.test)
        named = frozenset(part.name for part in parts if isinstance(part, Local))
        return named & {OWNER, ACTOR}


EVERYONE = Readers("all")
NOBODY = Readers("nobody")


@dataclass(frozen=True)
class State:
    """A declared state variable, with its value at the start; per role, a map of seat to value."""

    name: str
    type: Type
    start: Any
    readers: Readers
    span: Span = field(compare=False, repr=False)
    lasts: Literal["run"] | None = field(default=None, metadata=UNLESS_NONE)
    """Whether the next episode of a run begins with the value that this one leaves."""
    size: Literal["hidden"] | None = field(default=None, metadata=UNLESS_NONE)
    """Whether only those who see a list or bag see how long it is; None: all do."""


@dataclass(frozen=True)
class Key:
    """One step into a value: an entry of a map, an item of a list, a cell of a grid (`size` is its
    rows and columns), a field of a record (`size` is its place)."""

    kind: Literal["entry", "item", "cell", "field"]
    expr: Expr | None
    size: tuple[int, ...] = ()


@dataclass(frozen=True)
class Place:
    """A variable, or a part of one: where a value is stored. `type` is what it may hold."""

    variable: str
    keys: tuple[Key, ...]
    type: Type
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True)
class Assign:
    """`place = value`; `+=` and `-=` are written out. A number out of the range of the place's
    type, or a list too long for it, is an error where the statement stands."""

    place: Place
    value: Expr
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True)
class Add:
    """`add value to place`: to the end of a list, into a set or a bag."""

    place: Place
    value: Expr
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True)
class Drop:
    """`drop value from place`: its first copy; an error where there is none."""

    place: Place
    value: Expr
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True)
class DropItem:
    """`drop place[index]` of a list."""

    place: Place
    index: Expr
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True)
class ForEach:
    """`body for targets in source if condition`. All that is written is worked out first, in the
    state before the statement, so that the order of the elements does not matter."""

    body: Statement
    targets: tuple[str, ...]
    source: Expr
    condition: Expr | None
    keyed: bool
    span: Span = field(compare=False, repr=False)


Write = Assign | Add | Drop | DropItem
"""The statements that write one place."""

Statement = Write | ForEach


def write_of(statement: Statement) -> Write:
    """Returns the write that a statement makes, once or for each element of a collection."""
    while isinstance(statement, ForEach):
        statement = statement.body
    return statement
