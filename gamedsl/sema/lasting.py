"""Checks of state that lasts for a run: it is said by somebody, and is not that of a stage."""

from __future__ import annotations

from gamedsl.diagnostics import Note, Problems
from gamedsl.ir.game import GameIR


def what_lasts_is_said(ir: GameIR, problems: Problems, *, inner: bool) -> None:
    """GD0487: nothing is ever written into what lasts, or it is the state of a game inside a game
    (`inner`), which begins anew each time."""
    said = {step.place.variable for step in ir.steps if step.said and step.place is not None}
    speakers = [step for step in ir.steps if step.said is not None]
    for state in ir.lasting:
        if inner:
            problems.add(
                "GD0487", f"`{state.name}` cannot last: its game is a stage of another", state.span,
                why="a stage begins anew each time it is played",
                help="declare it in the game around, or leave `lasts` out",
            )  # fmt: skip
        elif state.name not in said:
            actor = ir.role_of[speakers[0].actors[0]] if speakers else ir.roles[0].name
            problems.add(
                "GD0487", f"`{state.name}` lasts, and nobody writes it", state.span,
                why="no `say` step binds it",
                notes=tuple(Note(step.span, "this is said") for step in speakers[:1]),
                help=f"add a step: `{{role: {actor}, say: {state.name}, max_tokens: 100}}`",
            )  # fmt: skip
