"""The facts of a game that OpenSpiel wants before it is played, from its tree or from its form.

A tree of up to `HISTORIES` histories is gone through and its facts are exact. Of a larger one they
are bounds, read off the loops and the payoff expressions (`gamedsl.export.bounds`); what has no
bound there, the caller must give.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Literal

from gamedsl.export.bounds import Payoffs, Tree, explore, outcomes_of
from gamedsl.ir.game import GameIR
from gamedsl.ir.lengths import most
from gamedsl.ir.program import Choose, Draw, Step, walk_steps
from gamedsl.runtime.env import Env

HISTORIES = 20_000
"""Histories of a tree that is gone through."""

Utility = Literal["zero_sum", "identical", "general_sum"]
"""What a caller can say of a game."""

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


def facts_of(
    env: Env, payoffs: Bounds | None, utility: Utility | None, max_length: int | None
) -> Facts:
    """The facts of a game; those given are taken as they are. ValueError for what is not seen."""
    ir = env.ir
    tree = explore(env.kernel, HISTORIES)
    if tree is not None:
        _require_true(ir, tree, payoffs, utility)
    low, high = payoffs or _paid(ir, tree)
    kind, total = _utility(utility, tree)
    seats = len(ir.seats)
    length = max_length or (tree.length if tree else most(ir.turns, _is_choice, seats))
    if length is None:
        raise _unseen(ir, "how long it can be", "max_length=…")
    draws = tree.draws if tree else most(ir.turns, _draws, seats)
    return Facts(
        float(low), float(high), kind, total, length,
        length if draws is None else draws, tree.outcomes if tree else _outcomes(ir),
    )  # fmt: skip


def _require_true(ir: GameIR, tree: Tree, payoffs: Bounds | None, utility: Utility | None) -> None:
    """ValueError where what is given is not what going through the tree has shown."""
    if payoffs is not None and not payoffs[0] <= tree.low <= tree.high <= payoffs[1]:
        raise ValueError(f"the payoffs of `{ir.name}` lie from {tree.low} to {tree.high}")
    if utility == "zero_sum" and tree.total != 0:
        raise ValueError(f"`{ir.name}` is not zero-sum")
    if utility == "identical" and not tree.identical:
        raise ValueError(f"`{ir.name}` does not always pay all the same")


def _paid(ir: GameIR, tree: Tree | None) -> tuple[Fraction, Fraction]:
    found = (tree.low, tree.high) if tree else Payoffs(ir).interval()
    if found is None:
        raise _unseen(ir, "between which amounts its payoffs lie", "payoffs=(least, most)")
    return found


def _unseen(ir: GameIR, what: str, fix: str) -> ValueError:
    return ValueError(
        f"`{ir.name}` has more than {HISTORIES:,} histories, and its form does not show {what}; "
        f"fix: give `{fix}`"
    )


def _utility(
    given: Utility | None, tree: Tree | None
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
