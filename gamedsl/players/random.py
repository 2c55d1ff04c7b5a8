"""The player that takes each legal action equally often."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gamedsl.players.base import Dice

if TYPE_CHECKING:
    from gamedsl.runtime import Action, Decision


class RandomPlayer:
    """Uniform over the legal actions; one seed, one sequence of choices at each seat."""

    def __init__(self, seed: int = 0) -> None:
        self._dice = Dice(seed)

    def act(self, decision: Decision) -> Action:
        from gamedsl.runtime import Action

        return Action(self._dice[decision.seat].choice(decision.legal))
