"""Declared information sets: a seat's knowledge at a step, as a key, beside all that it has seen.

Such a step (`Choose.knows`) is a rule of the game: its actor has seen its events, but knows here
only what the step shows it.
"""

from __future__ import annotations

from collections.abc import Iterable

from gamedsl.ir.evaluate import Scope, evaluate
from gamedsl.ir.game import GameIR
from gamedsl.ir.program import Choose
from gamedsl.ir.values import name_of
from gamedsl.prompting.events import information_set


def declared_key(ir: GameIR, step: Choose, seat: str, scope: Scope) -> str | None:
    """The key of what a seat knows at a step, where the step says; `scope` is the state, read by
    the seat. EvaluationError where something has no value."""
    if step.knows is None:
        return None
    return key_of_names(ir, step, seat, (name_of(evaluate(e.value, scope)) for e in step.knows))


def key_of_names(ir: GameIR, step: Choose, seat: str, names: Iterable[str]) -> str:
    """The same from the canonical names of what it is shown."""
    assert step.knows is not None
    shown = zip(step.knows, names, strict=True)
    known = ", ".join(f"{entry.name}={name}" for entry, name in shown)
    return information_set(seat, ir.asked_as[step.id], known)
