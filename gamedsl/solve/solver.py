"""Solving a game by what fits it: the table of methods, the choice among them, and what came of it.

Whatever the method, the policy that is reported has its values and regrets worked out anew (see
`gamedsl.solve.solution`), and `Report.did` says in words what was done and why.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

from gamedsl.solve.imperfect_recall import TooManyStrategies, absent_minded, table_of
from gamedsl.solve.methods import (
    LIMIT,
    RUN,
    SMALL,
    VARIANTS,
    Job,
    Unfit,
    lay_out_large,
    positions,
    public_stages,
)
from gamedsl.solve.oneshot import OneShot
from gamedsl.solve.positions import PositionsSolved
from gamedsl.solve.public_stages import PublicSolved
from gamedsl.solve.qre import Path
from gamedsl.solve.sequence_form import constant_sum
from gamedsl.solve.solution import Progress, Solution
from gamedsl.solve.stages import Staged
from gamedsl.solve.subgame_perfection import Perfect, perfect_information
from gamedsl.solve.table import one_shot
from gamedsl.solve.team import TeamOptimum, common_payoff
from gamedsl.solve.tree import (
    UNLISTED,
    ImperfectRecall,
    Tree,
    Utility,
    require_recall,
    tabulate,
)

if TYPE_CHECKING:
    from gamedsl.runtime import Game
    from gamedsl.solve.sampled_solution import Sampled
    from gamedsl.solve.sharded_mccfr import StartShards

__all__ = ["LIMIT", "METHODS", "Progress", "Report", "Unfit", "solve"]

METHODS: dict[str, str] = {
    "auto": "what fits the game",
    "equilibria": "all equilibria of a one-shot game, and what else its table says",
    "backward": "backward induction: histories, positions, or the stages of a repeated game",
    "lp": "sequence-form linear program: two seats, constant sum",
    "team": "the optimum of seats that are paid alike",
    "qre": "the path of logit quantal responses",
    "cfr": "counterfactual regret minimisation",
    "cfr+": "CFR+",
    "dcfr": "discounted CFR",
    "mccfr": "Monte Carlo CFR, for games too large for a tree",
}


@dataclass(frozen=True)
class Report:
    """The results of solving a game. Of the parts below `solution`, those of the methods used
    are present; `size` counts histories, and nodes and information sets of the tree or
    positions."""

    game: Game
    utility: Utility
    method: str
    did: tuple[str, ...]
    size: dict[str, int]
    seconds: float
    solution: Solution | None
    tree: Tree | None = None
    one_shot: OneShot | None = None
    perfect: Perfect | PositionsSolved | None = None
    staged: Staged | None = None
    public: PublicSolved | None = None
    team: TeamOptimum | None = None
    path: Path | None = None
    sampled: Sampled | None = None
    strategies: bool = False
    """Whether a seat forgets: policies are then of whole strategies, and `tree` is their table."""

    def __repr__(self) -> str:
        return f"<Report {self.game.name}: {self.method}; {self.solution!r}>"


def solve(
    game: Game,
    method: str = "auto",
    *,
    utility: Utility = "payoffs",
    iterations: int | None = None,
    seed: int = 0,
    limit: int = LIMIT,
    progress: Progress | None = None,
    shards: StartShards | None = None,
) -> Report:
    """Solve a game by a method of `METHODS`. `shards` share out the iterations of `mccfr`, if it
    comes to that (`gamedsl.solve.sharded_mccfr`).

    Raises `Unfit` where the method does not fit the game, ImportError where it needs a package that
    is not installed, `gamedsl.EvaluationError` where the rules fail, KeyError for another method,
    and what `shards` raise.
    """
    if method not in METHODS:
        raise KeyError(method)
    if game.ir.open or game.ir.referees:
        raise Unfit(f"`{game.name}` cannot be solved: {UNLISTED}")
    began = perf_counter()
    job = Job(
        game, utility, iterations, seed, limit, progress or (lambda *_: None), asked=method,
        shards=shards,
    )  # fmt: skip
    found = None if method == "mccfr" else _represent(job, method)
    if found is not None:
        chosen = "backward"
    else:
        chosen = _choose(job) if method == "auto" else method
        found = RUN[chosen](job, chosen)
        chosen = found.pop("method", chosen)
    return Report(
        game, utility, chosen, tuple(job.did), _size_of(job, found), perf_counter() - began,
        tree=job.tree, strategies=job.strategies, **found,
    )  # fmt: skip


def _represent(job: Job, method: str) -> dict[str, Any] | None:
    """Writes the game out as what fits its size and the method: the tree of its histories
    (`job.tree`) or arrays (`job.laid_out`).

    Backward induction over positions, and that over public stages, need neither, and solve the game
    on the way: returns the parts of their report, else None.
    """
    from gamedsl.engine.walk import count_histories
    from gamedsl.runtime.positions import has_perfect_information, has_public_state

    ir, found = job.game.ir, None
    by_induction, needed = method in ("auto", "backward"), method == "backward"
    count = count_histories(job.game.kernel().start(), job.limit)
    by_position = has_perfect_information(ir) and (count is None or count > SMALL)
    if by_position and by_induction:
        found = positions(job, needed=needed)
    if found is not None:
        return found
    if count is not None:
        job.tree = _tree(job)
        return None
    if not by_position and has_public_state(ir) and by_induction:
        found = public_stages(job, needed=needed)
    if found is None and method in ("auto", "team", *VARIANTS):
        lay_out_large(job)
    return found


def _size_of(job: Job, found: dict[str, Any]) -> dict[str, int]:
    """Returns the numbers of histories, positions, nodes and information sets, those that the
    representation has on which the game was solved."""
    perfect = found.get("perfect")
    solved = perfect if isinstance(perfect, PositionsSolved) else found.get("public")
    if solved is not None:
        return {"histories": solved.histories, "positions": solved.positions}
    if job.laid_out is not None:
        return {
            "histories": job.laid_out.histories, "positions": job.laid_out.positions,
            "information sets": len(job.laid_out.arrays.infos),
        }  # fmt: skip
    if job.tree is not None:
        return {"nodes": len(job.tree), "information sets": len(job.tree.info_sets)}
    return {}


def _tree(job: Job) -> Tree:
    """The tree; of a game in which a seat forgets, its table of pure strategies as one."""
    job.progress("writing out the tree", 0, None, "")
    tree = tabulate(job.game.env(), limit=4 * job.limit, forgetful=True)
    try:
        require_recall(tree)
    except ImperfectRecall as error:
        return _table_of_strategies(job, tree, str(error))
    return tree


def _table_of_strategies(job: Job, tree: Tree, where: str) -> Tree:
    try:
        table = table_of(tree)
    except TooManyStrategies as error:
        raise Unfit(
            f"a seat of `{job.game.name}` forgets its own past, at {where}: such a game is solved "
            f"as a table of pure strategies, and there are {error}"
        ) from error
    job.strategies = True
    job.say(
        f"a seat forgets its own past, at {where}: what follows is of strategies that are drawn "
        "once, before the game; whether to draw anew at each decision can do as well, it does not "
        "say"
    )
    absent = absent_minded(tree)
    if absent is not None:
        job.say(
            f"`{absent}` may come to one information set twice in a play: by drawing anew each "
            "time it may even earn more than by any such strategy"
        )
    return table


def _choose(job: Job) -> str:
    """The method that fits a tree best."""
    tree = job.tree
    if job.laid_out is not None:
        return "team" if job.laid_out.common_payoff else "cfr+"
    if tree is None:
        job.say(f"the game has more than {job.limit:,} histories, too many for a tree")
        return "mccfr"
    if not tree.info_sets:
        raise Unfit(f"nobody in `{job.game.name}` has anything to decide")
    if one_shot(tree) is not None:
        return "equilibria"
    if perfect_information(tree):
        return "backward"
    if common_payoff(tree, job.utility):
        return "team"
    if len(tree.seats) == 2 and constant_sum(tree, job.utility) is not None:
        return "lp"
    return "other"
