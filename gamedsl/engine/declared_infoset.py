"""Declared information sets: the key of what a seat knows at a step that says so.

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
    """Returns the key of what a seat knows at a step; None where the step does not say. `scope` is
    the state, read by the seat. Raises EvaluationError where an entry has no value."""
    if step.knows is None:
        return None
    return key_of_names(ir, step, seat, (name_of(evaluate(e.value, scope)) for e in step.knows))


def key_of_names(ir: GameIR, step: Choose, seat: str, names: Iterable[str]) -> str:
    """Returns the same key from the canonical names of the entries' values."""
    assert step.knows is not None
    shown = zip(step.knows, names, strict=True)
    known = ", ".join(f"{entry.name}={name}" for entry, name in shown)
    return information_set(seat, ir.asked_as[step.id], known)
