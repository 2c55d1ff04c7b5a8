"""Action values: the worth of each action at its information set under a policy.

The worth of action a at information set I is its owner's expected payoff from there on, having
reached I and taken a: the counterfactual value of (I, a) divided by the probability that the others
and chance let I be reached (Zinkevich et al. 2007).
"""

from __future__ import annotations

from gamedsl.solve.best_responses import Number, Policy, Sweep
from gamedsl.solve.tree import TERMINAL, Tree, Utility

Worth = tuple[Number, tuple[Number, ...]]
"""The probability that play reaches an information set, and the value of each action there."""


def action_worth(tree: Tree, policy: Policy, utility: Utility = "rewards") -> dict[str, Worth]:
    """By information set. Where the others never let one be reached, all its actions are worth 0.

    Raises KeyError and ValueError as `exploitability` does.
    """
    sweep = Sweep(tree, policy, utility)
    reach = sweep.reach(None)
    seats = range(len(tree.seats))
    without = [sweep.reach(seat) for seat in seats]
    value: list[tuple[Number, ...]] = [()] * len(tree)
    for node in reversed(range(len(tree))):
        if tree.info[node] == TERMINAL:
            value[node] = tuple(sweep.got[node])
        else:
            below = [value[child] for child in tree.children[node]]
            odds = sweep.odds(node)
            value[node] = tuple(
                sum(p * v[seat] for p, v in zip(odds, below, strict=True)) for seat in seats
            )
    found: dict[str, Worth] = {}
    for number, (info, nodes) in enumerate(zip(tree.info_sets, tree.members, strict=True)):
        seat = tree.owner[number]
        others = sum(without[seat][n] for n in nodes)
        gained = [
            sum(without[seat][n] * value[tree.children[n][a]][seat] for n in nodes)
            for a in range(len(info.actions))
        ]
        worth = tuple(gain / others if others else others for gain in gained)
        found[info.key] = sum(reach[n] for n in nodes), worth
    return found


def reached_by_others(tree: Tree, policy: Policy) -> set[str]:
    """Returns the information sets that play reaches with a positive probability if their owner
    tries to reach them. Raises KeyError and ValueError as `exploitability` does."""
    sweep = Sweep(tree, policy, "payoffs")
    without = [sweep.reach(seat) for seat in range(len(tree.seats))]
    return {
        info.key
        for info, nodes, owner in zip(tree.info_sets, tree.members, tree.owner, strict=True)
        if any(without[owner][node] for node in nodes)
    }
