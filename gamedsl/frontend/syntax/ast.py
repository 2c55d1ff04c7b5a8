"""The abstract syntax of expressions.

Every node knows where it was written; nothing here has a type or a meaning yet
(`gamedsl.sema.infer` gives both). Nodes are immutable and hold no parser objects.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from gamedsl.diagnostics.spans import Span


@dataclass(frozen=True, slots=True)
class Node:
    span: Span


@dataclass(frozen=True, slots=True)
class Literal(Node):
    """A number, a truth value, or `none`."""

    value: int | Fraction | bool | None


@dataclass(frozen=True, slots=True)
class Name(Node):
    id: str


@dataclass(frozen=True, slots=True)
class Operator(Node):
    """`op` is one of + - * / // % ** == != < <= > >= in, not in, and, or, not, neg, `..`."""

    op: str
    operands: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Conditional(Node):
    test: Node
    then: Node
    other: Node


@dataclass(frozen=True, slots=True)
class Attribute(Node):
    of: Node
    name: Name


@dataclass(frozen=True, slots=True)
class Index(Node):
    of: Node
    keys: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Call(Node):
    name: Name
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Comprehension(Node):
    """`item for targets in source if condition`, in `[ ]` or as the only argument of a call."""

    item: Node
    targets: tuple[Name, ...]
    source: Node
    condition: Node | None


@dataclass(frozen=True, slots=True)
class Display(Node):
    """`[a, b]` (kind "list") or `(a, b)` (kind "tuple")."""

    kind: str
    items: tuple[Node, ...]


# statements


@dataclass(frozen=True, slots=True)
class Statement(Node):
    """What `do:` does. Places are expressions: `gamedsl.sema.statements` says which can be one."""


@dataclass(frozen=True, slots=True)
class Assign(Statement):
    """`op` is one of = += -=."""

    place: Node
    op: str
    value: Node


@dataclass(frozen=True, slots=True)
class Add(Statement):
    """`add value to place`."""

    place: Node
    value: Node


@dataclass(frozen=True, slots=True)
class Drop(Statement):
    """`drop value from place`."""

    place: Node
    value: Node


@dataclass(frozen=True, slots=True)
class DropItem(Statement):
    """`drop item`, where the item is a place in a list: `drop hand[i]`."""

    item: Node


@dataclass(frozen=True, slots=True)
class Each(Statement):
    """`body for targets in source if condition`."""

    body: Statement
    targets: tuple[Name, ...]
    source: Node
    condition: Node | None
