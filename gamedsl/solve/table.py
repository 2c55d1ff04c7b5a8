"""The payoff table of a one-shot game, and how outcomes are called in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product

from gamedsl.solve.best_responses import Number, Policy, play
from gamedsl.solve.tree import InfoSet, Tree, Utility

NAMED = 3
"""The number of information sets whose actions are named."""

Profile = tuple[str, ...]


@dataclass(frozen=True)
class PayoffTable:
    """A game in which every seat decides once and none sees another's choice.

    `keys`, `actions` and each value of `rewards` and `payoffs` are in seat order; both maps have
    one entry for every combination of actions.
    """

    seats: tuple[str, ...]
    keys: tuple[str, ...]
    actions: tuple[tuple[str, ...], ...]
    rewards: dict[Profile, tuple[Fraction, ...]]
    payoffs: dict[Profile, tuple[Fraction, ...]]

    @property
    def two_by_two(self) -> bool:
        return [len(names) for names in self.actions] == [2, 2]

    def worth(self, utility: Utility) -> dict[Profile, tuple[Fraction, ...]]:
        """Returns each seat's value in every profile."""
        return self.rewards if utility == "rewards" else self.payoffs

    def best(self, profile: Profile, seat: int) -> bool:
        """Whether the seat's action is a best reply, in rewards, to the others' in `profile`."""
        here = self.rewards[profile][seat]
        return all(
            self.rewards[(*profile[:seat], name, *profile[seat + 1 :])][seat] <= here
            for name in self.actions[seat]
        )


@lru_cache(maxsize=4)
def one_shot(tree: Tree) -> PayoffTable | None:
    """The table of a one-shot game; None where somebody decides twice, or knowingly, or never."""
    if sorted(info.seat for info in tree.info_sets) != sorted(tree.seats):
        return None
    depth = [0] * len(tree)
    for node, info in enumerate(tree.info):
        for child in tree.children[node]:
            depth[child] = depth[node] + (info >= 0)
    if any(depth[n] != len(tree.seats) for n in tree.terminals):
        return None
    sets = [next(s for s in tree.info_sets if s.seat == seat) for seat in tree.seats]
    rewards, payoffs = {}, {}
    for names in product(*(s.actions for s in sets)):
        chosen = {s.key: name for s, name in zip(sets, names, strict=True)}
        rewards[names], payoffs[names] = pure_values(tree, chosen)
    return PayoffTable(
        tree.seats, tuple(s.key for s in sets), tuple(s.actions for s in sets), rewards, payoffs
    )


def pure_values(
    tree: Tree, chosen: Mapping[str, str]
) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
    """Rewards and payoffs, one per seat, when every information set plays its chosen action."""
    rewards, payoffs = ([Fraction(0)] * len(tree.seats) for _ in range(2))
    for node, chance in tree.reached(lambda info: {chosen[info.key]: 1}):
        for i in range(len(tree.seats)):
            rewards[i] += chance * tree.rewards[node][i]
            payoffs[i] += chance * tree.payoffs[node][i]
    return tuple(rewards), tuple(payoffs)


def on_path(tree: Tree, policy: Policy) -> dict[str, str]:
    """The likeliest action at each information set that play comes to where all take theirs."""
    likeliest = {
        info.key: max(info.actions, key=lambda name: policy[info.key].get(name, 0))
        for info in tree.info_sets
    }
    return {key: likeliest[key] for key, odds in _reached(tree, likeliest).items() if odds > 0}


def _reached(tree: Tree, chosen: Mapping[str, str]) -> dict[str, Number]:
    """Counts how often play comes to each information set by these actions, else the first."""
    pure = {info.key: {chosen.get(info.key, info.actions[0]): 1} for info in tree.info_sets}
    return play(tree, pure)


def named_play(tree: Tree, chosen: Mapping[str, str]) -> str:
    """The play of chosen actions in words: its outcome, or, where chance decides to which
    information sets it comes, the actions at the first of these."""
    odds = _reached(tree, chosen)
    if chosen and all(odds[key] == 1 for key in chosen):
        return outcome(tree, chosen)
    keys = [info.key for info in sequence(tree) if info.key in chosen]
    said = "; ".join(f"{key} {chosen[key]}" for key in keys[:NAMED])
    more = f"; and {len(keys) - NAMED} more" if len(keys) > NAMED else ""
    return f"pure strategies ({said}{more})"


def outcome(tree: Tree, chosen: Mapping[str, str]) -> str:
    """A pure outcome in words: `(hare, hare)` of a one-shot game, `fair → accept` of a tree."""
    names = [chosen[info.key] for info in sequence(tree) if info.key in chosen]
    return f"({', '.join(names)})" if one_shot(tree) else " → ".join(names)


def sequence(tree: Tree) -> tuple[InfoSet, ...]:
    """The information sets in the order in which play comes to them."""
    depth = [0] * len(tree)
    for node in range(len(tree)):
        for child in tree.children[node]:
            depth[child] = depth[node] + 1
    first = [min(depth[n] for n in nodes) for nodes in tree.members]
    order = sorted(range(len(tree.info_sets)), key=lambda i: (first[i], i))
    return tuple(tree.info_sets[i] for i in order)


def share(tree: Tree, policy: Policy, chosen: Mapping[str, str]) -> float:
    """Returns the probability that play under `policy` follows `chosen` from beginning to end."""

    def row(info: InfoSet) -> dict[str, float]:
        name = chosen.get(info.key)
        return {} if name is None else {name: float(policy[info.key][name])}

    return float(sum(likely for _, likely in tree.reached(row, exact=False)))
