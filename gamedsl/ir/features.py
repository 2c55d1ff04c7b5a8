"""Features of a game, read off its program: what tells it from other games at a glance."""

from __future__ import annotations

from gamedsl.ir.game import GameIR
from gamedsl.ir.program import Draw, Loop, Show, Stage, walk_steps
from gamedsl.ir.types import Grid

FEATURES: dict[str, str] = {
    "stages": "other games are played as stages",
    "loop": "turns are repeated",
    "simultaneous": "several choose at once",
    "chance": "chance draws",
    "hidden": "somebody does not see everything",
    "words": "somebody writes texts, or a function is called",
    "judge": "referees act",
    "board": "the state has a board",
    "team": "a claim says that all are paid the same",
    "zero-sum": "a claim says that payoffs have a constant sum",
    "masked": "options have meaningless labels",
}
"""Every feature, in the order in which they are listed, with its meaning."""


def features(ir: GameIR) -> tuple[str, ...]:
    """Returns the features of a game, in the order of `FEATURES`."""
    steps = list(walk_steps(ir.turns))
    told = [step for step in steps if isinstance(step, Draw | Show)]
    found = {
        "stages": any(isinstance(step, Stage) for step in steps),
        "loop": any(isinstance(step, Loop) for step in steps),
        "simultaneous": any(step.joint and len(step.actors) > 1 for step in ir.steps),
        "chance": any(isinstance(step, Draw) for step in steps),
        "hidden": any(part.readers.kind != "all" for part in (*ir.steps, *told, *ir.state)),
        "words": ir.open,
        "judge": bool(ir.referees),
        "board": any(isinstance(state.type, Grid) for state in ir.states),
        "team": any(claim.kind == "common_payoff" for claim in ir.claims),
        "zero-sum": any(claim.kind in ("zero_sum", "constant_sum") for claim in ir.claims),
        "masked": ir.labels.kind == "masked",
    }
    return tuple(name for name in FEATURES if found[name])
