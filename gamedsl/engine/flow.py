"""The order in which the steps of a game run: its turns, flattened into a list of operations.

Every backend runs this list. An operation is followed by the next one, but for those that say where
to go on; places are positions in the list. The bodies of actions stand behind the turns, each
closed by `Return`. What ends a game is checked after every step of its own that is in no action's
body: such a body is one move, and a stage inside is a game of its own.

    0  Test(open == check)      else 2
    1  Ask(reply)
    2  Enter(loop)
    3  Pass(loop)               afterwards 6
    4  Run(do)
    5  Again(loop)              another pass 3, afterwards 6
    6  Stop
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, assert_never

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


@dataclass(frozen=True, slots=True)
class Test:
    """Go on only if the condition holds, read by who acts; else at `otherwise`."""

    condition: Expr
    otherwise: int


@dataclass(frozen=True, slots=True)
class Enter:
    """Begin a loop: work out how often or for whom it runs, and keep who acts outside it."""

    loop: Loop


@dataclass(frozen=True, slots=True)
class Pass:
    """Begin a pass: unbind `loop.resets`, number it, bind its item or let that seat act.

    Where there is no further pass, leave the loop and go on at `after`; `over` is where the game
    (or stage) ends that the loop is in.
    """

    loop: Loop
    after: int
    over: int


@dataclass(frozen=True, slots=True)
class Again:
    """End a pass: leave the loop for `after` if `until` holds, else go to `head`."""

    loop: Loop
    head: int
    after: int


@dataclass(frozen=True, slots=True)
class Ask:
    """Seats choose; then the bodies of the actions they chose run, actor by actor.

    `bodies` are the places of the bodies, by the action's name; actions without a body have none.
    Where nobody has anything to choose, go on at `after`; `over` as in `Pass`.
    """

    step: Choose
    bodies: tuple[tuple[str, int], ...]
    after: int
    over: int


@dataclass(frozen=True, slots=True)
class Return:
    """End an action's body: on to the next actor's, or to what follows the choice."""


@dataclass(frozen=True, slots=True)
class Chance:
    """Chance draws, once for each index."""

    step: Draw


@dataclass(frozen=True, slots=True)
class Tell:
    step: Show


@dataclass(frozen=True, slots=True)
class Run:
    step: Do


@dataclass(frozen=True, slots=True)
class Credit:
    step: Pay


@dataclass(frozen=True, slots=True)
class Consult:
    """Call a function."""

    step: Call


@dataclass(frozen=True, slots=True)
class Begin:
    """Begin a stage: its state starts anew, and what is paid to `payoffs` is counted apart."""

    stage: Stage


@dataclass(frozen=True, slots=True)
class Close:
    """End a stage, leaving what loops of it are under way, and add its payoffs times its weight."""

    stage: Stage


@dataclass(frozen=True, slots=True)
class Check:
    """Go on at `over` if the end has come."""

    end: Expr
    over: int


@dataclass(frozen=True, slots=True)
class Stop:
    """The game is over."""


Op = (
    Test | Enter | Pass | Again | Ask | Return | Chance | Tell | Run | Credit | Consult | Begin
    | Close | Check | Stop
)  # fmt: skip


def span_of(op: Op) -> Span | None:
    """Returns the place of an operation in the file: its step, loop or condition. None for an
    operation that marks where something begins or ends."""
    match op:
        case Test():
            return op.condition.span
        case Check():
            return op.end.span
        case Enter() | Pass() | Again():
            return op.loop.span
        case Ask() | Chance() | Tell() | Run() | Credit() | Consult():
            return op.step.span
        case Return() | Begin() | Close() | Stop():
            return None
    assert_never(op)


@dataclass(frozen=True)
class Flow:
    """The operations of a game, and what of its past must be kept besides the last bindings."""

    ops: tuple[Op, ...]
    streams: tuple[str, ...]
    """The payoff streams that steps pay to, `payoffs` among them where a stage does."""
    past: frozenset[str]
    """The variables of which all bindings are read (`Past`), kept under `name@past`."""
    by_seat: frozenset[str]
    """Those of which the last binding by each seat is read (`LastBy`), kept under `name@by`."""


def flatten(ir: GameIR) -> Flow:
    """The operations of a game, in order."""
    ops = _Writer(ir).written()
    paid = [step.stream for step in walk_steps(ir.turns) if isinstance(step, Pay)]
    paid += ["payoffs" for step in walk_steps(ir.turns) if isinstance(step, Stage)]
    past, by_seat = set(), set()
    for part in expressions_in((ir.turns, ir.end, ir.lets, ir.payoffs, ir.scores, ir.view)):
        if isinstance(part, Past):
            past.add(part.name)
        elif isinstance(part, LastBy):
            by_seat.add(part.name)
    return Flow(ops, tuple(dict.fromkeys(paid)), frozenset(past), frozenset(by_seat))


class _Writer:
    """Writes operations down; a jump ahead is written when its place is known."""

    def __init__(self, ir: GameIR) -> None:
        self._ir = ir
        self._ops: list[Any] = []
        self._later: list[tuple[int, Choose]] = []
        """Choices whose actions' bodies are still to be written."""

    def written(self) -> tuple[Op, ...]:
        self._steps(self._ir.turns, self._ir.end)
        self._over(0, self._add(Stop()))
        while self._later:
            self._bodies(*self._later.pop(0))
        return tuple(self._ops)

    def _add(self, op: Op) -> int:
        self._ops.append(op)
        return len(self._ops) - 1

    def _set(self, place: int, **values: Any) -> None:
        self._ops[place] = replace(self._ops[place], **values)

    def _over(self, first: int, place: int) -> None:
        """Let what ends the game that began at `first` go to `place`."""
        for at in range(first, len(self._ops)):
            if getattr(self._ops[at], "over", None) == -1:
                self._set(at, over=place)

    def _steps(self, steps: tuple[Step, ...], end: Expr | None) -> None:
        for step in steps:
            self._step(step, end)

    def _step(self, step: Step, end: Expr | None) -> None:
        if isinstance(step, Choose):  # its condition may depend on who acts
            place = self._add(Ask(step, (), -1, -1))
            self._later.append((place, step))
            self._check(end)
            self._set(place, after=len(self._ops))
            return
        test = None if step.condition is None else self._add(Test(step.condition, -1))
        match step:
            case Block():
                self._steps(step.body, end)
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
            self._add(Check(end, -1))

    def _loop(self, loop: Loop, end: Expr | None) -> None:
        self._add(Enter(loop))
        head = self._add(Pass(loop, -1, -1))
        self._steps(loop.body, end)
        tail = self._add(Again(loop, head, -1))
        for place in (head, tail):
            self._set(place, after=len(self._ops))

    def _stage(self, stage: Stage) -> None:
        first = self._add(Begin(stage))
        self._steps(stage.body, stage.end)
        self._over(first, self._add(Close(stage)))

    def _bodies(self, place: int, step: Choose) -> None:
        bodies = []
        for action in step.moves:
            if action.body:
                first = len(self._ops)
                bodies.append((action.name, first))
                self._steps(action.body, None)
                self._add(Return())
                self._over(first, self._ops[place].over)
        self._set(place, bodies=tuple(bodies))


def _single(step: Draw | Show | Do | Pay | Call) -> Op:
    """Returns the operation of a step that has no steps inside it."""
    match step:
        case Draw():
            return Chance(step)
        case Show():
            return Tell(step)
        case Do():
            return Run(step)
        case Pay():
            return Credit(step)
        case Call():
            return Consult(step)
    assert_never(step)
