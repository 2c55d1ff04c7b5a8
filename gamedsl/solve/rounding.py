"""Exact equilibria near floats: probabilities rounded to simple fractions, then checked."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from gamedsl.solve.respond import Number
from gamedsl.solve.solution import Solution, checked
from gamedsl.solve.tree import Tree, Utility

DENOMINATORS = (1, 12, 60, 1_000)
NEVER = 1e-3
"""Below this a probability is rounded to 0."""
FAR = 0.01
"""How far a probability may be moved."""


def rounded(tree: Tree, found: Solution, utility: Utility) -> Solution | None:
    """The policy with simple fractions in place of its floats, if that is an equilibrium exactly;
    the simplest fractions first. None if no rounding is."""
    for most in DENOMINATORS:
        policy = {key: _row(row, most) for key, row in found.policy.items()}
        if max(_moved(policy[key], row) for key, row in found.policy.items()) > FAR:
            continue
        solution = checked(
            tree, policy, concept="Nash equilibrium", utility=utility,
            method=f"{found.method}, rounded to simple fractions",
        )  # fmt: skip
        if solution.nash_conv == 0:
            return solution
    return None


def _moved(now: Mapping[str, Fraction], row: Mapping[str, Number]) -> float:
    """The largest change of a probability."""
    return max(abs(float(now[name]) - float(p)) for name, p in row.items())


def _row(row: Mapping[str, Number], most: int) -> dict[str, Fraction]:
    """Probabilities with denominators of at most `most` before they are made to sum to 1."""
    near = {
        name: Fraction(float(p)).limit_denominator(most) if float(p) > NEVER else Fraction(0)
        for name, p in row.items()
    }
    total = sum(near.values(), Fraction(0))
    if not total:
        likeliest = max(row, key=lambda name: float(row[name]))
        return {name: Fraction(name == likeliest) for name in row}
    return {name: p / total for name, p in near.items()}
