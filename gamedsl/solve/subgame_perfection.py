"""Backward induction: subgame-perfect equilibria of trees of perfect information.

The policy takes the first of several best actions. Where ties matter, other subgame-perfect
equilibria pay otherwise; `Perfect.outcomes` holds what all the pure ones pay.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from gamedsl.solve.solution import Solution, checked
from gamedsl.solve.tree import CHANCE, TERMINAL, Tree, Utility

MANY_OUTCOMES = 500

Worth = tuple[Fraction, ...]
"""The value of each seat."""


@dataclass(frozen=True)
class Perfect:
    """A subgame-perfect equilibrium. `path` is its play, as (seat, action) pairs, up to the first
    move of chance or the end. `ties` counts the information sets at which another action is as
    good. `outcomes` are the payoffs of every pure subgame-perfect equilibrium, the solution's own
    first; None where there are over 500 somewhere on the way."""

    solution: Solution
    path: tuple[tuple[str, str], ...]
    ties: int
    outcomes: tuple[Worth, ...] | None


def perfect_information(tree: Tree) -> bool:
    """Whether whoever moves knows the whole history."""
    return all(len(nodes) == 1 for nodes in tree.members)


def backward_induction(tree: Tree, utility: Utility = "payoffs") -> Perfect:
    """Raises ValueError for a tree in which somebody does not know the whole history."""
    if not perfect_information(tree):
        raise ValueError("backward induction needs perfect information")
    got = tree.utilities(utility, exact=True)
    worth: list[Worth] = [()] * len(tree)
    chosen: dict[int, int] = {}
    ties = 0
    for node in reversed(range(len(tree))):
        info, below = tree.info[node], [worth[child] for child in tree.children[node]]
        if info == TERMINAL:
            worth[node] = got[node]
        elif info == CHANCE:
            worth[node] = mean(tree.odds[node], below)
        else:
            own = [values[tree.owner[info]] for values in below]
            chosen[info] = own.index(max(own))
            ties += own.count(max(own)) > 1
            worth[node] = below[chosen[info]]
    policy = {
        info.key: {a: Fraction(a == info.actions[chosen[i]]) for a in info.actions}
        for i, info in enumerate(tree.info_sets)
    }
    solution = checked(
        tree, policy, concept="subgame-perfect equilibrium", method="backward induction",
        utility=utility,
    )  # fmt: skip
    every: tuple[Worth, ...] | None = (worth[0],)
    if ties:
        found = perfect_outcomes(tree, utility)
        every = None if found is None else tuple(sorted(found[0], key=lambda w: w != worth[0]))
    return Perfect(solution, _path(tree, chosen), ties, every)


def mean(odds: tuple[Fraction, ...], values: list[Worth]) -> Worth:
    """Returns each seat's expected value."""
    return tuple(
        sum((p * v[seat] for p, v in zip(odds, values, strict=True)), Fraction(0))
        for seat in range(len(values[0]))
    )


def perfect_outcomes(tree: Tree, utility: Utility) -> list[tuple[Worth, ...]] | None:
    """Returns the payoffs of the pure subgame-perfect equilibria of the subgame at each node;
    None if there are too many. From the leaves up, an outcome of one child stays if every other
    child has an outcome that is no better for the acting seat."""
    got = tree.utilities(utility, exact=True)
    found: list[tuple[Worth, ...]] = [()] * len(tree)
    for node in reversed(range(len(tree))):
        info, below = tree.info[node], [found[child] for child in tree.children[node]]
        if info == TERMINAL:
            here = [got[node]]
        elif info == CHANCE:
            size = 1
            for options in below:
                size *= len(options)
            if size > MANY_OUTCOMES:
                return None
            here = [mean(tree.odds[node], list(chosen)) for chosen in product(*below)]
        else:
            seat = tree.owner[info]
            security = max(min(w[seat] for w in options) for options in below)
            here = [w for options in below for w in options if w[seat] >= security]
        found[node] = tuple(dict.fromkeys(here))
        if len(found[node]) > MANY_OUTCOMES:
            return None
    return found


def _path(tree: Tree, chosen: dict[int, int]) -> tuple[tuple[str, str], ...]:
    path, node = [], 0
    while (info := tree.info[node]) >= 0:
        here = tree.info_sets[info]
        path.append((here.seat, here.actions[chosen[info]]))
        node = tree.children[node][chosen[info]]
    return tuple(path)
