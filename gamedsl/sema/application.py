"""Operators and built-ins, applied to typed arguments."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, assert_never

from gamedsl.bounds.expressions import Interpreter
from gamedsl.frontend.syntax import ast
from gamedsl.ir import expr as ir
from gamedsl.ir.abstract_values import ANYTHING, NATURAL, Interval, Seats, number_in, of_type
from gamedsl.ir.builtins import BUILTINS, Builtin, element, is_comparison, order_of
from gamedsl.ir.builtins_collections import fields_of
from gamedsl.ir.types import (
    TEXT,
    WHOLE,
    Enum,
    Grid,
    List,
    Never,
    Number,
    Record,
    Tuple,
    Type,
    domain,
    fits,
    join,
    range_type,
)
from gamedsl.sema.graphs import graph_argument
from gamedsl.sema.name_resolution import other_seats
from gamedsl.sema.named_values import by_value, shared_value, value_of
from gamedsl.sema.type_errors import report_arguments, report_never_none, report_shared_value
from gamedsl.sema.typing_context import TypingContext, never


def apply(
    context: TypingContext, node: ast.Node, function: str, arguments: tuple[ir.Expr, ...]
) -> ir.Expr:
    """Returns an operator or built-in on typed arguments; reports those that it does not take."""
    if any(isinstance(a.type, Never) for a in arguments):
        return never(node)
    row = BUILTINS[function]
    named, arguments = arguments, by_value(row, arguments)
    shared = shared_value(function, named) if arguments != named else None
    if shared is not None:
        report_shared_value(context, node, named, shared)
        return never(node)
    types = tuple(a.type for a in arguments)
    if is_comparison(function) and types[0] == types[1] and isinstance(types[0], Enum):
        arguments = tuple(_rank(context, argument) for argument in arguments)
        types = (WHOLE, WHOLE)
    result = row.rule(types)
    if function in ("==", "!=") and report_never_none(context, node, function, arguments):
        return never(node)
    live = tuple(map(context.live, arguments)) if result is None else arguments
    if live != arguments:
        return apply(context, node, function, live)
    if result is None:
        report_arguments(context, node, function, arguments)
        return never(node)
    if row.undefined == "by zero" and _is_zero(arguments[1]):
        context.problems.add("GD0401", "division by zero", node.span, why="by 0")
        return never(node)
    if row.flow.elements == "others":
        return other_seats(context, node, function, arguments[0])
    if row.appended == "order of the type":
        return _rank(context, arguments[0], node)
    if row.appended == "values of the type":
        return value_of(arguments[0])
    result, arguments = _narrowed(context, row, result, arguments)
    if row.appended in ("graph", "graph instead"):
        graph = graph_argument(context, node, arguments[0])
        if graph is None:
            return never(node)
        instead = row.appended == "graph instead"
        arguments = (graph, *arguments[1:]) if instead else (*arguments, graph)
    return ir.Apply(result, node.span, function, arguments + _added_arguments(function, arguments))


def _narrowed(
    context: TypingContext, row: Builtin, result: Type, arguments: tuple[ir.Expr, ...]
) -> tuple[Type, tuple[ir.Expr, ...]]:
    """Returns the type of a built-in's result and its arguments, narrowed as its row says."""
    match row.narrowed:
        case "":
            return result, arguments
        case "range":
            seats = Seats(context.names.seats, context.names.everyone)
            ends = (_typed_interval(end, seats) for end in arguments)
            return _range_between(*ends) or result, arguments
        case "power":
            base, exponent = arguments
            whole = fits(base.type, WHOLE) and _is_natural(exponent)
            return WHOLE if whole else result, arguments
        case "members":
            return result, (arguments[0], _looked_through(*arguments))
        case _:
            assert_never(row.narrowed)


def _rank(context: TypingContext, value: ir.Expr, node: ast.Node | None = None) -> ir.Expr:
    """Returns the place of a role or of an enum's value in its order."""
    span = node.span if node is not None else value.span
    order = value.type.members if isinstance(value.type, Enum) else context.names.seats
    listed = ir.Const(List(value.type, len(order)), span, order)
    return ir.Apply(WHOLE, span, "index", (value, listed))


def clip(context: TypingContext, node: ast.Call, value: ir.Expr, wanted: Type | None) -> ir.Expr:
    """Returns `clip(x)`: a number in the range of the place where it is stored."""
    if isinstance(value.type, Never) or isinstance(wanted, Never):
        return never(node)
    bounds = _bounds(wanted)
    if bounds is None:
        context.problems.add(
            "GD0327",
            "there is no range here to clip to",
            node.span,
            why="the range of the place where it is stored, which has none",
            help=f"give the range: `clip({node.arguments[0].span.text}, 0, 9)`",
        )
        return never(node)
    many = isinstance(bounds[0], tuple)
    kind = Tuple((WHOLE,) * len(bounds[0])) if many else WHOLE
    limits = (ir.Const(kind, node.span, bound) for bound in bounds)
    typed = apply(context, node, "clip", (value, *limits))
    assert wanted is not None
    if isinstance(typed, ir.Apply) and fits(typed.type, wanted):
        return ir.Apply(wanted, node.span, "clip", typed.arguments)
    return typed


def cells_with_values(grid: ir.Expr, type: Grid) -> tuple[ir.Expr, Type]:
    """Returns a grid as the list of its places, each with its value, and the type of one pair."""
    arguments = (grid, *_added_arguments("cells", (grid,)))
    cells = ir.Apply(List(type.cell), grid.span, "cells", arguments)
    pair = Tuple((type.cell, type.of))
    return ir.Apply(List(pair), grid.span, "zip", (cells, grid)), pair


def fields_with_keys(
    context: TypingContext, record: ir.Expr, type: Record, key: Type
) -> tuple[ir.Expr, Type]:
    """Returns a record that is read as a map as the list of its keys, each with its field, and the
    type of one pair."""
    keys = domain(key, context.names.everyone) or ()
    listed = ir.Const(List(key, len(keys)), record.span, keys)
    pair = Tuple((key, type.types[0]))
    return ir.Apply(List(pair), record.span, "zip", (listed, record)), pair


def _added_arguments(function: str, arguments: tuple[ir.Expr, ...]) -> tuple[ir.Expr, ...]:
    """Returns the arguments that are added to those written: an order of values, a grid's size."""
    first = arguments[0]
    appended = BUILTINS[function].appended
    if appended == "size of the grid" and isinstance(first.type, Grid):
        size = first.type.rows, first.type.columns
        return tuple(ir.Const(WHOLE, first.span, number) for number in size)
    if appended == "order of the values":
        compared = first.type if is_comparison(function) else element(first.type)
        order = None if compared is None else order_of(compared)
        if order is not None:
            return (ir.Const(TEXT, first.span, order),)
    return ()


def _range_between(first: Interval, last: Interval) -> Type | None:
    """Returns the type of `first..last`; None where it is not known between which numbers."""
    if not (first.bounded and last.bounded) or first.low > last.high:
        return None
    return List(range_type(int(first.low), int(last.high)))


def _typed_interval(expr: ir.Expr, seats: Seats) -> Interval:
    """Returns the interval of an end of a range, as the type of the range has it: by type, but for
    constants, conditionals and the built-ins of which `Builtin.ranges_type` says so."""
    typed = of_type(expr.type, seats)
    if not (isinstance(expr.type, Number) and expr.type.whole):
        return typed.number
    match expr:
        case ir.Const(value=int() as value):
            return Interval(value, value, True)
        case ir.If(then=then, other=other):
            return _typed_interval(then, seats) | _typed_interval(other, seats)
        case ir.Apply():
            return _applied_interval(expr, seats)
        case (
            ir.Const() | ir.Read() | ir.LastBy() | ir.Past() | ir.Local() | ir.Me() | ir.Stream()
            | ir.Logic() | ir.Get() | ir.Field() | ir.Cell() | ir.LetCall() | ir.LetMap()
            | ir.Table() | ir.Build() | ir.Collect() | ir.Consult()
        ):  # fmt: skip
            return typed.number
        case _:
            assert_never(expr)


def _applied_interval(expr: ir.Apply, seats: Seats) -> Interval:
    """Returns the interval of a built-in's result, as the type of a range has it."""
    if all(isinstance(argument, ir.Const) for argument in expr.arguments):
        return Interpreter(seats.players, {}).interval(expr)
    row = BUILTINS[expr.function]
    known = tuple(
        replace(of_type(a.type, seats), number=_typed_interval(a, seats)) for a in expr.arguments
    )
    bounded = all(
        argument.number.bounded
        for argument, written in zip(known, expr.arguments, strict=True)
        if isinstance(written.type, Number)
    )
    counts = row.ranges_type == "always" or (row.ranges_type == "bounded" and bounded)
    return row.interval(known) if counts else of_type(expr.type, seats).number


def _looked_through(value: ir.Expr, collection: ir.Expr) -> ir.Expr:
    """Returns the collection of `in`; of a record or tuple, the fields that can equal the value."""
    parts = fields_of(collection.type)
    if not isinstance(collection.type, Record | Tuple):
        return collection
    able = [i for i, part in enumerate(parts) if join(part, value.type) is not None]
    if len(able) == len(parts):
        return collection
    fields = tuple(ir.Field(parts[i], collection.span, collection, i) for i in able)
    return ir.Build(Tuple(tuple(field.type for field in fields)), collection.span, fields)


def _bounds(type: Type | None) -> tuple[Any, Any] | None:
    """Returns the lowest and the highest value of a bounded number, or of a tuple of them."""
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


def _is_natural(expr: ir.Expr) -> bool:
    """Whether an expression is known to be a whole number, and not negative."""
    if isinstance(expr, ir.Const) and isinstance(expr.type, Number) and expr.type.whole:
        return bool(expr.value >= 0)
    if isinstance(expr, ir.Apply):
        row = BUILTINS[expr.function]
        # Of functions, nothing is counted on but the result: types are part of hashes.
        counts = row.kind == "operator"
        interval = row.interval(
            tuple(
                number_in(NATURAL) if counts and _is_natural(part) else ANYTHING
                for part in expr.arguments
            )
        )
        if interval.whole and interval.low >= 0:
            return True
    return isinstance(expr.type, Number) and expr.type.low is not None and expr.type.low >= 0
