"""Exact results for games small enough to write out as a tree.

Everything here is computed from the runtime interface alone (`Env`, `Episode`, `fork`), in rewards
unless payoffs are asked for: rewards are what training optimises.
"""

from gamedsl.solve.basin import Boundary, Prediction, predict_basin
from gamedsl.solve.equilibria import (
    Equilibrium,
    PureEquilibria,
    dominant_actions,
    mixed_equilibria,
    pure_equilibria,
)
from gamedsl.solve.respond import (
    BestResponse,
    Exploitability,
    Policy,
    best_response,
    expected,
    exploitability,
    play,
)
from gamedsl.solve.table import Table, one_shot
from gamedsl.solve.tree import InfoSet, TooLarge, Tree, TreeBuilder, tabulate, uniform

__all__ = [
    "BestResponse",
    "Boundary",
    "Equilibrium",
    "Exploitability",
    "InfoSet",
    "Policy",
    "Prediction",
    "PureEquilibria",
    "Table",
    "TooLarge",
    "Tree",
    "TreeBuilder",
    "best_response",
    "dominant_actions",
    "expected",
    "exploitability",
    "mixed_equilibria",
    "one_shot",
    "play",
    "predict_basin",
    "pure_equilibria",
    "tabulate",
    "uniform",
]
