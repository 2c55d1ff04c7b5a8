"""Exact results for games small enough to write out as a tree.

Everything here is computed from the rules alone (`Env.kernel`), in rewards unless payoffs are asked
for: rewards are what training optimises. Larger games are laid out as arrays (`game_arrays`), and
the largest are sampled (`mccfr`, `nash_conv_bound`).

`solve` chooses what fits a game. It, and all that finds equilibria for it, take payoffs unless
rewards are asked for: they answer what the game itself is like. numpy is imported where needed.
"""

from gamedsl.solve.basin_prediction import Boundary, Prediction, predict_basin
from gamedsl.solve.best_responses import (
    BestResponse,
    Exploitability,
    Policy,
    best_response,
    expected,
    exploitability,
    play,
)
from gamedsl.solve.cfr import cfr, nash_conv
from gamedsl.solve.equilibria import (
    Equilibrium,
    PureEquilibria,
    dominant_actions,
    mixed_equilibria,
    pure_equilibria,
)
from gamedsl.solve.matrix import all_equilibria
from gamedsl.solve.mccfr import SampledPolicy, mccfr
from gamedsl.solve.oneshot import study
from gamedsl.solve.positions import solve_positions
from gamedsl.solve.probability_ranges import Ranges, equilibrium_ranges
from gamedsl.solve.public_stages import solve_public
from gamedsl.solve.qre import qre_path
from gamedsl.solve.response_search import Bound, Reply, nash_conv_bound
from gamedsl.solve.sequence_form import solve_zero_sum
from gamedsl.solve.solution import Solution, checked
from gamedsl.solve.solver import METHODS, Report, Unfit, solve
from gamedsl.solve.stages import solve_stages
from gamedsl.solve.subgame_perfection import backward_induction
from gamedsl.solve.table import PayoffTable, one_shot
from gamedsl.solve.team import team_optimum
from gamedsl.solve.tree import (
    ImperfectRecall,
    InfoSet,
    TooLarge,
    Tree,
    TreeBuilder,
    tabulate,
    uniform,
)

__all__ = [
    "METHODS",
    "BestResponse",
    "Bound",
    "Boundary",
    "Equilibrium",
    "Exploitability",
    "ImperfectRecall",
    "InfoSet",
    "Policy",
    "Prediction",
    "PureEquilibria",
    "Ranges",
    "Reply",
    "Report",
    "SampledPolicy",
    "Solution",
    "PayoffTable",
    "TooLarge",
    "Tree",
    "TreeBuilder",
    "Unfit",
    "all_equilibria",
    "backward_induction",
    "best_response",
    "cfr",
    "checked",
    "dominant_actions",
    "equilibrium_ranges",
    "expected",
    "exploitability",
    "mccfr",
    "mixed_equilibria",
    "nash_conv",
    "nash_conv_bound",
    "one_shot",
    "play",
    "predict_basin",
    "pure_equilibria",
    "qre_path",
    "solve",
    "solve_positions",
    "solve_public",
    "solve_stages",
    "solve_zero_sum",
    "study",
    "tabulate",
    "team_optimum",
    "uniform",
]
