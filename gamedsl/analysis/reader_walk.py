"""Goes through the steps of a game as each seat that may act, and checks what flows where.

Of variables more is known in some places than everywhere: what was bound just before, or by whom.
`Scope.known` holds that, until the variable may have been bound again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce

from gamedsl.analysis.reader_choices import Choices
from gamedsl.analysis.reader_expressions import Reading
from gamedsl.analysis.reader_leaks import Leaks
from gamedsl.analysis.reader_roles import Scope, top
from gamedsl.analysis.reader_sets import Sight, Table, each, either
from gamedsl.analysis.reader_stores import Condition, Context
from gamedsl.ir.builtins import element
from gamedsl.ir.expr import Const, Expr, LetCall, LetMap, Read, walk
from gamedsl.ir.game import GameIR
from gamedsl.ir.program import (
    Action,
    Block,
    Call,
    Choose,
    Do,
    Draw,
    Loop,
    Show,
    Stage,
    Step,
    substeps,
    written_variables,
)
from gamedsl.ir.statements import write_of
from gamedsl.ir.types import SEAT


class Walk(Choices):
    """One walk through a game. `learned` is who reads each variable, as the walk found it; with
    `leaks` it also checks, and reports there."""

    def __init__(self, ir: GameIR, reading: Reading, leaks: Leaks | None) -> None:
        super().__init__(ir, reading, leaks)
        self._bound: dict[str, frozenset[str]] = {}

    def run(self) -> None:
        scope = top()
        for state in self.ir.states:
            type = state.type
            self.learned[state.name] = self.sight(state.readers, scope, type, per_seat=True)
            self.audience[state.name] = self.sight(
                state.readers, scope, type, per_seat=True, sure=False
            )
        for state in self.ir.states:
            self.test(state.readers, state.name, scope)
        self.steps(self.ir.turns, Context(scope))

    def bound(self, step: Step) -> frozenset[str]:
        """The variables that a step and the steps inside it may change."""
        known = self._bound.get(step.id)
        if known is None:
            inner = (self.bound(part) for part in substeps(step))
            known = self._bound[step.id] = written_variables(step).union(*inner)
        return known

    # steps

    def steps(self, steps: tuple[Step, ...], here: Context) -> Context:
        """Go through steps, and say what is known after them."""
        for step in steps:
            here = self.step(step, here)
        return here

    def step(self, step: Step, here: Context) -> Context:
        """Go through a step, and say what is known after it."""
        after = here.knowing(here.scope.forgetting(self.bound(step)))
        if isinstance(step, Choose):
            return self.choose(step, here, after)
        inner = here
        if step.condition is not None:
            scope = self.reading.narrowed(step.condition, True, here.scope)
            if scope is None:
                return here
            inner = self.under(here, step.condition).knowing(scope)
        now: Sight | None = None
        match step:
            case Block(body=body):
                self.steps(body, inner)
            case Loop():
                left = self.loop(step, inner)
                return after if step.condition is not None else after.knowing(left)
            case Stage():
                self.stage(step, inner)
            case Draw():
                now = self.draw(step, inner)
            case Show():
                now = self.show(step, inner)
            case Call():
                now = self.call(step, inner)
            case Do(statements=statements):
                for statement in statements:
                    self.statement(statement, inner)
                    left = inner.scope.forgetting(frozenset((write_of(statement).place.variable,)))
                    inner = inner.knowing(left)
        if now is None or step.condition is not None:
            return after
        assert isinstance(step, Draw | Show | Call)
        return after.knowing(after.scope.given(**{step.variable: now}))

    def loop(self, loop: Loop, here: Context) -> Scope:
        """Go through a loop, and say what is known after it."""
        before = here.scope.forgetting(self.bound(loop))
        inner, seats = here.knowing(before), 0
        if loop.items is not None:
            inner = self.under(here, loop.items).knowing(before)
            seats = self.reading.sight(loop.items, here.scope).seats
            if loop.item is not None:
                item = self.reading.variables.get(loop.item, self.public).being(seats)
                inner = inner.knowing(before.given(**{loop.item: item}))
        ends: list[Scope] = []
        if loop.until is not None:
            ends = [self.end(loop, start) for _, start in self.passes(loop, inner, each(seats))]
            for end in ends:
                inner = self.under(inner, loop.until, end)
        for name in (loop.item, loop.count):
            if name is not None:
                self.learn(name, Sight(inner.readers(self.everyone), self.everyone))
        last: list[Scope] = []
        for me, start in self.passes(loop, inner, self.those(seats, inner.scope)):
            with self.turn(me, self.written_out(loop)):
                last.append(self.steps(loop.body, start).scope)
        by_seat = loop.items is not None and _are_roles(loop.items)
        return self.joined(loop, before, ends or ([] if by_seat else last))

    def passes(
        self, loop: Loop, here: Context, seats: Iterator[int]
    ) -> Iterator[tuple[int | None, Context]]:
        """The passes that differ: one for each seat, where it goes through seats; and whose turn it
        is."""
        scope = here.scope
        if loop.in_turn:
            for me in seats:
                yield me, here.knowing(scope.seated(me))
        elif loop.items is not None and loop.item is not None and _are_roles(loop.items):
            for seat in seats:
                item = scope.known[loop.item].being(1 << seat)
                own = scope.given(**{loop.item: item})
                yield None, here.knowing(own._replace(fixed=own.fixed | 1 << seat))
        else:
            yield None, here

    @contextmanager
    def turn(self, me: int | None, there: bool) -> Iterator[None]:
        """In the pass of a seat, or in its action; `there` says whether a step can be put in."""
        if self.leaks is None or me is None:
            yield
            return
        before, self.leaks.turn = self.leaks.turn, me if there else None
        yield
        self.leaks.turn = before

    @contextmanager
    def statements_of(self, action: Action, there: bool) -> Iterator[None]:
        """In the body of an action; `there` says whether a step could be put in."""
        if self.leaks is not None and there and _is_bare(action):
            self.leaks.action = action.name
        yield
        if self.leaks is not None:
            self.leaks.action = ""

    def written_out(self, loop: Loop) -> bool:
        """Whether the steps of a loop stand below it, in the file of the game."""
        own = loop.span.source is self.ir.span.source
        return own and all(step.span != loop.span for step in loop.body)

    def end(self, loop: Loop, here: Context) -> Scope:
        """What is known after a pass, where `until` is read: what the pass bound, all of which it
        binds anew."""
        assert loop.until is not None
        read = {part.name for part in walk(loop.until) if isinstance(part, Read)}
        lets = any(isinstance(part, LetCall | LetMap) for part in walk(loop.until))
        if not lets and read.isdisjoint(loop.resets):
            return here.scope
        leaks, self.leaks = self.leaks, None
        scope = self.steps(loop.body, here).scope
        self.leaks = leaks
        return scope

    def joined(self, loop: Loop, before: Scope, ends: list[Scope]) -> Scope:
        """What is known after a loop, after whichever pass it ends."""
        names = set.intersection(*(set(end.known) for end in ends)) if ends else set()
        after = {}
        for name in names.difference(before.known):
            known = [end.known[name] for end in ends]
            if not _goes_round(loop):
                known.append(self.reading.variables.get(name, self.public))
            after[name] = reduce(either, known)
        return before.given(**after) if after else before

    def stage(self, stage: Stage, here: Context) -> None:
        for state in stage.state:
            self.started(state, here, stage.span)
        inner = here.knowing(here.scope.forgetting(self.bound(stage)))
        if stage.end is not None:
            inner = self.under(inner, stage.end)
        self.stages += 1
        self.steps(stage.body, inner)
        self.stages -= 1

    # choices

    def choose(self, step: Choose, here: Context, after: Context) -> Context:
        found: list[Sight] = []
        actors = self.actors(step, here.scope)
        certain = step.condition is None and self.ir.no_move == "error"
        certain = certain and actors & (actors - 1) == 0 and not step.joint and not step.moves
        for seat, inner in self.acting(step, here):
            sure = self.sight(step.readers, inner.scope, step.type, seat)
            if step.knows is None:
                sure = sure.also(1 << seat)
            if step.type == SEAT:
                chosen = tuple(option.value for option in step.options_of(self.ir.everyone[seat]))
                sure = sure.being(self.reading.table.of(chosen))
            found.append(sure)
            if step.place is None:
                self.chose(step, seat, sure)
            if self.leaks is not None:
                self.asked(step, seat, inner, sure)
            for action in step.moves:
                self.act(step, action, seat, inner, sure)
        if not found or not certain or step.place is not None:
            return after
        return after.knowing(after.scope.given(**{step.variable: found[0]}))

    def act(self, step: Choose, action: Action, seat: int, here: Context, sure: Sight) -> None:
        """Go through the body of an action that a seat chose."""
        if not action.body:
            return
        given: Scope | None = self.guards(action, here.scope)[1]
        if action.when is not None and given is not None:
            given = self.reading.narrowed(action.when, True, given)
        if given is None:
            return
        readers = sure.all
        told = {name: given.known[name].within(0).also(readers) for name, _ in action.parameters}
        scope = here.scope.forgetting(self.bound(step)).given(**told)
        if not step.joint and step.place is None:
            scope = scope.given(**{step.variable: sure})
        chosen = Read(step.type, action.span, step.variable)
        around = here.scope.given(**{step.variable: Sight(readers, self.everyone)})
        condition = Condition(chosen, around, readers)
        there = action.span.source is self.ir.span.source
        with self.turn(seat, there), self.statements_of(action, there):
            self.steps(action.body, Context(scope, (*here.conditions, condition)))


def who_reads(ir: GameIR) -> Reading:
    """Who reads each variable, wherever it stands.

    What a loop counts or goes through is read by those who read its bounds, which may read such
    variables themselves: at first they are taken to be public, then what follows from that, until
    nothing changes.
    """
    reading = Reading(ir, Table(ir.everyone), frozenset(state.name for state in ir.states))
    before = None
    while before != reading.variables:
        walk, before = Walk(ir, reading, None), reading.variables
        walk.run()
        reading.variables = walk.learned
        if not reading.loops:
            break
    return reading


def _is_bare(action: Action) -> bool:
    """Whether an action is written as statements alone: its place is then that of their text."""
    first, *more = action.body
    return isinstance(first, Do) and not more and not re.search(r"\bdo\s*:", first.span.text)


def _goes_round(loop: Loop) -> bool:
    """Whether a loop surely has a pass."""
    if loop.items is not None:
        return isinstance(loop.items, Const) and bool(loop.items.value)
    return loop.times is None or (isinstance(loop.times, Const) and bool(loop.times.value))


def _are_roles(items: Expr) -> bool:
    return element(items.type) == SEAT
