"""Approximate equilibria of a tree by counterfactual regret minimisation, and fast NashConv.

Both run on arrays (numpy and scipy, the extra `solve`), for any number of seats. What they return
is in floats; `gamedsl.solve.best_responses` has the exact numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from gamedsl.extras import missing
from gamedsl.solve.best_responses import BestResponse, Exploitability, Number, Policy
from gamedsl.solve.solution import Solution, checked
from gamedsl.solve.tree import Tree, Utility

if TYPE_CHECKING:
    from gamedsl.solve.arrays import TreeArrays
    from gamedsl.solve.regret import Sums, Variant

NAMES: dict[Variant, str] = {"cfr": "CFR", "cfr+": "CFR+", "dcfr": "discounted CFR"}

Progress = Callable[[int, float], None]
"""A callback with the number of iterations done and NashConv of the policy so far."""

REPORTS = 20
"""The number of progress reports and stopping checks in a run."""


def cfr(
    tree: Tree,
    iterations: int,
    variant: Variant = "cfr+",
    utility: Utility = "payoffs",
    progress: Progress | None = None,
    *,
    iterate: Literal["average", "last"] = "average",
    enough: float = 0.0,
    sums: Sums = "sequences",
) -> Solution:
    """The average policy after so many iterations, or with `iterate="last"` the next one to play;
    the same every time. It stops early when NashConv, looked at after each twentieth of the
    iterations, is at most `enough`. With `sums="histories"` numbers are added up as OpenSpiel does:
    slower, and the same to the last digit (see `gamedsl.solve.history_regrets`).

    The average converges to a Nash equilibrium in two-player games of constant sum; elsewhere
    nothing is promised, and the solution's regrets say what was reached. `gamedsl.solve.regret` has
    the variants. ValueError for another variant and for no iterations; ImportError without scipy.
    """
    for given, known in (
        (variant, NAMES), (iterate, ("average", "last")), (sums, ("sequences", "histories"))
    ):  # fmt: skip
        if given not in known:
            raise ValueError(f"there is no {given!r}, only {', '.join(known)}")
    if iterations < 1:
        raise ValueError(f"{iterations} iterations are none")
    arrays = _arrays(tree, utility)
    from gamedsl.solve.regret import Minimiser

    minimiser = Minimiser(arrays, variant, sums)
    rows = minimiser.average
    while minimiser.done < iterations:
        minimiser.run(min(-(-iterations // REPORTS), iterations - minimiser.done))
        rows = minimiser.average if iterate == "average" else minimiser.last
        if progress is not None or enough > 0:
            left = arrays.nash_conv(rows)
            if progress is not None:
                progress(minimiser.done, left)
            if left <= enough:
                break
    proved = len(tree.seats) == 2 and arrays.constant_sum
    doubt = "CFR need not converge here: it is sure to only where two play for a constant sum"
    last = "" if iterate == "average" else ", last iterate"
    return checked(
        tree,
        arrays.policy(rows),
        concept="approximate Nash equilibrium",
        method=f"{NAMES[variant]}, {minimiser.done:,} iterations{last}",
        utility=utility,
        note="" if proved else doubt,
    )


def nash_conv(tree: Tree, policy: Policy, utility: Utility = "payoffs") -> Exploitability:
    """Computes `gamedsl.solve.exploitability` in floats, fast. Raises as it does, except that an
    absent action may be named with probability 0."""
    arrays = _arrays(tree, utility)
    values, replies = dict[str, Number](), {}
    found = arrays.replies(arrays.rows(policy))
    for seat, (value, best, value_A) in zip(arrays.seats, found, strict=True):
        values[seat.seat] = value
        replies[seat.seat] = BestResponse(seat.seat, best, seat.choices(value_A))
    total = sum(best - value for value, best, _ in found)
    return Exploitability(total, total / len(tree.seats), values, replies)


def _arrays(tree: Tree, utility: Utility) -> TreeArrays:
    try:
        from gamedsl.solve.arrays import arrays_of
    except ModuleNotFoundError as error:
        raise missing("scipy", "solve") from error
    return arrays_of(tree, utility)
