"""The interface of a player, and a game played by players."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from gamedsl.runtime import Action, Decision, Env, Episode


class Player(Protocol):
    """Holds one seat, or several; sees only the decision it is asked to make."""

    def act(self, decision: Decision) -> Action:
        """One of `decision.legal`."""
        ...


class Dice(dict[str, random.Random]):
    """A random stream for each seat, so that players of equal seeds do not move alike."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._seed = seed

    def __missing__(self, seat: str) -> random.Random:
        self[seat] = random.Random(f"{self._seed} {seat}")
        return self[seat]


def play(env: Env, players: Mapping[str, Player], seed: int = 0) -> Episode:
    """Play one episode to its end. KeyError for a seat that nobody holds."""
    episode = env.reset(seed=seed)
    while not episode.done:
        episode.step({d.seat: players[d.seat].act(d) for d in episode.decisions})
    return episode
