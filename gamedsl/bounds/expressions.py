"""The abstract interpreter of expressions.

It mirrors `gamedsl.ir.evaluate` form by form over `gamedsl.ir.abstract_values`: where the evaluator
gives a value, that value is one of those that the abstract value stands for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import assert_never

from gamedsl.ir.abstract_values import (
    ANY_NUMBER,
    ANYTHING,
    NATURAL,
    NOTHING,
    SOMETHING,
    TRUTH,
    AbstractValue,
    Interval,
    Seats,
    collection_of,
    joined,
    number_in,
    of_constant,
    of_type,
    record_of,
)
from gamedsl.ir.builtins import BUILTINS
from gamedsl.ir.evaluate import EvaluationError, Scope, evaluate
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
)
from gamedsl.ir.game import Let
from gamedsl.ir.types import Bag, Bool, List, Number, PerSeat, PerValue, Record, Tuple, plain

MAX_CALLS = 10_000
"""Bodies of lets that are interpreted for one interpreter; further calls are known by type."""

Locals = Mapping[str, AbstractValue]
NO_LOCALS: Locals = {}

Variables = Callable[[Read | LastBy | Past], AbstractValue | None]
"""What is known where a variable is read; None for what its type says."""


class Interpreter:
    """Interprets the expressions of one game or file.

    `variables` gives what is known where a variable is read, or None for what its
    type says. `largest` is assumed of
    collections whose size has no bound. Lets that are not in `lets` are known by their types.
    """

    def __init__(
        self,
        seats: tuple[str, ...],
        lets: Mapping[str, Let],
        variables: Variables = lambda read: None,
        largest: int | None = None,
        referees: tuple[str, ...] = (),
    ) -> None:
        self.seats = Seats(seats, (*seats, *referees))
        self._lets = lets
        self._variables = variables
        self._largest = largest
        self._memo: dict[int, tuple[Expr, AbstractValue]] = {}
        """Results without locals, by the identity of the expression, which is kept alive."""
        self._called: dict[tuple[str, tuple[AbstractValue, ...]], AbstractValue] = {}

    def value(self, expr: Expr, locals: Locals = NO_LOCALS) -> AbstractValue:
        """Returns what is known of an expression. `locals` are its comprehension targets and
        parameters; those that are missing are known by their types."""
        if locals:
            return self._limited(self._value(expr, locals))
        known = self._memo.get(id(expr))
        if known is None:
            known = self._memo[id(expr)] = expr, self._limited(self._value(expr, locals))
        return known[1]

    def interval(self, expr: Expr) -> Interval:
        """The interval of the value, if it is a number."""
        return self.value(expr).number

    def size(self, expr: Expr) -> int | None:
        """The most items of the value, 1 if it is no collection; None without a bound."""
        return self.value(expr).size

    def _limited(self, value: AbstractValue) -> AbstractValue:
        return value if self._largest is None else value.no_larger(self._largest)

    def _value(self, expr: Expr, locals: Locals) -> AbstractValue:
        match expr:
            case Const(value=value):
                return of_constant(value, expr.type, self.seats)
            case Read():
                return self._variables(expr) or of_type(expr.type, self.seats)
            case Local(name=name):
                return locals.get(name) or of_type(expr.type, self.seats)
            case LastBy() | Past():
                return (self._variables(expr) or of_type(expr.type, self.seats)).some()
            case Me():
                return of_type(expr.type, self.seats)
            case Stream():
                typed = of_type(expr.type, self.seats)
                # `streams` holds all streams, and its type names those with weights alone
                return typed if isinstance(expr.type, PerSeat) else replace(typed, size=None)
            case Apply():
                return self._applied(expr, locals)
            case Logic():
                return number_in(TRUTH)
            case If(then=then, other=other):
                return self.value(then, locals) | self.value(other, locals)
            case Get():
                return self._entry(expr, locals)
            case Cell(of=of):
                return self.value(of, locals).item.perhaps()
            case Field(of=of, index=index):
                whole = self.value(of, locals)
                part = whole.part(index)
                return part.perhaps() if whole.none else part
            case LetCall():
                return self._let_call(expr, locals)
            case LetMap(name=name):
                return collection_of(len(self.seats.players), self._body(name, (), expr))
            case Table(cells=cells):
                return joined(self.value(cell, locals) for cell in cells.values())
            case Build(items=items):
                return self._built(expr, [self.value(item, locals) for item in items])
            case Collect():
                return self._collected(expr, locals)
            case Consult():
                return of_type(expr.type, self.seats)
            case _:
                assert_never(expr)

    def _applied(self, expr: Apply, locals: Locals) -> AbstractValue:
        """A built-in, as its row says."""
        constant = all(isinstance(argument, Const) for argument in expr.arguments)
        if constant and isinstance(expr.type, Number | Bool):
            try:
                return of_constant(evaluate(expr, Scope(self.seats.players)), expr.type, self.seats)
            except EvaluationError:
                return NOTHING
        row, typed = BUILTINS.get(expr.function), of_type(expr.type, self.seats)
        if row is None:
            return typed
        arguments = tuple(self.value(argument, locals) for argument in expr.arguments)
        result = plain(expr.type)
        none = row.may_be_none(arguments)
        if isinstance(result, Tuple | Record):
            if row.flow.elements == "first":
                return replace(arguments[0].item, none=none)
            return replace(self._part_by_part(expr, arguments), none=none)
        number = row.interval(arguments)
        size, items = row.size(arguments), row.items(arguments)
        if number == ANY_NUMBER:
            number = typed.number
        elif isinstance(result, Number) and result.whole:
            number = number.integers()
        if size is None:
            size = typed.size
        elif typed.size is not None:
            size = min(size, typed.size)
        return AbstractValue(none, number, size, None, typed.items if items == ANYTHING else items)

    def _part_by_part(self, expr: Apply, arguments: tuple[AbstractValue, ...]) -> AbstractValue:
        """Arithmetic of tuples: each argument is a tuple, or one number for all parts."""
        row, type = BUILTINS[expr.function], plain(expr.type)
        assert isinstance(type, Tuple | Record)
        count = len(type.of if isinstance(type, Tuple) else type.types)
        tuples = [isinstance(plain(a.type), Tuple | Record | List) for a in expr.arguments]
        return record_of(
            number_in(
                row.interval(
                    tuple(
                        whole.part(place) if is_tuple else whole
                        for whole, is_tuple in zip(arguments, tuples, strict=True)
                    )
                )
            )
            for place in range(count)
        )

    def _entry(self, expr: Get, locals: Locals) -> AbstractValue:
        """`of[key]`: a list has every item, a map perhaps not every entry."""
        of, key = self.value(expr.of, locals), self.value(expr.key, locals)
        if isinstance(plain(expr.of.type), Bag):
            return of_type(expr.type, self.seats)
        if isinstance(plain(expr.of.type), List | Record) and not (of.none or key.none):
            return of.item
        return of.item.perhaps()

    def _let_call(self, expr: LetCall, locals: Locals) -> AbstractValue:
        arguments = tuple(self.value(argument, locals) for argument in expr.arguments)
        body = self._body(expr.name, arguments, expr)
        let = self._lets.get(expr.name)
        return body.perhaps() if let is None or let.per_seat else body

    def _body(
        self, name: str, arguments: tuple[AbstractValue, ...], call: LetCall | LetMap
    ) -> AbstractValue:
        """The body of a let, for its arguments."""
        let = self._lets.get(name)
        if let is None or len(self._called) > MAX_CALLS:
            typed = of_type(call.type, self.seats)
            return typed.item if isinstance(call, LetMap) else typed
        known = self._called.get((name, arguments))
        if known is None:
            inside = dict(zip(let.parameters, arguments, strict=True))
            known = self._called[name, arguments] = self.value(let.body, inside)
        return known

    def _built(self, expr: Build, items: list[AbstractValue]) -> AbstractValue:
        if isinstance(plain(expr.type), Tuple | Record):
            return record_of(items)
        return collection_of(len(items), joined(items))

    def _collected(self, expr: Collect, locals: Locals) -> AbstractValue:
        source = self.value(expr.source, locals)
        inside = {**locals, **self.targets(expr.targets, expr.source, source, keyed=expr.keyed)}
        return collection_of(source.size, self.value(expr.item, inside))

    def targets(
        self, names: tuple[str, ...], source: Expr, known: AbstractValue, *, keyed: bool
    ) -> Locals:
        """Returns what is known of the targets of a comprehension or statement over a source."""
        item = known.item
        if len(names) == 1:
            return {names[0]: item}
        if not keyed:
            return {name: item.part(place) for place, name in enumerate(names)}
        match plain(source.type):
            case PerSeat():
                key = SOMETHING
            case PerValue(key=type):
                key = of_type(type, self.seats)
            case _:  # any other collection is read by index
                count = known.size
                key = number_in(NATURAL if count is None else Interval(0, max(count - 1, 0), True))
        return {names[0]: key, names[1]: item}
