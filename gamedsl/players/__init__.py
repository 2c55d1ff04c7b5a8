"""Players hold seats. Their one interface: a decision in, an action out.

>>> players = {seat: open_player("random", game, seed=1) for seat in game.ir.seats}
>>> play(game.env(), players, seed=7).payoffs
"""

from gamedsl.players.base import (
    Answered,
    DrawingPlayer,
    Player,
    PlayerError,
    Posed,
    Speaker,
    answer,
    play,
)
from gamedsl.players.fixed_actions import FixedPlayer
from gamedsl.players.model import PolicyPlayer
from gamedsl.players.policy_file import PolicyError, SavedPlayer, SavedPolicy, read_policy
from gamedsl.players.random import RandomPlayer
from gamedsl.players.table import PLAYERS, open_player
from gamedsl.players.unbeaten import Lines, unbeaten

__all__ = [
    "PLAYERS",
    "Answered",
    "DrawingPlayer",
    "FixedPlayer",
    "Lines",
    "Player",
    "PlayerError",
    "PolicyError",
    "PolicyPlayer",
    "Posed",
    "RandomPlayer",
    "SavedPlayer",
    "SavedPolicy",
    "Speaker",
    "answer",
    "open_player",
    "play",
    "read_policy",
    "unbeaten",
]
