"""Tit for tat: doing as the others did."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gamedsl.players.base import (
    NUMBER,
    DrawingPlayer,
    Player,
    PlayerError,
    PlayerRequest,
    PlayerSpec,
)

if TYPE_CHECKING:
    from gamedsl.runtime import Decision, Episode


class TitForTat(DrawingPlayer):
    """Takes the action that another seat took last at the same step (each other seat's equally
    often), and at first the step's first option (Axelrod and Hamilton 1981). A share `slip` of its
    choices is uniform over all legal actions, which keeps two of them from echoing one mistake for
    ever."""

    def __init__(self, slip: float = 0.0, *, seed: int = 0) -> None:
        super().__init__(seed=seed)
        self.slip = slip

    def odds(self, decision: Decision, episode: Episode) -> list[float]:
        last = {
            event.seat: event.name
            for event in decision.seen
            if event.step == decision.step and event.seat not in ("", decision.seat)
        }
        meant = [name for name in last.values() if name in decision.legal] or [decision.legal[0]]
        even = self.slip / len(decision.legal)
        return [even + (1 - self.slip) * meant.count(name) / len(meant) for name in decision.legal]


def _open_tit_for_tat(request: PlayerRequest) -> Player:
    slip = request.argument or "0"
    if not re.fullmatch(NUMBER, slip) or not 0 <= float(slip) <= 1:
        raise PlayerError(f"`{slip}` is no share from 0 to 1", "write `tit_for_tat:0.1`")
    return TitForTat(float(slip), seed=request.seed)


PLAYER = PlayerSpec(
    "[SLIP]",
    "as others did last, first the first option; a share SLIP of its choices is uniform",
    "all games; meant for those that repeat a stage",
    _open_tit_for_tat,
)
