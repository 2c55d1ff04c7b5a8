"""Knowledge of the values of expressions, whatever the state, for the code that is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, assert_never

from gamedsl.bounds.expressions import Interpreter
from gamedsl.engine.codegen.work import Work
from gamedsl.ir import expr as ex
from gamedsl.ir.abstract_values import AbstractValue, of_type
from gamedsl.ir.evaluate import MAX_WORK
from gamedsl.ir.expr import Expr
from gamedsl.ir.game import Let
from gamedsl.ir.types import Bool, List, Option, PerSeat, PerValue

Found = TypeVar("Found")

QUICK = 20_000
"""Steps of the reference for an expression that is worked out while code is written."""


class Knowledge:
    """Knowledge of the values and the work of the expressions of a game, and of its lets.

    `values` bounds them, `most` is the size allowed to collections of unknown size, and `sure` are
    the variables that are never none.
    """

    def __init__(
        self, seats: tuple[str, ...], lets: Mapping[str, Let], most: int, sure: frozenset[str]
    ) -> None:
        def variable(read: ex.Read | ex.LastBy | ex.Past) -> AbstractValue | None:
            known = isinstance(read, ex.Read) and read.name in sure
            return of_type(read.type, self.values.seats).some() if known else None

        self.seats = seats
        self.most = most
        self.values = Interpreter(seats, lets, variable)
        self._limited = Interpreter(seats, lets, variable, most)
        self._work = Work(self.values, lets)
        self._lets = lets
        self._cache: dict[tuple[str, str], Any] = {}
        """Results about lets, by the kind of result and their names."""

    def is_beyond(self, expr: Expr) -> bool:
        """Returns whether an expression might take more work than is allowed."""
        return self._work.steps(expr, self.most) > MAX_WORK

    def is_quick(self, expr: Expr) -> bool:
        """Returns whether an expression takes so little work that it may be worked out while code
        is written."""
        return self._work.steps(expr, self.most) <= QUICK

    def known_size(self, expr: Expr) -> int | None:
        """Returns the most items of a value, copies counted, 1 for what is no collection; None
        without a bound."""
        return self.values.size(expr)

    def is_truth(self, expr: Expr) -> bool:
        """Returns whether a value is always true or false, whatever the state."""
        return isinstance(expr.type, Bool) and self.is_some(expr)

    def is_some(self, expr: Expr) -> bool:
        """Returns whether a value is never none, whatever the state."""
        return not self.values.value(expr).none

    def _of_let(self, what: str, name: str, find: Callable[[Expr], Found]) -> Found:
        """Returns what is known of the body of a let, found once."""
        if (what, name) not in self._cache:
            self._cache[what, name] = find(self._lets[name].body)
        found: Found = self._cache[what, name]
        return found

    def is_sure(self, expr: Expr) -> bool:
        """Returns whether a value should never be none: where it is, what is written raises."""
        if isinstance(expr, ex.Local):
            return not isinstance(expr.type, Option)
        if isinstance(expr, ex.Get) and self.is_sure(expr.of):
            whole = expr.of.type
            total = isinstance(whole, PerValue | List) or (
                isinstance(whole, PerSeat) and not whole.partial
            )
            return total and not isinstance(expr.type, Option)
        return self.is_some(expr)

    def magnitude(self, expr: Expr) -> int | None:
        """Returns a bound on the size of a whole number, whatever its sign; None without one."""
        interval = self._limited.interval(expr)
        if not (interval.bounded and interval.whole):
            return None
        return int(interval.magnitude)

    def is_seated(self, let: Let) -> bool:
        """Returns whether a let depends on whom it is read by."""
        return let.per_seat or self._of_let("me", let.name, self.reads_me)

    def reads_me(self, expr: Expr) -> bool:
        """Returns whether an expression may depend on whom it is evaluated for."""
        return any(
            isinstance(part, ex.Me)
            or (isinstance(part, ex.LetCall) and self.is_seated(self._lets[part.name]))
            for part in ex.walk(expr)
        )

    def variables(self, expr: Expr, *, lets_only: bool = False) -> set[str]:
        """The variables that an expression and its lets read, or its lets alone."""
        found = set()
        for part in ex.walk(expr):
            if isinstance(part, ex.Read | ex.LastBy | ex.Past):
                if not lets_only:
                    found.add(part.name)
            elif isinstance(part, ex.LetCall | ex.LetMap):
                found |= self._of_let("variables", part.name, self.variables)
        return found


def independent_parts(exprs: Iterable[Expr], names: set[str], *, reads: bool) -> list[Expr]:
    """The largest parts of expressions that are always worked out and depend on none of the locals
    or variables of these names; with `reads`, variables alone too."""
    found: list[Expr] = []
    trivial = (ex.Const, ex.Me, ex.Local) if reads else (ex.Const, ex.Me, ex.Local, ex.Read)
    for expr in exprs:
        if isinstance(expr, trivial):
            continue
        if not any(isinstance(p, ex.Local | ex.Read) and p.name in names for p in ex.walk(expr)):
            found.append(expr)
            continue
        match expr:
            case ex.Logic(left=left):
                always: tuple[Expr, ...] = (left,)
            case ex.If(test=test):
                always = (test,)
            case ex.Collect(source=source):
                always = (source,)
            case ex.Table(keys=keys):
                always = keys
            case (
                ex.Const() | ex.Read() | ex.LastBy() | ex.Past() | ex.Local() | ex.Me()
                | ex.Stream() | ex.Apply() | ex.Get() | ex.Field() | ex.Cell() | ex.LetCall()
                | ex.LetMap() | ex.Build() | ex.Consult()
            ):  # fmt: skip
                always = ex.children(expr)
            case _:
                assert_never(expr)
        found += independent_parts(always, names, reads=reads)
    return found
