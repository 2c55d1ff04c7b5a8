"""Walks through the steps of a game as each seat that may act.

Of some variables more is known at a step than everywhere: what was bound just before, or by whom.
`Scope.known` has it until the variable may be bound again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import reduce
from operator import or_
from typing import assert_never

from gamedsl.analysis.infoflow.cases import Cases
from gamedsl.analysis.infoflow.expressions import Visibilities
from gamedsl.analysis.infoflow.flows import Condition, Context, Flows
from gamedsl.analysis.infoflow.future_decisions import FutureDecisions
from gamedsl.analysis.infoflow.leaks import Leaks
from gamedsl.analysis.infoflow.scope import Scope, outermost
from gamedsl.analysis.infoflow.visibility import (
    Readers,
    Seats,
    SeatTable,
    Visibility,
    join,
    seat_numbers,
)
from gamedsl.bounds.programs import has_pass
from gamedsl.ir.builtins import element
from gamedsl.ir.expr import Apply, Expr, LetCall, LetMap, Me, Read, walk
from gamedsl.ir.game import GameIR
from gamedsl.ir.program import (
    Action,
    Block,
    Call,
    Choose,
    Do,
    Draw,
    Loop,
    Pay,
    Show,
    Stage,
    Step,
    substeps,
    written_variables,
)
from gamedsl.ir.statements import write_of
from gamedsl.ir.types import BOOL, SEAT

Observer = Callable[[Step, Context], None]
"""Is called at each step that the walk reaches, with the step's context."""


class Walk:
    """A walk through a game. It checks flows where `leaks` is given, and reports them there;
    `flows.learned` are the visibilities of variables that it finds."""

    def __init__(
        self,
        ir: GameIR,
        visibilities: Visibilities,
        leaks: Leaks | None,
        observer: Observer | None = None,
    ) -> None:
        self.flows = Flows(ir, visibilities, leaks)
        self._ir = ir
        self._visibilities = visibilities
        self._observer = observer
        self._written: dict[str, frozenset[str]] = {}
        self._future = FutureDecisions(ir, visibilities.table)

    def run(self) -> None:
        scope, flows = outermost(), self.flows
        for state in self._ir.states:
            for sure, table in ((True, flows.learned), (False, flows.audience)):
                table[state.name] = flows.visibility(
                    state.readers, scope, state.type, per_seat=True, sure=sure
                )
        start = Context(scope, self._visibilities.table.readers(self._future.anywhere))
        for state in self._ir.states:
            flows.check_test(state.readers, state.name, start)
        self._steps(self._ir.turns, start)

    def _written_in(self, step: Step) -> frozenset[str]:
        """Returns the variables that a step and the steps inside it may change."""
        known = self._written.get(step.id)
        if known is None:
            inner = (self._written_in(part) for part in substeps(step))
            known = self._written[step.id] = written_variables(step).union(*inner)
        return known

    def _steps(self, steps: tuple[Step, ...], here: Context) -> Context:
        """Walks through steps. Returns the context after them."""
        for step in steps:
            here = self._step(step, here)
        return here

    def _step(self, step: Step, here: Context) -> Context:
        """Walks through a step. Returns the context after it, in which the questions count that it
        settles (see `gamedsl.analysis.infoflow.cases`)."""
        settled = self._visibilities.cases.settled_by.get(step.id, frozenset())
        after = self._dispatch(step, here, settled)
        return after.in_scope(after.scope.with_settled(settled)) if settled else after

    def _dispatch(self, step: Step, here: Context, settled: frozenset[int]) -> Context:
        """Walks through a step by its kind. Returns the context after it, in which the questions
        that it settles do not count yet."""
        later = self._visibilities.table.readers(self._future.after(step))
        here = here._replace(later=later & here.scope.possible)
        after = here.in_scope(here.scope.without(self._written_in(step)))
        if isinstance(step, Choose):
            if self._observer is not None:
                self._observer(step, here)
            return self._choose(step, here, after)
        inner = here
        if step.condition is not None:
            scope = self._visibilities.narrow(step.condition, True, here.scope)
            if scope is None:
                return here
            inner = self.flows.with_condition(here, step.condition).in_scope(scope)
        if self._observer is not None:
            self._observer(step, inner)
        bound: Visibility | None = None
        match step:
            case Block(body=body):
                last = self._steps(body, inner)
                if step.condition is None:
                    return here.in_scope(last.scope)
            case Loop():
                scope = self._loop(step, inner)
                return after if step.condition is not None else after.in_scope(scope)
            case Stage():
                self._stage(step, inner)
            case Draw():
                bound = self.flows.draw(step, self._as_it_binds(step, inner, settled))
            case Show():
                bound = self.flows.show(step, self._as_it_binds(step, inner, settled))
            case Call():
                bound = self.flows.call(step, inner)
            case Do():
                self._do(step, inner)
            case Pay():
                pass
            case _:
                assert_never(step)
        if bound is None or step.condition is not None:
            return after
        assert isinstance(step, Draw | Show | Call)
        scope = after.scope.with_known(**{step.variable: bound})
        if isinstance(step, Show) and not step.by_seat and self._visibilities.cases.count > 1:
            scope = scope.with_revealed(self.flows.revealed(step.value, bound, here.scope))
        if isinstance(step, Draw | Show) and settled:
            scope = scope.with_revealed(self.flows.revealed_by(step, inner))
        return after.in_scope(scope)

    def _do(self, step: Do, here: Context) -> None:
        for statement in step.statements:
            self.flows.statement(statement, here)
            written = frozenset((write_of(statement).place.variable,))
            here = here.in_scope(here.scope.without(written))

    def _as_it_binds(
        self, step: Draw | Show, here: Context, settled: frozenset[int]
    ) -> Context:  # fmt: skip
        """Returns the context in which the readers of a step are found: its own value is bound
        then, so that they may be those whom it names. Values for several are bound one after
        another, and may not."""
        if not settled or (isinstance(step, Draw) and step.per):
            return here
        scope = here.scope.with_settled(settled)
        return here.in_scope(scope.with_revealed(self.flows.revealed_by(step, here)))

    # loops and stages

    def _loop(self, loop: Loop, here: Context) -> Scope:
        """Walks through a loop. Returns the scope after it."""
        flows = self.flows
        before = here.scope.without(self._written_in(loop))
        inner, seats = here.in_scope(before), 0
        if loop.items is not None:
            inner = flows.with_condition(here, loop.items).in_scope(before)
            seats = self._visibilities.visibility(loop.items, here.scope).seats
            if loop.item is not None:
                item = self._visibilities.variables.get(loop.item, flows.public)
                inner = inner.in_scope(before.with_known(**{loop.item: item.with_roles(seats)}))
        ends: list[Scope] = []
        if loop.until is not None:
            passes = self._passes(loop, inner, seat_numbers(seats))
            ends = [self._scope_of_until(loop, start) for _, start in passes]
            for end in ends:
                inner = flows.with_condition(inner, loop.until, end)
        for name in (loop.item, loop.count):
            if name is not None:
                flows.learn(name, Visibility(inner.readers(flows.everyone), flows.public.seats))
        last: list[Scope] = []
        if self._ir.no_move == "pass":  # a pass begins with all that it binds unbound, for all
            unbound = dict.fromkeys(loop.resets, flows.public)
            inner = inner.in_scope(inner.scope.with_known(**unbound))
        for me, start in self._passes(loop, inner, flows.sampled(seats, inner.scope)):
            with self._turn_of(me, self._is_written_out(loop)):
                last.append(self._steps(loop.body, start).scope)
        if loop.items is not None and _are_roles(loop.items):
            last = [self._of_any_seat(scope, before) for scope in last]
        return self._scope_after(loop, before, ends or last)

    def _passes(
        self, loop: Loop, here: Context, seats: Iterator[int]
    ) -> Iterator[tuple[int | None, Context]]:
        """Yields the passes that differ, one for each seat in a loop over seats, each with the
        seat that acts in it and its context."""
        scope = here.scope
        if loop.in_turn:
            assert loop.items is not None
            for me in seats:
                own: Scope | None = scope.acting_as(me)
                if self._visibilities.cases.count > 1:  # whoever acts is one of the items
                    assert own is not None
                    member = Apply(BOOL, loop.span, "in", (Me(SEAT, loop.span), loop.items))
                    own = self._visibilities.narrow(member, True, own)
                if own is not None:
                    yield me, here.in_scope(own)
        elif loop.items is not None and loop.item is not None and _are_roles(loop.items):
            for seat in seats:
                item = scope.known[loop.item].with_roles(1 << seat)
                own = scope.with_known(**{loop.item: item})
                yield None, here.in_scope(own._replace(fixed=own.fixed | 1 << seat))
        else:
            yield None, here

    def _of_any_seat(self, scope: Scope, before: Scope) -> Scope:
        """Returns the scope after the pass of a seat as it is after that of any seat which it
        represents: of seats that are alike, all or none read a value, and all may be in it. Of a
        value with parts nothing is kept."""
        groups = [group & ~before.fixed for group in self._visibilities.alike]
        known = {}
        for name, value in scope.known.items():
            if name in before.known or value.parts:
                continue
            gone = reduce(or_, (g for g in groups if g & ~value.readers), 0)
            more = reduce(or_, (g for g in groups if g & value.seats), 0)
            known[name] = Visibility(value.readers & ~gone, value.seats | more)
        return scope._replace(known={**before.known, **known})

    @contextmanager
    def _turn_of(self, me: int | None, written_out: bool) -> Iterator[None]:
        """Sets, in the pass or the action of a seat, the owner of a step that a fix can put there;
        none where the steps are not `written_out` in the file of the game."""
        leaks = self.flows.leaks
        if leaks is None or me is None:
            yield
            return
        before, leaks.turn = leaks.turn, me if written_out else None
        yield
        leaks.turn = before

    @contextmanager
    def _statements_of(self, action: Action, written_out: bool) -> Iterator[None]:
        """Sets, in the body of an action that is statements alone, the action's name for fixes."""
        leaks = self.flows.leaks
        if leaks is not None and written_out and _is_bare(action):
            leaks.action = action.name
        yield
        if leaks is not None:
            leaks.action = ""

    def _is_written_out(self, loop: Loop) -> bool:
        """Returns whether the steps of a loop stand below it, in the file of the game."""
        own = loop.span.source is self._ir.span.source
        return own and all(step.span != loop.span for step in loop.body)

    def _scope_of_until(self, loop: Loop, here: Context) -> Scope:
        """Returns the scope after a pass, in which `until` is read: the pass binds anew all that
        it binds."""
        assert loop.until is not None
        read = {part.name for part in walk(loop.until) if isinstance(part, Read)}
        lets = any(isinstance(part, LetCall | LetMap) for part in walk(loop.until))
        if not lets and read.isdisjoint(loop.resets):
            return here.scope
        leaks, self.flows.leaks = self.flows.leaks, None
        scope = self._steps(loop.body, here).scope
        self.flows.leaks = leaks
        return scope

    def _scope_after(self, loop: Loop, before: Scope, ends: list[Scope]) -> Scope:
        """Returns the scope after a loop, whichever pass is its last."""
        names = set.intersection(*(set(end.known) for end in ends)) if ends else set()
        after = {}
        for name in names.difference(before.known):
            known = [end.known[name] for end in ends]
            if not has_pass(loop):
                known.append(self._visibilities.variables.get(name, self.flows.public))
            after[name] = reduce(join, known)
        return before.with_known(**after) if after else before

    def _stage(self, stage: Stage, here: Context) -> None:
        for state in stage.state:
            self.flows.check_stage_start(state, here, stage.span)
        inner = here.in_scope(here.scope.without(self._written_in(stage)))
        if stage.end is not None:
            inner = self.flows.with_condition(inner, stage.end)
        self.flows.stages += 1
        self._steps(stage.body, inner)
        self.flows.stages -= 1

    # decisions

    def _choose(self, step: Choose, here: Context, after: Context) -> Context:
        """Walks through a decision of each seat that may act. Returns the context after it."""
        flows, choices = self.flows, []
        actors = flows.actors(step, here.scope)
        one = actors & (actors - 1) == 0 and not step.joint and not step.moves
        certain = one and step.condition is None and step.place is None
        before = here.scope.known.get(step.variable)
        for seat, inner in flows.actor_contexts(step, here):
            sure = flows.visibility(step.readers, inner.scope, step.type, seat)
            if step.knows is None:
                sure = sure.widened(self._visibilities.table.own(seat))
            if step.type == SEAT:
                options = step.options_of(self._ir.everyone[seat])
                roles = self._visibilities.table.of(tuple(option.value for option in options))
                sure = sure.with_roles(roles)
            choices.append(sure)
            if step.place is None:
                flows.learn_choice(step, seat, sure)
            if flows.leaks is not None:
                flows.check_decision(step, seat, inner, sure)
            for action in step.moves:
                self._act(step, action, seat, inner, sure)
        if not choices or not certain:
            return after
        bound = choices[0]
        if self._ir.no_move != "error":
            if before is None or self._ir.no_move != "pass":
                return after
            bound = join(before, bound.restricted(self._informed_seats(step, actors, here)))
        return after.in_scope(after.scope.with_known(**{step.variable: bound}))

    def _informed_seats(self, step: Choose, actor: Seats, here: Context) -> Readers:
        """Returns the readers that know whether the actor of a step has a legal option: itself, who
        is asked or not, and those who can work it out."""
        if step.legal is None:
            return self.flows.everyone
        scope = here.scope.acting_as(next(seat_numbers(actor)))
        own = self._visibilities.table.readers(actor)
        return own | self._visibilities.length_readers(step.legal, scope)

    def _act(
        self, step: Choose, action: Action, seat: int, here: Context, sure: Visibility
    ) -> None:
        """Walks through the body of an action that a seat chose."""
        if not action.body:
            return
        given: Scope | None = self.flows.guards(action, here.scope)[1]
        if action.when is not None and given is not None:
            given = self._visibilities.narrow(action.when, True, given)
        if given is None:
            return
        readers = sure.all
        arguments = {
            name: given.known[name].restricted(0).widened(readers) for name, _ in action.parameters
        }
        scope = here.scope.without(self._written_in(step)).with_known(**arguments)
        if not step.joint and step.place is None:
            scope = scope.with_known(**{step.variable: sure})
        chosen = Read(step.type, action.span, step.variable)
        value = Visibility(readers, self.flows.public.seats)
        around = here.scope.with_known(**{step.variable: value})
        condition = Condition(chosen, around, readers)
        written_out = action.span.source is self._ir.span.source
        with self._turn_of(seat, written_out), self._statements_of(action, written_out):
            self._steps(action.body, Context(scope, here.later, (*here.conditions, condition)))


def visibilities_of(ir: GameIR) -> Visibilities:
    """Returns the visibility of each variable, wherever it is read.

    Counters and items of loops are read by those who read the loop's bounds, which may read such
    variables themselves. They start as public; walks repeat until nothing changes.
    """
    states = frozenset(state.name for state in ir.states)
    cases = Cases.find(ir)
    visibilities = Visibilities(ir, SeatTable(ir.everyone, cases.count), cases, states)
    before = None
    while before != visibilities.variables:
        walk, before = Walk(ir, visibilities, None), visibilities.variables
        walk.run()
        visibilities.variables = walk.flows.learned
        if not visibilities.loops and cases.count == 1:
            break
    return visibilities


def _is_bare(action: Action) -> bool:
    """Returns whether an action is written as statements alone: its place is that of their text."""
    first, *more = action.body
    return isinstance(first, Do) and not more and not re.search(r"\bdo\s*:", first.span.text)


def _are_roles(items: Expr) -> bool:
    return element(items.type) == SEAT
