"""The best that a team can do: the optimum of games in which all seats are paid alike.

Some profile of pure strategies is optimal, as payoffs are linear in each seat's behaviour at each
information set. Sets are settled one after another in the order of play; a choice is dropped where
even a team that saw everything from there on could not beat the best profile found (branch and
bound, as MAA* of Szer, Charpillet and Zilberstein 2005 does it). Histories that from some point on
share no information set are solved apart, and a part that was met before is not solved again: what
the team knows in common is then a state (Nayyar, Mahajan and Teneketzis 2013). The search begins at
the best of some profiles that no seat can improve alone, and its result is never worth less.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from random import Random

from gamedsl.solve.best_responses import Number, Policy, best_response, expected
from gamedsl.solve.solution import Solution, checked
from gamedsl.solve.tree import CHANCE, TERMINAL, Tree, Utility, uniform

MANY_STEPS = 3_000_000
"""Nodes visited, over all bounds, before the search gives up."""
FEW_STARTS, MANY_STARTS = 4, 40
"""The least and the most profiles drawn at random that are improved by best replies,"""
START_NODES = 20_000
"""and the nodes of all of them together between these."""


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
    count = min(max(START_NODES // len(tree), FEW_STARTS), MANY_STARTS)
    for _ in range(count):
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


class _OutOfSteps(Exception):
    """The search has visited as many nodes as it may."""


Frontier = dict[int, Fraction]
"""Nodes that play may have come to, with how likely chance goes there."""

Best = tuple[Fraction, dict[int, int]]
"""What a part of the game is worth, and the number of the action at each information set that its
play comes to."""


class _Search:
    """Depth first, over frontiers; `inside[n]` and `below[n]` are the information sets at or below
    a node, and strictly below it, as bits; `ideal[n]` is what a team that sees everything earns."""

    def __init__(self, tree: Tree, utility: Utility, steps: int) -> None:
        self.tree, self.steps = tree, steps
        self.got = [row[0] if row else Fraction(0) for row in tree.utilities(utility, exact=True)]
        self.finished = True
        self.inside, self.below = [0] * len(tree), [0] * len(tree)
        self.ideal = self.got.copy()
        for node in reversed(range(len(tree))):
            info, children = tree.info[node], tree.children[node]
            for child in children:
                self.below[node] |= self.inside[child]
            self.inside[node] = self.below[node] | (1 << info if info >= 0 else 0)
            if info == CHANCE:
                odds = zip(tree.odds[node], children, strict=True)
                self.ideal[node] = sum((p * self.ideal[c] for p, c in odds), Fraction(0))
            elif info != TERMINAL:
                self.ideal[node] = max(self.ideal[c] for c in children)
        self.bound = self.ideal[0]
        self._known: dict[object, Best] = {}
        self._below: dict[object, Fraction] = {}
        """Parts of the game that are worth no more than this."""

    def run(self, start: dict[str, str], worth: Fraction) -> tuple[dict[str, str], Fraction]:
        """The best profile, from one that is known to be worth something."""
        sets = self.tree.info_sets
        found = None
        if worth < self.bound:
            try:
                found = self._solve({0: Fraction(1)}, {}, worth)
            except _OutOfSteps:
                self.finished = False
        if found is None:
            return start, worth
        named = {sets[i].key: sets[i].actions[a] for i, a in found[1].items()}
        return start | named, found[0]

    def _solve(self, frontier: Frontier, fixed: dict[int, int], floor: Fraction) -> Best | None:
        """The best play from a frontier on; None if it is worth no more than `floor`."""
        value, frontier = self._advance(frontier, fixed)
        parts = self._parts(frontier)
        hopes = [sum((w * self.ideal[n] for n, w in part.items()), Fraction(0)) for part in parts]
        chosen: dict[int, int] = {}
        for place, part in enumerate(parts):
            rest = sum(hopes[place:], value)
            if rest <= floor:
                return None
            found = self._part(part, fixed, floor - (rest - hopes[place]))
            if found is None:
                return None
            value += found[0]
            chosen |= found[1]
        return (value, chosen) if value > floor else None

    def _part(self, part: Frontier, fixed: dict[int, int], floor: Fraction) -> Best | None:
        """Solves one part of a frontier, as `_solve` does: one information set gets its action."""
        mask = 0
        for node in part:
            mask |= self.inside[node]
        key = (
            tuple(sorted(part.items())),
            tuple(sorted((i, a) for i, a in fixed.items() if mask >> i & 1)),
        )
        if key in self._known:
            best = self._known[key]
            return best if best[0] > floor else None
        if key in self._below and self._below[key] <= floor:
            return None
        info = self._ready(part)
        options = []
        for action in range(len(self.tree.info_sets[info].actions)):
            after = Frontier()
            for node, weight in part.items():
                here = self.tree.info[node] == info
                after[self.tree.children[node][action] if here else node] = weight
            hope = sum((w * self.ideal[n] for n, w in after.items()), Fraction(0))
            options.append((hope, -action, after))
        found: Best | None = None
        for hope, place, after in sorted(options, key=lambda o: o[:2], reverse=True):
            least = floor if found is None else found[0]
            if hope <= least:
                break
            better = self._solve(after, {**fixed, info: -place}, least)
            if better is not None:
                found = better[0], {**better[1], info: -place}
        if found is None:
            self._below[key] = floor
        else:
            self._known[key] = found
        return found

    def _advance(self, frontier: Frontier, fixed: dict[int, int]) -> tuple[Fraction, Frontier]:
        """Follows chance and what is fixed; the value of the ends, and the open decisions."""
        value, after = Fraction(0), Frontier()
        pending = list(frontier.items())
        while pending:
            node, weight = pending.pop()
            self.steps -= 1
            info, children = self.tree.info[node], self.tree.children[node]
            if info == TERMINAL:
                value += weight * self.got[node]
            elif info == CHANCE:
                odds = self.tree.odds[node]
                pending += [(c, weight * p) for c, p in zip(children, odds, strict=True)]
            elif info in fixed:
                pending.append((children[fixed[info]], weight))
            else:
                after[node] = weight
        if self.steps < 0:
            raise _OutOfSteps
        return value, after

    def _parts(self, frontier: Frontier) -> list[Frontier]:
        """A frontier in parts that share no information set from there on."""
        parts: list[tuple[int, Frontier]] = []
        for node, weight in frontier.items():
            mask, part = self.inside[node], {node: weight}
            apart = []
            for other, members in parts:
                if other & mask:
                    mask |= other
                    part |= members
                else:
                    apart.append((other, members))
            parts = [*apart, (mask, part)]
        return [part for _, part in parts]

    def _ready(self, part: Frontier) -> int:
        """An information set all of whose nodes that play may come to are in the frontier; the
        first in the frontier where there is none."""
        below = 0
        for node in part:
            below |= self.below[node]
        sets = sorted({self.tree.info[node] for node in part})
        return next((info for info in sets if not below >> info & 1), sets[0])
