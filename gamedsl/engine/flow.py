"""The order in which the steps of a game run: its turns, flattened into a list of operations.

Every kernel runs this list. An operation is followed by the next one, unless it says where play
goes on; places are positions in the list. The bodies of actions come after the turns, each closed
by `ReturnFromBody`. The end of the game is checked after every step of its own, but not inside the
body of an action: such a body is one move, and a stage inside it is a game of its own.

    0  Branch(open == check)    else 2
    1  Decide(reply)
    2  EnterLoop(loop)
    3  BeginPass(loop)          afterwards 6
    4  Execute(do)
    5  EndPass(loop)            another pass 3, afterwards 6
    6  Stop
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, assert_never

from gamedsl.diagnostics.spans import Span
from gamedsl.ir.expr import Expr, LastBy, Past, expressions_in
from gamedsl.ir.game import GameIR
from gamedsl.ir.program import (
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
    walk_steps,
)


class Branch(NamedTuple):
    """Goes on only if the condition holds, read by the acting seat; else at `otherwise`."""

    condition: Expr
    otherwise: int


class EnterLoop(NamedTuple):
    """Begins a loop: works out its number of passes or its items, and keeps who acts outside it."""

    loop: Loop


class BeginPass(NamedTuple):
    """Begins a pass: unbinds `loop.resets`, numbers the pass, binds its item or changes who acts.

    Where there is no further pass, play leaves the loop and goes on at `after`; `over` is where the
    game (or stage) around the loop ends.
    """

    loop: Loop
    after: int
    over: int


class EndPass(NamedTuple):
    """Ends a pass: leaves the loop for `after` if `until` holds, else goes to `head`."""

    loop: Loop
    head: int
    after: int


class Decide(NamedTuple):
    """Lets seats choose; then the bodies of the actions they chose run, actor by actor.

    `bodies` are the places of the bodies, by the action's name; actions without a body have none.
    Where no seat has anything to choose, play goes on at `after`; `over` as in `BeginPass`.
    """

    step: Choose
    bodies: tuple[tuple[str, int], ...]
    after: int
    over: int


class ReturnFromBody(NamedTuple):
    """Ends an action's body: goes on with the next actor's, or after the choice."""


class DrawOutcome(NamedTuple):
    """Lets chance draw, once for each index."""

    step: Draw


class Reveal(NamedTuple):
    """Shows a value to its readers."""

    step: Show


class Execute(NamedTuple):
    """Carries out statements."""

    step: Do


class PayNow(NamedTuple):
    """Pays seats."""

    step: Pay


class CallFunction(NamedTuple):
    """Calls a registered function."""

    step: Call


class EnterStage(NamedTuple):
    """Begins a stage: resets its state, and counts what is paid to `payoffs` separately."""

    stage: Stage


class LeaveStage(NamedTuple):
    """Ends a stage, with the loops of it that are under way; adds its payoffs times its weight."""

    stage: Stage


class CheckEnd(NamedTuple):
    """Goes on at `over` if the end has come."""

    end: Expr
    over: int


class Stop(NamedTuple):
    """Ends the game."""


Op = (
    Branch | EnterLoop | BeginPass | EndPass | Decide | ReturnFromBody | DrawOutcome | Reveal
    | Execute | PayNow | CallFunction | EnterStage | LeaveStage | CheckEnd | Stop
)  # fmt: skip


def span_of(op: Op) -> Span | None:
    """Returns the place of an operation in the file: its step, loop or condition. None for an
    operation that marks where something begins or ends."""
    match op:
        case Branch():
            return op.condition.span
        case CheckEnd():
            return op.end.span
        case EnterLoop() | BeginPass() | EndPass():
            return op.loop.span
        case Decide() | DrawOutcome() | Reveal() | Execute() | PayNow() | CallFunction():
            return op.step.span
        case ReturnFromBody() | EnterStage() | LeaveStage() | Stop():
            return None
    assert_never(op)


@dataclass(frozen=True)
class FlatProgram:
    """The operations of a game, and what of its past must be kept besides the last bindings."""

    ops: tuple[Op, ...]
    streams: tuple[str, ...]
    """The payoff streams that steps pay to, `payoffs` among them where a stage does."""
    past: frozenset[str]
    """The variables of which all bindings are read (`Past`), kept under `name@past`."""
    by_seat: frozenset[str]
    """The variables of which the last binding by each seat is read (`LastBy`), kept under
    `name@by`."""


def flatten(ir: GameIR) -> FlatProgram:
    """The operations of a game, in order."""
    ops = _FlowWriter(ir).written()
    paid = [step.stream for step in walk_steps(ir.turns) if isinstance(step, Pay)]
    paid += ["payoffs" for step in walk_steps(ir.turns) if isinstance(step, Stage)]
    past, by_seat = set(), set()
    paid_at_end = (ir.payoffs, ir.scores, ir.referee_payoffs)
    for part in expressions_in((ir.turns, ir.end, ir.lets, ir.view, *paid_at_end)):
        if isinstance(part, Past):
            past.add(part.name)
        elif isinstance(part, LastBy):
            by_seat.add(part.name)
    return FlatProgram(ops, tuple(dict.fromkeys(paid)), frozenset(past), frozenset(by_seat))


class _FlowWriter:
    """Writes operations down; a jump ahead is written when its place is known."""

    def __init__(self, ir: GameIR) -> None:
        self._ir = ir
        self._ops: list[Any] = []
        self._later: list[tuple[int, Choose]] = []
        """Choices whose actions' bodies are still to be written."""

    def written(self) -> tuple[Op, ...]:
        self._write_steps(self._ir.turns, self._ir.end)
        self._over(0, self._add(Stop()))
        while self._later:
            self._bodies(*self._later.pop(0))
        return tuple(self._ops)

    def _add(self, op: Op) -> int:
        self._ops.append(op)
        return len(self._ops) - 1

    def _set(self, place: int, **values: Any) -> None:
        self._ops[place] = self._ops[place]._replace(**values)

    def _over(self, first: int, place: int) -> None:
        """Lets what ends the game that began at `first` go to `place`."""
        for at in range(first, len(self._ops)):
            if getattr(self._ops[at], "over", None) == -1:
                self._set(at, over=place)

    def _write_steps(self, steps: tuple[Step, ...], end: Expr | None) -> None:
        for step in steps:
            self._write_step(step, end)

    def _write_step(self, step: Step, end: Expr | None) -> None:
        if isinstance(step, Choose):  # its condition may depend on who acts
            place = self._add(Decide(step, (), -1, -1))
            self._later.append((place, step))
            self._check(end)
            self._set(place, after=len(self._ops))
            return
        test = None if step.condition is None else self._add(Branch(step.condition, -1))
        match step:
            case Block():
                self._write_steps(step.body, end)
            case Loop():
                self._loop(step, end)
            case Stage():
                self._stage(step)
                self._check(end)
            case Draw() | Show() | Do() | Pay() | Call():
                self._add(_single(step))
                self._check(end)
            case _:
                assert_never(step)
        if test is not None:
            self._set(test, otherwise=len(self._ops))

    def _check(self, end: Expr | None) -> None:
        if end is not None:
            self._add(CheckEnd(end, -1))

    def _loop(self, loop: Loop, end: Expr | None) -> None:
        self._add(EnterLoop(loop))
        head = self._add(BeginPass(loop, -1, -1))
        self._write_steps(loop.body, end)
        tail = self._add(EndPass(loop, head, -1))
        for place in (head, tail):
            self._set(place, after=len(self._ops))

    def _stage(self, stage: Stage) -> None:
        first = self._add(EnterStage(stage))
        self._write_steps(stage.body, stage.end)
        self._over(first, self._add(LeaveStage(stage)))

    def _bodies(self, place: int, step: Choose) -> None:
        bodies = []
        for action in step.moves:
            if action.body:
                first = len(self._ops)
                bodies.append((action.name, first))
                self._write_steps(action.body, None)
                self._add(ReturnFromBody())
                self._over(first, self._ops[place].over)
        self._set(place, bodies=tuple(bodies))


def _single(step: Draw | Show | Do | Pay | Call) -> Op:
    """Returns the operation of a step that has no steps inside it."""
    match step:
        case Draw():
            return DrawOutcome(step)
        case Show():
            return Reveal(step)
        case Do():
            return Execute(step)
        case Pay():
            return PayNow(step)
        case Call():
            return CallFunction(step)
    assert_never(step)
