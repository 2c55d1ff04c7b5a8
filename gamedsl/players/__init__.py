"""Who may hold a seat. One interface: a decision in, an action out.

>>> players = dict.fromkeys(game.ir.seats, RandomPlayer(seed=1))
>>> play(game.env(), players, seed=7).payoffs
"""

from gamedsl.players.base import Player, play
from gamedsl.players.policy import PolicyPlayer
from gamedsl.players.random import RandomPlayer
from gamedsl.players.saved import PolicyError, SavedPlayer, SavedPolicy, read_policy

__all__ = [
    "Player",
    "PolicyError",
    "PolicyPlayer",
    "RandomPlayer",
    "SavedPlayer",
    "SavedPolicy",
    "play",
    "read_policy",
]
