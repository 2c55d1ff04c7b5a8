"""All decisions of a small game, by walking every course of play.

Where this succeeds, the trainer scores all of them in one pass a step: the metrics then show the
whole policy, decisions that no game reached included, and exploitability can be computed from it.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from gamedsl.sema.recipe import one_group

if TYPE_CHECKING:
    from gamedsl.runtime import Decision, Env

MANY_DECISIONS = 256
MANY_EPISODES = 20_000


def survey(env: Env, seed: int) -> tuple[Decision, ...] | None:
    """One decision of each information set, in order of first meeting; None if they are too many,
    or if games of a step differ by more than choices."""
    from gamedsl.runtime import Action

    if not one_group(env.ir):
        return None
    found: dict[str, Decision] = {}
    stack, episodes = [env.reset(seed=seed)], 0
    while stack:
        episode = stack.pop()
        decisions = episode.decisions
        for decision in decisions:
            found.setdefault(decision.information_set, decision)
        if episode.done:
            continue
        joints = product(*(decision.legal for decision in decisions))
        for joint in joints:
            episodes += 1
            if episodes > MANY_EPISODES or len(found) > MANY_DECISIONS:
                return None
            child = episode.fork()
            seats = (decision.seat for decision in decisions)
            child.step({s: Action(name) for s, name in zip(seats, joint, strict=True)})
            if not child.done:
                stack.append(child)
    return tuple(found.values())
