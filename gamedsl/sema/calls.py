"""Operators and built-ins on typed arguments, calls by name, and comprehensions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from gamedsl.diagnostics import Note
from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.frontend.syntax import ast
from gamedsl.ir import expr as ir
from gamedsl.ir.builtins import (
    BUILTINS,
    BY_ORDER,
    COMPARISONS,
    FUNCTIONS,
    MAPS,
    ON_GRIDS,
    ORDERED_BY_TYPE,
    element,
    order_of,
)
from gamedsl.ir.builtins_collections import fields_of
from gamedsl.ir.types import (
    NEVER,
    SEAT,
    TEXT,
    WHOLE,
    Bool,
    Enum,
    Grid,
    List,
    Never,
    Number,
    Option,
    PerSeat,
    PerValue,
    Record,
    Tuple,
    Type,
    fits,
    join,
    plain,
    range_type,
)
from gamedsl.sema.entries import Entries
from gamedsl.sema.intervals import interval
from gamedsl.sema.narrow import facts
from gamedsl.sema.scope import ANY, LetName, VariableName, report_taken


@dataclass(frozen=True, slots=True)
class Generator:
    """A typed `for targets in source if condition`."""

    targets: tuple[str, ...]
    source: ir.Expr
    condition: ir.Expr | None
    keyed: bool


class Calls(Entries):
    """Applies the table of built-ins."""

    def apply(self, node: ast.Node, function: str, arguments: tuple[ir.Expr, ...]) -> ir.Expr:
        """An operator or built-in on typed arguments."""
        types = tuple(a.type for a in arguments)
        if any(isinstance(t, Never) for t in types):
            return self.never(node)
        if function in COMPARISONS and types[0] == types[1] and isinstance(types[0], Enum):
            arguments = tuple(self.ordered(argument) for argument in arguments)
            types = (WHOLE, WHOLE)
        result = BUILTINS[function].rule(types)
        if result is None:
            self.mismatch(node, function, arguments)
            return self.never(node)
        if function in ("/", "//", "%") and _is_zero(arguments[1]):
            self.problems.add("GD0401", "division by zero", node.span, why="by 0")
            return self.never(node)
        if function == "**" and fits(types[0], WHOLE) and _natural(arguments[1]):
            result = WHOLE
        if function == "..":
            result = _range_between(*arguments) or result
        if function in ("other", "others"):
            return self.other(node, function, arguments[0])
        if function in ORDERED_BY_TYPE:
            return self.ordered(arguments[0], node)
        if function in ("in", "not in"):
            arguments = (arguments[0], _looked_through(*arguments))
        return ir.Apply(result, node.span, function, arguments + _constants(function, arguments))

    def ordered(self, value: ir.Expr, node: ast.Node | None = None) -> ir.Expr:
        """The place of a role or of an enum's value in its order."""
        span = node.span if node is not None else value.span
        order = value.type.members if isinstance(value.type, Enum) else self.names.seats
        listed = ir.Const(List(value.type, len(order)), span, order)
        return ir.Apply(WHOLE, span, "index", (value, listed))

    # calls

    def call(self, node: ast.Call, expected: Type | None) -> ir.Expr:
        name = node.name.id
        let = self.names.declared.get(name)
        if name in ("past", "prev"):
            return self.past(node)
        if name == "clip" and len(node.arguments) == 1:
            return self.clip(node, expected)
        if name in FUNCTIONS:
            return self.apply_call(node, name, expected)
        if isinstance(let, LetName):
            types = let.types or (None,) * len(node.arguments)
            arguments = tuple(
                self.infer(argument, types[i] if i < len(types) else None)
                for i, argument in enumerate(node.arguments)
            )
            return self.let_call(node, let, arguments)
        lets = [n for n, d in self.names.declared.items() if isinstance(d, LetName)]
        guess = did_you_mean(name, [*FUNCTIONS, *lets])
        if name in self.names.broken or (ANY in self.names.broken and not guess):
            return self.never(node)
        place = self.names.place(name)
        self.problems.add(
            "GD0311",
            f"`{name}` is not a function" if place else f"unknown function `{name}`",
            node.name.span,
            why="not a built-in and not a `let`",
            notes=(Note(place, "declared here"),) if place else (),
            help=f"did you mean `{guess}`?"
            if guess
            else "to multiply, write `*`"
            if place
            else "built-in: " + ", ".join(FUNCTIONS),
        )
        return self.never(node)

    def apply_call(self, node: ast.Call, name: str, expected: Type | None) -> ir.Expr:
        arguments = self.arguments(node, expected)
        if not arguments:
            self.problems.add(
                "GD0305",
                f"`{BUILTINS[name].usage}` does not take nothing",
                node.span,
                why="an argument is missing",
                help=BUILTINS[name].about,
            )
            return self.never(node)
        if name == "count" and isinstance(node.arguments[0], ast.Comprehension):
            inner = element(arguments[0].type)
            if not isinstance(inner, Bool | Never) and node.arguments[0].condition is not None:
                name = "len"
        return self.apply(node, name, arguments)

    def arguments(self, node: ast.Call, expected: Type | None) -> tuple[ir.Expr, ...]:
        name, given = node.name.id, node.arguments
        first = given[0] if given else None
        typed: list[ir.Expr] = []
        wanted = expected if name in _SAME_TYPE else None
        if name in MAPS and isinstance(first, ast.Name) and (len(given) == 1 or name == "count"):
            typed.append(self.collection(first))
        elif first is not None:
            typed.append(self.infer(first, wanted))
        for argument in given[1:]:
            typed.append(self.meant(argument, element(typed[0].type) if name == "count" else None))
        return tuple(typed)

    def past(self, node: ast.Call) -> ir.Expr:
        """`past(v)` and `prev(v)`: what steps bound to a variable."""
        named = node.arguments[0] if len(node.arguments) == 1 else None
        if isinstance(named, ast.Name) and named.id not in self.locals:
            variable = self.names.declared.get(named.id)
            if isinstance(variable, VariableName):
                type = self.variable_type(variable)
                past = ir.Past(List(type), node.span, named.id)
                if node.name.id == "past":
                    return past
                return ir.Apply(Option(plain(type)), node.span, "prev", (past,))
            if variable is None and named.id not in (*self.names.everyone, *self.names.members):
                return self.unknown(named)
        self.problems.add(
            "GD0326",
            f"`{node.name.id}` takes the name of a variable",
            node.span,
            why="what steps bind has a past",
            help="keep the past of state in a list: `add x to list`",
        )
        return self.never(node)

    def clip(self, node: ast.Call, expected: Type | None) -> ir.Expr:
        """`clip(x)`: into the range of the place where it is stored."""
        wanted = None if expected is None else plain(expected)
        value = self.infer(node.arguments[0], wanted)
        if isinstance(value.type, Never) or isinstance(wanted, Never):
            return self.never(node)
        bounds = _bounds(wanted)
        if bounds is None:
            self.problems.add(
                "GD0327",
                "there is no range here to clip to",
                node.span,
                why="the range of the place where it is stored, which has none",
                help=f"give the range: `clip({node.arguments[0].span.text}, 0, 9)`",
            )
            return self.never(node)
        many = isinstance(bounds[0], tuple)
        kind = Tuple((WHOLE,) * len(bounds[0])) if many else WHOLE
        limits = (ir.Const(kind, node.span, bound) for bound in bounds)
        typed = self.apply(node, "clip", (value, *limits))
        assert wanted is not None
        if isinstance(typed, ir.Apply) and fits(typed.type, wanted):
            return ir.Apply(wanted, node.span, "clip", typed.arguments)
        return typed

    # comprehensions

    def comprehension(self, node: ast.Comprehension, expected: Type | None) -> ir.Expr:
        wanted = element(expected) if expected is not None else None
        with self.each(node.targets, node.source, node.condition) as generator:
            item = self.infer(node.item, wanted)
        return ir.Collect(
            List(item.type) if not isinstance(item.type, Never) else NEVER,
            node.span,
            item,
            generator.targets,
            generator.source,
            generator.condition,
            generator.keyed,
        )

    @contextmanager
    def each(
        self, names: tuple[ast.Name, ...], over: ast.Node, test: ast.Node | None
    ) -> Iterator[Generator]:
        """Type the `for` of a comprehension or statement; inside, its names have their types."""
        source = self.map(over)
        inner = element(source.type)
        if inner is None:
            self.problems.add(
                "GD0312",
                "`for` goes through a collection",
                over.span,
                why=f"this is {source.type}",
                help=f"to count from 1, write `1..{over.span.text}`"
                if isinstance(source.type, Number)
                else "",
            )
            source, inner = self.never(over), NEVER
        if len(names) == 2 and isinstance(source.type, Grid):
            source, inner = self.by_cell(source, source.type)
        types = self.target_types(names, source, inner)
        saved = self.locals, self.some
        self.locals = dict(self.locals)
        own = {target.id for target in names}
        self.some = frozenset(k for k in self.some if own.isdisjoint(re.findall(r"\w+", k)))
        for target, type in zip(names, types, strict=True):
            self.new_local(target, type)
        condition = None
        if test is not None:
            condition = self.truth(test, self.infer(test), "the condition")
            self.some |= facts(test, True)
        keyed = len(names) == 2 and not _unpacked(source.type, inner, 2)
        yield Generator(tuple(t.id for t in names), source, condition, keyed)
        self.locals, self.some = saved

    def by_cell(self, grid: ir.Expr, type: Grid) -> tuple[ir.Expr, Type]:
        """A grid as the list of its places, each with what it holds."""
        arguments = (grid, *_constants("cells", (grid,)))
        cells = ir.Apply(List(type.cell), grid.span, "cells", arguments)
        pair = Tuple((type.cell, type.of))
        return ir.Apply(List(pair), grid.span, "zip", (cells, grid)), pair

    def new_local(self, target: ast.Name, type: Type) -> None:
        """A comprehension's own name: a new one, so that no expression reads in two ways."""
        first = self.names.anywhere(target.id)
        if not report_taken(target.id, target.span, first, self.problems):
            self.locals[target.id] = type

    def target_types(
        self, names: tuple[ast.Name, ...], source: ir.Expr, inner: Type
    ) -> tuple[Type, ...]:
        count = len(names)
        if count == 1:
            return (inner,)
        if isinstance(inner, Tuple) and _unpacked(source.type, inner, count):
            return inner.of
        if count == 2:
            map = source.type
            key = map.key if isinstance(map, PerValue) else WHOLE
            return (SEAT if isinstance(map, PerSeat) else key, inner)
        if not isinstance(inner, Never):
            self.problems.add(
                "GD0312",
                f"the elements do not have {count} parts",
                names[0].span,
                why=f"each is {inner}",
                help="`for i, x in list` numbers the elements; `for x in list` takes each",
            )
        return (NEVER,) * count


_SAME_TYPE = frozenset({"list", "max", "min", "reversed", "set", "sorted"})
"""Built-ins whose argument has the elements that their result has, or that it is one of."""


def _unpacked(source: Type, inner: Type, count: int) -> bool:
    """Whether several targets are the parts of each element: of a map, two are key and value."""
    mapped = isinstance(source, PerSeat | PerValue) and count == 2
    return isinstance(inner, Tuple) and len(inner.of) == count and not mapped


def _constants(function: str, arguments: tuple[ir.Expr, ...]) -> tuple[ir.Expr, ...]:
    """What sema adds to the arguments of a built-in: the order of values, the size of a grid."""
    first = arguments[0]
    if function in ON_GRIDS and isinstance(first.type, Grid):
        size = first.type.rows, first.type.columns
        return tuple(ir.Const(WHOLE, first.span, number) for number in size)
    if function in BY_ORDER:
        compared = first.type if function in COMPARISONS else element(first.type)
        order = None if compared is None else order_of(compared)
        if order is not None:
            return (ir.Const(TEXT, first.span, order),)
    return ()


def _range_between(first: ir.Expr, last: ir.Expr) -> Type | None:
    """The type of `first..last`, where it is known between which numbers they lie."""
    low, high = interval(first), interval(last)
    if low is None or high is None or low[0] > high[1]:
        return None
    return List(range_type(low[0], high[1]))


def _looked_through(value: ir.Expr, collection: ir.Expr) -> ir.Expr:
    """What `in` looks through: of a record or tuple, the fields that can equal the value."""
    parts = fields_of(collection.type)
    if not isinstance(collection.type, Record | Tuple):
        return collection
    able = [i for i, part in enumerate(parts) if join(part, value.type) is not None]
    if len(able) == len(parts):
        return collection
    fields = tuple(ir.Field(parts[i], collection.span, collection, i) for i in able)
    return ir.Build(Tuple(tuple(field.type for field in fields)), collection.span, fields)


def _bounds(type: Type | None) -> tuple[Any, Any] | None:
    """The lowest and the highest value of a bounded number, or of a tuple of them."""
    if isinstance(type, Number) and type.low is not None:
        return type.low, type.high
    if isinstance(type, Tuple):
        parts = [_bounds(part) for part in type.of]
        known = [part for part in parts if part is not None]
        if len(known) == len(parts):
            return tuple(low for low, _ in known), tuple(high for _, high in known)
    return None


def _is_zero(divisor: ir.Expr) -> bool:
    """Whether a divisor is written as 0; a param that is 0 may stand where it is never read."""
    return isinstance(divisor, ir.Const) and divisor.origin is None and divisor.value == 0


def _natural(expr: ir.Expr) -> bool:
    """Whether an expression is known to be a whole number, and not negative."""
    match expr:
        case ir.Const(type=Number(whole=True), value=value):
            return bool(value >= 0)
        case ir.Apply(function="+" | "*" | "**", arguments=parts):
            return all(map(_natural, parts))
        case ir.Apply(function="len" | "size" | "count" | "index"):
            return True
    return _ranged_from_zero(expr.type)


def _ranged_from_zero(type: Type) -> bool:
    return isinstance(type, Number) and type.low is not None and type.low >= 0
