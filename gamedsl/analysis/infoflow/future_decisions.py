"""The seats that may still be asked after each step of a game.

What happens after a seat's last decision tells it nothing that it could act on. So the proof that
seats learn only what they see is made, at each step, for the seats that may be asked later.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import or_
from typing import assert_never

from gamedsl.analysis.infoflow.visibility import Seats, SeatTable
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
    substeps,
)


class FutureDecisions:
    """The seats that may be asked at any time (`anywhere`), and after each step (`after`).

    A further pass of a loop comes after each step in it, and the next episode of a run after each
    step of a game with state that lasts.
    """

    def __init__(self, ir: GameIR, table: SeatTable) -> None:
        self._table = table
        self._inside: dict[str, Seats] = {}
        self._after: dict[str, Seats] = {}
        self.anywhere = self._asked_in(ir.turns)
        lasts = any(state.lasts is not None for state in ir.state)
        self._note(ir.turns, self.anywhere if lasts else 0)

    def after(self, step: Step) -> Seats:
        """Returns the seats that may be asked once a step has begun: in the steps inside it, in
        those behind it, and in further passes of the loops around it."""
        return self._after[step.id]

    def _asked_in(self, steps: Iterable[Step]) -> Seats:
        """Returns the seats that may be asked at steps, or at those inside them."""
        return reduce(or_, map(self._asked_at, steps), 0)

    def _asked_at(self, step: Step) -> Seats:
        if step.id not in self._inside:
            own = self._table.of(step.actors) if isinstance(step, Choose) else 0
            self._inside[step.id] = own | self._asked_in(substeps(step))
        return self._inside[step.id]

    def _note(self, steps: tuple[Step, ...], later: Seats) -> None:
        """Notes who may be asked after each of some steps; `later` may be asked after all."""
        for step in reversed(steps):
            after = self._after[step.id] = later | self._asked_in(substeps(step))
            match step:
                case Block(body=body) | Stage(body=body):
                    self._note(body, later)
                case Loop(body=body):
                    self._note(body, after)
                case Choose(moves=moves):
                    for action in moves:  # of roles that act at once, the others' bodies follow
                        self._note(action.body, after if step.joint else later)
                case Draw() | Show() | Do() | Pay() | Call():
                    pass
                case _:
                    assert_never(step)
            later |= self._asked_at(step)
