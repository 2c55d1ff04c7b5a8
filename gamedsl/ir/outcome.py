"""From what happened to what it pays: payoffs and rewards at the end of a game.

Here, and not in the runtime, because passes go through outcomes too, before there is anything to
play. `settle` is for every game; `histories` and what is worked out from them only for plain ones,
fixed sequences of decisions (`GameIR.plain`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import product
from math import prod
from types import MappingProxyType
from typing import Any, NamedTuple

from gamedsl.ir.builtins import exact
from gamedsl.ir.evaluate import Budget, EvaluationError, Meter, Scope, evaluate, none_here
from gamedsl.ir.expr import Expr
from gamedsl.ir.game import GameIR

History = tuple[tuple[str, ...], ...]
"""For each step played, the names chosen, in the order of the step's actors."""

Amounts = dict[str, int | Fraction]


class Settlement(NamedTuple):
    """The result of a finished game, per seat and exact: utility, training reward, every stream
    that was paid or scored, and the payoffs of referees."""

    payoffs: Amounts
    rewards: Amounts
    streams: dict[str, Amounts]
    referees: Mapping[str, int | Fraction] = MappingProxyType({})


def settle(
    ir: GameIR, bindings: Mapping[str, Any], paid: Mapping[str, Mapping[str, Any]],
    budget: Budget | None = None,
) -> Settlement:  # fmt: skip
    """Returns a game's result, from the variables at its end and the payments to each stream.

    Utility is the sum of the stream `payoffs` and the payoffs at the end; in a game that has
    neither, the amount that the reward file splits. Raises `gamedsl.ir.evaluate.EvaluationError` if
    an expression has no value.
    """
    streams = {name: dict(amounts) for name, amounts in paid.items()}
    scope = Scope(ir.seats, bindings, ir.lets_by_name, paid, budget=budget)
    given = bool(ir.payoffs) or "payoffs" in streams
    payoffs = streams.pop("payoffs", None) or dict.fromkeys(ir.seats, 0)
    for seat, payoff in ir.payoffs:
        payoffs[seat] = exact(payoffs[seat] + amount_of(payoff, scope.seated(seat)))
    streams["payoff"] = payoffs
    for name, amounts in ir.scores:
        streams[name] = {seat: amount_of(amount, scope.seated(seat)) for seat, amount in amounts}
    referees = {seat: amount_of(payoff, scope.seated(seat)) for seat, payoff in ir.referee_payoffs}
    rewards = rewards_of(ir, payoffs, streams, budget)
    if not given:
        payoffs = streams["payoff"] = dict(rewards)
    return Settlement(payoffs, rewards, streams, referees)


def amount_of(expr: Expr, scope: Scope, meter: Meter | None = None) -> Any:
    """Returns the amount that an expression pays. As `evaluate`; none is an error too."""
    value = evaluate(expr, scope, meter)
    if value is None:
        raise none_here(expr)
    return value


def count_outcomes(ir: GameIR) -> int:
    """Counts the complete histories of a game."""
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
            seat: step.values[seat][name] for seat, name in zip(step.actors, names, strict=True)
        }
        if step.joint:
            bindings[step.variable] = {**bindings.get(step.variable, {}), **chosen}
        else:
            bindings[step.variable] = chosen[step.actors[0]]
    return bindings


def payoffs_of(ir: GameIR, history: History, budget: Budget | None = None) -> Amounts:
    """Returns each seat's payoff at the end of a complete history, exact.

    Raises `gamedsl.ir.evaluate.EvaluationError` if an expression has no value; SpentError where the
    budget is spent.
    """
    scope = Scope(ir.seats, bind(ir, history), ir.lets_by_name, budget=budget)
    return {seat: amount_of(payoff, scope.seated(seat)) for seat, payoff in ir.payoffs}


def scores_of(ir: GameIR, history: History) -> dict[str, Amounts]:
    """Every stream that is scored at the end of a complete history. Raises as `payoffs_of`."""
    scope = Scope(ir.seats, bind(ir, history), ir.lets_by_name)
    return {
        name: {seat: amount_of(amount, scope.seated(seat)) for seat, amount in amounts}
        for name, amounts in ir.scores
    }


def rewards_of(
    ir: GameIR, payoffs: Amounts, streams: Mapping[str, Mapping[str, Any]] | None = None,
    budget: Budget | None = None,
) -> Amounts:  # fmt: skip
    """Returns each seat's training reward, given everyone's payoffs and the streams that were paid.

    Raises as `payoffs_of`.
    """
    lets = {let.name: let for let in ir.reward.lets}
    known: dict[str, Any] = {**(streams or {}), "payoff": payoffs}
    scope = Scope(ir.seats, {}, lets, {**known, "streams": known}, budget=budget)
    return {seat: amount_of(ir.reward.split, scope.seated(seat)) for seat in ir.seats}


def rewards_so_far(ir: GameIR, paid: Mapping[str, Mapping[str, Any]]) -> Amounts:
    """Returns the payments so far as rewards: the reward file's value for them, minus its value for
    nothing, exact. Empty if that has no value, and if nothing was paid yet.

    Under an additive reward file, this and all later earnings are the whole reward.
    """
    if not any(amount for amounts in paid.values() for amount in amounts.values()):
        return {}
    nothing: Amounts = dict.fromkeys(ir.seats, 0)
    streams: dict[str, Mapping[str, Any]] = {name: nothing for name, _ in ir.scores}
    try:
        at_first = rewards_of(ir, nothing, {**streams, **dict.fromkeys(paid, nothing)})
        now = rewards_of(ir, {**nothing, **paid.get("payoffs", {})}, {**streams, **paid})
    except EvaluationError:
        return {}
    return {seat: now[seat] - at_first[seat] for seat in ir.seats}


def evaluate_outcome(ir: GameIR, history: History) -> tuple[Amounts, Amounts]:
    """Payoffs and rewards at the end of a complete history, by the reference evaluator."""
    payoffs = payoffs_of(ir, history)
    return payoffs, rewards_of(ir, payoffs, scores_of(ir, history))
