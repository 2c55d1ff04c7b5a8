"""Checks of `learn`: the roles that it names, their adapters, and games in which rotation cycles.

A role that learns while the others stand still goes to its best reply to them. In a game without an
equilibrium in pure actions each turn ends somewhere else, and the roles chase each other forever
(Balduzzi et al. 2018): rock-paper-scissors is the plainest case.
"""

from __future__ import annotations

from fractions import Fraction

from gamedsl.ir.evaluate import EvaluationError
from gamedsl.ir.game import GameIR
from gamedsl.ir.outcome import Amounts, History, count_outcomes, evaluate_outcome, histories
from gamedsl.ir.program import Binding, Choose, walk_steps
from gamedsl.recipe.conflicts import RecipeCheck, report_unknown

MANY = 10_000
"""The most outcomes of a table that are listed."""


def check_learn(check: RecipeCheck) -> None:
    """Report an order that cannot be followed, and warn of roles that would chase each other."""
    ir, recipe = check.ir, check.recipe
    learners = recipe.learners(ir)
    order = recipe.learn.order or ()
    parts = {part.role: part for part in recipe.parts(ir)}
    for role in dict.fromkeys(order):
        if role not in learners:
            fault = "is not trained" if role in parts else "is no role"
            report_unknown(
                check.problems, "GD0705", f"`learn.order` names `{role}`, which {fault}", role,
                learners, check.span("learn.order"), "who learns", why="cannot learn",
            )  # fmt: skip
    if recipe.learn.who == "all":
        return
    missing = [role for role in learners if order and role not in order]
    if missing and set(order) <= set(learners):
        check.conflict(
            f"`learn.order` leaves out `{missing[0]}`, which would never learn",
            f"add it, or write `roles: {{{missing[0]}: {{trained: false}}}}`", "learn.order",
        )  # fmt: skip
    adapters = [parts[role].adapter for role in learners]
    if len(set(adapters)) < len(adapters):
        check.conflict(
            "roles that share an adapter cannot learn one at a time",
            "write `adapters: per_role`, or `learn: {who: all}`", "adapters", "learn.who",
        )  # fmt: skip
    judge = next((role.name for role in ir.referees if role.name in learners), None)
    if recipe.learn.who == "weakest" and judge is not None:
        check.conflict(
            f"`{judge}` is a referee, and adds nothing to what the roles earn together",
            "write `learn: {who: rotate}`, or leave its `trained` out",
            f"roles.{judge}.trained", "learn.who",
        )  # fmt: skip
    reason = _cycles(ir) if len(learners) > 1 and "rotation" not in recipe.allow else None
    if reason is not None:
        check.problems.add(
            "GD0715", f"roles that learn one at a time chase each other here: {reason}",
            check.span("learn.who"), severity="warning", why="goes round in a circle",
            help="write `learn: {who: all}`; if it is wanted all the same, `allow: [rotation]`",
        )  # fmt: skip


def _cycles(ir: GameIR) -> str | None:
    """Why best replies in turn come to no rest; None if nothing is known against it."""
    if ir.plain and len(ir.steps) == 1 and count_outcomes(ir) <= MANY:
        try:
            rests = _has_pure_equilibrium(ir)
        except EvaluationError:
            return None
        return None if rests else "no outcome is an equilibrium in pure actions"
    constant = any(claim.kind in ("zero_sum", "constant_sum") for claim in ir.claims)
    if constant and len(ir.seats) > 1 and not _open(ir):
        return "what one wins others lose, and not all is seen"
    return None


def _has_pure_equilibrium(ir: GameIR) -> bool:
    """Whether in some outcome of a game of one step nobody gains by another action alone."""
    earned: dict[History, Amounts] = {past: evaluate_outcome(ir, past)[1] for past in histories(ir)}
    best: dict[tuple[int, tuple[str, ...]], int | Fraction] = {}
    actors = ir.steps[0].actors
    for (names,), rewards in earned.items():
        for place, seat in enumerate(actors):
            key = place, names[:place] + names[place + 1 :]
            best[key] = max(best.get(key, rewards[seat]), rewards[seat])
    return any(
        all(
            rewards[seat] == best[place, names[:place] + names[place + 1 :]]
            for place, seat in enumerate(actors)
        )
        for (names,), rewards in earned.items()
    )


def _open(ir: GameIR) -> bool:
    """Whether the rules alone say that everybody sees everything and nobody moves together with
    others."""
    return all(
        step.readers.kind == "all"
        and not step.readers.fields
        and not (isinstance(step, Choose) and step.joint and len(step.actors) > 1)
        for step in walk_steps(ir.turns)
        if isinstance(step, Binding)
    )
