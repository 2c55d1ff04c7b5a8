"""Games too large for a tree that fit into arrays: CFR, or a team's search, with best replies.

The histories are laid out from the graph of positions (`gamedsl.solve.game_arrays`), so that values
and regrets are those of the whole game, in floats, and no estimates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from random import Random
from statistics import fmean
from typing import TYPE_CHECKING

from gamedsl.engine.walk import sample_path, size
from gamedsl.solve.position_graph import position_graph
from gamedsl.solve.solution import Solution
from gamedsl.solve.tree import Utility

if TYPE_CHECKING:
    from gamedsl.engine.kernel import State
    from gamedsl.runtime import Game
    from gamedsl.solve.arrays import Array, TreeArrays
    from gamedsl.solve.regret import Variant

MANY_HISTORIES = 20_000_000
"""Histories that are laid out at most."""
MANY_POSITIONS = 300_000
"""Positions up to which a graph is written out,"""
MANY_MOVES = 600_000
"""and moves."""
PROBES = 100
"""Games played at random to guess how many histories there are."""
HOPELESS = 50
"""A game is not walked through if it seems to have so many times more histories than allowed."""
WORK = 2_000_000_000
"""Numbers that iterations may touch, if it is not said how many there are to be."""
FEWEST, MOST = 100, 1_000
"""The least and the most iterations that are chosen."""
NEAR = 1e-5
"""NashConv, in spans of payoff, at which iterations end."""
STARTS = 60
"""Profiles that the search of a team begins at."""


@dataclass(frozen=True, eq=False)
class LaidOut:
    """A game as arrays, and the sizes of its graph."""

    arrays: TreeArrays
    histories: int
    positions: int

    @property
    def common_payoff(self) -> bool:
        """Whether all seats are paid alike in every history."""
        import numpy as np

        return bool(np.ptp(self.arrays.paid_ZN, axis=1).max() <= 1e-12)

    @property
    def span(self) -> float:
        import numpy as np

        return float(np.ptp(self.arrays.paid_ZN, axis=0).max()) or 1.0


def lay_out(
    game: Game, utility: Utility, progress: Callable[[int], None] | None = None
) -> LaidOut | None:
    """A game as arrays; None if it has more than 20,000,000 histories, 300,000 positions or 600,000
    moves between them, or steps with `knows`. Raises ImportError without scipy."""
    from gamedsl.solve.linear_programs import require
    from gamedsl.solve.tree import TooLarge

    if game.ir.asked_as or estimate_histories(game) > HOPELESS * MANY_HISTORIES:
        return None
    require("numpy", "scipy")
    from gamedsl.solve.game_arrays import arrays_of_graph

    try:
        graph = position_graph(game, utility, MANY_POSITIONS, MANY_MOVES, progress)
        if graph.histories > MANY_HISTORIES:
            return None
        arrays = arrays_of_graph(graph, dict(game.ir.role_of))
    except TooLarge:
        return None
    return LaidOut(arrays, graph.histories, len(graph.positions))


def estimate_histories(game: Game) -> float:
    """Estimates the number of histories from random plays (Knuth 1975): the mean of the products
    of how many moves there were, up to each point of a play."""
    kernel, random = game.kernel(), Random(0)

    def uniform(state: State) -> list[int]:
        return [random.randrange(count) for count in state.counts]

    found = []
    for _ in range(PROBES):
        ways, total = 1.0, 1.0
        for state in sample_path(kernel.start(), random.random, uniform):
            if state.kind == "end":
                break
            ways *= size(state)
            total += ways
            if total > 1e30:
                break
        found.append(total)
    return fmean(found)


def minimise_regret(
    game: LaidOut,
    variant: Variant,
    iterations: int | None,
    progress: Callable[[int, int, float], None],
) -> Solution:
    """The average policy of CFR, with its values and regrets by best replies, in floats."""
    from gamedsl.solve.cfr import NAMES, REPORTS
    from gamedsl.solve.regret import Minimiser

    arrays = game.arrays
    count = iterations or _affordable(arrays)
    minimiser = Minimiser(arrays, variant)
    while minimiser.done < count:
        minimiser.run(min(-(-count // REPORTS), count - minimiser.done))
        left = arrays.nash_conv(minimiser.average)
        progress(minimiser.done, count, left)
        if iterations is None and left <= NEAR * game.span:
            break
    proved = len(arrays.seats) == 2 and arrays.constant_sum
    doubt = "CFR need not converge here: it is sure to only where two play for a constant sum"
    return checked_arrays(
        arrays, minimiser.average, "approximate Nash equilibrium",
        f"{NAMES[variant]}, {minimiser.done:,} iterations", "" if proved else doubt,
    )  # fmt: skip


def search_team(game: LaidOut, progress: Callable[[int, int, float], None]) -> Solution:
    """The best pure profile that best replies in turn lead to, from many starts.

    No seat can improve it alone, and it is worth at least every profile that was met.
    """
    import numpy as np

    arrays = game.arrays
    random = np.random.default_rng(0)
    best: tuple[float, list[Array]] | None = None
    for start in range(STARTS):
        rows = [seat.uniform() for seat in arrays.seats]
        if start:
            rows = [_pure(seat.first_I, random.random(seat.slots)) for seat in arrays.seats]
        worth, rows = _improved(arrays, rows)
        if best is None or worth > best[0] + 1e-12:
            best = worth, rows
        progress(start + 1, STARTS, best[0])
    assert best is not None
    return checked_arrays(
        arrays, best[1], "team policy",
        f"best replies in turn from {STARTS} starts: the best of what was met",
        "the search proves nothing: the optimum may be more",
    )  # fmt: skip


def checked_arrays(
    arrays: TreeArrays, rows: list[Array], concept: str, method: str, note: str
) -> Solution:
    """A solution with its values and regrets by best replies, in floats."""
    found = list(zip(arrays.seats, arrays.replies(rows), strict=True))
    values = {seat.seat: value for seat, (value, _, _) in found}
    regrets = {seat.seat: max(0.0, best - value) for seat, (value, best, _) in found}
    return Solution(concept, method, arrays.policy(rows), dict(values), dict(regrets), False, note)


def _affordable(arrays: TreeArrays) -> int:
    """The iterations that `WORK` is enough for."""
    touched = sum(getattr(matrix, "nnz", 0) or prod(matrix.shape) for matrix in arrays.payoffs)
    touched += 20 * sum(seat.slots for seat in arrays.seats)
    return round(min(max(WORK / touched, FEWEST), MOST))


def _pure(first_I: Array, value_A: Array) -> Array:
    """The rows (A,) that take the action of the greatest value at each information set."""
    import numpy as np

    if not len(value_A):
        return value_A
    slots = np.arange(len(value_A))
    set_A = np.searchsorted(first_I, slots, side="right") - 1
    best_A = np.maximum.reduceat(value_A, first_I)[set_A]
    place_I = np.minimum.reduceat(np.where(value_A == best_A, slots, len(slots)), first_I)
    row_A = np.zeros(len(value_A))
    row_A[place_I] = 1.0
    return row_A


def _improved(arrays: TreeArrays, rows: list[Array]) -> tuple[float, list[Array]]:
    """Best replies in turn until none gains; what they are worth in the end."""
    worth, still = -float("inf"), 0
    plans = [seat.plan(row_A) for seat, row_A in zip(arrays.seats, rows, strict=True)]
    while still < len(rows):
        for place, seat in enumerate(arrays.seats):
            value, value_A = seat.best(arrays.gain(place, plans))
            if value <= worth + 1e-12:
                still += 1
                if still >= len(rows):
                    break
                continue
            worth, still = value, 0
            rows[place] = _pure(seat.first_I, value_A)
            plans[place] = seat.plan(rows[place])
    return worth, rows
