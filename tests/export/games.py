"""Shipped games and plays of them, for tests of what every game must have."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import gamedsl
from tests.shipped import CLOSED
from tests.writing import write

FOLDER = Path(__file__).parents[2] / "games"

NAMES = CLOSED
"""The games that can be exported."""


SMALLER = {"lewis_signaling": {"words": 4, "objects": 6, "shown": 3}}
"""Params where a chance node would have tens of thousands of outcomes."""


@cache
def loaded(name: str) -> gamedsl.Game:
    return gamedsl.load(FOLDER / f"{name}.yaml", params=SMALLER.get(name))


def written(folder: Path, text: str) -> gamedsl.Game:
    return gamedsl.load(write(folder, text))


def play(env: gamedsl.Env, seed: int) -> Iterator[gamedsl.Episode]:
    """One episode at every moment of a random play, the end included."""
    chooser = random.Random(seed)
    episode = env.reset(seed=seed)
    yield episode
    while not episode.done:
        episode.step({
            decision.seat: gamedsl.Action(chooser.choice(decision.legal))
            for decision in episode.decisions
        })  # fmt: skip
        yield episode


def every_history(env: gamedsl.Env) -> Iterator[gamedsl.Episode]:
    """An episode at every node of a small tree; chance and forced moves are nodes too."""
    pending = [env.reset(chance="asked", forced="asked")]
    while pending:
        episode = pending.pop()
        yield episode
        for outcome in range(len(episode.chance)):
            after = episode.fork()
            after.draw(outcome)
            pending.append(after)
        joint: list[dict[str, gamedsl.Action]] = [{}]
        for decision in episode.decisions:
            joint = [
                {**given, decision.seat: gamedsl.Action(name)}
                for given in joint
                for name in decision.legal
            ]
        for replies in joint if episode.decisions else ():
            after = episode.fork()
            after.step(replies)
            pending.append(after)
