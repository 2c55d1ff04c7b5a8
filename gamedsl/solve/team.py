"""The best that a team can do: the optimum of games in which all seats are paid alike.

Some profile of pure strategies is optimal, as payoffs are linear in each seat's behaviour at each
information set. Sets are settled one after another in the order of play; a choice is dropped where
even a team that saw everything from there on could not beat the best profile found (branch and
bound, as MAA* of Szer, Charpillet and Zilberstein 2005 does it). The search begins at a profile
that no seat can improve alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from random import Random

from gamedsl.solve.best_responses import Number, Policy, best_response, expected
from gamedsl.solve.solution import Solution, checked
from gamedsl.solve.table import sequence
from gamedsl.solve.tree import CHANCE, TERMINAL, Tree, Utility, uniform

MANY_STEPS = 3_000_000
"""Nodes visited, over all bounds, before the search gives up."""
STARTS = 4
"""Profiles drawn at random that are improved by best replies."""


@dataclass(frozen=True)
class TeamOptimum:
    """The best profile found and `bound`, above which no profile pays; equal where `proved`."""

    solution: Solution
    bound: Fraction
    proved: bool


def common_payoff(tree: Tree, utility: Utility = "payoffs") -> bool:
    """Whether all seats are paid alike in every history."""
    got = tree.utilities(utility, exact=True)
    return all(len(set(got[n])) == 1 for n in tree.terminals)


def team_optimum(tree: Tree, utility: Utility = "payoffs", steps: int = MANY_STEPS) -> TeamOptimum:
    """Raises ValueError where the seats are not paid alike. `steps` bounds the search; where it
    runs out, the result is the best that was found, not proved."""
    if not common_payoff(tree, utility):
        raise ValueError("the seats are not paid alike")
    chosen, best = _improved(tree, utility)
    bound = best
    if len(tree.seats) > 1:  # an only seat's best reply is its optimum
        search = _Search(tree, utility, steps)
        chosen, best = search.run(chosen, best)
        bound = best if search.finished else search.bound
    proved = best == bound
    policy = {
        info.key: {a: Fraction(a == chosen[info.key]) for a in info.actions}
        for info in tree.info_sets
    }
    concept = ("team " if len(tree.seats) > 1 else "") + ("optimum" if proved else "policy")
    how = "branch and bound over pure profiles" if len(tree.seats) > 1 else "dynamic programming"
    solution = checked(tree, policy, concept=concept, method=how, utility=utility)
    return TeamOptimum(solution, bound, proved)


def _improved(tree: Tree, utility: Utility) -> tuple[dict[str, str], Fraction]:
    """A profile from which no seat gains alone: best replies in turn until none pays, from uniform
    play, from every first action and from some drawn at random; the best of what comes of them."""
    random = Random(0)
    starts: list[Policy] = [uniform(tree), _pure({s.key: s.actions[0] for s in tree.info_sets})]
    for _ in range(STARTS):
        starts.append(_pure({s.key: random.choice(s.actions) for s in tree.info_sets}))
    best: tuple[Fraction, dict[str, str]] | None = None
    for start in starts:
        chosen = _settled(tree, start, utility)
        worth = Fraction(expected(tree, _pure(chosen), utility)[tree.seats[0]])
        if best is None or worth > best[0]:
            best = worth, chosen
    assert best is not None
    return best[1], best[0]


def _settled(tree: Tree, policy: Policy, utility: Utility) -> dict[str, str]:
    """Returns the limit of best responses in turn. Each is worth more than the last, so that
    they end."""
    chosen: dict[str, str] = {}
    worth: Number | None = None
    still = 0
    while still < len(tree.seats):
        for seat in tree.seats:
            reply = best_response(tree, policy, seat, utility)
            if worth is not None and reply.value <= worth and reply.actions.keys() <= chosen.keys():
                still += 1
                continue
            still, worth = 0, reply.value
            chosen |= reply.actions
            policy = {**policy, **_pure(reply.actions)}
    return chosen


def _pure(chosen: Mapping[str, str]) -> dict[str, dict[str, Fraction]]:
    return {key: {name: Fraction(1)} for key, name in chosen.items()}


class _Search:
    """Depth first; `chosen[i]` is the action of information set i, or -1 while it is open."""

    def __init__(self, tree: Tree, utility: Utility, steps: int) -> None:
        self.tree, self.steps = tree, steps
        number = {info.key: i for i, info in enumerate(tree.info_sets)}
        self.order = [number[info.key] for info in sequence(tree)]
        self.got = [row[0] if row else Fraction(0) for row in tree.utilities(utility, exact=True)]
        self.finished = True
        self.bound = self.relaxed([-1] * len(number))

    def relaxed(self, chosen: Sequence[int]) -> Fraction:
        """Returns the value of a team with perfect information wherever its choice is open."""
        tree, value = self.tree, self.got.copy()
        for node in reversed(range(len(tree))):
            info, children = tree.info[node], tree.children[node]
            if info == TERMINAL:
                continue
            if info == CHANCE:
                odds = tree.odds[node]
                value[node] = sum(
                    (p * value[c] for p, c in zip(odds, children, strict=True)), Fraction(0)
                )
            elif chosen[info] >= 0:
                value[node] = value[children[chosen[info]]]
            else:
                value[node] = max(value[c] for c in children)
        self.steps -= len(tree)
        return value[0]

    def run(self, start: dict[str, str], worth: Fraction) -> tuple[dict[str, str], Fraction]:
        """The best profile, from one that is known to be worth something."""
        sets = self.tree.info_sets
        best = [info.actions.index(start[info.key]) for info in sets]
        chosen = [-1] * len(sets)
        pending: list[tuple[int, int, Fraction]] = [(0, -1, self.bound)]
        while pending:
            depth, action, bound = pending.pop()
            for info in self.order[max(depth - 1, 0) :]:
                chosen[info] = -1
            if bound <= worth:
                continue
            if self.steps <= 0:
                self.finished = False
                break
            if depth:
                chosen[self.order[depth - 1]] = action
            if depth == len(sets):
                best, worth = chosen.copy(), bound
                continue
            info = self.order[depth]
            options = []
            for place in range(len(sets[info].actions)):
                chosen[info] = place
                options.append((depth + 1, place, self.relaxed(chosen)))
            chosen[info] = -1
            pending += sorted((o for o in options if o[2] > worth), key=lambda o: o[2])
        return {info.key: info.actions[a] for info, a in zip(sets, best, strict=True)}, worth
