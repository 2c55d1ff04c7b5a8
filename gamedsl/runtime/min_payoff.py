"""The lowest payoff of each seat, which is what a forfeit costs it."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import assert_never

from gamedsl.bounds.payoff_bounds import PayoffBounds
from gamedsl.engine.kernel import Kernel
from gamedsl.engine.walk import ChanceNode, EndNode, JointNode, Truncated, walk
from gamedsl.ir.builtins import exact
from gamedsl.ir.evaluate import Budget, EvaluationError, SpentError
from gamedsl.ir.game import GameIR
from gamedsl.ir.outcome import count_outcomes, histories, payoffs_of

Amount = int | Fraction | None
"""A payoff; None where there is none."""

MAX_OUTCOMES = 1_000_000
"""Outcomes of a plain game up to which its lowest payoffs are exact."""

MAX_WORK = 5_000_000
"""Work that is spent on the outcomes of a plain game, in units of `gamedsl.ir.evaluate.Budget`."""

MAX_HISTORIES = 20_000
"""Histories of any other game up to which its lowest payoffs are exact."""


def min_payoffs(ir: GameIR, kernel: Kernel) -> dict[str, Amount]:
    """Returns each seat's lowest payoff, and the lower bound of each referee that has one.

    It is exact for a game with few histories. For a larger one it is the lower bound that its form
    gives (`gamedsl.bounds.payoff_bounds`). It is None without a bound, and where some history has
    no payoffs.
    """
    referees = _bounded(ir, [seat for seat, _ in ir.referee_payoffs])
    return _of_seats(ir, kernel) | referees


def _of_seats(ir: GameIR, kernel: Kernel) -> dict[str, Amount]:
    """Returns the lowest payoff of each seat of a role."""
    if ir.open:
        return _bounded(ir)
    if not ir.plain:
        try:
            return _of_histories(kernel) or _bounded(ir)
        except EvaluationError:
            return dict.fromkeys(ir.seats)
    if count_outcomes(ir) > MAX_OUTCOMES:
        return _bounded(ir)
    try:
        return _of_outcomes(ir)
    except SpentError:
        return _bounded(ir)


def _of_outcomes(ir: GameIR) -> dict[str, Amount]:
    """Returns each seat's lowest payoff over all outcomes, up to the first at which all are met
    that the form of the game allows. Raises SpentError."""
    least: dict[str, int | Fraction] = {}
    lowest, budget = _bounded(ir), Budget(MAX_WORK)
    for history in histories(ir):
        for seat, payoff in payoffs_of(ir, history, budget).items():
            least[seat] = min(payoff, least.get(seat, payoff))
        if least == lowest:
            break
    return dict(least)


def _bounded(ir: GameIR, seats: Iterable[str] | None = None) -> dict[str, Amount]:
    """Returns a lower bound on the payoff of each seat, or of some, from the form of the game."""
    bounds = PayoffBounds(ir)
    spans = {seat: bounds.ends(seat) for seat in (ir.seats if seats is None else seats)}
    return {seat: None if span is None else exact(span[0]) for seat, span in spans.items()}


def _of_histories(kernel: Kernel) -> dict[str, Amount] | None:
    """Returns each seat's lowest payoff over all histories; None if there are too many.

    Raises `gamedsl.EvaluationError` where the rules fail.
    """
    least: dict[str, int | Fraction] = {}
    for node in walk(kernel.start(), MAX_HISTORIES):
        match node:
            case Truncated():
                return None
            case EndNode(point=state):
                for seat, payoff in state.payoffs.items():
                    least[seat] = min(payoff, least.get(seat, payoff))
            case ChanceNode() | JointNode():
                pass
            case _:
                assert_never(node)
    return dict(least)
