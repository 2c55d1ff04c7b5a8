"""What is known about the value of an expression, whatever the state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from gamedsl.engine.codegen.bounds import Bounds
from gamedsl.ir import expr as ex
from gamedsl.ir.builtins import COMPARISONS
from gamedsl.ir.evaluate import MAX_WORK
from gamedsl.ir.expr import Expr
from gamedsl.ir.game import Let
from gamedsl.ir.types import List, Number, Option, PerSeat, PerValue

TRUTHS = COMPARISONS | {"==", "!=", "not", "in", "not in", "all", "any", "full"}
"""Functions whose value is always true or false."""

PERHAPS_NONE = frozenset({"first", "last", "prev", "argmax", "line", "max", "min", "past"})
"""Functions whose value may be none."""


Found = TypeVar("Found")


class Knowing:
    """Knows the lets of a game and how large its values can be.

    `most` is the size allowed to collections of unknown size; `sure` are the variables that are
    never none.
    """

    def __init__(
        self, seats: tuple[str, ...], lets: Mapping[str, Let], most: int, sure: frozenset[str]
    ) -> None:
        self.seats = seats
        self.most = most
        self.bounds = Bounds(seats, lets)
        self._lets = lets
        self._sure = sure
        self._cache: dict[tuple[str, str], Any] = {}
        """What was found out about lets: by what it is and their names."""

    def is_beyond(self, expr: Expr) -> bool:
        """Whether an expression might take more work than is allowed."""
        return self.bounds.work(expr, self.most) > MAX_WORK

    def is_truth(self, expr: Expr) -> bool:
        """Whether a value is always true or false, whatever the state."""
        match expr:
            case ex.Const(value=value):
                return isinstance(value, bool)
            case ex.Apply(function=function):
                return function in TRUTHS
            case ex.Logic():
                return True
            case ex.If(then=then, other=other):
                return self.is_truth(then) and self.is_truth(other)
            case ex.LetCall(name=name):
                let = self._lets[name]
                return not let.per_seat and self._of_let("truth", name, self.is_truth)
        return False

    def is_some(self, expr: Expr) -> bool:
        """Whether a value is never none, whatever the state."""
        match expr:
            case ex.Const(value=value):
                return value is not None
            case ex.Read(name=name):
                return name in self._sure
            case ex.Apply(function=function):
                return function not in PERHAPS_NONE
            case ex.Logic() | ex.Build() | ex.Collect() | ex.LetMap() | ex.LastBy() | ex.Past():
                return True
            case ex.If(then=then, other=other):
                return self.is_some(then) and self.is_some(other)
            case ex.LetCall(name=name):
                let = self._lets[name]
                return not let.per_seat and self._of_let("some", name, self.is_some)
        return False

    def _of_let(self, what: str, name: str, find: Callable[[Expr], Found]) -> Found:
        """What is found out about the body of a let, once."""
        if (what, name) not in self._cache:
            self._cache[what, name] = find(self._lets[name].body)
        found: Found = self._cache[what, name]
        return found

    def is_sure(self, expr: Expr) -> bool:
        """Whether a value should never be none: where it is, what is written raises."""
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
        """What the whole number that an expression is does not exceed; None if nothing is known."""
        type = expr.type
        if isinstance(expr, ex.Const):
            return abs(expr.value) if isinstance(expr.value, int) else None
        if isinstance(expr, ex.Apply):
            parts = [self.magnitude(argument) for argument in expr.arguments]
            known = [part for part in parts if part is not None]
            if len(known) == len(parts) == 2:
                left, right = known
                match expr.function:
                    case "+" | "-":
                        return left + right
                    case "*":
                        return left * right
            if expr.function in ("len", "size", "count", "index"):
                return 1 << 40
        if isinstance(type, Number) and type.low is not None and type.high is not None:
            return max(abs(type.low), abs(type.high))
        return None

    def is_seated(self, let: Let) -> bool:
        """Whether a let depends on whom it is read by."""
        return let.per_seat or self._of_let("me", let.name, self.reads_me)

    def reads_me(self, expr: Expr) -> bool:
        """Whether an expression may depend on whom it is evaluated for."""
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


def apart(exprs: Iterable[Expr], names: set[str], *, reads: bool) -> list[Expr]:
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
            case _:
                always = ex.children(expr)
        found += apart(always, names, reads=reads)
    return found
