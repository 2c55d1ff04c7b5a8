"""Bounds on the payoffs of a game, from the form of its program and payoffs."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import reduce
from typing import assert_never

from gamedsl.bounds.programs import ProgramBounds
from gamedsl.ir.abstract_values import ANY_NUMBER, ZERO, Interval
from gamedsl.ir.expr import Expr
from gamedsl.ir.game import GameIR
from gamedsl.ir.program import Block, Call, Choose, Do, Draw, Loop, Pay, Show, Stage, Step


def payoff_bounds(ir: GameIR, seat: str | None = None) -> tuple[Fraction, Fraction] | None:
    """Returns the least and the most that a seat, or (None) any seat, can be paid in a play; None
    without bounds."""
    return PayoffBounds(ir).ends(seat)


class PayoffBounds:
    """Bounds on the payoffs of one game."""

    def __init__(self, ir: GameIR) -> None:
        self._ir = ir
        self._bounds = ProgramBounds(ir)

    def ends(self, seat: str | None = None) -> tuple[Fraction, Fraction] | None:
        """Returns the least and the most of a seat, that of a referee too, or (None) of any seat
        of a role; None without bounds."""
        if any(owner == seat for owner, _ in self._ir.referee_payoffs):
            return self._amounts(self._ir.referee_payoffs, seat).ends
        paid = self._paid(self._ir.turns, seat)
        if not (self._ir.payoffs or paid != ZERO):
            return None
        return (self._amounts(self._ir.payoffs, seat) + paid).ends

    def _amounts(self, amounts: Iterable[tuple[str, Expr]], seat: str | None) -> Interval:
        """Returns where the amounts that are written for each seat lie."""
        read = (amount for owner, amount in amounts if seat in (None, owner))
        spans = [self._bounds.value(amount).number for amount in read]
        return reduce(Interval.__or__, spans) if spans else ZERO

    def _paid(self, steps: Iterable[Step], seat: str | None) -> Interval:
        """Returns where that lies what steps pay to `payoffs` together; each may be left out."""
        paid = ((self._paid_by(step, seat) | ZERO) for step in steps)
        return reduce(Interval.__add__, paid, ZERO)

    def _paid_by(self, step: Step, seat: str | None) -> Interval:
        match step:
            case Pay(stream="payoffs", amounts=amounts):
                return self._amounts(amounts, seat)
            case Block(body=body):
                return self._paid(body, seat)
            case Choose(moves=actions, actors=actors, joint=joint):
                bodies = (self._paid(action.body, seat) for action in actions)
                count = len(actors) if joint else 1
                return reduce(Interval.__or__, bodies, ZERO) * Interval(count, count, True)
            case Stage(body=body, payoffs=payoffs, weight=weight):
                inner = self._paid(body, seat) + self._amounts(payoffs, seat)
                return inner * self._bounds.value(weight).number
            case Loop(body=body):
                inner, times = self._paid(body, seat), self._bounds.passes(step)
                if inner == ZERO:
                    return ZERO
                return ANY_NUMBER if times is None else inner * Interval(0, times, True)
            case Draw() | Show() | Do() | Pay() | Call():
                return ZERO
            case _:
                assert_never(step)
