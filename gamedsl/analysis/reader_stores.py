"""Checks what goes into state and to readers: chance, what is shown, and statements."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from operator import and_, or_
from typing import NamedTuple

from gamedsl.analysis.reader_expressions import Cause, Reading, has_length
from gamedsl.analysis.reader_leaks import Leaks
from gamedsl.analysis.reader_roles import Scope, is_role
from gamedsl.analysis.reader_sets import Seats, Sight, beyond, each, either
from gamedsl.diagnostics.spans import Span
from gamedsl.ir.builtins import element
from gamedsl.ir.expr import Const, Expr, Local, Read
from gamedsl.ir.game import GameIR
from gamedsl.ir.program import Call, Choose, Draw, Show
from gamedsl.ir.statements import Assign, DropItem, ForEach, Place, Readers, State, Statement
from gamedsl.ir.types import SEAT, PerSeat, Record, Type, plain


class Condition(NamedTuple):
    """Something that decides whether a step happens, and who reads it."""

    expr: Expr
    scope: Scope
    readers: Seats


class Context(NamedTuple):
    """Where a step stands: what is known there, and the conditions around it."""

    scope: Scope
    conditions: tuple[Condition, ...] = ()

    def knowing(self, scope: Scope) -> Context:
        return self._replace(scope=scope)

    def readers(self, everyone: Seats) -> Seats:
        """Those who read all conditions."""
        return reduce(and_, (condition.readers for condition in self.conditions), everyone)


class Stores:
    """What a walk knows, and the checks of everything that is stored or told."""

    def __init__(self, ir: GameIR, reading: Reading, leaks: Leaks | None) -> None:
        self.ir = ir
        self.reading = reading
        self.leaks = leaks
        self.everyone = reading.table.everyone
        self.public = reading.public
        self.learned: dict[str, Sight] = {}
        self.audience: dict[str, Sight] = {}
        """Who may read each state variable, at some time: `learned` is who does at any time."""
        self.stages = 0
        """How many stages there are around the present step."""

    def learn(self, variable: str, sight: Sight) -> None:
        """Note who reads a variable where it is bound once more."""
        known = self.learned.get(variable)
        self.learned[variable] = sight if known is None else either(known, sight)

    # who reads

    def sight(
        self,
        readers: Readers,
        scope: Scope,
        type: Type,
        owner: int | None = None,
        *,
        per_seat: bool = False,
        sure: bool = True,
    ) -> Sight:
        """Who reads a value of a type: surely, or possibly. `owner` is whose it is; of a per-role
        map (`per_seat`) every seat owns its own."""
        if per_seat and isinstance(type, PerSeat):
            inner = type.of
            return self.reading.table.per_seat(
                lambda seat: self.sight(readers, scope, inner, seat, sure=sure)
            )

        def holds(inner: Readers, seat: int) -> bool:
            assert inner.test is not None
            decided = self.reading.decided(inner.test, scope.seated(seat))
            return decided is True or (decided is None and not sure)

        record = plain(type)
        fields = len(record.fields) if isinstance(record, Record) else 0
        return self.reading.table.sight(readers, owner, holds, fields)

    def test(self, readers: Readers, variable: str, scope: Scope) -> None:
        """Whether each seat can work out whether it sees a value."""
        for _, inner in readers.fields:
            self.test(inner, variable, scope)
        if self.leaks is None or readers.test is None:
            return
        for seat in self.reading.few(self.everyone, scope):
            own = scope.seated(seat)
            if not self.reading.readers(readers.test, own) >> seat & 1:
                cause = self.reading.cause(readers.test, seat, own)
                self.leaks.unknown(readers, variable, seat, cause)

    # conditions

    def under(self, here: Context, expr: Expr, scope: Scope | None = None) -> Context:
        """The same place under one condition more."""
        scope = scope or here.scope
        condition = Condition(expr, scope, self.reading.readers(expr, scope))
        return here._replace(conditions=(*here.conditions, condition))

    def first(self, expr: Expr, missing: Seats, scope: Scope) -> Cause:
        """What it is that the first of some seats cannot read."""
        return self.reading.cause(expr, next(each(missing)), scope)

    def cause(self, condition: Condition, seats: Seats) -> Cause:
        return self.first(condition.expr, seats & ~condition.readers, condition.scope)

    def causes(self, condition: Condition, seats: Seats) -> Iterator[Cause]:
        """What it is in a condition that some seats cannot read: of each of them, if it is not
        what others cannot read either."""
        missing = seats & ~condition.readers
        while missing:
            cause = self.first(condition.expr, missing, condition.scope)
            yield cause
            missing &= cause.readers & ~(missing & -missing)

    # telling

    def show(self, step: Show, here: Context) -> Sight:
        sure = self.sight(step.readers, here.scope, step.value.type, here.scope.me)
        may = self.sight(step.readers, here.scope, step.value.type, here.scope.me, sure=False)
        self.learn(step.variable, sure)
        self.watched(step, here, may.any)
        self.test(step.readers, step.variable, here.scope)
        return sure.being(self.reading.sight(step.value, here.scope).seats)

    def call(self, step: Call, here: Context) -> Sight:
        """Go through a call: who sees its result must be able to read all that it is given."""
        sure = self.sight(step.readers, here.scope, step.type, here.scope.me)
        may = self.sight(step.readers, here.scope, step.type, here.scope.me, sure=False)
        self.learn(step.variable, sure)
        self.watched(step, here, may.any)
        self.test(step.readers, step.variable, here.scope)
        for _, given in step.arguments if self.leaks is not None else ():
            missing = may.any & ~self.reading.readers(given, here.scope)
            if missing and self.leaks is not None:
                cause = self.first(given, missing, here.scope)
                self.leaks.called(step, cause, missing)
        return sure

    def watched(self, step: Draw | Show | Call, here: Context, audience: Seats) -> None:
        """Check that those who see a step happen know whether it does."""
        for condition in here.conditions:
            if self.leaks is not None and audience & ~condition.readers:
                for cause in self.causes(condition, audience):
                    self.leaks.watched(step, cause, audience)

    def draw(self, step: Draw, here: Context) -> Sight | None:
        """Go through a step of chance; who reads what it binds, unless it writes state."""
        if step.place is None and not step.by_seat:
            sure = self.drawn(step, here, here.scope.me, None)
            self.learn(step.variable, sure)
            return sure
        if step.place is None:
            owners, scope = self.reading.table.of(step.per[0]), here.scope
            for seat in self.reading.few(owners, scope):
                self.drawn(step, here.knowing(scope.seated(seat)), seat, None)
            whole = self.reading.table.per_seat(
                lambda seat: (
                    self.outcome(step, scope.seated(seat), seat)
                    if owners >> seat & 1
                    else self.public
                )
            )
            self.learn(step.variable, whole)
            return whole
        if step.by_seat:
            for seat in self.reading.few(self.reading.table.of(step.per[0]), here.scope):
                inner = here.knowing(here.scope.seated(seat))
                for target in self.targets(step.place, inner.scope):
                    own = target.part(seat) if target.by == "seat" else target
                    self.drawn(step, inner, seat, own)
            return None
        for scope, owner in self.owners(step.place, here.scope):
            for target in self.targets(step.place, scope):
                self.drawn(step, here.knowing(scope), owner, target)
        return None

    def owners(self, place: Place, scope: Scope) -> Iterator[tuple[Scope, int | None]]:
        """The seats whose place may be written, each with the scope in which it is: the first seat
        among the keys, or who acts."""
        for key in place.keys:
            if key.expr is not None and is_role(key.expr.type):
                yield from ((inner, seat) for seat, inner in self.reading.apart(key.expr, scope))
                return
        yield scope, scope.me

    def outcome(self, step: Draw, scope: Scope, owner: int | None) -> Sight:
        """Who surely reads one outcome of chance."""
        sure = self.sight(step.readers, scope, step.type, owner)
        values = step.source.values
        if step.type == SEAT and isinstance(values, Const):
            return sure.being(self.reading.table.of(values.value))
        return sure

    def drawn(self, step: Draw, here: Context, owner: int | None, target: Sight | None) -> Sight:
        """Check one outcome of chance; who surely reads it."""
        sure = self.outcome(step, here.scope, owner)
        if self.leaks is None:
            return sure
        may = self.sight(step.readers, here.scope, step.type, owner, sure=False)
        self.watched(step, here, may.any)
        self.test(step.readers, step.variable, here.scope)
        if step.place is not None and target is not None:
            self.into(step, target, step.place.variable, sure)
            self.written(step.place, here, step.span, target)
        bag = step.source.bag
        if bag is not None:
            for left in self.targets(bag, here.scope):
                if beyond(left, sure):
                    self.leaks.left(step, bag, beyond(left, sure))
            self.written(bag, here, step.span)
        return sure

    def into(self, step: Choose | Draw, target: Sight, variable: str, sure: Sight) -> None:
        """Check that those who read a variable are told what a step puts into it."""
        missing = beyond(target, sure)
        if missing and self.leaks is not None:
            self.leaks.untold(step, variable, missing)

    # storing

    def started(self, state: State, here: Context, span: Span) -> None:
        """The state of a stage starts anew: all who read it know that."""
        seats = self.everyone if has_length(state.type) else self.audience[state.name].any
        for condition in here.conditions:
            if self.leaks is not None and seats & ~condition.readers:
                cause = self.cause(condition, seats)
                self.leaks.stored(state.name, span, cause, seats, "whether")

    def targets(self, place: Place, scope: Scope) -> list[Sight]:
        """The parts of a variable that a place may be, with all who may read each."""
        found = [self.audience[place.variable]]
        for key in place.keys:
            if key.kind == "field":
                place_of = key.size[0]
                found = [t.part(place_of) if t.by == "field" else t for t in found]
            elif key.kind == "entry" and key.expr is not None and is_role(key.expr.type):
                seats = self.reading.sight(key.expr, scope).seats
                found = [
                    part
                    for target in found
                    for part in (
                        map(target.part, each(seats)) if target.by == "seat" else (target,)
                    )
                ]
            else:
                found = [Sight(target.any, self.everyone) for target in found]
        return found

    def written(self, place: Place, here: Context, span: Span, target: Sight | None = None) -> bool:
        """Whether all who read a place know whether, and where, it is written: everyone, where it
        has a length. Where not, it is reported."""
        if self.leaks is None:
            return True
        found = self.targets(place, here.scope) if target is None else [target]
        readers = reduce(or_, (part.any for part in found), 0)
        seats = self.everyone if has_length(place.type) else readers
        read = [(condition.expr, condition.scope, condition.readers, "whether")
                for condition in here.conditions]  # fmt: skip
        for key in place.keys:
            if key.expr is not None:
                known = self.reading.readers(key.expr, here.scope)
                read.append((key.expr, here.scope, known, "where"))
        for expr, scope, known, what in read:
            missing = seats & ~known
            if missing & readers:
                cause = self.first(expr, missing & readers, scope)
                self.leaks.stored(place.variable, span, cause, missing, what)
            elif missing:
                cause = self.first(expr, missing, scope)
                self.leaks.counted(place.variable, span, cause, missing)
        return not any(seats & ~known for _, _, known, _ in read)

    def statement(self, statement: Statement, here: Context) -> None:
        if self.leaks is None:
            return
        if isinstance(statement, ForEach):
            self.for_each(statement, here)
            return
        place, span = statement.place, statement.span
        if not self.written(place, here, span):
            return
        value = statement.index if isinstance(statement, DropItem) else statement.value
        for scope in self.cases(place, here.scope):
            sight = self.reading.sight(value, scope)
            for target in self.targets(place, scope):
                missing = beyond(target, sight)
                if missing:
                    cause = self.first(value, missing, scope)
                    self.leaks.stored(
                        place.variable,
                        span,
                        cause,
                        missing,
                        "what",
                    )
            if isinstance(statement, Assign) and has_length(place.type):
                missing = self.everyone & ~self.reading.length(value, scope)
                if missing:
                    cause = self.first(value, missing, scope)
                    self.leaks.counted(place.variable, span, cause, missing)

    def cases(self, place: Place, scope: Scope) -> Iterator[Scope]:
        """A scope for each combination of the roles that the keys of a place may be."""
        found = [scope]
        for key in place.keys:
            expr = key.expr
            if isinstance(expr, Local | Read) and is_role(expr.type):
                found = [inner for known in found for _, inner in self.reading.apart(expr, known)]
        yield from found

    def for_each(self, statement: ForEach, here: Context) -> None:
        """What a statement writes for each element; roles are gone through one by one."""
        source, targets = statement.source, statement.targets
        for there, row in self.reading.rows(source, targets, statement.keyed, here.scope):
            for scope in self.apart(targets, source, row):
                inner = self.under(here, there, scope).knowing(scope)
                if statement.condition is not None:
                    narrower = self.reading.narrowed(statement.condition, True, scope)
                    if narrower is None:
                        continue
                    inner = self.under(inner, statement.condition).knowing(narrower)
                self.statement(statement.body, inner)

    def apart(self, targets: tuple[str, ...], source: Expr, scope: Scope) -> Iterator[Scope]:
        """A scope for each role that the only target of a statement may be."""
        of = element(source.type)
        if len(targets) != 1 or of != SEAT:
            yield scope
            return
        target = Local(SEAT, source.span, targets[0])
        yield from (inner for _, inner in self.reading.apart(target, scope))
