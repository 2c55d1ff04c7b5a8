"""The meaning of typed expressions: the reference that every faster backend is checked against.

Evaluation is exact and has no effects. What cannot be computed (a division by zero, a sum with
none, more than `MAX_WORK` steps) raises `EvaluationError`, which points into the game file.

Bindings are found by name: `v` is what a variable holds, `v@by` the per-seat map of what each seat
chose last where one chooses at a time, and `v@past` the tuple of all that was bound so far.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from fractions import Fraction
from typing import Any, NamedTuple, assert_never

from gamedsl.calls.registry import CallError, lookup
from gamedsl.calls.types import OrNone
from gamedsl.diagnostics.spans import Span
from gamedsl.ir.builtins import BUILTINS, UndefinedError, values
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
)  # fmt: skip
from gamedsl.ir.function_data import as_data, from_data
from gamedsl.ir.game import Let
from gamedsl.ir.values import Bag

MAX_WORK = 250_000
"""Operations, items gone through and lets read in working out one expression."""


class EvaluationError(Exception):
    """An expression has no value. `span` is the place in the file, `expr` what stands there."""

    def __init__(self, message: str, expr: Expr) -> None:
        self.message = message
        self.expr = expr
        self.span: Span = expr.span
        super().__init__(f"{expr.span}: {message}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message, self.expr)


class TooMuchWorkError(EvaluationError):
    """An expression takes more than `MAX_WORK` steps, and is given up."""


class ConsultError(EvaluationError):
    """A registered function gave no result, which is never the doing of a player."""


class SpentError(Exception):
    """A budget is spent. `span` is the place in the file that was at work; `passes` are those of
    the loop that it is, 0 for what is no loop."""

    def __init__(self, span: Span, passes: int = 0) -> None:
        self.span = span
        self.passes = passes
        super().__init__(f"{span}: the budget is spent")


class Budget:
    """Work that may be done altogether: operations, items gone through or copied, chance nodes.

    It is counted and not timed, so that it ends at the same place on every machine; a unit is a
    microsecond or so. Whoever plays a game that nobody has checked gives one to the interpreter.
    """

    __slots__ = ("limit", "spent")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.spent = 0

    def spend(self, amount: int, span: Span) -> None:
        """Raises `SpentError`, which says where, once more than `limit` is spent."""
        self.spent += amount
        if self.spent > self.limit:
            raise SpentError(span)

    def enter(self, expr: Expr) -> None:
        """Records that a conditional expression is evaluated: a branch, a cell of a table, the
        body of a let; and every condition that holds. Subclasses measure coverage by it."""


class Meter:
    """The work that one expression has taken; every scope made from one shares its meter.

    What an expression takes is taken out of `budget` too, if there is one. `lets` has, by name and
    seat, the values of lets without arguments, which are the same all through one expression, and
    what each took: it is spent at each use, so that no limit depends on what was kept.
    """

    __slots__ = ("budget", "lets", "spent")

    def __init__(self, budget: Budget | None = None) -> None:
        self.spent = 0
        self.budget = budget
        self.lets: dict[tuple[str, str | None], tuple[Any, int]] = {}

    def spend(self, amount: int, expr: Expr) -> None:
        self.spent += amount
        if self.budget is not None:
            self.budget.spend(amount, expr.span)
        if self.spent > MAX_WORK:
            raise TooMuchWorkError(f"this takes more than {MAX_WORK:,} steps to work out", expr)


class Scope(NamedTuple):
    """The scope of an expression: bindings of steps, streams, lets, and the seat that reads it.

    `budget` is the work allowed for all expressions that it evaluates, None for no limit.
    """

    seats: tuple[str, ...] = ()
    bindings: Mapping[str, Any] = {}
    lets: Mapping[str, Let] = {}
    streams: Mapping[str, Mapping[str, Any]] = {}
    me: str | None = None
    locals: Mapping[str, Any] = {}
    meter: Meter | None = None
    budget: Budget | None = None

    def seated(self, seat: str) -> Scope:
        """The same scope, read by one seat."""
        return self._replace(me=seat)

    def within(self, me: str | None, locals: Mapping[str, Any]) -> Scope:
        """The same scope inside a let or a comprehension; three times faster than `_replace`."""
        seats, bindings, lets, streams, _, _, meter, budget = self
        return Scope(seats, bindings, lets, streams, me, locals, meter, budget)


def evaluate(expr: Expr, scope: Scope, meter: Meter | None = None) -> Any:
    """The value of an expression. Raises `EvaluationError` where it has none.

    `meter`, a fresh one, tells afterwards how much work it took.
    """
    return _value(expr, scope._replace(meter=meter or Meter(scope.budget)))


def _value(expr: Expr, scope: Scope) -> Any:
    evaluator = _EVALUATORS.get(type(expr))
    if evaluator is None:
        evaluator = _EVALUATORS[type(expr)] = _evaluator(expr)
    return evaluator(expr, scope)


def _entered(expr: Expr, scope: Scope) -> Any:
    """The value of an expression that need not have been worked out."""
    if scope.budget is not None:
        scope.budget.enter(expr)
    return _value(expr, scope)


def _spend(amount: int, expr: Expr, scope: Scope) -> None:
    assert scope.meter is not None
    scope.meter.spend(amount, expr)


def none_here(expr: Expr) -> EvaluationError:
    """The error of an expression that is none where a value is needed."""
    source = expr.span.text
    shown = f"`{source}` is none here" if 0 < len(source) < 60 else "this is none here"
    return EvaluationError(shown, expr)


def _truth(expr: Expr, scope: Scope) -> bool:
    value = _value(expr, scope)
    if value is None:
        raise none_here(expr)
    return bool(value)


def _apply(expr: Apply, scope: Scope) -> Any:
    arguments = [_value(argument, scope) for argument in expr.arguments]
    builtin = BUILTINS[expr.function]
    if None in arguments:
        allowed = builtin.takes_none
        for place, argument in enumerate(arguments):
            if argument is None and place not in allowed:
                raise none_here(expr.arguments[place])
    _spend(max([_weight(a) if type(a) not in _SINGLE else 1 for a in arguments]), expr, scope)
    try:
        result = builtin.run(*arguments)
    except UndefinedError as error:
        raise EvaluationError(str(error), expr) from None
    except (TypeError, ValueError):
        for place, argument in enumerate(arguments):
            if _holds_none(argument):
                source = expr.arguments[place].span.text
                message = f"a part of `{source}` is none here"
                raise EvaluationError(message, expr.arguments[place]) from None
        raise
    if isinstance(result, tuple):
        _spend(len(result), expr, scope)
    return result


_SINGLE = frozenset({int, bool, str, Fraction})
"""The most frequent types of values that are no collection."""


def _weight(argument: Any) -> int:
    if isinstance(argument, Bag):
        return argument.total
    return len(argument) if isinstance(argument, tuple | dict | frozenset) else 1


def _holds_none(value: Any) -> bool:
    if isinstance(value, Bag | frozenset):
        return any(map(_holds_none, value))
    if isinstance(value, tuple | dict):
        return any(map(_holds_none, values(value)))
    return value is None


def _logic(expr: Logic, scope: Scope) -> Any:
    left = _truth(expr.left, scope)
    if left == (expr.op == "or"):
        return left
    return _truth(expr.right, scope)


def _if(expr: If, scope: Scope) -> Any:
    return _entered(expr.then if _truth(expr.test, scope) else expr.other, scope)


def _get(expr: Get, scope: Scope) -> Any:
    of, key = _value(expr.of, scope), _value(expr.key, scope)
    if of is None or key is None:
        return None
    if isinstance(of, dict):
        return of.get(key)
    if not 0 <= key < len(of):
        raise EvaluationError(f"a list of {len(of)} has no item {key}, counted from 0", expr)
    return of[key]


def _field(expr: Field, scope: Scope) -> Any:
    of = _value(expr.of, scope)
    return None if of is None else of[expr.index]


def _cell(expr: Cell, scope: Scope) -> Any:
    of, key = _value(expr.of, scope), _value(expr.key, scope)
    if of is None or key is None or None in key:
        return None
    row, column = key
    if not (0 <= row < expr.rows and 0 <= column < expr.columns):
        size = f"{expr.rows} by {expr.columns}"
        raise EvaluationError(f"a grid of {size} has no cell ({row}, {column})", expr)
    return of[row * expr.columns + column]


def _let_call(expr: LetCall, scope: Scope) -> Any:
    let = scope.lets[expr.name]
    _spend(1, expr, scope)
    arguments = dict(zip(let.parameters, (_value(a, scope) for a in expr.arguments), strict=True))
    seat = scope.me if expr.seat is None else _value(expr.seat, scope)
    if let.per_seat and seat is None:
        return None
    if arguments:
        return _entered(let.body, scope.within(seat, arguments))
    meter = scope.meter
    assert meter is not None
    if (known := meter.lets.get((expr.name, seat))) is not None:
        value, took = known
        _spend(took, expr, scope)
    else:
        before = meter.spent
        value = _entered(let.body, scope.within(seat, {}))
        meter.lets[expr.name, seat] = value, meter.spent - before
    return value


def _let_map(expr: LetMap, scope: Scope) -> Any:
    let = scope.lets[expr.name]
    _spend(len(scope.seats), expr, scope)
    return {seat: _entered(let.body, scope.within(seat, {})) for seat in scope.seats}


def _table(expr: Table, scope: Scope) -> Any:
    key = tuple(_value(k, scope) for k in expr.keys)
    if None in key:
        raise none_here(expr.keys[key.index(None)])
    return _entered(expr.cells[key], scope)


def _collect(expr: Collect, scope: Scope) -> tuple[Any, ...]:
    found = []
    source = _value(expr.source, scope)
    if source is None:
        raise none_here(expr.source)
    elements: Collection[Any] = values(source)
    if expr.keyed:
        mapped = isinstance(source, dict) and not isinstance(source, Bag)
        elements = list(source.items() if mapped else enumerate(elements))
    _spend(len(elements), expr, scope)
    bound = dict(scope.locals)  # one for all elements: an expression keeps no scope
    inner = scope.within(scope.me, bound)
    for element in elements:
        if len(expr.targets) == 1:
            bound[expr.targets[0]] = element
        else:
            bound.update(zip(expr.targets, element, strict=True))
        if expr.condition is None or _truth(expr.condition, inner):
            found.append(_value(expr.item, inner))
    return tuple(found)


def _consult(expr: Consult, scope: Scope) -> Any:
    function = lookup(expr.function)
    assert function is not None, "the compiler has looked it up"
    data, longest = {}, 1
    for name, argument in expr.arguments:
        value, wanted = _value(argument, scope), function.arguments[name]
        if value is None and wanted != "any" and not isinstance(wanted, OrNone):
            raise none_here(argument)
        data[name], longest = as_data(value, argument.type), max(longest, _weight(value))
    _spend(longest, expr, scope)
    try:
        return from_data(function.call(**data), expr.type)
    except CallError as error:
        raise ConsultError(f"`{expr.function}` gave no result: {error.reason}", expr) from None


_Evaluator = Callable[[Any, Scope], Any]

_EVALUATORS: dict[type[Expr], _Evaluator] = {}
"""The evaluators of the forms that have been evaluated so far."""


def _evaluator(expr: Expr) -> _Evaluator:
    """Returns the function that evaluates expressions of one form."""
    match expr:
        case Const():
            return lambda expr, scope: expr.value
        case Read():
            return lambda expr, scope: scope.bindings.get(expr.name)
        case LastBy():
            return lambda expr, scope: scope.bindings.get(f"{expr.name}@by") or {}
        case Past():
            return lambda expr, scope: scope.bindings.get(f"{expr.name}@past", ())
        case Local():
            return lambda expr, scope: scope.locals[expr.name]
        case Me():
            return lambda expr, scope: scope.me
        case Stream():
            return lambda expr, scope: scope.streams[expr.name]
        case Build():
            return lambda expr, scope: tuple(_value(item, scope) for item in expr.items)
        case Apply():
            return _apply
        case Logic():
            return _logic
        case If():
            return _if
        case Get():
            return _get
        case Field():
            return _field
        case Cell():
            return _cell
        case LetCall():
            return _let_call
        case LetMap():
            return _let_map
        case Table():
            return _table
        case Collect():
            return _collect
        case Consult():
            return _consult
        case _:
            assert_never(expr)
