"""The lowest payoff of each seat, which is what a forfeit costs it."""

from __future__ import annotations

from collections import deque
from fractions import Fraction
from math import prod

from gamedsl.bounds.payoff_bounds import PayoffBounds
from gamedsl.engine.kernel import Kernel, State
from gamedsl.ir.builtins import exact
from gamedsl.ir.evaluate import EvaluationError
from gamedsl.ir.game import GameIR
from gamedsl.ir.outcome import count_outcomes, histories, payoffs_of
from gamedsl.runtime.history import Move, moved, moves

Amount = int | Fraction | None
"""A payoff; None where there is none."""

MAX_OUTCOMES = 1_000_000
"""Outcomes of a plain game up to which its lowest payoffs are exact."""

MAX_HISTORIES = 20_000
"""Histories of any other game up to which its lowest payoffs are exact."""


def min_payoffs(ir: GameIR, kernel: Kernel) -> dict[str, Amount]:
    """Returns each seat's lowest payoff.

    It is exact for a game with few histories. For a larger one it is the lower bound that its form
    gives (`gamedsl.bounds.payoff_bounds`). It is None without a bound, and where some history has
    no payoffs.
    """
    if ir.open:
        return _bounded(ir)
    if not ir.plain:
        try:
            return _of_histories(kernel) or _bounded(ir)
        except EvaluationError:
            return dict.fromkeys(ir.seats)
    if count_outcomes(ir) > MAX_OUTCOMES:
        return _bounded(ir)
    least: dict[str, Amount] = {}
    for history in histories(ir):
        for seat, payoff in payoffs_of(ir, history).items():
            known = least.get(seat)
            least[seat] = payoff if known is None else min(known, payoff)
    return least


def _bounded(ir: GameIR) -> dict[str, Amount]:
    """Returns a lower bound on each seat's payoff, from the form of the game."""
    bounds = PayoffBounds(ir)
    spans = {seat: bounds.ends(seat) for seat in ir.seats}
    return {seat: None if span is None else exact(span[0]) for seat, span in spans.items()}


def _of_histories(kernel: Kernel) -> dict[str, Amount] | None:
    """Returns each seat's lowest payoff over all histories; None if there are too many.

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
        if found > MAX_HISTORIES:
            return None
        pending.extend((state, move) for move in moves(state))
    return dict(least)
