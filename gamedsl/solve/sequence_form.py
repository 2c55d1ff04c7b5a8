"""Equilibria of two-seat zero-sum trees by linear programming over sequences.

A sequence is an information set of a seat and an action there; its plan is how likely the seat's
own choices are to lead to it. With perfect recall plans are linear where behaviour is not, so that
one program of the tree's size has the first seat's best plan as its solution and the second's as
its prices (Koller, Megiddo and von Stengel 1996; von Stengel 1996).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import log2

from gamedsl.solve.best_responses import Number
from gamedsl.solve.linear_programs import Program, maximise
from gamedsl.solve.rational_algebra import Row
from gamedsl.solve.solution import Solution, checked
from gamedsl.solve.tree import CHANCE, TERMINAL, Tree, Utility

ROOT = 0
"""The number of the sequence of no choices."""


TINY, HUGE = Fraction(1, 10_000), Fraction(1_000_000)
"""The least and the largest of a seat's most extreme payoff with which a program is not scaled."""


class NoOptimum(ArithmeticError):
    """The linear program of a game was not solved, though every game has an equilibrium."""


def constant_sum(tree: Tree, utility: Utility = "payoffs") -> Fraction | None:
    """Returns the sum of all payoffs if it is equal in every history, else None."""
    got = tree.utilities(utility, exact=True)
    sums = {sum(got[n]) for n in tree.terminals}
    return sums.pop() if len(sums) == 1 else None


def solve_zero_sum(tree: Tree, utility: Utility = "payoffs") -> Solution:
    """An equilibrium of a two-seat tree of constant sum, exact where it could be certified.

    Information sets that a seat's own choices exclude play all actions equally. Raises ValueError
    for other trees, ImportError without scipy, and `NoOptimum` where floats find none and the
    program is too large for rationals.
    """
    if len(tree.seats) != 2 or constant_sum(tree, utility) is None:
        raise ValueError("the sequence form is for two seats whose payoffs have a constant sum")
    first, second = Plans(tree, 0), Plans(tree, 1)
    optimum = maximise(best_plan(first, second, utility))
    if optimum is None:
        raise NoOptimum(
            "floats find no optimum of the linear program, which has one, and it is too large for "
            "rationals: payoffs may differ by too many digits"
        )
    policy = _behaviour(first, optimum.x[: first.count], optimum.exact)
    policy |= _behaviour(second, optimum.prices, optimum.exact)
    method = "sequence-form linear program"
    note = "" if optimum.exact else "no exact vertex was recovered from the floats"
    return checked(
        tree, policy, concept="Nash equilibrium", utility=utility, note=note,
        method=f"{method}, certified in rationals" if optimum.exact else method,
    )  # fmt: skip


class Plans:
    """The sequences of one seat: `number[i, a]` is that of action a at information set i, `before`
    the sequence that leads to each set. Sequence 0 is that of no choices."""

    def __init__(self, tree: Tree, seat: int) -> None:
        self.tree = tree
        self.seat = seat
        self.before: dict[int, int] = {}
        self.number: dict[tuple[int, int], int] = {}
        self.at = [ROOT] * len(tree)
        """The seat's sequence at each node."""
        for node, info in enumerate(tree.info):
            mine = info >= 0 and tree.owner[info] == seat
            if mine and info not in self.before:
                self.before[info] = self.at[node]
                for place in range(len(tree.info_sets[info].actions)):
                    self.number[info, place] = 1 + len(self.number)
            for place, child in enumerate(tree.children[node]):
                self.at[child] = self.number[info, place] if mine else self.at[node]
        self.count = 1 + len(self.number)


def best_plan(mine: Plans, theirs: Plans, utility: Utility) -> Program:
    """The program of a seat that maximises, over its plans x, what the other's best reply leaves
    it. Columns are x, then its worth in all (column `mine.count`), then that reply's worth from
    each of the other's sets on; the row of a sequence s of the other says that no reply by s is
    better, and its price is the other's plan of s. The first equality says that x begins at 1."""
    value = mine.count
    sets = {info: value + 1 + k for k, info in enumerate(theirs.before)}
    rows: list[dict[int, Fraction]] = [{} for _ in range(theirs.count)]
    rows[ROOT][value] = Fraction(1)
    for (info, _), sequence in theirs.number.items():
        rows[sequence][sets[info]] = Fraction(1)
    for info, sequence in theirs.before.items():
        rows[sequence][sets[info]] = rows[sequence].get(sets[info], Fraction(0)) - 1
    for (x, y), amount in _payoffs(mine, theirs, utility).items():
        rows[y][x] = rows[y].get(x, Fraction(0)) - amount
    return Program(
        columns=value + 1 + len(sets),
        objective={value: Fraction(1)},
        most=[(row, Fraction(0)) for row in rows],
        equal=_flow(mine),
        free=frozenset(range(value, value + 1 + len(sets))),
    )


def _flow(plans: Plans) -> list[tuple[Row, Fraction]]:
    """The plans at an information set add up to that of the sequence before it."""
    rows: list[tuple[Row, Fraction]] = [({ROOT: Fraction(1)}, Fraction(1))]
    for info, before in plans.before.items():
        actions = range(len(plans.tree.info_sets[info].actions))
        row = {plans.number[info, a]: Fraction(1) for a in actions}
        rows.append(({**row, before: Fraction(-1)}, Fraction(0)))
    return rows


def _payoffs(mine: Plans, theirs: Plans, utility: Utility) -> dict[tuple[int, int], Fraction]:
    """Returns a seat's payoff for each pair of sequences, times the probability that chance
    allows them. Very large and very small payoffs are taken over a power of two near the largest:
    floats can hold what is left, and the best plans stay the same."""
    tree = mine.tree
    got = tree.utilities(utility, exact=True)
    low, high = tree.span(tree.seats[mine.seat], utility)
    most = max(abs(low), abs(high))
    scale = Fraction(2) ** int(log2(most)) if most and not TINY <= most <= HUGE else Fraction(1)
    likely = [Fraction(1)] * len(tree)
    found: dict[tuple[int, int], Fraction] = {}
    for node, info in enumerate(tree.info):
        if info == TERMINAL:
            pair = mine.at[node], theirs.at[node]
            worth = likely[node] * got[node][mine.seat] / scale
            found[pair] = found.get(pair, Fraction(0)) + worth
        for place, child in enumerate(tree.children[node]):
            likely[child] = likely[node] * (tree.odds[node][place] if info == CHANCE else 1)
    return found


def _behaviour(plans: Plans, plan: Sequence[Number], exact: bool) -> dict[str, dict[str, Number]]:
    """Plans as probabilities at each information set."""
    policy: dict[str, dict[str, Number]] = {}
    for info in plans.before:
        here = plans.tree.info_sets[info]
        weights = [max(plan[plans.number[info, a]], 0) for a in range(len(here.actions))]
        total = sum(weights)
        if (not exact and total < 1e-12) or not total:
            weights, total = [1] * len(weights), len(weights)
        share: list[Number] = [Fraction(w) / total if exact else w / total for w in weights]
        policy[here.key] = dict(zip(here.actions, share, strict=True))
    return policy
