"""Playing a compiled game: the one interface that players, solvers, trainers and exports drive."""

from gamedsl.backends.replies import ParseFailure
from gamedsl.runtime.env import Action, Decision, Env, Episode
from gamedsl.runtime.game import Game

__all__ = ["Action", "Decision", "Env", "Episode", "Game", "ParseFailure"]
