"""All decisions of a small game, by walking every course of play.

Where this succeeds, the trainer scores all of them in one pass a step: the metrics then show the
whole policy, decisions that no game reached included, and exploitability can be computed from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gamedsl.engine.walk import JointNode, Truncated
from gamedsl.engine.walk import walk as histories

if TYPE_CHECKING:
    from gamedsl.recipe.table import Recipe
    from gamedsl.runtime import Decision, Env, Episode

MANY_DECISIONS = 256
INSISTED_DECISIONS = 4096
"""Decisions of a game whose exact exploitability is asked for: scoring all of them is then what
each step is to cost."""
MANY_EPISODES = 40_000


def decisions_of(env: Env, seed: int) -> tuple[Decision, ...] | None:
    """Returns one decision of each information set, in order of first meeting; None if they are too
    many, or if labels are drawn anew for each episode."""
    found = information_sets(env, seed)
    return None if found is None else tuple(decision for decision, _ in found.values())


def measured_sets(env: Env, recipe: Recipe) -> dict[str, tuple[Decision, Episode]] | None:
    """Returns what `information_sets` finds of a game that a recipe trains in: more where it says
    `exploitability: on` than where it leaves that open."""
    insisted = recipe.exploitability == "on"
    return information_sets(env, recipe.seed, INSISTED_DECISIONS if insisted else MANY_DECISIONS)


def information_sets(
    env: Env, seed: int, decisions: int = MANY_DECISIONS, episodes: int = MANY_EPISODES
) -> dict[str, tuple[Decision, Episode]] | None:
    """Returns one decision of each information set, and an episode that has come to it; None as
    `decisions_of`, too many being more than `decisions`, met in more than `episodes` histories."""
    if not env.ir.labels_last or env.ir.open:
        return None
    found: dict[str, tuple[Decision, Episode]] = {}
    for node in histories(env.reset(seed=seed, chance="asked"), episodes + 1, "depth"):
        if isinstance(node, Truncated):
            return None
        for decision in node.point.decisions if isinstance(node, JointNode) else ():
            found.setdefault(decision.information_set, (decision, node.point))
        if len(found) > decisions:
            return None
    return found
