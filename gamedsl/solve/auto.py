"""Solving a game by what fits it: the table of methods, the choice among them, and what came of it.

Whatever the method, the policy that is reported has its values and regrets worked out anew (see
`gamedsl.solve.solution`), and `Report.did` says in words what was done and why.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any

from gamedsl.solve.backward import Perfect, backward_induction, perfect_information
from gamedsl.solve.forgetful import TooManyStrategies, absent_minded, table_of
from gamedsl.solve.oneshot import OneShot, study
from gamedsl.solve.positions import PositionsSolved, solve_positions
from gamedsl.solve.qre import Path, fits, qre_path
from gamedsl.solve.rounding import rounded
from gamedsl.solve.sequence_form import constant_sum, solve_zero_sum
from gamedsl.solve.solution import Solution
from gamedsl.solve.stages import Staged, solve_stages
from gamedsl.solve.table import one_shot
from gamedsl.solve.team import TeamOptimum, common_payoff, team_optimum
from gamedsl.solve.tree import (
    ImperfectRecall,
    TooLarge,
    Tree,
    Utility,
    require_recall,
    tabulate,
)

if TYPE_CHECKING:
    from gamedsl.runtime import Game
    from gamedsl.solve.cfr import Variant
    from gamedsl.solve.large import Sampled

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

LIMIT = 50_000
"""Histories up to which a game is written out as a tree."""
SMALL = 2_000
"""Histories up to which a game of perfect information is too."""
ITERATIONS = 1_000
"""Of CFR and its variants."""
NEAR = 1e-3
"""NashConv, in spans of payoff, above which another method is tried."""

Progress = Callable[[str, int, int | None, str], None]
"""Told what is under way, how far it is, of how much (None: not known), and how it stands."""


class Unfit(ValueError):
    """The method that was asked for does not fit the game; the message says why."""


@dataclass(frozen=True)
class Report:
    """What came of solving a game. Of the parts below `solution`, those of the methods used are
    there; `size` counts histories, and nodes and information sets of the tree or positions."""

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
    team: TeamOptimum | None = None
    path: Path | None = None
    sampled: Sampled | None = None
    strategies: bool = False
    """Whether a seat forgets: policies are then of whole strategies, and `tree` is their table."""


@dataclass
class Job:
    """A game on its way to a report. `tree` is None where the game is too large for one."""

    game: Game
    utility: Utility
    iterations: int | None
    seed: int
    limit: int
    progress: Progress
    tree: Tree | None = None
    strategies: bool = False
    did: list[str] = field(default_factory=list)

    def say(self, line: str) -> None:
        self.did.append(line)

    def whole(self, method: str) -> Tree:
        """The tree, for a method that needs it."""
        if self.tree is None:
            raise Unfit(
                f"`{method}` needs the whole tree, and `{self.game.name}` has more than "
                f"{self.limit:,} histories; raise --limit, or use --method mccfr"
            )
        return self.tree

    @property
    def span(self) -> float:
        assert self.tree is not None
        spans = [self.tree.span(seat, self.utility) for seat in self.tree.seats]
        return max(float(high - low) for low, high in spans) or 1.0


def solve(
    game: Game,
    method: str = "auto",
    *,
    utility: Utility = "payoffs",
    iterations: int | None = None,
    seed: int = 0,
    limit: int = LIMIT,
    progress: Progress | None = None,
) -> Report:
    """Solve a game by a method of `METHODS`.

    Raises `Unfit` where the method does not fit the game, ImportError where it needs a package that
    is not installed, `gamedsl.EvaluationError` where the rules fail, KeyError for another method.
    """
    if method not in METHODS:
        raise KeyError(method)
    from gamedsl.runtime.positions import count_histories, seen_by_all

    began = perf_counter()
    job = Job(game, utility, iterations, seed, limit, progress or (lambda *_: None))
    found: dict[str, Any] | None = None
    size = {}
    if method != "mccfr":
        count = count_histories(game.kernel(), limit)
        by_position = seen_by_all(game.ir) and (count is None or count > SMALL)
        if method in ("auto", "backward") and by_position:
            found = _positions(job, needed=method == "backward")
        if found is None and count is not None:
            job.tree = _tree(job)
    if found is None:
        chosen = _choose(job) if method == "auto" else method
        found = _RUN[chosen](job, chosen)
        chosen = found.pop("method", chosen)
    else:
        chosen = "backward"
    if job.tree is not None:
        size = {"nodes": len(job.tree), "information sets": len(job.tree.info_sets)}
    if isinstance(found.get("perfect"), PositionsSolved):
        size = {"histories": found["perfect"].histories, "positions": found["perfect"].positions}
    return Report(
        game, utility, chosen, tuple(job.did), size, perf_counter() - began, tree=job.tree,
        strategies=job.strategies, **found,
    )  # fmt: skip


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


def _positions(job: Job, *, needed: bool) -> dict[str, Any] | None:
    """Backward induction over positions; None where there are too many, unless it was asked for."""
    job.progress("looking for positions", 0, None, "")
    try:
        found = solve_positions(
            job.game, job.utility, limit=2 * job.limit,
            progress=lambda n: job.progress("looking for positions", n, None, ""),
        )  # fmt: skip
    except TooLarge as error:
        if needed:
            raise Unfit(
                f"`{job.game.name}` has more than {error.limit:,} positions: too many for backward "
                "induction; use --method mccfr"
            ) from error
        job.say(f"everybody sees everything, but there are more than {error.limit:,} positions")
        return None
    job.say(
        f"everybody sees everything: backward induction over {found.positions:,} positions, which "
        f"stand for {found.histories:,} histories"
    )
    return {"perfect": found, "solution": found.solution}


def _equilibria(job: Job, method: str) -> dict[str, Any]:
    tree = job.whole(method)
    try:
        found = study(tree, job.utility)
    except ValueError as error:
        raise Unfit(f"`equilibria` does not fit `{job.game.name}`: {error}") from error
    if not job.strategies:
        job.say("everybody decides once, blind to the others: the game is its table")
    if found.pick is not None:
        return {"one_shot": found, "solution": found.found[found.pick].solution}
    if not fits(tree):
        return {"one_shot": found, "solution": None}
    return {**_exactly(job, _qre(job, "qre")), "one_shot": found}


def _backward(job: Job, method: str) -> dict[str, Any]:
    tree = job.whole(method)
    if perfect_information(tree):
        job.say("whoever moves knows the whole history: backward induction over all histories")
        found = backward_induction(tree, job.utility)
        return {"perfect": found, "solution": found.solution}
    staged = _staged(job, tree)
    if staged is None:
        raise Unfit(
            f"`backward` does not fit `{job.game.name}`: it neither has perfect information nor "
            "falls apart into stages that can be solved exactly"
        )
    return staged


def _staged(job: Job, tree: Tree) -> dict[str, Any] | None:
    job.progress("solving stages", 0, None, "")
    found = solve_stages(tree, job.utility)
    if found is None:
        return None
    job.say(
        f"the game falls apart into {found.stages:,} stages, each solved as a game of its own, the "
        "last first"
    )
    return {"staged": found, "solution": found.solution}


def _lp(job: Job, method: str) -> dict[str, Any]:
    tree = job.whole(method)
    total = constant_sum(tree, job.utility)
    if len(tree.seats) != 2 or total is None:
        raise Unfit(
            f"`lp` is for two seats whose {job.utility} have a constant sum, which those of "
            f"`{job.game.name}` have not"
        )
    job.progress("solving a linear program", 0, None, "")
    kind = "zero-sum" if not total else f"of constant sum {total}"
    job.say(f"two seats, {kind}, hidden information: a linear program over sequences")
    return {"solution": solve_zero_sum(tree, job.utility)}


def _team(job: Job, method: str) -> dict[str, Any]:
    tree = job.whole(method)
    if not common_payoff(tree, job.utility):
        raise Unfit(f"`team` is for seats that are paid alike, which those of `{job.game.name}` "
                    "are not")  # fmt: skip
    job.progress("searching", 0, None, "")
    found = team_optimum(tree, job.utility)
    if len(tree.seats) > 1:
        job.say("all seats are paid alike: the best pure profile, by branch and bound")
    else:
        job.say("one seat decides: its best policy, by dynamic programming")
    return {"team": found, "solution": found.solution}


def _qre(job: Job, method: str) -> dict[str, Any]:
    tree = job.whole(method)
    if not fits(tree):
        raise Unfit(f"`{job.game.name}` is too large for its path of quantal responses")
    job.progress("following the path", 0, None, "")
    found = qre_path(tree, job.utility)
    job.say("the logit path is followed from uniform play, λ = 0, as precision grows")
    return {"path": found, "solution": found.solution}


def _cfr(job: Job, method: str) -> dict[str, Any]:
    from gamedsl.solve.cfr import cfr

    tree, count = job.whole(method), job.iterations or ITERATIONS
    job.say(f"regrets are minimised at every information set, {count:,} times")
    solution = cfr(
        tree, count, _VARIANTS[method], job.utility,
        progress=lambda n, gap: job.progress("iterating", n, count, f"NashConv {gap:.2g}"),
    )  # fmt: skip
    return {"solution": solution}


def _other(job: Job, method: str) -> dict[str, Any]:
    """Games with hidden information that are neither zero-sum for two nor for a team."""
    tree = job.whole(method)
    staged = _staged(job, tree)
    if staged is not None:
        return {**staged, "method": "backward"}
    job.say(
        "hidden information, and no constant sum for two: no method here is sure to find an "
        "equilibrium, so CFR+ is tried, and its regrets say how near it came"
    )
    found = {**_cfr(job, "cfr+"), "method": "cfr+"}
    if float(found["solution"].nash_conv) > NEAR * job.span and fits(tree):
        traced = _qre(job, "qre")
        if traced["solution"].nash_conv < found["solution"].nash_conv:
            found = {**traced, "method": "qre"}
    return _exactly(job, found)


def _exactly(job: Job, found: dict[str, Any]) -> dict[str, Any]:
    """What was found, with simple fractions in place of floats if that is an equilibrium."""
    assert job.tree is not None
    exact = rounded(job.tree, found["solution"], job.utility)
    if exact is None:
        return found
    job.say("rounded to simple fractions, the policy that was found is an equilibrium exactly")
    return {**found, "solution": exact}


def _mccfr(job: Job, method: str) -> dict[str, Any]:
    from gamedsl.solve.large import solve_large

    if job.game.ir.asked_as:
        job.say(
            "steps say what is known at them: if a seat forgets by that, small regrets at each "
            "decision do not make a good policy"
        )
    solution, sampled, sampling = solve_large(
        job.game, job.utility, job.iterations, job.seed, job.progress
    )
    if sampling == "external":
        job.say("games are sampled, each seat in turn trying all of its own actions")
    else:
        job.say("games are sampled one by one: they are too long to try all actions of a seat")
    return {"solution": solution, "sampled": sampled}


_VARIANTS: dict[str, Variant] = {"cfr": "cfr", "cfr+": "cfr+", "dcfr": "dcfr"}

_RUN: dict[str, Callable[[Job, str], dict[str, Any]]] = {
    "equilibria": _equilibria,
    "backward": _backward,
    "lp": _lp,
    "team": _team,
    "qre": _qre,
    **dict.fromkeys(_VARIANTS, _cfr),
    "mccfr": _mccfr,
    "other": _other,
}
