"""Checks what those who choose must read, and what those must who see that they choose."""

from __future__ import annotations

from collections.abc import Iterator

from gamedsl.analysis.reader_roles import Scope, being
from gamedsl.analysis.reader_sets import Seats, Sight, each
from gamedsl.analysis.reader_stores import Context, Stores
from gamedsl.ir.expr import Expr, Me
from gamedsl.ir.program import Action, Choose


class Choices(Stores):
    """What a walk checks of one choice."""

    def those(self, seats: Seats, scope: Scope) -> Iterator[int]:
        """The seats to go through: all of them to learn who reads what, to check it those that are
        not alike."""
        return each(seats) if self.leaks is None else self.reading.few(seats, scope)

    def actors(self, step: Choose, scope: Scope) -> Seats:
        """The seats that may act."""
        numbers = self.reading.table.of(step.actors)
        if step.actor is None:
            return numbers
        return numbers & self.reading.sight(step.actor, scope).seats

    def acting(self, step: Choose, here: Context) -> Iterator[tuple[int, Context]]:
        """The seats that may act, each with the place as it sees it, where the condition holds."""
        actor, scope, inner = step.actor, here.scope, here
        if actor is not None and not isinstance(actor, Me):
            inner = self.under(here, actor)
        for seat in self.those(self.actors(step, scope), scope):
            own: Scope | None = scope
            if actor is not None:
                own = being(actor, 1 << seat, self.reading.sight(actor, scope), scope)
            if own is None:
                continue
            place = inner.knowing(own.seated(seat))
            if step.condition is None:
                yield seat, place
                continue
            held = self.reading.narrowed(step.condition, True, place.scope)
            if held is not None:
                yield seat, self.under(place, step.condition).knowing(held)

    def chose(self, step: Choose, seat: int, sure: Sight) -> None:
        """Note who reads what a seat chose."""
        mine = self.reading.table.per_seat(lambda other: sure if other == seat else self.public)
        self.learn(step.variable, mine if step.joint else sure)
        if not step.joint:
            self.learn(f"{step.variable}@by", mine)

    def asked(self, step: Choose, seat: int, here: Context, sure: Sight) -> None:
        """Check what the actor must read, and what those must who see the choice."""
        assert self.leaks is not None
        own, scope = 1 << seat, here.scope
        if step.knows is not None:  # being asked tells it nothing that it could keep
            own = 0
        audience = self.sight(step.readers, scope, step.type, seat, sure=False).any | own
        self.test(step.readers, step.variable, scope)
        for condition in here.conditions:
            if own & ~condition.readers:
                cause = self.cause(condition, own)
                self.leaks.asked(step, seat, cause, "is asked", audience)
            elif audience & ~condition.readers:
                for cause in self.causes(condition, audience):
                    self.leaks.watched(step, cause, audience)
        read: list[tuple[Expr, Scope]] = []
        if step.legal is not None:
            read.append((step.legal, scope))
        for action in step.moves:
            read += self.guards(action, scope)[0]
        for expr, inner in read:
            if own & ~self.reading.readers(expr, inner):
                cause = self.reading.cause(expr, seat, inner)
                self.leaks.asked(step, seat, cause, "may choose", own)
        if step.said is not None and step.said.valid is not None:
            inner = scope.given(**{step.variable: self.said(step, seat, scope, sure)})
            if own & ~self.reading.readers(step.said.valid, inner):
                cause = self.reading.cause(step.said.valid, seat, inner)
                self.leaks.asked(step, seat, cause, "may say", own)
        if self.ir.no_move == "pass" or (self.ir.no_move == "end" and self.stages):
            self.passed(step, seat, read, audience)
        if step.place is not None:
            for target in self.targets(step.place, scope):
                self.into(step, target, step.place.variable, sure)
            self.written(step.place, here, step.span)

    def said(self, step: Choose, seat: int, scope: Scope, sure: Sight) -> Sight:
        """Who reads the variable of a step where the `valid` of it does: what a seat says is in it
        already."""
        if not step.joint and (step.place is None or not step.place.keys):
            return sure
        whole = scope.known.get(step.variable)
        whole = whole or self.reading.variables.get(step.variable, self.public)
        if whole.by != "seat":
            return whole if step.place is not None else sure
        parts = whole
        return self.reading.table.per_seat(
            lambda other: sure if other == seat else parts.part(other)
        )

    def passed(
        self, step: Choose, seat: int, read: list[tuple[Expr, Scope]], audience: Seats
    ) -> None:
        """Where a seat without a legal option is passed over, its absence is seen."""
        assert self.leaks is not None
        if any(not action.parameters and action.when is None for action in step.moves):
            return
        for expr, scope in read:
            length = expr is step.legal
            able = (self.reading.length if length else self.reading.readers)(expr, scope)
            if audience & ~able:
                missing = audience & ~able
                self.leaks.passed(step, seat, self.first(expr, missing, scope), missing)

    def guards(self, action: Action, scope: Scope) -> tuple[list[tuple[Expr, Scope]], Scope]:
        """What decides which instances of an action are legal, each with its scope; and the scope
        in which the arguments are known."""
        read: list[tuple[Expr, Scope]] = []
        for name, source in action.parameters:
            read.append((source, scope))
            sight = self.reading.sight(source, scope)
            scope = scope.given(**{name: Sight(sight.all, sight.seats)})
        if action.when is not None:
            read.append((action.when, scope))
        return read, scope
