"""What is taken off a sample's return: what was earned on average where it says.

Subtracting what does not depend on a sample's own action leaves the expected gradient as it is and
lowers its variance. The means of a step contain the game itself, so each takes a share of about
1/n of the signal away, the same for all actions, n being the games in the mean; where several
seats of a role share a mean, what an action earned the others is in it too, with that weight.
`leave_one_out` (Kool et al. 2019) leaves the whole game out and is free of both. `running` is known
before the step is played, and so exactly unbiased. `global` is the known-bad control: one number
for all roles, which says of a role that earns little that all it does is wrong.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

RATE = Fraction(1, 10)
"""The least share of a step's mean in a running mean."""


class Earned(NamedTuple):
    """What `games` equal samples of one history earned, from their decision on. `cell` is what they
    are compared with."""

    query: int
    action: int
    games: int
    history: int
    role: str
    cell: Hashable
    reward: Fraction


Advantage = Callable[[Sequence[Earned]], list[Fraction]]


def _by_cell(one: Earned) -> Hashable:
    return one.cell


def _by_query(one: Earned) -> Hashable:
    return one.query


def _by_role(one: Earned) -> Hashable:
    return one.role


def _all(one: Earned) -> Hashable:
    return None


def over_nothing(earned: Sequence[Earned]) -> list[Fraction]:
    """The return itself."""
    return [one.reward for one in earned]


def over_mean(key: Callable[[Earned], Hashable]) -> Advantage:
    """The return less the mean over all samples of the same key; what stands alone gets zero."""

    def advantages(earned: Sequence[Earned]) -> list[Fraction]:
        mean = means(earned, key)
        return [one.reward - mean[key(one)] for one in earned]

    return advantages


def over_others(earned: Sequence[Earned]) -> list[Fraction]:
    """The return less the mean over the other games' samples of the cell; zero where there are
    none."""
    total: dict[Hashable, Fraction] = defaultdict(Fraction)
    count: dict[Hashable, int] = defaultdict(int)
    own: dict[Hashable, Fraction] = defaultdict(Fraction)
    seats: dict[Hashable, int] = defaultdict(int)
    for one in earned:
        total[one.cell] += one.games * one.reward
        count[one.cell] += one.games
        own[one.cell, one.history] += one.reward
        seats[one.cell, one.history] += 1
    found = []
    for one in earned:
        game = one.cell, one.history
        others = count[one.cell] - seats[game]
        mean = (total[one.cell] - own[game]) / others if others else one.reward
        found.append(one.reward - mean)
    return found


OF_A_STEP: dict[str, Advantage] = {
    "mean": over_mean(_by_cell),
    "leave_one_out": over_others,
    "information_set": over_mean(_by_query),
    "global": over_mean(_all),
    "none": over_nothing,
}
"""The baselines that need nothing but the step."""


class Running:
    """Each role's mean return over the steps so far.

    The k-th step has weight 1/k at first, so that all count alike, and never less than `RATE`, so
    that what was earned long ago is forgotten. The first step is compared with its own mean.
    """

    def __init__(self) -> None:
        self._means: dict[str, float] = {}
        self._steps: dict[str, int] = {}

    def over(self, earned: Sequence[Earned]) -> list[Fraction]:
        """The return less the role's mean before this step, which is then added to the mean."""
        now = means(earned, _by_role)
        before = {role: Fraction(mean) for role, mean in self._means.items()}
        found = [one.reward - before.get(one.role, now[one.role]) for one in earned]
        for role in dict.fromkeys(one.role for one in earned):
            self._steps[role] = self._steps.get(role, 0) + 1
            share = max(Fraction(1, self._steps[role]), RATE)
            self._means[role] = float((1 - share) * before.get(role, 0) + share * now[role])
        return found

    def state(self) -> dict[str, Any]:
        """What a checkpoint must hold of it."""
        return {"means": dict(self._means), "steps": dict(self._steps)}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from what `state` returned."""
        self._means, self._steps = dict(state["means"]), dict(state["steps"])


def means(earned: Sequence[Earned], key: Callable[[Earned], Hashable]) -> dict[Hashable, Fraction]:
    """The mean return of all samples of each key."""
    total: dict[Hashable, Fraction] = defaultdict(Fraction)
    count: dict[Hashable, int] = defaultdict(int)
    for one in earned:
        total[key(one)] += one.games * one.reward
        count[key(one)] += one.games
    return {value: amount / count[value] for value, amount in total.items()}
