"""Evaluation of players, runs and models: matches between them, with intervals.

>>> plan = Plan(tuple(contestants(["fixed:rock", "random"])), (contestant("fixed:paper"),))
>>> found = evaluate(gamedsl.load("rock_paper_scissors"), plan)
>>> found.earned(found.pairings[1]).value
-1.0
"""

from gamedsl.evaluate.contestants import Contestant, contestant, contestants
from gamedsl.evaluate.errors import EvalError
from gamedsl.evaluate.evaluation import evaluate
from gamedsl.evaluate.intervals import Estimate
from gamedsl.evaluate.leaderboard import Board, Match, read_board
from gamedsl.evaluate.plan import Plan, referees_of
from gamedsl.evaluate.replies import ReplyCount, ReplySite
from gamedsl.evaluate.results import Evaluation, Exploitability, Options, Spent
from gamedsl.evaluate.standings import Standing, Standings, standings

__all__ = [
    "Board",
    "Contestant",
    "ReplyCount",
    "Estimate",
    "EvalError",
    "Evaluation",
    "Exploitability",
    "Match",
    "Options",
    "ReplySite",
    "Plan",
    "Spent",
    "Standing",
    "Standings",
    "contestant",
    "contestants",
    "evaluate",
    "read_board",
    "referees_of",
    "standings",
]
