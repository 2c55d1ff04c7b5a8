"""The player that takes each legal action equally often."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gamedsl.players.base import DrawingPlayer

if TYPE_CHECKING:
    from gamedsl.runtime import Decision, Episode


class RandomPlayer(DrawingPlayer):
    """Uniform over the legal actions."""

    def odds(self, decision: Decision, episode: Episode) -> list[float]:
        return [1 / len(decision.legal)] * len(decision.legal)
