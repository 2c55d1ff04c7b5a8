"""The facts of a game that other libraries need before it is played: length, payoffs, outcomes.

For a tree of up to `HISTORIES` histories they are exact. For a larger one they are bounds that hold
for every play, derived from its loops and payoff expressions. The caller must give a fact for which
no bound is found. Nothing is sampled.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import comb, floor, isinf, prod
from typing import Literal, assert_never

from gamedsl.bounds.expressions import Interpreter
from gamedsl.bounds.payoff_bounds import payoff_bounds
from gamedsl.bounds.programs import ProgramBounds
from gamedsl.engine.kernel import Kernel
from gamedsl.engine.walk import ChanceNode, EndNode, JointNode, Truncated, walk
from gamedsl.ir.evaluate import EvaluationError
from gamedsl.ir.game import GameIR
from gamedsl.ir.program import Choose, Draw, Step, walk_steps
from gamedsl.ir.types import List, domain, plain
from gamedsl.runtime.env import Env

HISTORIES = 20_000
"""The most histories of a tree that are listed."""

Utility = Literal["zero_sum", "identical", "general_sum"]
"""The kinds of utility that a caller can give."""

Bounds = tuple[float, float]


@dataclass(frozen=True)
class Facts:
    """Between which amounts payoffs lie (`low`, `high`) and what they are together (`total`, if
    that is known and always the same); the most moves of players and of chance in a play; the most
    outcomes of one chance node."""

    low: float
    high: float
    utility: Utility | Literal["constant_sum"]
    total: float | None
    length: int
    draws: int
    outcomes: int


@dataclass(frozen=True)
class TreeFacts:
    """The facts of a tree, from a walk through all histories.

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


def explore(kernel: Kernel, limit: int) -> TreeFacts | None:
    """The facts of a game's tree; None if it has more than `limit` histories, or if some have no
    payoffs."""
    try:
        return _explored(kernel, limit)
    except EvaluationError:
        return None


def _explored(kernel: Kernel, limit: int) -> TreeFacts | None:
    length, draws, outcomes = 0, 0, 1
    payoffs: set[tuple[Fraction, ...]] = set()
    for node in walk(kernel.start(), limit):
        match node:
            case Truncated():
                return None
            case ChanceNode(size=many):
                outcomes = max(outcomes, many)
            case JointNode():
                pass
            case EndNode(point=state):
                payoffs.add(tuple(Fraction(amount) for amount in state.payoffs.values()))
                length, draws = max(length, node.choices), max(draws, node.draws)
            case _:
                assert_never(node)
    totals = {sum(amounts, Fraction()) for amounts in payoffs}
    every = [amount for amounts in payoffs for amount in amounts]
    return TreeFacts(
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
    highest = Interpreter(seats, {}).interval(take).high
    values = domain(type.of, seats) if isinstance(type, List) else None
    if values is None or isinf(highest):
        return None
    return comb(len(values) + floor(highest) - 1, floor(highest))


def require_closed(ir: GameIR) -> None:
    """Raises ValueError for a game with written replies, calls or a referee."""
    if ir.open or ir.referees:
        raise ValueError(
            f"`{ir.name}` cannot be exported: it has written replies, calls or a referee, and "
            "other libraries need lists of actions, and payoffs for all players; "
            "play it with `gamedsl.load(…).env()`"
        )


def facts_of(
    env: Env, payoffs: Bounds | None, utility: Utility | None, max_length: int | None
) -> Facts:
    """The facts of a game and those that are given. Raises ValueError for one that is missing."""
    ir = env.ir
    tree = explore(env.kernel, HISTORIES)
    if tree is not None:
        _require_true(ir, tree, payoffs, utility)
    low, high = payoffs or _payoff_bounds(ir, tree)
    kind, total = _utility(utility, tree)
    bounds = ProgramBounds(ir)
    length = max_length or (tree.length if tree else bounds.total(_is_choice))
    if length is None:
        raise _unseen(ir, "how long it can be", "max_length=…")
    draws = tree.draws if tree else bounds.total(_draws)
    return Facts(
        float(low), float(high), kind, total, length,
        length if draws is None else draws, tree.outcomes if tree else _outcomes(ir),
    )  # fmt: skip


def _require_true(
    ir: GameIR, tree: TreeFacts, payoffs: Bounds | None, utility: Utility | None
) -> None:
    """Raises ValueError if a given fact contradicts the tree."""
    if payoffs is not None and not payoffs[0] <= tree.low <= tree.high <= payoffs[1]:
        raise ValueError(f"the payoffs of `{ir.name}` lie from {tree.low} to {tree.high}")
    if utility == "zero_sum" and tree.total != 0:
        raise ValueError(f"`{ir.name}` is not zero-sum")
    if utility == "identical" and not tree.identical:
        raise ValueError(f"`{ir.name}` does not always pay all the same")


def _payoff_bounds(ir: GameIR, tree: TreeFacts | None) -> tuple[Fraction, Fraction]:
    found = (tree.low, tree.high) if tree else payoff_bounds(ir)
    if found is None:
        raise _unseen(ir, "between which amounts its payoffs lie", "payoffs=(least, most)")
    return found


def _unseen(ir: GameIR, what: str, fix: str) -> ValueError:
    return ValueError(
        f"`{ir.name}` has more than {HISTORIES:,} histories, and its form does not show {what}; "
        f"fix: give `{fix}`"
    )


def _utility(
    given: Utility | None, tree: TreeFacts | None
) -> tuple[Utility | Literal["constant_sum"], float | None]:
    """The kind of utility, and what all seats are paid together."""
    if given is not None:
        return given, 0.0 if given == "zero_sum" else None
    if tree is None:
        return "general_sum", None
    if tree.total == 0:
        return "zero_sum", 0.0
    if tree.identical:
        return "identical", None
    if tree.total is not None:
        return "constant_sum", float(tree.total)
    return "general_sum", None


def _outcomes(ir: GameIR) -> int:
    draws = [step for step in walk_steps(ir.turns) if isinstance(step, Draw)]
    found = [outcomes_of(step, ir.seats) for step in draws]
    if None in found:
        raise ValueError(f"`{ir.name}`: its form does not show how many outcomes chance can have")
    return max((count for count in found if count is not None), default=1)


def _is_choice(step: Step) -> int:
    return int(isinstance(step, Choose))


def _draws(step: Step) -> int:
    return prod(map(len, step.per)) if isinstance(step, Draw) else 0
