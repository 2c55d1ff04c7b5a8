"""What other libraries want to know of a game before it is played: how long it can be, how much it
can pay, and how many outcomes chance can have.

A tree that is small enough is gone through, and what is found is exact. Of a larger one the bounds
come from its form (`gamedsl.ir.amounts`, `gamedsl.ir.lengths`) and hold for every play; None where
no bound is seen. Nothing is sampled.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import comb, prod
from typing import Any

from gamedsl.engine.kernel import Kernel, State
from gamedsl.ir.amounts import Payoffs
from gamedsl.ir.evaluate import EvaluationError
from gamedsl.ir.lengths import highest
from gamedsl.ir.program import Choose, Draw, Show, Step
from gamedsl.ir.types import List, domain, plain
from gamedsl.runtime.history import Move, moved, moves

__all__ = ["Payoffs", "Tree", "explore", "outcomes_of", "visible"]


@dataclass(frozen=True)
class Tree:
    """What going through all histories of a game has shown.

    `length` counts moves of players on the longest path, simultaneous ones as one, forced ones not;
    `draws` the chance nodes with several outcomes. `total` is what all seats are paid together,
    None where that differs; `identical` says that all are always paid the same.
    """

    length: int
    draws: int
    outcomes: int
    low: Fraction
    high: Fraction
    total: Fraction | None
    identical: bool


def explore(kernel: Kernel, limit: int) -> Tree | None:
    """The facts of a game's tree; None where it has more than `limit` histories, or where some have
    no payoffs."""
    try:
        return _explored(kernel, limit)
    except EvaluationError:
        return None


def _explored(kernel: Kernel, limit: int) -> Tree | None:
    pending: deque[tuple[State, Move | None, int, int]] = deque([(kernel.start(), None, 0, 0)])
    found, length, draws, outcomes = 1, 0, 0, 1
    payoffs: set[tuple[Fraction, ...]] = set()
    while pending:
        before, move, depth, drawn = pending.popleft()
        state = moved(before, move)
        if state.kind == "end":
            payoffs.add(tuple(Fraction(amount) for amount in state.payoffs.values()))
            length, draws = max(length, depth), max(draws, drawn)
            continue
        if state.kind == "chance":
            many = state.outcome_count
            drawn += many > 1
            outcomes = max(outcomes, many)
        else:
            many = prod(len(ask.legal) for ask in state.asks)
            depth += many > 1
        found += many
        if found > limit:
            return None
        pending.extend((state, after, depth, drawn) for after in moves(state))
    totals = {sum(amounts, Fraction()) for amounts in payoffs}
    every = [amount for amounts in payoffs for amount in amounts]
    return Tree(
        length, draws, outcomes, min(every), max(every),
        totals.pop() if len(totals) == 1 else None,
        all(len(set(amounts)) == 1 for amounts in payoffs),
    )  # fmt: skip


def outcomes_of(draw: Draw, seats: tuple[str, ...]) -> int | None:
    """The most outcomes that one chance node of a draw can have."""
    if draw.source.kind == "weights":
        return len(draw.source.weights)
    take, type = draw.source.take, plain(draw.type)
    if take is None:
        values = domain(type, seats)
        return None if values is None else len(values)
    count = highest(take)
    values = domain(type.of, seats) if isinstance(type, List) else None
    if values is None or count is None:
        return None
    return comb(len(values) + count - 1, count)


def visible(step: Step, tells: Callable[[Any, str], bool]) -> int:
    """How many events a choice, draw or show by itself can be for a reader; `tells(readers, owner)`
    says whether one is."""
    match step:
        case Choose(actors=actors, joint=joint, readers=readers):
            seen = sum(tells(readers, actor) for actor in actors)
            return seen if joint else min(seen, 1)
        case Draw(per=per, by_seat=by_seat, readers=readers):
            if not by_seat:
                return prod(map(len, per)) * tells(readers, "")
            rest = prod(map(len, per[1:]))
            return rest * sum(tells(readers, seat) for seat in per[0])
        case Show(readers=readers):
            return int(tells(readers, ""))
    return 0
