"""The player that asks whoever sits at the terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from gamedsl.players.base import Player, PlayerError, PlayerRequest, PlayerSpec
from gamedsl.players.console import Console, InputEnded

if TYPE_CHECKING:
    from gamedsl.runtime import Action, Decision, Episode


class HumanPlayer:
    """Reads replies from a console, made when it is first asked. Raises PlayerError where the
    lines end."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console
        self._episode: int | None = None

    def act(self, decision: Decision, episode: Episode) -> Action | str:
        if self._console is None:
            self._console = Console(decision.env, sys.stdin, sys.stderr)
        if self._episode != episode.seed:
            self._episode = episode.seed
            self._console.forget(decision.seat, 0)
        try:
            return self._console.ask(decision, episode)
        except InputEnded:
            raise PlayerError(
                f"nobody answers for {decision.seat}: standard input has ended",
                "run it in a terminal, or give the replies as lines",
            ) from None


def _open_human(request: PlayerRequest) -> Player:
    if request.from_file:
        raise PlayerError(
            "a file cannot seat a person: whoever opens it would be asked for moves",
            "name `human` on the command line",
        )
    return HumanPlayer()


PLAYER = PlayerSpec(
    "", "whoever sits at the terminal, asked move by move", "all games", _open_human
)
