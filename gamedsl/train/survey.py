"""All decisions of a small game, by walking every course of play.

Where this succeeds, the trainer scores all of them in one pass a step: the metrics then show the
whole policy, decisions that no game reached included, and exploitability can be computed from it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gamedsl.recipe.table import Recipe
    from gamedsl.runtime import Decision, Env, Episode

MANY_DECISIONS = 256
INSISTED_DECISIONS = 4096
"""Decisions of a game whose exact exploitability is asked for: scoring all of them is then what
each step is to cost."""
MANY_EPISODES = 40_000


def survey(env: Env, seed: int) -> tuple[Decision, ...] | None:
    """Returns one decision of each information set, in order of first meeting; None if they are too
    many, or if labels are drawn anew for each episode."""
    found = walk(env, seed)
    return None if found is None else tuple(decision for decision, _ in found.values())


def measured(env: Env, recipe: Recipe) -> dict[str, tuple[Decision, Episode]] | None:
    """Returns what `walk` finds of a game that a recipe trains in: more where it says
    `exploitability: on` than where it leaves that open."""
    insisted = recipe.exploitability == "on"
    return walk(env, recipe.seed, INSISTED_DECISIONS if insisted else MANY_DECISIONS)


def walk(
    env: Env, seed: int, decisions: int = MANY_DECISIONS, episodes: int = MANY_EPISODES
) -> dict[str, tuple[Decision, Episode]] | None:
    """Returns one decision of each information set, and an episode that has come to it; None as
    `survey`, too many being more than `decisions`, met in more than `episodes` histories."""
    if not env.ir.labels_last or env.ir.open:
        return None
    found: dict[str, tuple[Decision, Episode]] = {}
    stack, met = [iter([env.reset(seed=seed, chance="asked")])], 0
    while stack:
        episode = next(stack[-1], None)
        if episode is None:
            stack.pop()
            continue
        if episode.done:
            continue
        for decision in episode.decisions:
            found.setdefault(decision.information_set, (decision, episode))
        met += episode.outcome_count or prod(len(d.legal) for d in episode.decisions)
        if met > episodes or len(found) > decisions:
            return None
        stack.append(_children(episode))
    return found


def _children(episode: Episode) -> Iterator[Episode]:
    """Yields what may come next, one choice or outcome further, the last of them first; each is
    made when it is asked for, so that a walk through a large game ends early."""
    from gamedsl.runtime import Action

    for outcome in reversed(range(episode.outcome_count)):
        child = episode.fork()
        child.draw(outcome)
        yield child
    decisions = episode.decisions
    if decisions:
        for joint in product(*(decision.legal[::-1] for decision in decisions)):
            child = episode.fork()
            seats = (decision.seat for decision in decisions)
            child.step({s: Action(name) for s, name in zip(seats, joint, strict=True)})
            yield child
