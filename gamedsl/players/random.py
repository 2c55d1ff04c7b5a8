"""The player that takes each legal action equally often, and says anything that is valid."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from gamedsl.players.base import DrawingPlayer, Player, PlayerRequest, PlayerSpec

if TYPE_CHECKING:
    from gamedsl.runtime import Decision, Episode

TRIES = 60
"""Replies that are drawn to find a valid one."""


class RandomPlayer(DrawingPlayer):
    """Uniform over the legal actions. Of an open decision it says what is drawn from the type that
    is asked for (`gamedsl.prompting.random_replies`); the last that was drawn, where none is
    valid. With `plain_words` it leaves out odd texts, which try a game out and teach nothing."""

    def __init__(self, *, seed: int = 0, plain_words: bool = False) -> None:
        super().__init__(seed=seed)
        self._plain_words = plain_words

    def odds(self, decision: Decision, episode: Episode) -> list[float]:
        return [1 / len(decision.legal)] * len(decision.legal)

    def say(self, decision: Decision, dice: Random) -> str:
        from gamedsl.prompting.random_replies import random_reply

        assert decision.said is not None
        seats, name = decision.env.ir.seats, ""
        for _ in range(TRIES):
            name = random_reply(
                decision.said, decision.type, seats, dice, plain_words=self._plain_words
            )
            if decision.admits(name):
                break
        return name


def _open_random(request: PlayerRequest) -> Player:
    return RandomPlayer(seed=request.seed)


PLAYER = PlayerSpec("", "each legal action equally often", "all games", _open_random)
