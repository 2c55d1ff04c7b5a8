"""The methods of `gamedsl solve`. Each runs on a `Job`: a game, with what is asked and done.

Each function returns the parts of a `gamedsl.solve.solver.Report` that are its own, and raises
`Unfit` where it does not fit the game. `RUN` has them by name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING, Any

from gamedsl.solve.equilibria import pure_equilibria
from gamedsl.solve.large_games import (
    LaidOut,
    estimate_histories,
    lay_out,
    minimise_regret,
    search_team,
)
from gamedsl.solve.oneshot import study
from gamedsl.solve.positions import solve_positions
from gamedsl.solve.public_stages import solve_public
from gamedsl.solve.qre import fits, qre_path
from gamedsl.solve.sequence_form import NoOptimum, constant_sum, solve_zero_sum
from gamedsl.solve.smaller_state import smaller_state
from gamedsl.solve.solution import Progress, checked, rounded
from gamedsl.solve.stages import solve_stages
from gamedsl.solve.subgame_perfection import backward_induction, perfect_information
from gamedsl.solve.team import common_payoff, team_optimum
from gamedsl.solve.tree import TooLarge, Tree, Utility

if TYPE_CHECKING:
    from gamedsl.runtime import Game
    from gamedsl.solve.regret import Variant
    from gamedsl.solve.sharded_mccfr import StartShards

LIMIT = 50_000
"""Histories up to which a game is written out as a tree."""
SMALL = 2_000
"""Histories up to which a game of perfect information is written out as a tree."""
ITERATIONS = 1_000
"""The default number of iterations of CFR and its variants."""
NEAR = 1e-3
"""NashConv, in spans of payoff, above which another method is tried."""
TRIED = 200_000
"""The most nodes that a trial of all pure profiles visits."""


VAST = 1e18
"""Estimated histories beyond which no smaller state is looked for."""


class Unfit(ValueError):
    """The requested method does not fit the game; the message says why."""


@dataclass
class Job:
    """A game to be solved. `tree` is None if the game is too large for one; `laid_out` then has it
    as arrays, if it fits into these. `did` lists the steps taken so far, in words."""

    game: Game
    utility: Utility
    iterations: int | None
    seed: int
    limit: int
    progress: Progress
    tree: Tree | None = None
    laid_out: LaidOut | None = None
    asked: str = "auto"
    """The method that was asked for by name."""
    strategies: bool = False
    shards: StartShards | None = None
    """Shares out the iterations of MCCFR; None runs them here."""
    did: list[str] = field(default_factory=list)

    def say(self, line: str) -> None:
        self.did.append(line)

    def whole(self, method: str) -> Tree:
        """Returns the tree for a method that needs it. Raises `Unfit` if there is none."""
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


def positions(job: Job, *, needed: bool) -> dict[str, Any] | None:
    """Backward induction over positions; None where there are too many, unless it was asked for."""
    job.progress("looking for positions", 0, None, "")
    try:
        found = solve_positions(
            job.game, job.utility, limit=2 * job.limit,
            progress=lambda n: job.progress("looking for positions", n, None, ""),
        )  # fmt: skip
    except TooLarge as error:
        hint = _smaller(job)
        if needed:
            raise Unfit(
                f"`{job.game.name}` has more than {error.limit:,} positions: too many for backward "
                f"induction; {hint or 'use --method mccfr'}"
            ) from error
        job.say(f"everybody sees everything, but there are more than {error.limit:,} positions")
        if hint:
            job.say(hint)
        return None
    job.say(
        f"everybody sees everything: backward induction over {found.positions:,} positions, which "
        f"stand for {found.histories:,} histories"
    )
    return {"perfect": found, "solution": found.solution}


def _smaller(job: Job) -> str:
    """Returns what could be left out of the state so that there are few enough positions; "" for
    nothing. A game that is much too large is not looked at."""
    if estimate_histories(job.game) > VAST:
        return ""
    job.progress("looking for a smaller state", 0, None, "")
    found = smaller_state(job.game, 2 * job.limit)
    if found is None:
        return ""
    what = "is not read" if found.whole else "is read only for where it is none"
    return (
        f"`{found.variable}` {what}, as far as was tried: a state that holds no more of it has "
        f"{found.positions:,} positions, and is solved exactly"
    )


def public_stages(job: Job, *, needed: bool) -> dict[str, Any] | None:
    """Stages over positions; None where there are too many or one has no exact method, unless it
    was asked for."""
    job.progress("looking for positions", 0, None, "")
    why = "some stage has no exact method"
    try:
        found = solve_public(
            job.game, job.utility, limit=2 * job.limit,
            progress=lambda n: job.progress("looking for positions", n, None, ""),
        )  # fmt: skip
    except TooLarge as error:
        found, why = None, f"there are more than {error.limit:,} positions"
    if found is None:
        if needed:
            raise Unfit(f"`backward` does not fit `{job.game.name}`: {why}; use --method mccfr")
        job.say(f"all that happened is seen by all, but {why}")
        return None
    job.say(
        f"only choices of one step are hidden from each other: {found.stages:,} stages over "
        f"{found.positions:,} positions, which stand for {found.histories:,} histories, each "
        "solved as a game of its own, the last first"
    )
    return {"public": found, "solution": found.solution}


def lay_out_large(job: Job) -> bool:
    """Lays a game out that is too large for a tree, if it fits into arrays."""
    job.progress("looking for positions", 0, None, "")
    try:
        job.laid_out = lay_out(
            job.game, job.utility, lambda n: job.progress("looking for positions", n, None, "")
        )
    except (ImportError, ValueError):
        return False
    if job.laid_out is None:
        return False
    job.say(
        f"{job.laid_out.histories:,} histories are laid out as arrays, from "
        f"{job.laid_out.positions:,} positions"
    )
    return True


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
    try:
        return {"solution": solve_zero_sum(tree, job.utility)}
    except NoOptimum as error:
        if job.asked == method:
            raise Unfit(f"`lp` fails for `{job.game.name}`: {error}; try --method cfr+") from error
        job.say(f"{error}; CFR+ is tried instead")
        return {**_cfr(job, "cfr+"), "method": "cfr+"}


def _team(job: Job, method: str) -> dict[str, Any]:
    if job.laid_out is not None:
        if not job.laid_out.common_payoff:
            raise Unfit(_NOT_ALIKE.format(job.utility, job.game.name))
        job.say("all seats are paid alike: a search by best replies, from many starts")
        return {
            "solution": search_team(
                job.laid_out,
                lambda n, of, best: job.progress("searching", n, of, f"worth {best:.3g}"),
            )
        }
    tree = job.whole(method)
    if not common_payoff(tree, job.utility):
        raise Unfit(_NOT_ALIKE.format(job.utility, job.game.name))
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

    if job.laid_out is not None:
        job.say("regrets are minimised at every information set of the whole game")
        found = minimise_regret(
            job.laid_out, VARIANTS[method], job.iterations,
            lambda n, of, gap: job.progress("iterating", n, of, f"NashConv {gap:.2g}"),
        )  # fmt: skip
        return {"solution": found}
    tree, count = job.whole(method), job.iterations or ITERATIONS
    job.say(f"regrets are minimised at every information set, {count:,} times")
    solution = cfr(
        tree, count, VARIANTS[method], job.utility,
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
    """Returns the policy with simple fractions in place of floats if that is an equilibrium;
    else a pure equilibrium, if there is one and few enough profiles to try."""
    tree = job.whole("exact")
    exact = rounded(tree, found["solution"], job.utility)
    if exact is not None:
        job.say("rounded to simple fractions, the policy that was found is an equilibrium exactly")
        return {**found, "solution": exact}
    profiles = prod(len(info.actions) for info in tree.info_sets)
    if job.strategies or profiles * len(tree) > TRIED:
        return found
    pure = pure_equilibria(tree, job.utility).found
    if not pure:
        return found
    job.say(f"of all {profiles:,} pure profiles {len(pure):,} are equilibria; this is the first")
    policy = {
        info.key: {name: Fraction(name == pure[0].profile[info.key]) for name in info.actions}
        for info in tree.info_sets
    }
    solution = checked(
        tree, policy, concept="Nash equilibrium", method="all pure profiles", utility=job.utility
    )
    return {**found, "solution": solution}


def _mccfr(job: Job, method: str) -> dict[str, Any]:
    from gamedsl.solve.sampled_solution import solve_by_sampling

    if job.game.ir.asked_as:
        job.say(
            "steps say what is known at them: if a seat forgets by that, small regrets at each "
            "decision do not make a good policy"
        )
    solution, sampled, sampling = solve_by_sampling(
        job.game, job.utility, job.iterations, job.seed, job.progress, job.shards
    )
    if sampling == "external":
        job.say("games are sampled, each seat in turn trying all of its own actions")
    else:
        job.say("games are sampled one by one: they are too long to try all actions of a seat")
    return {"solution": solution, "sampled": sampled}


_NOT_ALIKE = "`team` is for seats that are paid alike, and the {} of `{}` differ"

VARIANTS: dict[str, Variant] = {"cfr": "cfr", "cfr+": "cfr+", "dcfr": "dcfr"}

RUN: dict[str, Callable[[Job, str], dict[str, Any]]] = {
    "equilibria": _equilibria,
    "backward": _backward,
    "lp": _lp,
    "team": _team,
    "qre": _qre,
    **dict.fromkeys(VARIANTS, _cfr),
    "mccfr": _mccfr,
    "other": _other,
}
