"""Scopes of expressions: who acts, and what is known of variables and roles where one stands.

Seats are known numbers, never symbols: the analysis runs once for each seat that may act. What a
condition says of roles narrows the scope of what it guards.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from gamedsl.analysis.infoflow.cases import Form, variables_in
from gamedsl.analysis.infoflow.visibility import Readers, Seats, Visibility
from gamedsl.ir.expr import Expr, Local, Read
from gamedsl.ir.types import SEAT, Option, Type, plain


class Bound(NamedTuple):
    """A local name: its visibility, and the expression that it comes from, with its scope."""

    visibility: Visibility
    origin: Expr | None = None
    scope: Scope | None = None


class Scope(NamedTuple):
    """The surroundings of an expression.

    `known` are the variables of which more is known here than everywhere. `memo` caches the
    visibilities of lets for this scope. `fixed` are the seats that have been singled out, which
    represent none but themselves (see `Visibilities.representatives`).

    `possible` are the readers, seats in their cases, for which the conditions around it can hold
    (see `gamedsl.analysis.infoflow.cases`). `settled` are the questions whose answers count, and
    `revealed` the readers of whole expressions that were shown, by their forms.
    """

    me: int | None
    known: Mapping[str, Visibility]
    locals: Mapping[str, Bound]
    memo: dict[object, Visibility]
    fixed: Seats = 0
    possible: Readers = -1
    settled: frozenset[int] = frozenset()
    revealed: Mapping[Form, Readers] = {}

    def acting_as(self, me: int) -> Scope:
        """Returns the scope in which one seat acts."""
        return self._replace(me=me, fixed=self.fixed | 1 << me)

    def with_known(self, **known: Visibility) -> Scope:
        """Returns the scope in which more is known of variables."""
        return self._replace(known={**self.known, **known}, memo={})

    def without(self, names: frozenset[str]) -> Scope:
        """Returns the scope after variables may have been bound again."""
        changed = [form for form in self.revealed if not names.isdisjoint(variables_in(form))]
        if names.isdisjoint(self.known) and not changed:
            return self
        known = {name: value for name, value in self.known.items() if name not in names}
        revealed = {form: who for form, who in self.revealed.items() if form not in changed}
        return self._replace(known=known, revealed=revealed, memo={})

    def among(self, readers: Readers) -> Scope:
        """Returns the scope in which only some readers are possible."""
        possible = self.possible & readers
        return self if possible == self.possible else self._replace(possible=possible, memo={})

    def with_settled(self, questions: frozenset[int]) -> Scope:
        """Returns the scope in which the answers to further questions count."""
        if questions <= self.settled:
            return self
        return self._replace(settled=self.settled | questions, memo={})

    def with_revealed(self, forms: Mapping[Form, Readers]) -> Scope:
        """Returns the scope in which readers know the values of further expressions."""
        known = {form: self.revealed.get(form, 0) | readers for form, readers in forms.items()}
        return self._replace(revealed={**self.revealed, **known}, memo={})

    def with_locals(self, **bound: Bound) -> Scope:
        """Returns the scope with further local names."""
        return self._replace(locals={**self.locals, **bound})


def outermost() -> Scope:
    """Returns the scope outside all steps, in which nobody acts."""
    return Scope(None, {}, {}, {})


def is_role(type: Type) -> bool:
    """Returns whether a type is that of a role, or of none."""
    return plain(type) == SEAT


def narrow_to(expr: Expr, roles: Seats, value: Visibility, scope: Scope) -> Scope | None:
    """Returns the scope in which an expression, if it is a role, is one of `roles`; None where it
    cannot be. `value` is the expression's visibility in `scope`."""
    remaining = value.seats & roles
    if not remaining and not isinstance(expr.type, Option):
        return None
    if remaining == value.seats:
        return scope
    if isinstance(expr, Local):
        bound = scope.locals[expr.name]
        return scope.with_locals(
            **{expr.name: bound._replace(visibility=value.with_roles(remaining))}
        )
    if isinstance(expr, Read):
        return scope.with_known(**{expr.name: value.with_roles(remaining)})
    return scope  # of other expressions nothing is kept, which is safe
