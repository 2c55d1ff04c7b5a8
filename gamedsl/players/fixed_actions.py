"""The player that always takes the same action."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gamedsl.players.base import DrawingPlayer, PlayerError

if TYPE_CHECKING:
    from gamedsl.runtime import Decision, Episode


class FixedPlayer(DrawingPlayer):
    """Takes the first of its actions that is legal."""

    def __init__(self, actions: Sequence[str], *, seed: int = 0) -> None:
        super().__init__(seed=seed)
        self.actions = tuple(actions)

    def odds(self, decision: Decision, episode: Episode) -> list[float]:
        """`PlayerError` where none of its actions is legal."""
        for action in self.actions:
            if action in decision.legal:
                return [float(name == action) for name in decision.legal]
        wanted = ", ".join(f"`{action}`" for action in self.actions)
        legal = ", ".join(decision.legal)
        raise PlayerError(
            f"`{decision.seat}` always takes {wanted}, which is not legal at `{decision.step}`",
            f"name another action to take there, after a comma: legal are {legal}",
        )
