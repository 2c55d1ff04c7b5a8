"""The abstract syntax of expressions.

Every node knows where it was written; nothing here has a type or a meaning yet
(`gamedsl.sema.typer` gives both). Nodes are immutable and hold no parser objects.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from fractions import Fraction

from gamedsl.diagnostics.spans import Span


@dataclass(frozen=True, slots=True)
class Located:
    """Syntax with the place where it was written."""

    span: Span


@dataclass(frozen=True, slots=True)
class Literal(Located):
    """A number, a truth value, or `none`."""

    value: int | Fraction | bool | None


@dataclass(frozen=True, slots=True)
class Name(Located):
    id: str


@dataclass(frozen=True, slots=True)
class Operator(Located):
    """`op` is one of + - * / // % ** == != < <= > >= in, not in, and, or, not, neg, `..`."""

    op: str
    operands: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Conditional(Located):
    test: Node
    then: Node
    other: Node


@dataclass(frozen=True, slots=True)
class Attribute(Located):
    of: Node
    name: Name


@dataclass(frozen=True, slots=True)
class Index(Located):
    of: Node
    keys: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Call(Located):
    name: Name
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Comprehension(Located):
    """`item for targets in source if condition`, in `[ ]` or as the only argument of a call.

    Of several `for`, each but the last is `chained`: its item is the comprehension of those behind
    it, whose items are its own.
    """

    item: Node
    targets: tuple[Name, ...]
    source: Node
    condition: Node | None
    chained: bool = False

    @property
    def is_conditional(self) -> bool:
        """Whether one of its loops has a condition."""
        inner = self.item
        later = self.chained and isinstance(inner, Comprehension) and inner.is_conditional
        return self.condition is not None or later


@dataclass(frozen=True, slots=True)
class Display(Located):
    """`[a, b]` (kind "list") or `(a, b)` (kind "tuple")."""

    kind: str
    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Map(Located):
    """A map of constants, which a `let` writes in YAML: `{mill: [harbor], harbor: [mill]}`."""

    keys: tuple[Node, ...]
    values: tuple[Node, ...]


Node = (
    Literal
    | Name
    | Operator
    | Conditional
    | Attribute
    | Index
    | Call
    | Comprehension
    | Display
    | Map
)
"""An expression."""


def walk(node: Node) -> Iterator[Node]:
    """Yields an expression and every expression inside it, each before its parts."""
    yield node
    for part in fields(node):
        value = getattr(node, part.name)
        for inner in value if isinstance(value, tuple) else (value,):
            if isinstance(inner, Node):
                yield from walk(inner)


# statements of `do:`; places are expressions, and `gamedsl.sema.statements` says which can be one


@dataclass(frozen=True, slots=True)
class Assign(Located):
    """`op` is one of = += -=."""

    place: Node
    op: str
    value: Node


@dataclass(frozen=True, slots=True)
class Add(Located):
    """`add value to place`."""

    place: Node
    value: Node


@dataclass(frozen=True, slots=True)
class Drop(Located):
    """`drop value from place`."""

    place: Node
    value: Node


@dataclass(frozen=True, slots=True)
class DropItem(Located):
    """`drop item`, where the item is a place in a list: `drop hand[i]`."""

    item: Node


@dataclass(frozen=True, slots=True)
class Each(Located):
    """`body for targets in source if condition`; of several `for`, the body of the first is the
    statement with the others."""

    body: Statement
    targets: tuple[Name, ...]
    source: Node
    condition: Node | None


Statement = Assign | Add | Drop | DropItem | Each
