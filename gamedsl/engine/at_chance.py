"""A history of the reference where chance draws: what it may bring, and what it brings."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gamedsl.engine import flow
from gamedsl.engine.chance import Lottery, ticket
from gamedsl.engine.drawing import Index
from gamedsl.engine.frames import Frame, Round
from gamedsl.engine.kernel import Kind, Outcome
from gamedsl.engine.numbered import Numbered
from gamedsl.engine.world import World
from gamedsl.ir.program import Draw
from gamedsl.ir.values import name_of

if TYPE_CHECKING:
    from gamedsl.engine.interpreter import Interpreter


class AtChance(Numbered):
    """The part of `gamedsl.engine.interpreter.History` that draws, where the rest is set."""

    __slots__ = ("_drawn", "_lottery", "kind")

    kind: Kind
    _drawn: tuple[Any, ...]
    """What the draw under way has brought, index by index."""
    _lottery: Lottery | None
    """What chance may bring now."""

    if TYPE_CHECKING:
        _kernel: Interpreter
        _world: World
        _place: int
        _frames: tuple[Frame, ...]
        _me: str | None

        def _run(self, place: int | None) -> None: ...

    def _chance(self, op: flow.Chance) -> int | None:
        step, drawing = op.step, self._kernel.drawing
        if not drawing.indices(step):
            return self._place + 1
        if not self._drawn and step.place is None:
            self._world.unbind((step.variable,))
        _, index = self._drawing()
        scope = self._world.scope(index[0] if step.by_seat else self._me)
        self._lottery = drawing.lottery(step, self._drawn, scope)
        self.kind = "chance"
        return None

    def _drawing(self) -> tuple[Draw, Index]:
        """The draw under way, and the index it draws for."""
        op = self._kernel.flow.ops[self._place]
        assert isinstance(op, flow.Chance)
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
        lottery = self._lottery
        if lottery is None:
            return ()
        return tuple(
            Outcome(name_of(lottery.value(i)), lottery.probability(i)) for i in range(lottery.size)
        )

    def pick(self, seed: int) -> int:
        assert self._lottery is not None
        step, index = self.draws
        passes = ".".join(str(frame.passes) for frame in self._frames if isinstance(frame, Round))
        drawn = ticket(self._lottery.total, seed, step, passes, ",".join(index))
        return self._lottery.outcome(drawn)

    def sample(self, random: Callable[[], float]) -> int:
        assert self._lottery is not None
        return self._lottery.outcome(int(random() * self._lottery.total))

    def draw(self, outcome: int) -> str:
        assert self._lottery is not None
        value, self._lottery = self._lottery.value(outcome), None
        step, index = self._drawing()
        last = len(self._drawn) + 1 == len(self._kernel.drawing.indices(step))
        self._world.bind_drawn(step, index, value, last=last, me=self._me)
        self._drawn = () if last else (*self._drawn, value)
        self._run(self._place + 1 if last else self._place)
        return name_of(value)
