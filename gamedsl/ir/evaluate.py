"""The meaning of typed expressions: the reference that every faster backend is checked against.

Evaluation is exact and has no effects. What cannot be computed (a division by zero, more than
`MAX_WORK` steps) raises `EvaluationError`, which points into the game file.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from gamedsl.ir.builtins import BUILTINS, UndefinedError, values
from gamedsl.ir.expr import (
    Apply,
    Build,
    Collect,
    Const,
    Expr,
    Get,
    If,
    LetCall,
    LetMap,
    Local,
    Logic,
    Me,
    Read,
    Stream,
    Table,
)  # fmt: skip
from gamedsl.ir.game import Let
from gamedsl.source.spans import Span

MAX_WORK = 250_000
"""Operations, items gone through and lets read in working out one expression."""


class EvaluationError(Exception):
    """An expression has no value. `span` is the place in the file, `expr` what stands there."""

    def __init__(self, message: str, expr: Expr) -> None:
        self.message = message
        self.expr = expr
        self.span: Span = expr.span
        super().__init__(f"{expr.span}: {message}")


class Meter:
    """The work that one expression has taken; every scope made from one shares its meter."""

    __slots__ = ("spent",)

    def __init__(self) -> None:
        self.spent = 0

    def spend(self, amount: int, expr: Expr) -> None:
        self.spent += amount
        if self.spent > MAX_WORK:
            raise EvaluationError(f"this takes more than {MAX_WORK:,} steps to work out", expr)


class Scope(NamedTuple):
    """What an expression may read: bindings of steps, streams, lets, and whom it is read by."""

    seats: tuple[str, ...] = ()
    bindings: Mapping[str, Any] = {}
    lets: Mapping[str, Let] = {}
    streams: Mapping[str, Mapping[str, Any]] = {}
    me: str | None = None
    locals: Mapping[str, Any] = {}
    meter: Meter | None = None

    def seated(self, seat: str) -> Scope:
        """The same scope, read by one seat."""
        return self._replace(me=seat)


def evaluate(expr: Expr, scope: Scope, meter: Meter | None = None) -> Any:
    """The value of an expression. Raises `EvaluationError` where it has none.

    `meter`, a fresh one, tells afterwards how much work it took.
    """
    return _value(expr, scope._replace(meter=meter or Meter()))


def _value(expr: Expr, scope: Scope) -> Any:
    return _FORMS[type(expr)](expr, scope)


def _spend(amount: int, expr: Expr, scope: Scope) -> None:
    assert scope.meter is not None
    scope.meter.spend(amount, expr)


def _apply(expr: Apply, scope: Scope) -> Any:
    arguments = [_value(argument, scope) for argument in expr.arguments]
    first = arguments[0]
    _spend(len(first) if isinstance(first, tuple | dict | frozenset) else 1, expr, scope)
    try:
        result = BUILTINS[expr.function].run(*arguments)
    except UndefinedError as error:
        raise EvaluationError(str(error), expr) from None
    if isinstance(result, tuple):
        _spend(len(result), expr, scope)
    return result


def _logic(expr: Logic, scope: Scope) -> Any:
    left = _value(expr.left, scope)
    if expr.op == "and":
        return left and _value(expr.right, scope)
    return left or _value(expr.right, scope)


def _if(expr: If, scope: Scope) -> Any:
    return _value(expr.then if _value(expr.test, scope) else expr.other, scope)


def _get(expr: Get, scope: Scope) -> Any:
    of, key = _value(expr.of, scope), _value(expr.key, scope)
    if of is None or key is None:
        return None
    if isinstance(of, dict):
        return of.get(key)
    if not 0 <= key < len(of):
        raise EvaluationError(f"a list of {len(of)} has no item {key}, counted from 0", expr)
    return of[key]


def _let_call(expr: LetCall, scope: Scope) -> Any:
    let = scope.lets[expr.name]
    _spend(1, expr, scope)
    arguments = dict(zip(let.parameters, (_value(a, scope) for a in expr.arguments), strict=True))
    seat = scope.me if expr.seat is None else _value(expr.seat, scope)
    if let.per_seat and seat is None:
        return None
    return _value(let.body, scope._replace(me=seat, locals=arguments))


def _let_map(expr: LetMap, scope: Scope) -> Any:
    let = scope.lets[expr.name]
    _spend(len(scope.seats), expr, scope)
    return {seat: _value(let.body, scope._replace(me=seat, locals={})) for seat in scope.seats}


def _table(expr: Table, scope: Scope) -> Any:
    key = tuple(_value(k, scope) for k in expr.keys)
    return _value(expr.cells[key], scope)


def _collect(expr: Collect, scope: Scope) -> tuple[Any, ...]:
    found = []
    source = _value(expr.source, scope)
    elements: Collection[Any] = values(source)
    if expr.keyed:
        elements = list(source.items() if isinstance(source, dict) else enumerate(elements))
    _spend(len(elements), expr, scope)
    for element in elements:
        bound = dict(scope.locals)
        if len(expr.targets) == 1:
            bound[expr.targets[0]] = element
        else:
            bound.update(zip(expr.targets, element, strict=True))
        inner = scope._replace(locals=bound)
        if expr.condition is None or _value(expr.condition, inner):
            found.append(_value(expr.item, inner))
    return tuple(found)


_FORMS: dict[type[Expr], Callable[[Any, Scope], Any]] = {
    Const: lambda expr, scope: expr.value,
    Read: lambda expr, scope: scope.bindings.get(expr.name),
    Local: lambda expr, scope: scope.locals[expr.name],
    Me: lambda expr, scope: scope.me,
    Stream: lambda expr, scope: scope.streams[expr.name],
    Apply: _apply,
    Logic: _logic,
    If: _if,
    Get: _get,
    LetCall: _let_call,
    LetMap: _let_map,
    Table: _table,
    Build: lambda expr, scope: tuple(_value(item, scope) for item in expr.items),
    Collect: _collect,
}
