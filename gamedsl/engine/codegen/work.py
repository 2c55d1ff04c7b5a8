"""Bounds of the work that an expression can take the reference, known before play.

The reference counts its work and gives up after `MAX_WORK` steps. Generated code does not count: it
is written only for expressions that provably stay below, given that no collection of unknown size
has more than `largest` items, which is checked in play (`few`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, assert_never

from gamedsl.bounds.expressions import Interpreter
from gamedsl.ir.abstract_values import of_type
from gamedsl.ir.evaluate import MAX_WORK
from gamedsl.ir.expr import (
    Apply,
    Build,
    Cell,
    Collect,
    Const,
    Consult,
    Expr,
    Field,
    Get,
    If,
    LastBy,
    LetCall,
    LetMap,
    Local,
    Logic,
    Me,
    Past,
    Read,
    Stream,
    Table,
    children,
)
from gamedsl.ir.game import Let
from gamedsl.ir.statements import ForEach
from gamedsl.ir.types import NONE

LADDER = (10_000, 3_000, 1_000, 300, 100, 30, 10)
"""Sizes that are tried for collections without a known size."""


class Work:
    """Bounds on the steps that the reference counts for the expressions of one game."""

    def __init__(self, values: Interpreter, lets: Mapping[str, Let]) -> None:
        self._values = values
        self._lets = lets
        self._of_lets: dict[tuple[str, int], int] = {}
        """The work of bodies of lets, by name and largest size."""

    def largest_size(self, roots: Iterable[Expr]) -> int:
        """Returns the size allowed to collections of unknown size: the largest of `LADDER` with
        which all of `roots` stay below `MAX_WORK` that can."""
        largest = LADDER[0]
        for root in roots:
            fitting = [size for size in LADDER if self.steps(root, size) <= MAX_WORK]
            if fitting:
                largest = min(largest, fitting[0])
        return largest

    def steps(self, expr: Expr, largest: int) -> int:
        """Returns the most steps that the reference can count for an expression."""
        inside = sum(self.steps(child, largest) for child in children(expr))
        match expr:
            case Apply(arguments=arguments):
                longest = max((self._size(part, largest) for part in arguments), default=0)
                scalar = of_type(expr.type, self._values.seats).size == 1
                return inside + max(1, longest) + (0 if scalar else self._size(expr, largest))
            case Collect(item=item, source=source, condition=condition):
                parts = [item] if condition is None else [item, condition]
                each = sum(self.steps(part, largest) for part in parts)
                return self.steps(source, largest) + self._size(source, largest) * (1 + each)
            case LetCall(name=name):
                return inside + 1 + self._let_steps(name, largest)
            case LetMap(name=name):
                return len(self._values.seats.players) * (1 + self._let_steps(name, largest))
            case Consult(arguments=given):
                sizes = (self._size(part, largest) for _, part in given)
                return inside + max(1, *sizes)
            case Table(keys=keys, cells=cells):
                longest = max((self.steps(cell, largest) for cell in cells.values()), default=0)
                return sum(self.steps(key, largest) for key in keys) + longest
            case (
                Const() | Read() | LastBy() | Past() | Local() | Me() | Stream() | Logic() | If()
                | Get() | Field() | Cell() | Build()
            ):  # fmt: skip
                return inside
            case _:
                assert_never(expr)

    def _let_steps(self, name: str, largest: int) -> int:
        if (name, largest) not in self._of_lets:
            self._of_lets[name, largest] = self.steps(self._lets[name].body, largest)
        return self._of_lets[name, largest]

    def _size(self, expr: Expr, largest: int) -> int:
        """Returns the most items of a value; `largest` where there is no bound."""
        known = self._values.size(expr)
        return largest if known is None else known


def roots(part: Any) -> Iterable[Expr]:
    """Yields the expressions in a part of the IR that are evaluated by themselves; of a statement
    over a collection, what goes through it."""
    if isinstance(part, ForEach):
        yield from roots(part.body)
        yield iteration(part)
    elif isinstance(part, tuple):
        for item in part:
            yield from roots(item)
    elif is_dataclass(part):
        if isinstance(part, Expr):
            yield part
            return
        for each in fields(part):
            if each.compare and each.name != "type":
                yield from roots(getattr(part, each.name))


def iteration(statement: ForEach) -> Collect:
    """Returns the comprehension that the reference evaluates to go through the elements of a
    statement."""
    span = statement.span
    item = statement.condition or Build(NONE, span, ())
    return Collect(NONE, span, item, statement.targets, statement.source, None, statement.keyed)
