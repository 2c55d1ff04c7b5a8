"""From what was chosen to what it pays: payoffs and rewards of complete histories.

Here, and not in the runtime, because passes go through outcomes too, before there is anything to
play.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

from gamedsl.ir.evaluate import Scope, evaluate
from gamedsl.ir.game import GameIR

History = tuple[tuple[str, ...], ...]
"""For each step played, the names chosen, in the order of the step's actors."""

Amounts = dict[str, int | Fraction]


def count_outcomes(ir: GameIR) -> int:
    """How many complete histories a game has."""
    return prod(len(choices) for step in ir.steps for choices in step.options)


def histories(ir: GameIR) -> Iterator[History]:
    """Every complete history, the last decision changing fastest."""
    spaces = [[choice.name for choice in choices] for step in ir.steps for choices in step.options]
    sizes = [len(step.actors) for step in ir.steps]
    for names in product(*spaces):
        rest = iter(names)
        yield tuple(tuple(next(rest) for _ in range(size)) for size in sizes)


def bind(ir: GameIR, history: History) -> dict[str, Any]:
    """The value of each step's variable after a history: each seat's own where it is a map."""
    bindings: dict[str, Any] = {}
    for step, names in zip(ir.steps, history, strict=False):
        chosen = {
            seat: next(choice.value for choice in step.options_of(seat) if choice.name == name)
            for seat, name in zip(step.actors, names, strict=True)
        }
        if step.joint:
            bindings[step.variable] = {**bindings.get(step.variable, {}), **chosen}
        else:
            bindings[step.variable] = chosen[step.actors[0]]
    return bindings


def payoffs_of(ir: GameIR, history: History) -> Amounts:
    """What each seat is paid at the end of a complete history, exact.

    Raises `gamedsl.ir.evaluate.EvaluationError` where an expression has no value.
    """
    scope = Scope(ir.seats, bind(ir, history), ir.lets_by_name)
    return {seat: evaluate(payoff, scope.seated(seat)) for seat, payoff in ir.payoffs}


def rewards_of(ir: GameIR, payoffs: Amounts) -> Amounts:
    """What each seat is trained on, given everyone's payoffs. Raises as `payoffs_of`."""
    lets = {let.name: let for let in ir.reward.lets}
    scope = Scope(ir.seats, {}, lets, {"payoff": payoffs})
    return {seat: evaluate(ir.reward.split, scope.seated(seat)) for seat in ir.seats}


def evaluate_outcome(ir: GameIR, history: History) -> tuple[Amounts, Amounts]:
    """Payoffs and rewards at the end of a complete history, by the reference evaluator."""
    payoffs = payoffs_of(ir, history)
    return payoffs, rewards_of(ir, payoffs)
