"""Playing a compiled game: the one interface that players, solvers, trainers and exports drive."""

from gamedsl.engine.kernel import Outcome
from gamedsl.prompting.replies import ParseFailure
from gamedsl.runtime.decision import Action, Decision
from gamedsl.runtime.env import Env
from gamedsl.runtime.episode import Episode
from gamedsl.runtime.game import Game
from gamedsl.runtime.views import View

__all__ = ["Action", "Decision", "Env", "Episode", "Game", "Outcome", "ParseFailure", "View"]
