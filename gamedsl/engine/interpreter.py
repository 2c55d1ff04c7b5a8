"""The reference backend: runs the operations of `gamedsl.engine.flow` one by one.

It is small and obvious before it is fast; every other backend is checked against it. A state's
values are never changed in place, so that a copy is a few dicts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, assert_never

from gamedsl.calls.registry import CallError
from gamedsl.diagnostics.spans import Span
from gamedsl.engine import flow
from gamedsl.engine.chance import Drawing, Index, Lottery, list_outcomes, outcome_at, pick_outcome
from gamedsl.engine.declared_infoset import declared_key
from gamedsl.engine.function_calls import Caller, RecordingCaller, call_registered, run_call
from gamedsl.engine.game_state import NOTHING, SCANNED, Answered, GameState
from gamedsl.engine.kernel import (
    LONGEST_MOVE,
    Amounts,
    Ask,
    Kind,
    NamedMoves,
    Outcome,
    PlayError,
    State,
)
from gamedsl.engine.legal_options import ExampleReplies, LegalOptions, action_of, arguments
from gamedsl.ir.builtins import exact, values
from gamedsl.ir.evaluate import Budget, SpentError, none_here
from gamedsl.ir.game import GameIR
from gamedsl.ir.outcome import Settlement, amount_of, settle
from gamedsl.ir.program import Call, Choose, Draw, Show
from gamedsl.ir.value_names import observed_name
from gamedsl.ir.values import name_of
from gamedsl.prompting.events import SILENCE, Seen, known, occurrences

LONG = 1000
"""Passes from which on a spent budget is reported at the loop, whatever its body does."""


class LoopFrame(NamedTuple):
    """A loop under way: its `items`, the number of passes `times` (None: no number), and how many
    `passes` have begun. `me` acts outside the loop; `span` is its place in the file."""

    items: tuple[Any, ...] | None
    times: int | None
    passes: int
    me: str | None
    span: Span


class BodyFrame(NamedTuple):
    """Action bodies under way: those still to run, as (seat, operation, arguments). Play then goes
    on at `after`, where `me` acts."""

    waiting: tuple[tuple[str, int, Mapping[str, Any]], ...]
    after: int
    me: str | None


class StageFrame(NamedTuple):
    """A stage under way: the payments of the game around it, and who acts there."""

    paid: Mapping[str, Any]
    me: str | None


Frame = LoopFrame | BodyFrame | StageFrame


def locate_spent(frames: Iterable[Frame], error: SpentError) -> SpentError:
    """Returns the error for a spent budget: at the loop with the most passes, if these are many,
    otherwise where it was spent."""
    loops = [frame for frame in frames if isinstance(frame, LoopFrame)]
    longest = max(loops, key=lambda frame: frame.passes, default=None)
    if longest is None or longest.passes < LONG:
        return error
    return SpentError(longest.span, longest.passes)


class Interpreter:
    """The rules of one game, interpreted. A `gamedsl.engine.kernel.Kernel`.

    With a `budget`, what is played may take no more work altogether: `SpentError` where it does.
    `caller` works out calls. With `examples`, open decisions offer the examples that it gives.
    """

    def __init__(
        self,
        ir: GameIR,
        budget: Budget | None = None,
        caller: Caller = call_registered,
        examples: ExampleReplies | None = None,
    ) -> None:
        self.ir = ir
        self.budget = budget
        self.caller = caller
        self.flow = flow.flatten(ir)
        self.handlers = tuple(map(handler_of, self.flow.ops))
        self.options = LegalOptions(ir, examples)
        self.drawing = Drawing(ir)

    def start(self, lasting: Mapping[str, Any] = NOTHING) -> History:
        """The history in which nothing has happened, after an earlier episode that left `lasting`
        of the state that lasts."""
        return History(self, lasting)


def answers_of(state: State) -> tuple[Answered, ...]:
    """Returns what functions gave so far that need not give the same again: for each call in order
    its step, the function, and the results as JSON."""
    return state.answers if isinstance(state, History) else ()


class History(NamedMoves):
    """A history of a game. A `gamedsl.engine.kernel.State`."""

    __slots__ = (
        "_drawn", "_frames", "_kernel", "_lottery", "_me", "_place", "_state", "asks", "kind",
    )  # fmt: skip

    kind: Kind

    def __init__(self, kernel: Interpreter, lasting: Mapping[str, Any]) -> None:
        self._kernel = kernel
        self._state = GameState(kernel.ir, kernel.flow, kernel.budget, lasting)
        self._place = 0
        """The operation at which the history stands."""
        self._frames: tuple[Frame, ...] = ()
        """Loops, action bodies and stages under way, the innermost last."""
        self._me: str | None = None
        """The acting seat."""
        self._drawn: tuple[Any, ...] = ()
        """The outcomes of the draw under way, index by index."""
        self._lottery: Lottery | None = None
        """The possible outcomes, at a chance node."""
        self.asks: tuple[Ask, ...] = ()
        self.kind = "end"
        self._run(0)

    def copy(self) -> History:
        twin = History.__new__(History)
        for name in History.__slots__:
            setattr(twin, name, getattr(self, name))
        twin._state = self._state.copy()
        return twin

    def seen(self, seat: str) -> Seen:
        return self._state.seen[seat]

    @property
    def variables(self) -> Mapping[str, Any]:
        return self._state.bindings

    @property
    def answers(self) -> tuple[Answered, ...]:
        """The results so far of functions that need not give the same again, in order."""
        return self._state.answers

    @property
    def payoffs(self) -> Amounts:
        return self._settled().payoffs

    @property
    def rewards(self) -> Amounts:
        return self._settled().rewards

    @property
    def referee_payoffs(self) -> Amounts:
        """The payoffs of referees. Only at the end; may raise `EvaluationError`."""
        return dict(self._settled().referees) if self._kernel.ir.referee_payoffs else {}

    @property
    def streams(self) -> Mapping[str, Amounts]:
        if self.kind == "end":
            return self._settled().streams
        paid = dict(self._state.paid)
        stages = [frame for frame in self._frames if isinstance(frame, StageFrame)]
        return {**paid, "payoffs": stages[0].paid} if stages else paid

    def _settled(self) -> Settlement:
        state, kernel = self._state, self._kernel
        return settle(kernel.ir, state.bindings, state.paid, kernel.budget)

    # running

    def _run(self, place: int | None) -> None:
        """Carries out operations until somebody must choose, chance must draw, or the game is over.

        An operation answers where to go on, or None to stop at it. Raises PlayError after
        `LONGEST_MOVE` operations.
        """
        ops, budget, handlers = self._kernel.flow.ops, self._kernel.budget, self._kernel.handlers
        try:
            for _ in range(LONGEST_MOVE):
                if place is None:
                    return
                self._place = place
                op = ops[place]
                if budget is not None:
                    budget.spend(1 + len(self._frames), flow.span_of(op) or self._kernel.ir.span)
                place = handlers[place](self, op)
        except SpentError as error:
            raise locate_spent(self._frames, error) from None
        loops = [frame.span for frame in self._frames if isinstance(frame, LoopFrame)]
        raise PlayError(
            f"the rules take more than {LONGEST_MOVE:,} steps before anybody acts",
            loops[0] if loops else self._kernel.ir.span, help="make the loops shorter",
        )  # fmt: skip

    def _test(self, op: flow.Branch) -> int:
        return self._place + 1 if self._state.holds(op.condition, self._me) else op.otherwise

    def _stop(self, op: flow.Stop) -> None:
        self.kind = "end"

    def _check(self, op: flow.CheckEnd) -> int:
        return op.over if self._state.holds(op.end, self._me) else self._place + 1

    def _do(self, op: flow.Execute) -> int:
        for statement in op.step.statements:
            self._state.carry_out(statement, self._me)
        return self._place + 1

    def _pay(self, op: flow.PayNow) -> int:
        paid = dict(self._state.paid[op.step.stream])
        for seat, amount in op.step.amounts:
            paid[seat] = exact(paid[seat] + amount_of(amount, self._state.scope(seat)))
        self._state.paid[op.step.stream] = paid
        return self._place + 1

    def _show(self, op: flow.Reveal) -> int:
        step, value = op.step, self._state.value(op.step.value, self._me)
        self._state.bind(step.variable, value)
        self._observe_entries(step, value)
        return self._place + 1

    def _observe_entries(self, step: Show | Call, value: Any) -> None:
        """Tells the value of a step to those who see it, or each of its entries."""
        for seat, part in step.entries(value, self._kernel.ir.seats):
            owner, type = seat or self._me, step.entry_type
            self._state.observe(step, owner, seat, part, type, observed_name(part, type), self._me)

    def _consult(self, op: flow.CallFunction) -> int:
        step, state = op.step, self._state
        given = {name: state.value(expr, self._me) for name, expr in step.arguments}
        caller = RecordingCaller(self._kernel.caller)
        try:
            value = run_call(step, given, caller)
        except CallError as error:
            raise PlayError(
                f"`{step.function}` gave no result: {error.reason}", step.span
            ) from None
        if caller.given:
            state.answers = (*state.answers, (step.id, step.function, caller.given))
        state.bind(step.variable, value)
        self._observe_entries(step, value)
        return self._place + 1

    # loops and stages

    def _enter(self, op: flow.EnterLoop) -> int:
        loop, state = op.loop, self._state
        items = None
        if loop.items is not None:
            found = state.value(loop.items, self._me)
            if found is None:
                raise none_here(loop.items)
            items = values(found)
        times = None if loop.times is None else state.value(loop.times, self._me)
        if items is not None and not (loop.cycle and items):
            times = len(items)
        self._frames = (*self._frames, LoopFrame(items, times, 0, self._me, loop.span))
        return self._place + 1

    def _pass(self, op: flow.BeginPass) -> int:
        loop, under_way, bindings = op.loop, self._frames[-1], self._state.bindings
        assert isinstance(under_way, LoopFrame)
        items, times, passes = under_way[:3]
        if passes == times:
            return self._leave(op.after)
        if passes == loop.bound:
            if loop.until is None or loop.at_bound == "go_on":
                return self._leave(op.after)
            if loop.at_bound == "end":
                return op.over
            raise PlayError(
                f"this loop has not ended after {passes} passes", loop.until.span,
                help=f"say what happens then: `at_most: {{n: {passes}, then: go_on}}`, or `end`",
            )  # fmt: skip
        self._state.unbind(loop.resets, by_seat=not loop.in_turn)
        self._frames = (*self._frames[:-1], under_way._replace(passes=passes + 1))
        if loop.count is not None:
            bindings[loop.count] = passes + 1
        if items is not None and loop.item is not None:
            bindings[loop.item] = items[passes % len(items)]
        elif items is not None:
            self._me = items[passes % len(items)]
        return self._place + 1

    def _again(self, op: flow.EndPass) -> int:
        until = op.loop.until
        if until is not None and self._state.holds(until, self._me):
            return self._leave(op.after)
        return op.head

    def _leave(self, after: int) -> int:
        """Leaves the innermost loop."""
        *frames, under_way = self._frames
        self._frames, self._me = tuple(frames), under_way.me
        return after

    def _begin(self, op: flow.EnterStage) -> int:
        state = self._state
        self._frames = (*self._frames, StageFrame(state.paid["payoffs"], self._me))
        state.paid["payoffs"] = state.nothing()
        state.unbind(op.stage.resets)
        state.bindings.update((declared.name, declared.start) for declared in op.stage.state)
        return self._place + 1

    def _close(self, op: flow.LeaveStage) -> int:
        *frames, frame = self._frames
        while not isinstance(frame, StageFrame):
            frame = frames.pop()
        self._frames, self._me = tuple(frames), frame.me
        state, inside = self._state, dict(self._state.paid["payoffs"])
        for seat, payoff in op.stage.payoffs:
            inside[seat] += amount_of(payoff, state.scope(seat))
        weight = amount_of(op.stage.weight, state.scope(self._me))
        state.paid["payoffs"] = {
            seat: exact(before + weight * inside[seat]) for seat, before in frame.paid.items()
        }
        return self._place + 1

    # choices

    def _ask(self, op: flow.Decide) -> int | None:
        step, asks, no_move = op.step, [], self._kernel.ir.no_move
        for seat in self._actors(step):
            seen, scope = self._state.seen[seat], self._state.scope(seat)
            self._state.spend(len(seen) // SCANNED, step.span)
            legal = (
                self._kernel.options.legal(step, seat, scope)
                if step.said is None
                else self._kernel.options.examples(
                    step, seat, seen, partial(self._admits, step, seat)
                )
            )
            if legal or step.said is not None:
                key = declared_key(self._kernel.ir, step, seat, scope)
                before = occurrences(seen, step.id, seat) if key is None else 0
                asks.append(Ask(seat, step.id, before, legal, key, step.said is not None))
            elif no_move == "end":
                return op.over
            elif no_move != "pass":
                raise PlayError(
                    f"`{seat}` has no legal `{step.variable}`", step.span,
                    (f"{seat} has seen: {known(seen) or 'nothing'}",),
                    "offer an option then, or say at the top of the file what happens: "
                    "`no_move: pass`, or `no_move: end`",
                )  # fmt: skip
        if not asks:
            return op.after
        self.asks = tuple(asks)
        self.kind = "decide"
        return None

    def _actors(self, step: Choose) -> tuple[str, ...]:
        """Returns the seats that act at a step: those for whom its condition holds."""
        seats: Iterable[Any] = step.actors
        first = step.condition if step.condition_first else None
        if first is not None and not self._state.holds(first, self._me):
            return ()
        if step.actor is not None:
            seats = (self._state.value(step.actor, self._me),)
        if step.condition is not None and first is None:
            seats = [seat for seat in seats if self._state.holds(step.condition, seat)]
        for seat in seats:
            if seat not in step.actors:
                span = step.span if step.actor is None else step.actor.span
                raise PlayError(f"{name_of(seat)} cannot act here", span)
        return tuple(seats)

    def objection(self, seat: str, name: str) -> str | None:
        """Returns None where what a seat says at an open decision, by canonical name, is valid by
        the rules, and otherwise what the file says of it, if anything. Raises EvaluationError where
        that cannot be decided."""
        op = self._kernel.flow.ops[self._place]
        assert isinstance(op, flow.Decide)
        return self._objection(op.step, seat, name)

    def _admits(self, step: Choose, seat: str, name: str) -> bool:
        return self._objection(step, seat, name) is None

    def _objection(self, step: Choose, seat: str, name: str) -> str | None:
        said = step.said
        if said is None or said.valid is None:
            return None
        state = self._state.copy()
        state.bind_choices(step, {seat: self._kernel.options.value(step, seat, name)})
        failed = (reason for reason in said.conditions if not state.holds(reason.test, seat))
        return next((reason.text for reason in failed), None)

    def choose(self, names: Sequence[str]) -> None:
        op = self._kernel.flow.ops[self._place]
        assert isinstance(op, flow.Decide)
        step, options, state = op.step, self._kernel.options, self._state
        named = {ask.seat: name for ask, name in zip(self.asks, names, strict=True)}
        chosen = {seat: options.value(step, seat, name) for seat, name in named.items()}
        if SILENCE in names and not step.joint and step.place is None:
            state.bind_silence(step, self.asks[0].seat)
        else:
            state.bind_choices(step, {s: v for s, v in chosen.items() if named[s] != SILENCE})
        self.asks = ()
        for seat, value in chosen.items():
            state.observe(step, seat, seat, value, step.type, named[seat], self._me)
        waiting = []
        for seat, value in chosen.items():
            action = action_of(step, value)
            if action is not None and action.body:
                waiting.append((seat, dict(op.bodies)[action.name], arguments(action, value)))
        self._frames = (*self._frames, BodyFrame(tuple(waiting), self._place + 1, self._me))
        self._run(self._return(op))

    def _return(self, op: flow.ReturnFromBody | flow.Decide) -> int:
        """Begins the next of the waiting bodies, or goes on after the choice."""
        *frames, call = self._frames
        assert isinstance(call, BodyFrame)
        if not call.waiting:
            self._frames, self._me = tuple(frames), call.me
            return call.after
        (self._me, place, bound), *rest = call.waiting
        self._state.bindings.update(bound)
        self._frames = (*frames, call._replace(waiting=tuple(rest)))
        return place

    # chance

    def _chance(self, op: flow.DrawOutcome) -> int | None:
        step, drawing = op.step, self._kernel.drawing
        if not drawing.indices(step):
            return self._place + 1
        if not self._drawn and step.place is None:
            self._state.unbind((step.variable,))
        _, index = self._drawing()
        scope = self._state.scope(index[0] if step.by_seat else self._me)
        self._lottery = drawing.lottery(step, self._drawn, scope)
        self.kind = "chance"
        return None

    def _drawing(self) -> tuple[Draw, Index]:
        """Returns the draw under way, and the index it draws for."""
        op = self._kernel.flow.ops[self._place]
        assert isinstance(op, flow.DrawOutcome)
        return op.step, self._kernel.drawing.indices(op.step)[len(self._drawn)]

    @property
    def draws(self) -> tuple[str, tuple[str, ...]]:
        step, index = self._drawing()
        return step.id, tuple(map(name_of, index))

    @property
    def outcome_count(self) -> int:
        return 0 if self._lottery is None else self._lottery.size

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        return () if self._lottery is None else list_outcomes(self._lottery)

    def outcome(self, number: int) -> Outcome:
        assert self._lottery is not None
        return outcome_at(self._lottery, number)

    def outcome_named(self, name: str) -> int | None:
        assert self._lottery is not None
        return self._lottery.named(name)

    def pick(self, seed: int) -> int:
        assert self._lottery is not None
        passes = (frame.passes for frame in self._frames if isinstance(frame, LoopFrame))
        return pick_outcome(self._lottery, seed, self.draws[0], passes, self.draws[1])

    def sample(self, random: Callable[[], float]) -> int:
        assert self._lottery is not None
        return self._lottery.outcome(int(random() * self._lottery.total))

    def draw(self, outcome: int) -> str:
        assert self._lottery is not None
        value, self._lottery = self._lottery.value(outcome), None
        step, index = self._drawing()
        last = len(self._drawn) + 1 == len(self._kernel.drawing.indices(step))
        self._state.bind_drawn(step, index, value, last=last, me=self._me)
        self._drawn = () if last else (*self._drawn, value)
        self._run(self._place + 1 if last else self._place)
        return name_of(value)


Handler = Callable[[History, Any], int | None]
"""Carries out an operation of one kind. Returns where to go on, or None to stop at it."""


def handler_of(op: flow.Op) -> Handler:
    """Returns the handler of an operation."""
    match op:
        case flow.Branch():
            return History._test
        case flow.EnterLoop():
            return History._enter
        case flow.BeginPass():
            return History._pass
        case flow.EndPass():
            return History._again
        case flow.Decide():
            return History._ask
        case flow.ReturnFromBody():
            return History._return
        case flow.DrawOutcome():
            return History._chance
        case flow.Reveal():
            return History._show
        case flow.Execute():
            return History._do
        case flow.CallFunction():
            return History._consult
        case flow.PayNow():
            return History._pay
        case flow.EnterStage():
            return History._begin
        case flow.LeaveStage():
            return History._close
        case flow.CheckEnd():
            return History._check
        case flow.Stop():
            return History._stop
    assert_never(op)
