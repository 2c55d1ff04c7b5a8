"""How large values can be and how much work an expression can take, known before play.

The reference counts its work and gives up after `MAX_WORK` steps. Generated code does not count: it
is written only for expressions that provably stay below, given that no collection of unknown size
has more than `most` items, which is checked in play (`few`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from gamedsl.ir.builtins import ON_GRIDS
from gamedsl.ir.evaluate import MAX_WORK
from gamedsl.ir.expr import (
    Apply,
    Build,
    Collect,
    Const,
    Expr,
    If,
    LetCall,
    LetMap,
    Table,
    children,
)  # fmt: skip
from gamedsl.ir.game import Let
from gamedsl.ir.statements import ForEach
from gamedsl.ir.types import (
    NONE,
    Bool,
    Enum,
    Grid,
    List,
    NoneType,
    Number,
    PerSeat,
    PerValue,
    Record,
    Seat,
    Set,
    Tuple,
    Type,
    Union,
    domain,
    plain,
)  # fmt: skip
from gamedsl.ir.values import Bag

LADDER = (10_000, 3_000, 1_000, 300, 100, 30, 10)
"""What is tried for the size of collections that nothing is known about."""

SAME_SIZE = frozenset({"list", "sorted", "reversed", "set", "slots", "keys", "difference", "zip"})
"""Functions whose result is no larger than their first argument."""


class Bounds:
    """Bounds for the expressions of one game."""

    def __init__(self, seats: tuple[str, ...], lets: Mapping[str, Let]) -> None:
        self._seats = seats
        self._lets = lets
        self._domains: dict[Type, int | None] = {}
        self._work: dict[tuple[str, int], int] = {}
        self._sizes: dict[str, int | None] = {}
        """What is known about lets, by their names."""

    def most(self, roots: Iterable[Expr]) -> int:
        """The size allowed to collections of unknown size: the largest of `LADDER` with which all
        of `roots` stay below `MAX_WORK` that can."""
        listed = list(roots)
        most = LADDER[0]
        for root in listed:
            fitting = [size for size in LADDER if self.work(root, size) <= MAX_WORK]
            if fitting:
                most = min(most, fitting[0])
        return most

    def work(self, expr: Expr, most: int) -> int:
        """The most steps that the reference can count for an expression."""
        inside = sum(self.work(child, most) for child in children(expr))
        match expr:
            case Apply(arguments=arguments):
                largest = max((self.size(part, most) for part in arguments), default=0)
                result = 0 if self.type_size(expr.type) == 1 else self.size(expr, most)
                return inside + max(1, largest) + result
            case Collect(item=item, source=source, condition=condition):
                parts = [item] if condition is None else [item, condition]
                each = sum(self.work(part, most) for part in parts)
                return self.work(source, most) + self.size(source, most) * (1 + each)
            case LetCall(name=name):
                return inside + 1 + self._let_work(name, most)
            case LetMap(name=name):
                return len(self._seats) * (1 + self._let_work(name, most))
            case Table(keys=keys, cells=cells):
                largest = max((self.work(cell, most) for cell in cells.values()), default=0)
                return sum(self.work(key, most) for key in keys) + largest
        return inside

    def _let_work(self, name: str, most: int) -> int:
        if (name, most) not in self._work:
            self._work[name, most] = self.work(self._lets[name].body, most)
        return self._work[name, most]

    def size(self, expr: Expr, most: int) -> int:
        """The most items of an expression's value; `most` where nothing is known, 1 for none."""
        known = self.known_size(expr)
        return most if known is None else known

    def known_size(self, expr: Expr) -> int | None:
        """The most items of a value, copies counted; 1 for what is no collection; None if that is
        not known."""
        match expr:
            case Const(value=value):
                if isinstance(value, dict | tuple | frozenset):
                    return sum(value.values()) if isinstance(value, Bag) else len(value)
                return 1
            case Build(items=items):
                return len(items)
            case LetMap():
                return len(self._seats)
            case Collect(source=source):
                return self.known_size(source)
            case If(then=then, other=other):
                return _largest((self.known_size(then), self.known_size(other)))
            case LetCall(name=name):
                if name not in self._sizes:
                    self._sizes[name] = self.known_size(self._lets[name].body)
                return self._sizes[name]
            case Apply():
                found = self._applied(expr)
                if found is not None:
                    return found
        return self.type_size(expr.type)

    def _applied(self, expr: Apply) -> int | None:
        arguments = expr.arguments
        match expr.function:
            case name if name in SAME_SIZE:
                return self.known_size(arguments[0])
            case name if name in ON_GRIDS and name != "line":
                return self.known_size(arguments[0])
            case "others":
                return len(self._seats)
            case "union" | "intersection":
                sizes = [self.known_size(argument) for argument in arguments]
                known = [size for size in sizes if size is not None]
                if expr.function == "intersection":
                    return min(known, default=None)
                return sum(known) if len(known) == len(sizes) else None
            case "..":
                low, high = arguments
                if isinstance(low.type, Number) and isinstance(high.type, Number):
                    least = low.value if isinstance(low, Const) else low.type.low
                    greatest = high.value if isinstance(high, Const) else high.type.high
                    if least is not None and greatest is not None:
                        return max(0, int(greatest) - int(least) + 1)
        return None

    def type_size(self, type: Type) -> int | None:
        """The most items of a value of a type; as `known_size`."""
        match plain(type):
            case List(length=length, at_most=most):
                return most if length is None else length
            case Grid(rows=rows, columns=columns):
                return rows * columns
            case Tuple() | Record() as parts:
                return len(parts.types if isinstance(parts, Record) else parts.of)
            case PerSeat():
                return len(self._seats)
            case Set(of=inner) | PerValue(key=inner):
                return self._domain(inner)
            case Bool() | Number() | Seat() | NoneType():
                return 1
            case Union(of=options):
                return _largest(tuple(map(self.type_size, options)))
            case Enum(members=members):
                return 1 if members else None
        return None

    def _domain(self, type: Type) -> int | None:
        if type not in self._domains:
            values = domain(type, self._seats)
            self._domains[type] = None if values is None else len(values)
        return self._domains[type]


def roots(part: Any) -> Iterable[Expr]:
    """The expressions in a part of the IR that are worked out by themselves."""
    if isinstance(part, Expr):
        yield part
    elif isinstance(part, ForEach):
        yield from roots(part.body)
        yield rows(part)
    elif isinstance(part, tuple):
        for item in part:
            yield from roots(item)
    elif is_dataclass(part):
        for each in fields(part):
            if each.compare and each.name != "type":
                yield from roots(getattr(part, each.name))


def rows(statement: ForEach) -> Collect:
    """What the reference works out to go through the elements of a statement."""
    span = statement.span
    item = statement.condition or Build(NONE, span, ())
    return Collect(NONE, span, item, statement.targets, statement.source, None, statement.keyed)


def _largest(sizes: tuple[int | None, ...]) -> int | None:
    known = [size for size in sizes if size is not None]
    return max(known, default=0) if len(known) == len(sizes) else None
