"""Solutions: a policy, its values, and its distance from what it claims to be.

Every solver of a tree gives its answer through `checked`, which recomputes values and regrets by
best response: nothing is reported because an algorithm says that it converged. Solvers for games
that are too large for a tree do the same in their own way, and say how far it can be relied on.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from gamedsl.solve.respond import Number, Policy, exploitability
from gamedsl.solve.tree import Tree, Utility


@dataclass(frozen=True)
class Solution:
    """One answer. With `exact`, all numbers are Fractions; else they are floats.

    `regrets` is what each seat would gain by its best reply to the others, in units of utility; all
    are 0 exactly where the policy is a Nash equilibrium.
    """

    concept: str
    """In the terms of the field: `Nash equilibrium`, `subgame-perfect equilibrium`, …"""
    method: str
    """How it was found: `sequence-form linear program`, `CFR+, 1,000 iterations`, …"""
    policy: Policy
    """Information set -> action -> probability, complete."""
    values: dict[str, Number]
    regrets: dict[str, Number]
    exact: bool
    note: str = ""

    @property
    def nash_conv(self) -> Number:
        """The sum of the regrets (Lanctot et al. 2017)."""
        return sum(self.regrets.values(), Fraction(0))

    @property
    def exploitability(self) -> Number:
        """NashConv divided by the number of seats."""
        return self.nash_conv / len(self.regrets)


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
