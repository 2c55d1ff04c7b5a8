"""The least that each seat can be paid, which is what a forfeit costs it."""

from __future__ import annotations

from collections import deque
from fractions import Fraction
from math import prod

from gamedsl.engine.kernel import Kernel, State
from gamedsl.ir.amounts import Payoffs
from gamedsl.ir.builtins import exact
from gamedsl.ir.evaluate import EvaluationError
from gamedsl.ir.game import GameIR
from gamedsl.ir.outcome import count_outcomes, histories, payoffs_of
from gamedsl.runtime.history import Move, moved, moves

Amount = int | Fraction | None
"""A payoff; None where there is none."""

LEAST_LIMIT = 1_000_000
"""Outcomes that are gone through to find the least payoff of a role in a plain game."""

LEAST_HISTORIES = 20_000
"""Histories that are gone through to find it in another one."""


def least_payoffs(ir: GameIR, kernel: Kernel) -> dict[str, Amount]:
    """Each seat's lowest payoff.

    Of a game with few histories it is the lowest that there is; of a larger one the lower bound
    that its form shows (`gamedsl.ir.amounts`), and None where it shows none, or where some history
    has no payoffs.
    """
    if ir.open:
        return _bounded(ir)
    if not ir.plain:
        try:
            return _of_histories(kernel) or _bounded(ir)
        except EvaluationError:
            return dict.fromkeys(ir.seats)
    if count_outcomes(ir) > LEAST_LIMIT:
        return _bounded(ir)
    least: dict[str, Amount] = {}
    for history in histories(ir):
        for seat, payoff in payoffs_of(ir, history).items():
            known = least.get(seat)
            least[seat] = payoff if known is None else min(known, payoff)
    return least


def _bounded(ir: GameIR) -> dict[str, Amount]:
    """A lower bound of each seat's payoff, from the form of the game."""
    spans = {seat: Payoffs(ir, seat).interval() for seat in ir.seats}
    return {seat: None if span is None else exact(span[0]) for seat, span in spans.items()}


def _of_histories(kernel: Kernel) -> dict[str, Amount] | None:
    """Each seat's lowest payoff, by going through every history; None if there are too many.

    Raises `gamedsl.EvaluationError` where the rules fail.
    """
    least: dict[str, int | Fraction] = {}
    pending: deque[tuple[State, Move | None]] = deque([(kernel.start(), None)])
    found = 1
    while pending:
        state = moved(*pending.popleft())
        if state.kind == "end":
            for seat, payoff in state.payoffs.items():
                least[seat] = min(payoff, least.get(seat, payoff))
            continue
        if state.kind == "chance":
            found += state.outcome_count
        else:
            found += prod(len(ask.legal) for ask in state.asks)
        if found > LEAST_HISTORIES:
            return None
        pending.extend((state, move) for move in moves(state))
    return dict(least)
