"""Linear programs: solved in floats by HiGHS, then certified in exact rationals.

A simplex method ends at a vertex, which is the one solution of the constraints that hold there with
equality. Which those are can be read off the floats; the vertex and its dual are then worked out
again in Fractions and held against every constraint. Where primal and dual are feasible and worth
the same, both are optimal, and no float is left in the answer. Where that fails, a small program is
solved in rationals from the start (`gamedsl.solve.rational_simplex`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from gamedsl.extras import missing
from gamedsl.solve.best_responses import Number
from gamedsl.solve.rational_algebra import Row, solve_linear
from gamedsl.solve.rational_simplex import TooMuchWork, solve_exactly

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray

MARGINS = (1e-9, 1e-7, 1e-5)
"""Below what a float counts as 0, tried one after another."""


def require(*names: str) -> None:
    """Raises ImportError, with what to do, where one of these packages is not installed."""
    from importlib.util import find_spec

    for name in names:
        if find_spec(name) is None:
            raise missing(name, "solve")


@dataclass
class Program:
    """Maximise `objective` · x, where x >= 0 but for the columns in `free`."""

    columns: int
    objective: Row
    most: list[tuple[Row, Fraction]] = field(default_factory=list)
    """Rows that are at most a number."""
    equal: list[tuple[Row, Fraction]] = field(default_factory=list)
    """Rows that equal a number."""
    free: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Optimum:
    """The best x, and the price of each row of `most`: what one more of it would be worth. With
    `exact`, Fractions that were certified; else floats."""

    value: Number
    x: Sequence[Number]
    prices: Sequence[Number]
    exact: bool


def maximise(program: Program) -> Optimum | None:
    """The optimum; None where no x meets the constraints. Raises ImportError without scipy,
    and ValueError for a program without bounds.

    Where the floats lead to no vertex that can be certified, the program is solved again in
    rationals, if it is small enough for that. That no x meets the constraints is believed of
    floats only if the program is too large for rationals.
    """
    found, wrong = None, ""
    try:
        found = _floats(program)
    except ValueError as error:
        wrong = str(error)
    certified = None if found is None else _certified(program, found)
    if certified is not None:
        return certified
    try:
        exactly = solve_exactly(program)
    except TooMuchWork:
        if wrong:
            raise ValueError(wrong) from None
        if found is None:
            return None
        x, prices, _, value = found
        return Optimum(value, x.tolist(), prices.tolist(), False)
    if exactly is None:
        return None
    best, costs = exactly
    return Optimum(_dot(program.objective, best), best, costs, True)


def _certified(program: Program, found: tuple[Array, Array, Array, float]) -> Optimum | None:
    """The vertex and its prices near a solution in floats, if they prove each other optimal."""
    x, prices, duals, _ = found
    for margin in MARGINS:
        primal = _primal(program, x, margin)
        if primal is None:
            continue
        dual = _dual(program, primal, prices, duals, x, margin)
        if dual is not None:
            worth = _dot(program.objective, primal)
            return Optimum(worth, primal, dual, True)
    return None


def _floats(program: Program) -> tuple[Array, Array, Array, float] | None:
    """x, the prices of both kinds of rows, and the optimum, by HiGHS' dual simplex."""
    require("numpy", "scipy")
    import numpy as np
    from scipy.optimize import linprog

    cost = np.zeros(program.columns)
    for column, weight in program.objective.items():
        cost[column] = -float(weight)
    bounds = [(None if j in program.free else 0, None) for j in range(program.columns)]
    most, equal = (_matrix(rows, program.columns) for rows in (program.most, program.equal))
    result: Any = linprog(
        cost, most[0], most[1], equal[0], equal[1], bounds=bounds, method="highs-ds"
    )
    if result.status == 2:
        return None
    if result.status != 0:
        raise ValueError(f"the linear program has no optimum: {result.message}")
    return result.x, -result.ineqlin.marginals, -result.eqlin.marginals, -float(result.fun)


def _matrix(rows: list[tuple[Row, Fraction]], columns: int) -> tuple[Any, Any]:
    import numpy as np
    from scipy.sparse import csr_array

    if not rows:
        return None, None
    places = [(i, c, float(v)) for i, (row, _) in enumerate(rows) for c, v in row.items()]
    at, across, values = zip(*places, strict=True) if places else ((), (), ())
    matrix = csr_array((values, (at, across)), shape=(len(rows), columns))
    return matrix, np.array([float(total) for _, total in rows])


def _primal(program: Program, x: Array, margin: float) -> list[Fraction] | None:
    """The vertex that the floats come near to, exactly, if it meets every constraint."""
    kept = [j for j in range(program.columns) if j in program.free or x[j] > margin]
    near = [
        (row, total)
        for row, total in program.most
        if abs(sum(float(v) * x[c] for c, v in row.items()) - float(total)) <= margin
    ]
    place = {j: i for i, j in enumerate(kept)}
    system = [
        ({place[c]: v for c, v in row.items() if c in place}, total)
        for row, total in (*program.equal, *near)
    ]
    solved = solve_linear(system, len(kept), [float(x[j]) for j in kept])
    if solved is None:
        return None
    values = [Fraction(0)] * program.columns
    for column, value in zip(kept, solved, strict=True):
        values[column] = value
    fits = (
        all(values[j] >= 0 for j in kept if j not in program.free)
        and all(_dot(row, values) <= total for row, total in program.most)
        and all(_dot(row, values) == total for row, total in program.equal)
    )
    return values if fits else None


def _dual(
    program: Program, primal: list[Fraction], prices: Array, duals: Array, x: Array, margin: float
) -> list[Fraction] | None:
    """Exact prices of the rows of `most`, if they prove that the vertex is optimal."""
    priced = [i for i in range(len(program.most)) if prices[i] > margin]
    rows = [program.most[i] for i in priced] + program.equal
    across: list[dict[int, Fraction]] = [{} for _ in range(program.columns)]
    for number, (row, _) in enumerate(rows):
        for column, value in row.items():
            across[column][number] = value
    floats = [*(float(prices[i]) for i in priced), *map(float, duals)]
    system = []
    for column, weights in enumerate(across):
        goal = Fraction(program.objective.get(column, 0))
        near = sum(float(v) * floats[i] for i, v in weights.items()) - float(goal)
        if column in program.free or primal[column] or abs(near) <= margin:
            system.append((weights, goal))
    solved = solve_linear(system, len(rows), floats)
    if solved is None or any(p < 0 for p in solved[: len(priced)]):
        return None
    for column, weights in enumerate(across):
        spare = _dot(weights, solved) - program.objective.get(column, 0)
        if spare < 0 or (spare and column in program.free):
            return None
    totals = (total for _, total in rows)
    worth = sum((p * t for p, t in zip(solved, totals, strict=True)), Fraction(0))
    if worth != _dot(program.objective, primal):
        return None
    found = [Fraction(0)] * len(program.most)
    for i, price in zip(priced, solved, strict=False):
        found[i] = price
    return found


def _dot(row: Row, values: Sequence[Fraction]) -> Fraction:
    return sum((v * values[c] for c, v in row.items()), Fraction(0))
