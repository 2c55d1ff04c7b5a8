"""Optima of teams: trade_comm as OpenSpiel plays it, and random games against all profiles."""

from __future__ import annotations

from fractions import Fraction
from itertools import islice, product
from math import prod

import pytest
from random_trees import random_tree

import gamedsl
from gamedsl.solve import TreeBuilder, expected, solve, team, team_optimum
from gamedsl.solve.team import common_payoff
from gamedsl.solve.tree import CHANCE, TERMINAL

TRADE_COMM = """
game: trade_comm
about: Two hold an item each and say a word each; then both must offer the same swap.
params: {items: {default: 2, in: 2..10}}
roles: [first, second]
types:
  Item: 1..items
  Trade: {give: 1..items, get: 1..items}
turns:
  - {draw: item, per: role, from: Item, seen_by: owner}
  - {role: first, choose: word, from: Item}
  - {role: second, choose: answer, from: Item}
  - {role: first, choose: offer, from: Trade, seen_by: owner}
  - {role: second, choose: offer, from: Trade, seen_by: owner}
payoffs: >-
  1 if offer.first.give == item.first and offer.first.get == item.second
  and offer.second.give == item.second and offer.second.get == item.first else 0
"""


@pytest.mark.parametrize(("items", "sets"), [(2, 22), (3, 66)])
def test_trade_comm_is_solved_exactly(tmp_path, items, sets):
    path = tmp_path / "trade_comm.yaml"
    path.write_text(TRADE_COMM, encoding="utf-8")
    report = solve(gamedsl.load(path, {"items": items}))
    assert report.size["information sets"] == sets
    assert report.team.proved
    assert report.solution.concept == "team optimum"
    assert report.solution.values == {"first": Fraction(1), "second": Fraction(1)}


def shared(tree):
    """The same game, in which everybody is paid what the first seat is."""
    builder = TreeBuilder(tree.seats)
    for node, info in enumerate(tree.info):
        if info == TERMINAL:
            builder.terminal([tree.payoffs[node][0]] * len(tree.seats))
        elif info == CHANCE:
            builder.chance(tree.odds[node])
        else:
            builder.decision(tree.info_sets[info])
    for node, children in enumerate(tree.children):
        if children:
            builder.link(node, children)
    return builder.tree()


def best_of_all(tree):
    keys = [info.key for info in tree.info_sets]
    return max(
        expected(tree, {k: {a: Fraction(1)} for k, a in zip(keys, names, strict=True)}, "payoffs")[
            tree.seats[0]
        ]
        for names in product(*(info.actions for info in tree.info_sets))
    )


def teams():
    """Random teams with few enough profiles to try them all."""
    for tree in (random_tree(seed, 3) for seed in range(400)):
        profiles = prod(len(info.actions) for info in tree.info_sets)
        if len(tree.info_sets) > 3 and 1 < profiles <= 500:
            yield shared(tree)


def test_random_teams_reach_the_best_of_all_profiles(monkeypatch):
    """The search itself, from a bad start: nothing is worth more than what it proves."""
    searched = 0
    for tree in islice(teams(), 20):
        assert common_payoff(tree)
        best = best_of_all(tree)
        assert team_optimum(tree).solution.values[tree.seats[0]] == best
        with monkeypatch.context() as patch:
            first = {info.key: info.actions[0] for info in tree.info_sets}
            worth = Fraction(expected(tree, team._pure(first), "payoffs")[tree.seats[0]])
            patch.setattr(team, "_improved", lambda *_, of=(first, worth): of)
            found = team_optimum(tree)
        assert found.proved
        assert found.solution.values[tree.seats[0]] == best
        searched += worth < best
    assert searched > 10


def test_search_that_ends_early_keeps_the_best(tmp_path):
    path = tmp_path / "trade_comm.yaml"
    path.write_text(TRADE_COMM, encoding="utf-8")
    tree = gamedsl.solve.tabulate(gamedsl.load(path).env())
    start, worth = team._improved(tree, "payoffs")
    found = team_optimum(tree, steps=0)
    assert found.solution.values["first"] == worth
    assert found.bound == 1
    assert set(start) == {info.key for info in tree.info_sets}
