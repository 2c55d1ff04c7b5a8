"""Solutions: a policy, its values, and its distance from what it claims to be.

Every solver of a tree gives its answer through `checked`, which recomputes values and regrets by
best response: nothing is reported because an algorithm says that it converged. Solvers for games
that are too large for a tree do the same in their own way, and say how far it can be relied on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from gamedsl.solve.best_responses import Number, Policy, exploitability
from gamedsl.solve.tree import Tree, Utility

DENOMINATORS = (1, 12, 60, 1_000)
NEVER = 1e-3
"""Below this a probability is rounded to 0."""
FAR = 0.01
"""The largest change of a probability by rounding."""

Progress = Callable[[str, int, int | None, str], None]
"""Reports what is under way, how far it is, of how much (None: not known), and how it stands."""


@dataclass(frozen=True)
class Solution:
    """One answer. With `exact`, all numbers are Fractions; else they are floats.

    `regrets` is what each seat would gain by its best reply to the others, in units of utility; all
    are 0 exactly where the policy is a Nash equilibrium. Of a game that was sampled they are bounds
    from below, and a seat is missing where no reply was found that gains.
    """

    concept: str
    """In the terms of the field: `Nash equilibrium`, `subgame-perfect equilibrium`, …"""
    method: str
    """The method that found it: `sequence-form linear program`, `CFR+, 1,000 iterations`, …"""
    policy: Policy
    """Information set -> action -> probability, complete."""
    values: dict[str, Number]
    regrets: dict[str, Number]
    exact: bool
    note: str = ""

    def __repr__(self) -> str:
        worth = ", ".join(f"{seat} {value}" for seat, value in self.values.items())
        return f"<Solution {self.concept}, by {self.method}: {worth}>"

    @property
    def nash_conv(self) -> Number:
        """The sum of the regrets (Lanctot et al. 2017)."""
        return sum(self.regrets.values(), Fraction(0))

    @property
    def exploitability(self) -> Number:
        """NashConv divided by the number of seats."""
        return self.nash_conv / len(self.values)


def checked(
    tree: Tree,
    policy: Policy,
    *,
    concept: str,
    method: str,
    utility: Utility = "payoffs",
    note: str = "",
) -> Solution:
    """A solution with its values and regrets worked out from the tree. Raises as `exploitability`:
    KeyError and ValueError where the policy is incomplete or no policy."""
    found = exploitability(tree, policy, utility)
    regrets = {s: found.best_responses[s].value - found.values[s] for s in tree.seats}
    exact = all(isinstance(number, (Fraction, int)) for number in found.values.values())
    return Solution(concept, method, policy, found.values, regrets, exact, note)


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
