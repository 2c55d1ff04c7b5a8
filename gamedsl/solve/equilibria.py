"""Equilibria of small games, exactly, and the names that game theory gives them.

Utilities are rewards (what training optimises) unless payoffs are asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import log10, prod
from typing import Any, Literal
from weakref import WeakKeyDictionary

from gamedsl.solve.matrix import all_equilibria, as_policy, matrix_of
from gamedsl.solve.table import PayoffTable, Profile, one_shot, outcome, pure_values
from gamedsl.solve.tree import CHANCE, Tree, Utility

MANY_PROFILES = 50_000
MANY_ACTIONS = 6

_COUNTED = 10**15
"""Profiles up to which a message has their number; beyond, its power of ten alone. Python refuses
to write numbers of over 4,300 digits."""


@dataclass(frozen=True)
class Equilibrium:
    """A pure profile from which no seat gains by leaving alone.

    `strict` (every one-seat deviation loses) is None outside one-shot games. `names` holds what
    applies of: dominant-strategy, payoff-dominant, risk-dominant, subgame-perfect.
    """

    profile: dict[str, str]
    values: dict[str, Fraction]
    strict: bool | None
    names: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class PureEquilibria:
    """All pure equilibria; None, with the reason in `note`, where there are too many to look at."""

    found: tuple[Equilibrium, ...] | None
    note: str


_FOUND: WeakKeyDictionary[Tree, dict[Utility, PureEquilibria]] = WeakKeyDictionary()
"""The results of `pure_equilibria`: of one tree, predictions, summaries and reports all want it."""


def pure_equilibria(tree: Tree, utility: Utility = "rewards") -> PureEquilibria:
    """Every pure profile, over all information sets, that is a Nash equilibrium.

    In a tree many profiles differ only where play never comes; those that are subgame-perfect (in
    games of perfect information) are named so. A tree is searched once, for each utility.
    """
    many = prod(len(info.actions) for info in tree.info_sets)
    if many > MANY_PROFILES:
        count = f"{many:,}" if many < _COUNTED else f"about 10^{log10(many):.0f}"
        return PureEquilibria(None, f"there are {count} pure profiles: too many to try each")
    known = _FOUND.setdefault(tree, {})
    if utility not in known:
        known[utility] = _search(tree, utility)
    return known[utility]


def _search(tree: Tree, utility: Utility) -> PureEquilibria:
    keys = [info.key for info in tree.info_sets]
    place = 0 if utility == "rewards" else 1
    values = {
        names: pure_values(tree, dict(zip(keys, names, strict=True)))[place]
        for names in product(*(info.actions for info in tree.info_sets))
    }
    best: list[dict[Profile, list[Fraction]]] = [{} for _ in tree.seats]
    for names, got in values.items():
        for seat, rows in enumerate(best):
            rows.setdefault(_others(tree, names, seat), []).append(got[seat])
    table = one_shot(tree)
    found = []
    for names, got in values.items():
        rivals = [rows[_others(tree, names, seat)] for seat, rows in enumerate(best)]
        if any(max(row) > got[seat] for seat, row in enumerate(rivals)):
            continue
        strict = all(row.count(got[i]) == 1 for i, row in enumerate(rivals)) if table else None
        profile = dict(zip(keys, names, strict=True))
        worth = dict(zip(tree.seats, got, strict=True))
        found.append(Equilibrium(profile, worth, strict, (), _outcome_text(tree, profile)))
    note = f"all {len(values):,} pure profiles were tried"
    return PureEquilibria(tuple(_named(tree, e, found, utility) for e in found), note)


def dominant_actions(
    tree: Tree, utility: Utility = "rewards"
) -> dict[str, tuple[str, Literal["strictly", "weakly"]]]:
    """The dominant action of each seat that has one, in a one-shot game; else nothing."""
    table = one_shot(tree)
    if table is None:
        return {}
    found = {}
    for seat, name in enumerate(tree.seats):
        for action in table.actions[seat]:
            if strength := _dominates(table, seat, action, utility):
                found[name] = (action, strength)
    return found


def mixed_equilibria(
    tree: Tree, utility: Utility = "rewards"
) -> tuple[dict[str, dict[str, Fraction]], ...] | None:
    """The extreme equilibria of a small two-seat one-shot game that are not pure, exactly; see
    `gamedsl.solve.matrix`. In a game that is not degenerate that is all that are not pure.

    None where the game has another form or more than six actions a seat.
    """
    table = one_shot(tree)
    if table is None or len(table.seats) != 2 or max(map(len, table.actions)) > MANY_ACTIONS:
        return None
    every = all_equilibria(matrix_of(table, utility))
    return tuple(
        as_policy(table, every.first[a], every.second[b])
        for a, b in every.extreme
        if max(every.first[a]) < 1 or max(every.second[b]) < 1
    )


def _others(tree: Tree, names: tuple[str, ...], seat: int) -> tuple[str, ...]:
    return tuple(name for name, owner in zip(names, tree.owner, strict=True) if owner != seat)


def _outcome_text(tree: Tree, profile: dict[str, str]) -> str:
    node, visited = 0, {}
    while tree.info[node] >= 0:
        info = tree.info_sets[tree.info[node]]
        visited[info.key] = profile[info.key]
        node = tree.children[node][info.actions.index(profile[info.key])]
    return outcome(tree, profile if tree.info[node] == CHANCE else visited)


def _named(tree: Tree, one: Equilibrium, found: list[Equilibrium], utility: Utility) -> Equilibrium:
    names = []
    dominant = dominant_actions(tree, utility)
    chosen = {info.seat: one.profile[info.key] for info in tree.info_sets}
    if dominant and all(dominant.get(seat, ("",))[0] == a for seat, a in chosen.items()):
        names.append("dominant-strategy")
    rivals = [other for other in found if other is not one]
    if one_shot(tree) and rivals:
        if all(one.values[s] > other.values[s] for other in rivals for s in tree.seats):
            names.append("payoff-dominant")
        if _risk(tree, one, utility) > max(_risk(tree, other, utility) for other in rivals):
            names.append("risk-dominant")
    if _perfect(tree, one.profile, utility):
        names.append("subgame-perfect")
    return Equilibrium(one.profile, one.values, one.strict, tuple(names), one.text)


def _risk(tree: Tree, one: Equilibrium, utility: Utility) -> Fraction:
    """The product of what each seat loses by deviating (Harsanyi and Selten 1988); 0 but in 2x2."""
    table = one_shot(tree)
    if table is None or not table.two_by_two:
        return Fraction(0)
    got = table.worth(utility)
    here = tuple(one.profile[key] for key in table.keys)
    losses = []
    for seat in range(2):
        other = next(a for a in table.actions[seat] if a != here[seat])
        there = (other, here[1]) if seat == 0 else (here[0], other)
        losses.append(got[here][seat] - got[there][seat])
    return losses[0] * losses[1]


def _dominates(
    table: PayoffTable, seat: int, action: str, utility: Utility
) -> Literal["strictly", "weakly"] | None:
    got = table.worth(utility)
    strictly = len(table.actions[seat]) > 1
    for other in table.actions[seat]:
        if other == action:
            continue
        gains = [
            got[(*profile[:seat], action, *profile[seat + 1 :])][seat] - worth[seat]
            for profile, worth in got.items()
            if profile[seat] == other
        ]
        if min(gains) < 0 or max(gains) == 0:
            return None
        strictly = strictly and min(gains) > 0
    if len(table.actions[seat]) == 1:
        return None
    return "strictly" if strictly else "weakly"


def _perfect(tree: Tree, profile: dict[str, str], utility: Utility) -> bool:
    """Whether no single change pays anywhere, in a sequential game of perfect information."""
    if any(len(nodes) > 1 for nodes in tree.members) or len(tree.info_sets) < 2:
        return False
    got = tree.utilities(utility, exact=True)
    value: list[tuple[Any, ...]] = [()] * len(tree)
    for node in reversed(range(len(tree))):
        info, children = tree.info[node], [value[c] for c in tree.children[node]]
        if info == CHANCE:
            odds = tree.odds[node]
            value[node] = tuple(
                sum(p * c[i] for p, c in zip(odds, children, strict=True))
                for i in range(len(tree.seats))
            )
        elif info < 0:
            value[node] = got[node]
        else:
            here, seat = tree.info_sets[info], tree.owner[info]
            value[node] = children[here.actions.index(profile[here.key])]
            if any(c[seat] > value[node][seat] for c in children):
                return False
    return True
