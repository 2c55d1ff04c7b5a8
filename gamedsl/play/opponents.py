"""The player that sits opposite a person who names none: the strongest that the game's size
allows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gamedsl.players.base import Player, PlayerError
from gamedsl.players.table import open_player

if TYPE_CHECKING:
    from gamedsl.runtime import Game

STRONGEST = ("minimax", "equilibrium", "hanabi_convention", "mcts:200", "minimax:depth=4", "random")
"""The players that are tried, the strongest first; the last fits every game."""


def strongest_player(game: Game, seed: int) -> tuple[str, Player]:
    """Returns the first player of `STRONGEST` that fits a game, and its name."""
    for spec in STRONGEST[:-1]:
        try:
            return spec, open_player(spec, game, seed=seed)
        except (PlayerError, ImportError):
            continue  # it does not fit the game, or what it computes with is not installed
    return STRONGEST[-1], open_player(STRONGEST[-1], game, seed=seed)
