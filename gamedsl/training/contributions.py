"""Shapley values of roles: what each adds to the joint earnings, from games that are played.

A coalition of roles is worth what a game pays all seats together, on average, when the roles in it
play as they have learned and the other trained ones at random. A role's Shapley value (Shapley
1953) is what it adds to the coalition before it, averaged over all orders of joining: the values
sum to what all together gain over random play. Up to four roles every coalition is played; beyond
that some orders are drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np

from gamedsl.players.random import RandomPlayer
from gamedsl.recipe.table import Recipe
from gamedsl.runtime import Env
from gamedsl.training.rollout import Engine, generator, play
from gamedsl.training.seats import Lineup, SeatAssignment
from gamedsl.training.trajectories import Batch

FEW = 4
"""Roles up to which every coalition is played."""
ORDERS = 16
"""Orders that are drawn beyond that."""

Worth = Callable[[frozenset[str]], Fraction]


def contributions(
    env: Env, engine: Engine, recipe: Recipe, step: int, seating: SeatAssignment
) -> dict[str, float]:
    """Returns the Shapley value of each role that is trained, under the policy as it is. `step`
    keys the random numbers, and every coalition plays `recipe.games` games with the same."""
    roles = [role.name for role in env.ir.roles if role.name in seating.learners]
    recipe = replace(recipe, dynamic_sampling=None)
    known: dict[frozenset[str], Fraction] = {}

    def worth(coalition: frozenset[str]) -> Fraction:
        if coalition not in known:
            others = {role: RandomPlayer() for role in roles if role not in coalition}
            playing = SeatAssignment(env.ir, recipe, {**seating.players, **others}).only(Lineup())
            known[coalition] = _total(play(env, engine, recipe, step, playing))
        return known[coalition]

    if len(roles) <= FEW:
        found = shapley(roles, worth)
    else:
        found = shapley_of_orders(roles, worth, generator(recipe.seed, step, "orders"))
    return {role: float(value) for role, value in found.items()}


def wanted(env: Env, recipe: Recipe, known: bool, seating: SeatAssignment) -> bool:
    """Returns whether a run ends with them; `known`: all decisions of the game are."""
    if recipe.contributions != "auto":
        return recipe.contributions == "on"
    constant = any(claim.kind in ("zero_sum", "constant_sum") for claim in env.ir.claims)
    return known and not constant and 1 < len(seating.learners) <= FEW


def shapley(roles: Sequence[str], worth: Worth) -> dict[str, Fraction]:
    """Returns the Shapley value of each role, over all coalitions."""
    found = {}
    for role in roles:
        others = [other for other in roles if other != role]
        added = Fraction(0)
        for size in range(len(roles)):
            share = Fraction(1, len(roles) * comb(len(others), size))
            for before in map(frozenset, combinations(others, size)):
                added += share * (worth(before | {role}) - worth(before))
        found[role] = added
    return found


def shapley_of_orders(
    roles: Sequence[str], worth: Worth, rng: np.random.Generator, orders: int = ORDERS
) -> dict[str, Fraction]:
    """Returns an unbiased estimate of it, over orders that are drawn (Castro et al. 2009)."""
    found = dict.fromkeys(roles, Fraction(0))
    for _ in range(orders):
        before: frozenset[str] = frozenset()
        for place in rng.permutation(len(roles)):
            after = before | {roles[place]}
            found[roles[place]] += (worth(after) - worth(before)) / orders
            before = after
    return found


def _total(batch: Batch) -> Fraction:
    """Returns the earnings of all seats together in a game, on average over those that were not
    void."""
    total, games = Fraction(0), 0
    for one in batch.trajectories:
        rewards = one.episode.rewards.values()
        amounts = [Fraction(reward) for reward in rewards if reward is not None]
        if len(amounts) == len(rewards):
            total += one.games * sum(amounts)
            games += one.games
    return total / games if games else total
