"""The abstract syntax of expressions.

Every node knows where it was written; nothing here has a type or a meaning yet
(`gamedsl.sema.infer` gives both). Nodes are immutable and hold no parser objects.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from gamedsl.source.spans import Span


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
    """`item for targets in source if condition`, the only argument of a call."""

    item: Node
    targets: tuple[Name, ...]
    source: Node
    condition: Node | None


@dataclass(frozen=True, slots=True)
class Display(Node):
    """`[a, b]` (kind "list") or `(a, b)` (kind "tuple")."""

    kind: str
    items: tuple[Node, ...]
