"""The reference backend: runs the operations of `gamedsl.engine.flow` one by one.

It is small and obvious before it is fast; every other backend is checked against it. A state's
values are never changed in place, so that a copy is a few dicts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from gamedsl.calls.registry import CallError
from gamedsl.diagnostics.spans import Span
from gamedsl.engine import flow
from gamedsl.engine.at_chance import AtChance
from gamedsl.engine.calling import Answers, Caller, answer, registered
from gamedsl.engine.drawing import Drawing
from gamedsl.engine.frames import Call, Frame, Inner, Round, spent_in
from gamedsl.engine.kernel import Amounts, Ask, PlayError
from gamedsl.engine.legal import Options, Spoken, action_of, arguments
from gamedsl.engine.told import declared
from gamedsl.engine.world import NOTHING, SCANNED, Answered, World
from gamedsl.ir.builtins import exact, values
from gamedsl.ir.evaluate import Budget, SpentError, none_here
from gamedsl.ir.game import GameIR
from gamedsl.ir.outcome import Settlement, amount_of, settle
from gamedsl.ir.program import Choose
from gamedsl.ir.values import name_of
from gamedsl.prompting.events import SILENCE, Seen, known, occurrences


class Interpreter:
    """The rules of one game, interpreted. A `gamedsl.engine.kernel.Kernel`.

    With a `budget`, what is played may take no more work altogether: `SpentError` where it does.
    `caller` works out calls. With `spoken`, open decisions offer the examples that it gives.
    """

    def __init__(
        self,
        ir: GameIR,
        budget: Budget | None = None,
        caller: Caller = registered,
        spoken: Spoken | None = None,
    ) -> None:
        self.ir = ir
        self.budget = budget
        self.caller = caller
        self.flow = flow.flatten(ir)
        self.options = Options(ir, spoken)
        self.drawing = Drawing(ir)

    def start(self, lasting: Mapping[str, Any] = NOTHING) -> History:
        """The history in which nothing has happened, after an earlier episode that left `lasting`
        of the state that lasts."""
        return History(self, lasting)


class History(AtChance):
    """A history of a game. A `gamedsl.engine.kernel.State`."""

    __slots__ = ("_frames", "_kernel", "_me", "_place", "_world", "asks")

    def __init__(self, kernel: Interpreter, lasting: Mapping[str, Any]) -> None:
        self._kernel = kernel
        self._world = World(kernel.ir, kernel.flow, kernel.budget, lasting)
        self._place = 0
        """The operation at which the history stands."""
        self._frames: tuple[Frame, ...] = ()
        """Loops, action bodies and stages under way, the innermost last."""
        self._me: str | None = None
        """Who acts."""
        self._drawn = ()
        self._lottery = None
        self.asks: tuple[Ask, ...] = ()
        self.kind = "end"
        self._run(0)

    def copy(self) -> History:
        twin = History.__new__(History)
        for name in (*AtChance.__slots__, *History.__slots__):
            setattr(twin, name, getattr(self, name))
        twin._world = self._world.copy()
        return twin

    def seen(self, seat: str) -> Seen:
        return self._world.seen[seat]

    @property
    def variables(self) -> Mapping[str, Any]:
        return self._world.bindings

    @property
    def answers(self) -> tuple[Answered, ...]:
        """What functions gave so far that need not give the same again, in order."""
        return self._world.answers

    @property
    def payoffs(self) -> Amounts:
        return self._settled().payoffs

    @property
    def rewards(self) -> Amounts:
        return self._settled().rewards

    @property
    def streams(self) -> Mapping[str, Amounts]:
        if self.kind == "end":
            return self._settled().streams
        paid = dict(self._world.paid)
        stages = [frame for frame in self._frames if isinstance(frame, Inner)]
        return {**paid, "payoffs": stages[0].paid} if stages else paid

    def _settled(self) -> Settlement:
        world, kernel = self._world, self._kernel
        return settle(kernel.ir, world.bindings, world.paid, kernel.budget)

    # running

    def _run(self, place: int | None) -> None:
        """Carry out operations until somebody must choose, chance must draw, or the game is over.

        An operation answers where to go on, or None to stop at it.
        """
        ops, budget = self._kernel.flow.ops, self._kernel.budget
        try:
            while place is not None:
                self._place = place
                op = ops[place]
                if budget is not None:
                    budget.spend(1 + len(self._frames), self._working())
                place = _RUN[type(op)](self, op)
        except SpentError as error:
            raise spent_in(self._frames, error) from None

    def _working(self) -> Span:
        """Where the operation stands in the file; for want of a step of its own, its loop."""
        op = self._kernel.flow.ops[self._place]
        part = getattr(op, "step", None) or getattr(op, "loop", None)
        part = part or getattr(op, "condition", None) or getattr(op, "end", None)
        return self._kernel.ir.span if part is None else part.span

    def _stop(self, op: flow.Stop) -> None:
        self.kind = "end"

    def _test(self, op: flow.Test) -> int:
        return self._place + 1 if self._world.holds(op.condition, self._me) else op.otherwise

    def _check(self, op: flow.Check) -> int:
        return op.over if self._world.holds(op.end, self._me) else self._place + 1

    def _do(self, op: flow.Run) -> int:
        for statement in op.step.statements:
            self._world.carry_out(statement, self._me)
        return self._place + 1

    def _pay(self, op: flow.Credit) -> int:
        paid = dict(self._world.paid[op.step.stream])
        for seat, amount in op.step.amounts:
            paid[seat] = exact(paid[seat] + amount_of(amount, self._world.scope(seat)))
        self._world.paid[op.step.stream] = paid
        return self._place + 1

    def _show(self, op: flow.Tell) -> int:
        step, value = op.step, self._world.value(op.step.value, self._me)
        self._world.bind(step.variable, value)
        self._world.tell(step, self._me, "", value, step.value.type, name_of(value), self._me)
        return self._place + 1

    def _consult(self, op: flow.Consult) -> int:
        step, world = op.step, self._world
        given = {name: world.value(expr, self._me) for name, expr in step.arguments}
        caller = Answers(self._kernel.caller)
        try:
            value = answer(step, given, caller)
        except CallError as error:
            raise PlayError(
                f"`{step.function}` gave no result: {error.reason}", step.span
            ) from None
        if caller.given:
            world.answers = (*world.answers, (step.id, step.function, caller.given))
        world.bind(step.variable, value)
        world.tell(step, self._me, "", value, step.type, name_of(value), self._me)
        return self._place + 1

    # loops and stages

    def _enter(self, op: flow.Enter) -> int:
        loop, world = op.loop, self._world
        items = None
        if loop.items is not None:
            found = world.value(loop.items, self._me)
            if found is None:
                raise none_here(loop.items)
            items = values(found)
        times = None if loop.times is None else world.value(loop.times, self._me)
        if items is not None and not (loop.cycle and items):
            times = len(items)
        self._frames = (*self._frames, Round(items, times, 0, self._me, loop.span))
        return self._place + 1

    def _pass(self, op: flow.Pass) -> int:
        loop, under_way, bindings = op.loop, self._frames[-1], self._world.bindings
        assert isinstance(under_way, Round)
        items, times, passes = under_way[:3]
        if passes == times:
            return self._leave(op.after)
        if passes == loop.bound:
            if loop.until is None or loop.at_bound == "go_on":
                return self._leave(op.after)
            if loop.at_bound == "end":
                return op.over
            raise PlayError(
                f"`until` has not held after {passes} passes", loop.until.span,
                help=f"say what happens then: `at_most: {{n: {passes}, then: go_on}}`, or `end`",
            )  # fmt: skip
        self._world.unbind(loop.resets, by_seat=not loop.in_turn)
        self._frames = (*self._frames[:-1], under_way._replace(passes=passes + 1))
        if loop.count is not None:
            bindings[loop.count] = passes + 1
        if items is not None and loop.item is not None:
            bindings[loop.item] = items[passes % len(items)]
        elif items is not None:
            self._me = items[passes % len(items)]
        return self._place + 1

    def _again(self, op: flow.Again) -> int:
        until = op.loop.until
        if until is not None and self._world.holds(until, self._me):
            return self._leave(op.after)
        return op.head

    def _leave(self, after: int) -> int:
        """Leave the innermost loop."""
        *frames, under_way = self._frames
        self._frames, self._me = tuple(frames), under_way.me
        return after

    def _begin(self, op: flow.Begin) -> int:
        world = self._world
        self._frames = (*self._frames, Inner(world.paid["payoffs"], self._me))
        world.paid["payoffs"] = world.nothing()
        world.unbind(op.stage.resets)
        world.bindings.update((state.name, state.start) for state in op.stage.state)
        return self._place + 1

    def _close(self, op: flow.Close) -> int:
        *frames, frame = self._frames
        while not isinstance(frame, Inner):
            frame = frames.pop()
        self._frames, self._me = tuple(frames), frame.me
        world, inside = self._world, dict(self._world.paid["payoffs"])
        for seat, payoff in op.stage.payoffs:
            inside[seat] += amount_of(payoff, world.scope(seat))
        weight = amount_of(op.stage.weight, world.scope(self._me))
        world.paid["payoffs"] = {
            seat: exact(before + weight * inside[seat]) for seat, before in frame.paid.items()
        }
        return self._place + 1

    # choices

    def _ask(self, op: flow.Ask) -> int | None:
        step, asks, no_move = op.step, [], self._kernel.ir.no_move
        for seat in self._actors(step):
            seen, scope = self._world.seen[seat], self._world.scope(seat)
            self._world.spend(len(seen) // SCANNED, step.span)
            legal = (
                self._kernel.options.legal(step, seat, scope)
                if step.said is None
                else self._kernel.options.examples(
                    step, seat, scope, partial(self._admits, step, seat)
                )
            )
            if legal or step.said is not None:
                key = declared(self._kernel.ir, step, seat, scope)
                before = occurrences(seen, step.id, seat) if key is None else 0
                asks.append(Ask(seat, step.id, before, legal, key, step.said is not None))
            elif no_move == "end":
                return op.over
            elif no_move != "pass":
                raise PlayError(
                    f"`{seat}` has no legal `{step.variable}`", step.span,
                    (f"{seat} has seen: {known(seen) or 'nothing'}",),
                    "say what happens then: `no_move: pass`, or `no_move: end`",
                )  # fmt: skip
        if not asks:
            return op.after
        self.asks = tuple(asks)
        self.kind = "decide"
        return None

    def _actors(self, step: Choose) -> tuple[str, ...]:
        """Who acts at a step: those for whom its condition holds."""
        seats: Iterable[Any] = step.actors
        if step.actor is not None:
            seats = (self._world.value(step.actor, self._me),)
        if step.condition is not None:
            seats = [seat for seat in seats if self._world.holds(step.condition, seat)]
        for seat in seats:
            if seat not in step.actors:
                span = step.span if step.actor is None else step.actor.span
                raise PlayError(f"{name_of(seat)} cannot act here", span)
        return tuple(seats)

    def admits(self, seat: str, name: str) -> bool:
        """Whether what a seat says at an open decision, by canonical name, is valid by the rules.
        EvaluationError where that cannot be said."""
        op = self._kernel.flow.ops[self._place]
        assert isinstance(op, flow.Ask)
        return self._admits(op.step, seat, name)

    def _admits(self, step: Choose, seat: str, name: str) -> bool:
        if step.said is None or step.said.valid is None:
            return True
        world = self._world.copy()
        world.bind_choices(step, {seat: self._kernel.options.value(step, seat, name)})
        return world.holds(step.said.valid, seat)

    def choose(self, names: Sequence[str]) -> None:
        op = self._kernel.flow.ops[self._place]
        assert isinstance(op, flow.Ask)
        step, options, world = op.step, self._kernel.options, self._world
        named = {ask.seat: name for ask, name in zip(self.asks, names, strict=True)}
        chosen = {seat: options.value(step, seat, name) for seat, name in named.items()}
        if SILENCE in names and not step.joint and step.place is None:
            world.be_silent(step, self.asks[0].seat)
        else:
            world.bind_choices(step, {s: v for s, v in chosen.items() if named[s] != SILENCE})
        self.asks = ()
        for seat, value in chosen.items():
            world.tell(step, seat, seat, value, step.type, named[seat], self._me)
        waiting = []
        for seat, value in chosen.items():
            action = action_of(step, value)
            if action is not None and action.body:
                waiting.append((seat, dict(op.bodies)[action.name], arguments(action, value)))
        self._frames = (*self._frames, Call(tuple(waiting), self._place + 1, self._me))
        self._run(self._return())

    def _return(self, op: flow.Op | None = None) -> int:
        """Begin the next of the bodies that wait, or go on after the choice."""
        *frames, call = self._frames
        assert isinstance(call, Call)
        if not call.waiting:
            self._frames, self._me = tuple(frames), call.me
            return call.after
        (self._me, place, bound), *rest = call.waiting
        self._world.bindings.update(bound)
        self._frames = (*frames, call._replace(waiting=tuple(rest)))
        return place


_RUN: dict[type[Any], Callable[[History, Any], int | None]] = {
    flow.Test: History._test,
    flow.Enter: History._enter,
    flow.Pass: History._pass,
    flow.Again: History._again,
    flow.Ask: History._ask,
    flow.Return: History._return,
    flow.Chance: History._chance,
    flow.Tell: History._show,
    flow.Run: History._do,
    flow.Consult: History._consult,
    flow.Credit: History._pay,
    flow.Begin: History._begin,
    flow.Close: History._close,
    flow.Check: History._check,
    flow.Stop: History._stop,
}
