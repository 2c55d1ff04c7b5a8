"""What is known of roles where an expression stands: which of them a name may be.

Names of roles (`me`, an argument, what a loop goes through) are followed, and tests of them are
decided where they can be; of other values nothing is known.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from gamedsl.analysis.reader_sets import Seats, Sight, Table, each
from gamedsl.ir.evaluate import EvaluationError, evaluate
from gamedsl.ir.evaluate import Scope as Values
from gamedsl.ir.expr import Apply, Const, Expr, Local, Logic, Read
from gamedsl.ir.types import SEAT, Option, Type, plain


class Bound(NamedTuple):
    """A local name: who reads it, and the expression that it comes from, with its scope."""

    sight: Sight
    origin: Expr | None = None
    scope: Scope | None = None


class Scope(NamedTuple):
    """Where an expression stands: who is `me`, its locals, and the variables of which more is known
    here than everywhere. `memo` keeps what lets are worth while these are the same; `fixed` are the
    seats that have been singled out."""

    me: int | None
    known: Mapping[str, Sight]
    locals: Mapping[str, Bound]
    memo: dict[object, Sight]
    fixed: Seats = 0

    def seated(self, me: int) -> Scope:
        return self._replace(me=me, fixed=self.fixed | 1 << me)

    def given(self, **known: Sight) -> Scope:
        """The same with more known of variables."""
        return self._replace(known={**self.known, **known}, memo={})

    def forgetting(self, names: frozenset[str]) -> Scope:
        if names.isdisjoint(self.known):
            return self
        known = {name: sight for name, sight in self.known.items() if name not in names}
        return self._replace(known=known, memo={})

    def local(self, **bound: Bound) -> Scope:
        return self._replace(locals={**self.locals, **bound})


def top() -> Scope:
    """Outside of everything: nobody acts."""
    return Scope(None, {}, {}, {})


class Roles(ABC):
    """Decides tests of roles."""

    table: Table
    alike: tuple[Seats, ...]
    """Seats that the rules do not tell apart (`gamedsl.analysis.reader_symmetry`)."""

    @abstractmethod
    def sight(self, expr: Expr, scope: Scope) -> Sight:
        """Who reads an expression, and which roles it may be."""

    def decided(self, test: Expr, scope: Scope) -> bool | None:
        """What a test is worth, where the roles in it alone decide it; else None."""
        match test:
            case Const(value=bool() as value):
                return value
            case Logic(op=op, left=left, right=right):
                values = {self.decided(left, scope), self.decided(right, scope)}
                if (op == "or") in values:
                    return op == "or"
                return None if None in values else op == "and"
            case Apply(function="not", arguments=(inner,)):
                within = self.decided(inner, scope)
                return None if within is None else not within
            case Apply(arguments=arguments) if all(isinstance(a, Const) for a in arguments):
                try:
                    return bool(evaluate(test, Values(self.table.names)))
                except EvaluationError:
                    return None
            case Apply(function="==" | "!=" as op, arguments=(left, right)) if _roles(left, right):
                found = self._equal(left, right, scope)
                return None if found is None else found == (op == "==")
            case Apply(function="in" | "not in" as op, arguments=(one, right)) if is_role(one.type):
                found = self._inside_of(one, right, scope)
                return None if found is None else found == (op == "in")
        return None

    def few(self, seats: Seats, scope: Scope) -> Iterator[int]:
        """Of each group of seats that are alike those that are singled out here, and one other."""
        for group in self.alike:
            others = seats & group & ~scope.fixed
            yield from each(seats & group & scope.fixed | (others & -others))

    def apart(self, expr: Expr, scope: Scope) -> Iterator[tuple[int, Scope]]:
        """Each role that an expression may be, of those that are alike a few, with the scope in
        which it is that one."""
        sight = self.sight(expr, scope)
        for seat in self.few(sight.seats, scope):
            inner = being(expr, 1 << seat, sight, scope)
            if inner is not None:
                yield seat, inner._replace(fixed=inner.fixed | 1 << seat)

    def _equal(self, left: Expr, right: Expr, scope: Scope) -> bool | None:
        one, two = self.sight(left, scope).seats, self.sight(right, scope).seats
        certain = left.type == SEAT and right.type == SEAT
        if not one & two and (left.type == SEAT or right.type == SEAT):
            return False
        return True if certain and one == two and one & (one - 1) == 0 else None

    def _inside_of(self, left: Expr, right: Expr, scope: Scope) -> bool | None:
        one, some = self.sight(left, scope).seats, self.sight(right, scope).seats
        if left.type != SEAT:
            return None
        if not one & some:
            return False
        return True if isinstance(right, Const) and not one & ~some else None

    def narrowed(self, test: Expr, holds: bool, scope: Scope) -> Scope | None:
        """The scope with what is known of roles where a test holds, or where it does not; None
        where that cannot be."""
        decided = self.decided(test, scope)
        if decided is not None and decided != holds:
            return None
        match test:
            case Apply(function="not", arguments=(inner,)):
                return self.narrowed(inner, not holds, scope)
            case Logic(op=op, left=left, right=right) if (op == "and") == holds:
                first = self.narrowed(left, holds, scope)
                return None if first is None else self.narrowed(right, holds, first)
            case Apply(function="==" | "!=" as op, arguments=(left, right)) if _roles(left, right):
                for side, other in ((left, right), (right, left)):
                    left_over = self._matching(other, (op == "==") == holds, scope)
                    narrower = being(side, left_over, self.sight(side, scope), scope)
                    if narrower is None:
                        return None
                    scope = narrower
            case Apply(function="in" | "not in" as op, arguments=(one, right)) if is_role(one.type):
                some = self.sight(right, scope).seats
                if (op == "in") == holds:
                    return being(one, some, self.sight(one, scope), scope)
                if isinstance(right, Const):
                    return being(one, ~some, self.sight(one, scope), scope)
        return scope

    def _matching(self, other: Expr, equal: bool, scope: Scope) -> Seats:
        """The roles that equal another expression, or do not."""
        seats = self.sight(other, scope).seats
        if equal:
            return seats
        alone = seats & (seats - 1) == 0 and other.type == SEAT
        return self.table.everyone & ~(seats if alone else 0)


def is_role(type: Type) -> bool:
    return plain(type) == SEAT


def _roles(left: Expr, right: Expr) -> bool:
    return is_role(left.type) and is_role(right.type)


def being(expr: Expr, seats: Seats, sight: Sight, scope: Scope) -> Scope | None:
    """The scope in which an expression is one of some roles, if it is a role; None for none."""
    left = sight.seats & seats
    if not left and not isinstance(expr.type, Option):
        return None
    if left == sight.seats:
        return scope
    if isinstance(expr, Local):
        bound = scope.locals[expr.name]
        return scope.local(**{expr.name: bound._replace(sight=sight.being(left))})
    if isinstance(expr, Read):
        return scope.given(**{expr.name: sight.being(left)})
    return scope
