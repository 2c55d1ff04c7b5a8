"""Policy values, best responses, and so the distance of a policy from equilibrium.

With a policy of Fractions every result is exact; with floats the same sweeps run on floats.
NashConv is the sum over seats of each one's gain by its best response to the others; exploitability
here is NashConv divided by the number of seats (Lanctot et al. 2017 name both).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from gamedsl.solve.tree import CHANCE, TERMINAL, Tree, Utility

Number = Fraction | float
Policy = Mapping[str, Mapping[str, Number]]
"""Information set -> action -> probability."""


@dataclass(frozen=True)
class BestResponse:
    """The most a seat can earn against the others, and a pure strategy that earns it.

    `actions` covers every information set of the seat; where the others never let it be reached,
    its first action stands.
    """

    seat: str
    value: Number
    actions: dict[str, str]


@dataclass(frozen=True)
class Exploitability:
    """`nash_conv`, and `per_player` = nash_conv / seats; both are 0 exactly at an equilibrium."""

    nash_conv: Number
    per_player: Number
    values: dict[str, Number]
    best_responses: dict[str, BestResponse]


def expected(tree: Tree, policy: Policy, utility: Utility = "rewards") -> dict[str, Number]:
    """Returns each seat's expected payoff when all play `policy`."""
    return _values(Sweep(tree, policy, utility))


def play(tree: Tree, policy: Policy) -> dict[str, Number]:
    """Returns the probability of reaching each information set when all play `policy`."""
    reach = Sweep(tree, policy, "rewards").reach(None)
    return {
        info.key: sum(reach[n] for n in nodes)
        for info, nodes in zip(tree.info_sets, tree.members, strict=True)
    }


def best_response(
    tree: Tree, policy: Policy, seat: str, utility: Utility = "rewards"
) -> BestResponse:
    """The best reply of one seat to the others' `policy`."""
    return _best(Sweep(tree, policy, utility), tree.seats.index(seat))


def exploitability(tree: Tree, policy: Policy, utility: Utility = "rewards") -> Exploitability:
    """Returns the seats' gains by leaving `policy`, each alone."""
    sweep = Sweep(tree, policy, utility)
    values = _values(sweep)
    replies = {seat: _best(sweep, i) for i, seat in enumerate(tree.seats)}
    total = sum(replies[seat].value - values[seat] for seat in tree.seats)
    return Exploitability(total, total / len(tree.seats), values, replies)


class Sweep:
    """A tree with one policy laid over it, as rows parallel to the actions, all of one kind of
    number."""

    def __init__(self, tree: Tree, policy: Policy, utility: Utility) -> None:
        self.tree = tree
        self.rows = [row_of(info.key, info.actions, policy) for info in tree.info_sets]
        exact = all(isinstance(p, (Fraction, int)) for row in self.rows for p in row)
        self.got = tree.utilities(utility, exact=exact)
        self._odds = tree.chances(exact=exact)

    def odds(self, node: int) -> tuple[Number, ...]:
        """Returns the probability of each child, once this node is reached."""
        info = self.tree.info[node]
        return self._odds[node] if info == CHANCE else self.rows[info]

    def reach(self, without: int | None) -> list[Number]:
        """The probability of each node, counting the seat `without` as always coming this way."""
        tree = self.tree
        reach: list[Number] = [0] * len(tree)
        reach[0] = 1
        for node, info in enumerate(tree.info):
            here = reach[node]
            if info == TERMINAL or not here:
                continue
            if info >= 0 and tree.owner[info] == without:
                for child in tree.children[node]:
                    reach[child] = here
            else:
                for child, chance in zip(tree.children[node], self.odds(node), strict=True):
                    reach[child] = here * chance
        return reach


def row_of(key: str, actions: tuple[str, ...], policy: Policy) -> tuple[Number, ...]:
    """A policy's probabilities at an information set. KeyError where it says nothing of it, and
    ValueError where it names another action or its numbers are not probabilities."""
    if key not in policy:
        raise KeyError(f"the policy says nothing about information set {key!r}")
    here = policy[key]
    if unknown := set(here) - set(actions):
        raise ValueError(f"{key!r} has no action {', '.join(sorted(unknown))}")
    row: tuple[Number, ...] = tuple(here.get(action, Fraction(0)) for action in actions)
    if any(p < 0 for p in row) or abs(float(sum(row)) - 1) > 1e-4:
        raise ValueError(f"the numbers at {key!r} are not probabilities that sum to 1")
    return row


def _values(sweep: Sweep) -> dict[str, Number]:
    reach = sweep.reach(None)
    return {
        seat: sum(reach[n] * sweep.got[n][i] for n in sweep.tree.terminals)
        for i, seat in enumerate(sweep.tree.seats)
    }


def _best(sweep: Sweep, seat: int) -> BestResponse:
    """One pass per level of the seat's own decisions, deepest first; perfect recall makes a
    level's information sets depend on deeper levels only."""
    tree, reach = sweep.tree, sweep.reach(seat)
    value: list[Number] = [0] * len(tree)
    best: dict[int, int] = {}
    for level in reversed(tree.levels[seat]):
        for info in dict.fromkeys(tree.info[n] for n in level):
            if info >= 0 and tree.owner[info] == seat:
                best[info] = _best_place(tree, info, reach, value)
        for node in reversed(level):
            info = tree.info[node]
            if info == TERMINAL:
                value[node] = sweep.got[node][seat]
            elif info in best:
                value[node] = value[tree.children[node][best[info]]]
            else:
                value[node] = sum(
                    p * value[c] for p, c in zip(sweep.odds(node), tree.children[node], strict=True)
                )
    names = {tree.info_sets[i].key: tree.info_sets[i].actions[a] for i, a in best.items()}
    return BestResponse(tree.seats[seat], value[0], names)


def _best_place(tree: Tree, info: int, reach: list[Number], value: list[Number]) -> int:
    gains = [
        sum(reach[n] * value[tree.children[n][a]] for n in tree.members[info])
        for a in range(len(tree.info_sets[info].actions))
    ]
    return gains.index(max(gains))
