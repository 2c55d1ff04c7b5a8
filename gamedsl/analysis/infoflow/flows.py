"""Flows of single steps: what is stored, shown, drawn and asked, and the seats that it reaches.

`Flows` checks one step at a place that the walk (`gamedsl.analysis.infoflow.walk`) has reached. It
also notes who sees each variable.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from operator import and_, or_
from typing import NamedTuple, assert_never

from gamedsl.analysis.infoflow.cases import Form, has_locals, positive, variables_in
from gamedsl.analysis.infoflow.expressions import Cause, Visibilities, has_length
from gamedsl.analysis.infoflow.leaks import Leaks
from gamedsl.analysis.infoflow.scope import Bound, Scope, is_role, narrow_to
from gamedsl.analysis.infoflow.visibility import (
    Readers as ReaderSet,
)
from gamedsl.analysis.infoflow.visibility import (
    Seats,
    Visibility,
    join,
    leaked_to,
    seat_numbers,
)
from gamedsl.diagnostics.spans import Span
from gamedsl.ir.builtins import element
from gamedsl.ir.expr import Const, Expr, Local, Me, Read
from gamedsl.ir.game import GameIR
from gamedsl.ir.program import Action, Call, Choose, Draw, Show
from gamedsl.ir.statements import (
    ACTOR,
    OWNER,
    Add,
    Assign,
    Drop,
    DropItem,
    ForEach,
    Place,
    Readers,
    State,
    Statement,
)
from gamedsl.ir.types import SEAT, PerSeat, Record, Type, plain


class Condition(NamedTuple):
    """An expression that decides whether a step happens, and those who read it."""

    expr: Expr
    scope: Scope
    readers: ReaderSet


class Context(NamedTuple):
    """The surroundings of a step: its scope, the conditions around it, and the readers that are
    possible there and may be asked after it. A flow to any other tells it nothing that it could
    act on, or never happens."""

    scope: Scope
    later: ReaderSet
    conditions: tuple[Condition, ...] = ()

    def in_scope(self, scope: Scope) -> Context:
        return self._replace(scope=scope, later=self.later & scope.possible)

    def readers(self, everyone: ReaderSet) -> ReaderSet:
        """Returns those who read all conditions."""
        return reduce(and_, (condition.readers for condition in self.conditions), everyone)


class Flows:
    """Checks of single steps, and the visibilities of variables that follow from them.

    Without `leaks` nothing is checked, and only visibilities are noted.
    """

    def __init__(self, ir: GameIR, visibilities: Visibilities, leaks: Leaks | None) -> None:
        self.ir = ir
        self.visibilities = visibilities
        self.leaks = leaks
        self.everyone = visibilities.table.everyone
        self.public = visibilities.public
        self.learned: dict[str, Visibility] = {}
        """The seats that see each variable whenever it is bound."""
        self.audience: dict[str, Visibility] = {}
        """The seats that may see each state variable at some time."""
        self.stages = 0
        """The number of stages around the present step."""

    def learn(self, variable: str, value: Visibility) -> None:
        """Notes the visibility of a variable at one of the places that bind it."""
        known = self.learned.get(variable)
        self.learned[variable] = value if known is None else join(known, value)

    # readers

    def visibility(
        self,
        readers: Readers,
        scope: Scope,
        type: Type,
        owner: int | None = None,
        *,
        per_seat: bool = False,
        sure: bool = True,
    ) -> Visibility:
        """Returns the seats that read a value of a type: surely, or possibly (not `sure`).

        `owner` is the seat whose value it is; with `per_seat` each seat owns its entry of a
        per-role map.
        """
        if per_seat and isinstance(type, PerSeat):
            inner = type.of
            return self.visibilities.table.per_seat(
                lambda seat: self.visibility(readers, scope, inner, seat, sure=sure)
            )

        def holds(inner: Readers, reader: int) -> bool:
            assert inner.test is not None
            seat = self.visibilities.table.seat(reader)
            own = self._with_owner(scope, owner).acting_as(seat)
            own = own._replace(possible=-1).among(~self.visibilities.table.own(seat) | 1 << reader)
            decided = self.visibilities.decide(inner.test, own)
            return decided is True or (decided is None and not sure)

        record = plain(type)
        fields = len(record.fields) if isinstance(record, Record) else 0
        return self.visibilities.table.visibility(readers, owner, holds, fields)

    def check_test(self, readers: Readers, variable: str, here: Context) -> None:
        """Checks that each seat can work out whether it sees a value."""
        scope = here.scope
        for _, inner in readers.fields:
            self.check_test(inner, variable, here)
        if self.leaks is None or readers.test is None:
            return
        table = self.visibilities.table
        for seat in self.visibilities.representatives(table.some(here.later), scope):
            own = self._with_owner(scope, None).acting_as(seat)
            missing = table.own(seat) & here.later & ~self.visibilities.readers(readers.test, own)
            if missing:
                cause = self.first_cause(readers.test, missing, own)
                self.leaks.report_test(readers, variable, seat, cause)

    def _with_owner(self, scope: Scope, owner: int | None) -> Scope:
        """Returns the scope of a test of readers: with the seat whose value it is (None: any), and
        the one that acts. Those who are told of a step know whose it is, or it is reported that
        they cannot know that it happens."""
        acting = [(OWNER, owner), (ACTOR, scope.me)]
        return scope.with_locals(**{
            name: Bound(self.public if seat is None else self.public.with_roles(1 << seat))
            for name, seat in acting
        })  # fmt: skip

    # conditions

    def with_condition(self, here: Context, expr: Expr, scope: Scope | None = None) -> Context:
        """Returns a context with one more condition."""
        scope = scope or here.scope
        condition = Condition(expr, scope, self.visibilities.readers(expr, scope))
        return here._replace(conditions=(*here.conditions, condition))

    def first_cause(self, expr: Expr, missing: ReaderSet, scope: Scope) -> Cause:
        """Returns what the first of some seats cannot read in an expression."""
        return self.visibilities.cause(expr, next(seat_numbers(missing)), scope)

    def cause(self, condition: Condition, seats: ReaderSet) -> Cause:
        return self.first_cause(condition.expr, seats & ~condition.readers, condition.scope)

    def causes(self, condition: Condition, seats: ReaderSet) -> Iterator[Cause]:
        """Yields the parts of a condition that some seats cannot read: one for each seat, but for
        those that cannot read an earlier one either."""
        missing = seats & ~condition.readers
        while missing:
            cause = self.first_cause(condition.expr, missing, condition.scope)
            yield cause
            missing &= cause.readers & ~(missing & -missing)

    # shows, calls and chance

    def show(self, step: Show, here: Context) -> Visibility:
        """Checks a `show`. Returns who surely sees the value."""
        sure, _ = self.check_readers(step, step.value.type, here)
        return sure.with_roles(self.visibilities.visibility(step.value, here.scope).seats)

    def revealed(self, value: Expr, shown: Visibility, scope: Scope) -> dict[Form, ReaderSet]:
        """Returns what those know to whom an expression was shown, until a variable in it changes:
        its value and, of `[r for r in roles if test]`, the test of each role."""
        forms = {self.visibilities.form(value, scope): shown.all}
        for seat in seat_numbers(self.visibilities.table.seats):
            one = Const(SEAT, value.span, self.visibilities.table.names[seat])
            for test, inner in self.visibilities.members(one, value, scope) or ():
                forms[self.visibilities.form(test, inner)] = shown.all
        return {positive(f): readers for f, readers in forms.items() if not has_locals(f)}

    def revealed_by(self, step: Draw | Show, here: Context) -> dict[Form, ReaderSet]:
        """Returns what each seat learns from whether it is told of a value whose readers the value
        names: the test of the readers, of itself. The step happens once, whatever else does, so
        that who is not told knows it too."""
        table, test, forms = self.visibilities.table, step.readers.test, dict[Form, ReaderSet]()
        if test is None or here.conditions or (isinstance(step, Draw) and step.per):
            return forms
        for seat in seat_numbers(table.seats):
            own = self._with_owner(here.scope, None).acting_as(seat)
            form = self.visibilities.form(test, own)
            if step.variable in variables_in(form) and not has_locals(form):
                forms[positive(form)] = table.own(seat)
        return forms

    def check_readers(
        self, step: Show | Call, type: Type, here: Context
    ) -> tuple[Visibility, Visibility]:
        """Checks who is told a value of a type. Returns who surely and who possibly sees it."""
        by_seat, scope, readers = bool(step.by_seat), here.scope, step.readers
        sure = self.visibility(readers, scope, type, scope.me, per_seat=by_seat)
        may = self.visibility(readers, scope, type, scope.me, per_seat=by_seat, sure=False)
        self.learn(step.variable, sure)
        self.check_observers(step, here, may.any)
        self.check_test(readers, step.variable, here)
        return sure, may

    def call(self, step: Call, here: Context) -> Visibility:
        """Checks a call: those who see its result must be able to read all arguments. Returns who
        surely sees the result."""
        sure, may = self.check_readers(step, step.type, here)
        for _, argument in step.arguments if self.leaks is not None else ():
            known = self.visibilities.visibility(argument, here.scope)
            missing = leaked_to(may, known) & here.later
            if missing and self.leaks is not None:
                cause = self.first_cause(argument, missing, here.scope)
                self.leaks.report_call(step, cause, missing)
        return sure

    def check_observers(self, step: Draw | Show | Call, here: Context, audience: ReaderSet) -> None:
        """Checks that those who see a step happen know whether it does."""
        audience &= here.later
        for condition in here.conditions:
            if self.leaks is not None and audience & ~condition.readers:
                for cause in self.causes(condition, audience):
                    self.leaks.report_occurrence(step, cause, audience, condition.expr)

    def draw(self, step: Draw, here: Context) -> Visibility | None:
        """Checks a step of chance. Returns who surely sees what it binds, or None where it writes
        state."""
        if step.place is None and not step.by_seat:
            sure = self.check_outcome(step, here, here.scope.me, None)
            self.learn(step.variable, sure)
            return sure
        if step.place is None:
            owners, scope = self.visibilities.table.of(step.per[0]), here.scope
            for seat in self.visibilities.representatives(owners, scope):
                self.check_outcome(step, here.in_scope(scope.acting_as(seat)), seat, None)
            whole = self.visibilities.table.per_seat(
                lambda seat: (
                    self.outcome_visibility(step, scope.acting_as(seat), seat)
                    if owners >> seat & 1
                    else self.public
                )
            )
            self.learn(step.variable, whole)
            return whole
        if step.by_seat:
            owners = self.visibilities.table.of(step.per[0])
            for seat in self.visibilities.representatives(owners, here.scope):
                inner = here.in_scope(here.scope.acting_as(seat))
                for target in self.targets(step.place, inner.scope):
                    own = target.part(seat) if target.by == "seat" else target
                    self.check_outcome(step, inner, seat, own)
            return None
        for scope, owner in self.owners(step.place, here.scope):
            for target in self.targets(step.place, scope):
                self.check_outcome(step, here.in_scope(scope), owner, target)
        return None

    def owners(self, place: Place, scope: Scope) -> Iterator[tuple[Scope, int | None]]:
        """Yields the seats whose place may be written, each with its scope: the first seat among
        the keys, or the seat that acts."""
        for key in place.keys:
            if key.expr is not None and is_role(key.expr.type):
                for seat, inner in self.visibilities.split_by_role(key.expr, scope):
                    yield inner, seat
                return
        yield scope, scope.me

    def outcome_visibility(self, step: Draw, scope: Scope, owner: int | None) -> Visibility:
        """Returns who surely sees one outcome of chance."""
        sure = self.visibility(step.readers, scope, step.type, owner)
        values = step.source.values
        if step.type == SEAT and isinstance(values, Const):
            return sure.with_roles(self.visibilities.table.of(values.value))
        return sure

    def check_outcome(
        self, step: Draw, here: Context, owner: int | None, target: Visibility | None
    ) -> Visibility:
        """Checks one outcome of chance, which is stored in `target`. Returns who surely sees it."""
        sure = self.outcome_visibility(step, here.scope, owner)
        if self.leaks is None:
            return sure
        may = self.visibility(step.readers, here.scope, step.type, owner, sure=False)
        self.check_observers(step, here, may.any)
        self.check_test(step.readers, step.variable, here)
        if step.place is not None and target is not None:
            self.check_informed(step, target, here, sure)
            self.check_write(step.place, here, step.span, target)
        bag = step.source.bag
        if bag is not None:
            for remaining in self.targets(bag, here.scope):
                missing = leaked_to(remaining, sure) & here.later
                if missing:
                    self.leaks.report_remainder(step, bag, missing)
            self.check_write(bag, here, step.span)
        return sure

    def check_informed(
        self, step: Choose | Draw, target: Visibility, here: Context, sure: Visibility
    ) -> None:
        """Checks that those who read a variable see what a step stores in it."""
        missing = leaked_to(target, sure) & here.later
        if missing and self.leaks is not None:
            assert step.place is not None
            self.leaks.report_unobserved(step, step.place.variable, missing)

    # state

    def check_stage_start(self, state: State, here: Context, span: Span) -> None:
        """Checks that those who read state of a stage know that it starts anew."""
        sized = state.name in self.visibilities.sized
        seats = self.everyone if sized else self.audience[state.name].any
        seats &= here.later
        for condition in here.conditions:
            if self.leaks is not None and seats & ~condition.readers:
                cause = self.cause(condition, seats)
                self.leaks.report_store(state.name, span, cause, seats, "whether", condition.expr)

    def targets(self, place: Place, scope: Scope) -> list[Visibility]:
        """Returns the visibility of each part of a variable that a place may be."""
        parts = [self.audience[place.variable]]
        for key in place.keys:
            if key.kind == "field":
                index = key.size[0]
                parts = [t.part(index) if t.by == "field" else t for t in parts]
            elif key.kind == "entry" and key.expr is not None and is_role(key.expr.type):
                seats = self.visibilities.visibility(key.expr, scope).seats
                parts = [
                    part
                    for target in parts
                    for part in (
                        map(target.part, seat_numbers(seats)) if target.by == "seat" else (target,)
                    )
                ]
            else:
                parts = [Visibility(target.any, self.visibilities.table.seats) for target in parts]
        return parts

    def _is_sized(self, place: Place) -> bool:
        """Returns whether a place is a list or bag, or a map of them, of public length."""
        return place.variable in self.visibilities.sized and has_length(place.type)

    def check_write(
        self, place: Place, here: Context, span: Span, target: Visibility | None = None
    ) -> bool:
        """Returns whether all who read a place know whether, and where, it is written: everyone,
        if its length is public. Reports it where not."""
        if self.leaks is None:
            return True
        targets = self.targets(place, here.scope) if target is None else [target]
        readers = reduce(or_, (part.any for part in targets), 0) & here.later
        seats = here.later if self._is_sized(place) else readers
        read = [(condition.expr, condition.scope, condition.readers, "whether")
                for condition in here.conditions]  # fmt: skip
        for key in place.keys:
            if key.expr is not None:
                known = self.visibilities.readers(key.expr, here.scope)
                read.append((key.expr, here.scope, known, "where"))
        for expr, scope, known, what in read:
            missing = seats & ~known
            if missing & readers:
                cause = self.first_cause(expr, missing & readers, scope)
                self.leaks.report_store(place.variable, span, cause, missing, what, expr)
            elif missing:
                cause = self.first_cause(expr, missing, scope)
                self.leaks.report_length(place.variable, span, cause, missing, expr)
        return not any(seats & ~known for _, _, known, _ in read)

    def statement(self, statement: Statement, here: Context) -> None:
        """Checks a statement: where it writes, and what."""
        if self.leaks is None:
            return
        match statement:
            case ForEach():
                self._for_each(statement, here)
                return
            case DropItem(index=index):
                value = index
            case Assign(value=stored) | Add(value=stored) | Drop(value=stored):
                value = stored
            case _:
                assert_never(statement)
        place, span = statement.place, statement.span
        if not self.check_write(place, here, span):
            return
        for scope in self._scopes_of_keys(place, here.scope):
            visibility = self.visibilities.visibility(value, scope)
            for target in self.targets(place, scope):
                missing = leaked_to(target, visibility) & here.later
                if missing:
                    cause = self.first_cause(value, missing, scope)
                    self.leaks.report_store(place.variable, span, cause, missing, "what", value)
            if isinstance(statement, Assign) and self._is_sized(place):
                missing = here.later & ~self.visibilities.length_readers(value, scope)
                if missing:
                    cause = self.first_cause(value, missing, scope)
                    self.leaks.report_length(place.variable, span, cause, missing)

    def _scopes_of_keys(self, place: Place, scope: Scope) -> Iterator[Scope]:
        """Yields a scope for each combination of the roles that the keys of a place may be."""
        scopes = [scope]
        for key in place.keys:
            expr = key.expr
            if isinstance(expr, Local | Read) and is_role(expr.type):
                scopes = [
                    inner
                    for known in scopes
                    for _, inner in self.visibilities.split_by_role(expr, known)
                ]
        yield from scopes

    def _for_each(self, statement: ForEach, here: Context) -> None:
        """Checks what a statement writes for each element; roles one by one."""
        source, targets = statement.source, statement.targets
        for exists, row in self.visibilities.rows(source, targets, statement.keyed, here.scope):
            for scope in self._scopes_of_element(targets, source, row):
                inner = self.with_condition(here, exists, scope).in_scope(scope)
                if statement.condition is not None:
                    narrower = self.visibilities.narrow(statement.condition, True, scope)
                    if narrower is None:
                        continue
                    inner = self.with_condition(inner, statement.condition).in_scope(narrower)
                self.statement(statement.body, inner)

    def _scopes_of_element(
        self, targets: tuple[str, ...], source: Expr, scope: Scope
    ) -> Iterator[Scope]:
        """Yields a scope for each role that the only target of a statement may be."""
        of = element(source.type)
        if len(targets) != 1 or of != SEAT:
            yield scope
            return
        target = Local(SEAT, source.span, targets[0])
        yield from (inner for _, inner in self.visibilities.split_by_role(target, scope))

    # decisions

    def sampled(self, seats: Seats, scope: Scope) -> Iterator[int]:
        """Yields the seats to walk through: every seat where visibilities are noted,
        representatives where flows are checked."""
        if self.leaks is None:
            return seat_numbers(seats)
        return self.visibilities.representatives(seats, scope)

    def actors(self, step: Choose, scope: Scope) -> Seats:
        """Returns the seats that may act."""
        numbers = self.visibilities.table.of(step.actors)
        if step.actor is None:
            return numbers
        return numbers & self.visibilities.visibility(step.actor, scope).seats

    def actor_contexts(self, step: Choose, here: Context) -> Iterator[tuple[int, Context]]:
        """Yields the seats that may act, each with the context of its decision."""
        actor, scope, inner = step.actor, here.scope, here
        if actor is not None and not isinstance(actor, Me):
            inner = self.with_condition(here, actor)
        for seat in self.sampled(self.actors(step, scope), scope):
            own: Scope | None = scope
            if actor is not None:
                value = self.visibilities.visibility(actor, scope)
                own = narrow_to(actor, 1 << seat, value, scope)
            if own is None:
                continue
            place = inner.in_scope(own.acting_as(seat))
            if step.condition is None:
                yield seat, place
                continue
            narrowed = self.visibilities.narrow(step.condition, True, place.scope)
            if narrowed is not None:
                yield seat, self.with_condition(place, step.condition).in_scope(narrowed)

    def learn_choice(self, step: Choose, seat: int, sure: Visibility) -> None:
        """Notes who reads what a seat chose."""
        mine = self.visibilities.table.per_seat(
            lambda other: sure if other == seat else self.public
        )
        self.learn(step.variable, mine if step.joint else sure)
        if not step.joint:
            self.learn(f"{step.variable}@by", mine)

    def check_decision(self, step: Choose, seat: int, here: Context, sure: Visibility) -> None:
        """Checks that the actor can read all that its decision depends on, and that those who see
        the choice know whether it happens."""
        assert self.leaks is not None
        own, scope = self.visibilities.table.own(seat) & here.scope.possible, here.scope
        if step.knows is not None:  # being asked tells it nothing that it could keep
            own = 0
        audience = self.visibility(step.readers, scope, step.type, seat, sure=False).any
        audience = audience & here.later | own
        chosen = self._own_choice(step, seat, scope, self.public)
        said = here.in_scope(scope.with_known(**{step.variable: chosen}))
        self.check_test(step.readers, step.variable, said)
        for condition in here.conditions:
            if own & ~condition.readers:
                cause = self.cause(condition, own)
                self.leaks.report_decision(step, seat, cause, "is asked", audience, condition.expr)
            elif audience & ~condition.readers:
                for cause in self.causes(condition, audience):
                    self.leaks.report_occurrence(step, cause, audience, condition.expr)
        read: list[tuple[Expr, Scope]] = []
        if step.legal is not None:
            read.append((step.legal, scope))
        for action in step.moves:
            read += self.guards(action, scope)[0]
        for expr, inner in read:
            missing = own & ~self.visibilities.readers(expr, inner)
            if missing:
                cause = self.first_cause(expr, missing, inner)
                self.leaks.report_decision(step, seat, cause, "may choose", own, expr)
        if step.said is not None and step.said.valid is not None:
            reply = self._own_choice(step, seat, scope, sure)
            inner = scope.with_known(**{step.variable: reply})
            missing = own & ~self.visibilities.readers(step.said.valid, inner)
            if missing:
                cause = self.first_cause(step.said.valid, missing, inner)
                valid = step.said.valid
                self.leaks.report_decision(step, seat, cause, "may say", own, valid)
        if self.ir.no_move == "pass" or (self.ir.no_move == "end" and self.stages):
            self._check_skipped(step, seat, read, audience)
        if step.place is not None:
            for target in self.targets(step.place, scope):
                self.check_informed(step, target, here, sure)
            self.check_write(step.place, here, step.span)

    def _own_choice(self, step: Choose, seat: int, scope: Scope, sure: Visibility) -> Visibility:
        """Returns the visibility of a step's variable where its `valid` or `seen_by` reads it: what
        the seat chooses or says is already in it, with that visibility.

        In `seen_by` that is public: who is told is then told that it is among those who are, and
        who is not learns no more. Its author has decided that, by what it knew.
        """
        if not step.joint and (step.place is None or not step.place.keys):
            return sure
        whole = scope.known.get(step.variable)
        whole = whole or self.visibilities.variables.get(step.variable, self.public)
        if whole.by != "seat":
            return whole if step.place is not None else sure
        parts = whole
        return self.visibilities.table.per_seat(
            lambda other: sure if other == seat else parts.part(other)
        )

    def _check_skipped(
        self, step: Choose, seat: int, read: list[tuple[Expr, Scope]], audience: Seats
    ) -> None:
        """Checks a decision that is skipped without a legal option: its absence is seen."""
        assert self.leaks is not None
        if any(not action.parameters and action.when is None for action in step.moves):
            return
        for expr, scope in read:
            visibilities = self.visibilities
            is_source = expr is step.legal
            readers = visibilities.length_readers if is_source else visibilities.readers
            missing = audience & ~readers(expr, scope)
            if missing:
                self.leaks.report_skip(step, seat, self.first_cause(expr, missing, scope), missing)

    def guards(self, action: Action, scope: Scope) -> tuple[list[tuple[Expr, Scope]], Scope]:
        """Returns the expressions that decide which instances of an action are legal, each with
        its scope, and the scope in which the arguments are known."""
        read: list[tuple[Expr, Scope]] = []
        for name, source in action.parameters:
            read.append((source, scope))
            value = self.visibilities.visibility(source, scope)
            scope = scope.with_known(**{name: Visibility(value.all, value.seats)})
        if action.when is not None:
            read.append((action.when, scope))
        return read, scope
