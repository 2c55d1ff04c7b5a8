"""The meaning of typed expressions: the reference that every faster backend is checked against.

Evaluation is exact and has no effects. What cannot be computed (a division by zero) raises
`EvaluationError`, which points into the game file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gamedsl.ir.builtins import BUILTINS, Undefined, values
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


class EvaluationError(Exception):
    """An expression has no value. `span` is the place in the file; the text says why."""

    def __init__(self, message: str, span: Span) -> None:
        self.message = message
        self.span = span
        super().__init__(f"{span}: {message}")


@dataclass(frozen=True, slots=True)
class Scope:
    """What an expression may read: bindings of steps, streams, lets, and whom it is evaluated for."""

    seats: tuple[str, ...] = ()
    bindings: Mapping[str, Any] = field(default_factory=dict)
    lets: Mapping[str, Let] = field(default_factory=dict)
    streams: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    me: str | None = None
    locals: Mapping[str, Any] = field(default_factory=dict)

    def seated(self, seat: str) -> Scope:
        """The same scope, read by one seat."""
        return replace(self, me=seat)


def evaluate(expr: Expr, scope: Scope) -> Any:
    """The value of an expression. Raises `EvaluationError` where it has none."""
    return _FORMS[type(expr)](expr, scope)


def _apply(expr: Apply, scope: Scope) -> Any:
    arguments = [evaluate(argument, scope) for argument in expr.arguments]
    try:
        return BUILTINS[expr.function].run(*arguments)
    except Undefined as error:
        raise EvaluationError(str(error), expr.span) from None


def _logic(expr: Logic, scope: Scope) -> bool:
    left = evaluate(expr.left, scope)
    if expr.op == "and":
        return left and evaluate(expr.right, scope)
    return left or evaluate(expr.right, scope)


def _if(expr: If, scope: Scope) -> Any:
    return evaluate(expr.then if evaluate(expr.test, scope) else expr.other, scope)


def _get(expr: Get, scope: Scope) -> Any:
    of, key = evaluate(expr.of, scope), evaluate(expr.key, scope)
    if of is None or key is None:
        return None
    try:
        return of[key]
    except KeyError:
        return None
    except IndexError:
        raise EvaluationError(
            f"there is no item {key} in a list of {len(of)}", expr.key.span
        ) from None


def _let_call(expr: LetCall, scope: Scope) -> Any:
    let = scope.lets[expr.name]
    arguments = dict(zip(let.parameters, (evaluate(a, scope) for a in expr.arguments), strict=True))
    seat = scope.me if expr.seat is None else evaluate(expr.seat, scope)
    if let.per_seat and seat is None:
        return None
    return evaluate(let.body, replace(scope, me=seat, locals=arguments))


def _let_map(expr: LetMap, scope: Scope) -> Any:
    let = scope.lets[expr.name]
    return {seat: evaluate(let.body, replace(scope, me=seat, locals={})) for seat in scope.seats}


def _table(expr: Table, scope: Scope) -> Any:
    key = tuple(evaluate(k, scope) for k in expr.keys)
    return evaluate(expr.cells[key], scope)


def _collect(expr: Collect, scope: Scope) -> tuple[Any, ...]:
    found = []
    source = evaluate(expr.source, scope)
    elements: Any = values(source)
    if expr.keyed:
        elements = source.items() if isinstance(source, dict) else enumerate(elements)
    for element in elements:
        bound = dict(scope.locals)
        if len(expr.targets) == 1:
            bound[expr.targets[0]] = element
        else:
            bound.update(zip(expr.targets, element, strict=True))
        inner = replace(scope, locals=bound)
        if expr.condition is None or evaluate(expr.condition, inner):
            found.append(evaluate(expr.item, inner))
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
    Build: lambda expr, scope: tuple(evaluate(item, scope) for item in expr.items),
    Collect: _collect,
}
