"""Who is how good at a game: matches between players, runs and models, with intervals.

>>> plan = Plan(tuple(contestants(["fixed:rock", "random"])), (contestant("fixed:paper"),))
>>> found = evaluate(gamedsl.load("rock_paper_scissors"), plan)
>>> found.earned(found.pairings[1]).value
-1.0
"""

from gamedsl.evaluate.contestants import Contestant, contestant, contestants
from gamedsl.evaluate.errors import EvalError
from gamedsl.evaluate.evaluation import Evaluation, Exploitability, Options, Plan, evaluate
from gamedsl.evaluate.intervals import Estimate
from gamedsl.evaluate.leaderboard import Board, Match, read_board
from gamedsl.evaluate.standings import Standing, Standings, standings

__all__ = [
    "Board",
    "Contestant",
    "Estimate",
    "EvalError",
    "Evaluation",
    "Exploitability",
    "Match",
    "Options",
    "Plan",
    "Standing",
    "Standings",
    "contestant",
    "contestants",
    "evaluate",
    "read_board",
    "standings",
]
