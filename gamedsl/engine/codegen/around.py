"""What is around each step, as the tree of steps says: it holds whenever the step runs."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gamedsl.ir.builtins import values
from gamedsl.ir.expr import Const
from gamedsl.ir.program import Choose, Loop, Stage, Step, substeps


@dataclass(frozen=True, slots=True)
class Around:
    """The loops around a step, outermost first; the outermost stage around it, if there is one; and
    who may be acting (empty: nothing is known). Loops and stages by their ids."""

    loops: tuple[str, ...] = ()
    stage: str | None = None
    acting: tuple[str, ...] = ()


def around(steps: tuple[Step, ...]) -> dict[str, Around]:
    """What is around each step, by its id."""
    found: dict[str, Around] = {}
    _note(steps, Around(), found)
    return found


def _note(steps: tuple[Step, ...], here: Around, found: dict[str, Around]) -> None:
    for step in steps:
        found[step.id] = inner = here
        if isinstance(step, Choose):
            inner = replace(inner, acting=step.actors)
        elif isinstance(step, Loop):
            inner = replace(inner, loops=(*here.loops, step.id))
            if is_for_seats(step):
                items = step.items
                seats = values(items.value) if isinstance(items, Const) else ()
                inner = replace(inner, acting=seats)
        elif isinstance(step, Stage):
            inner = replace(inner, stage=here.stage or step.id)
        _note(substeps(step), inner, found)


def is_for_seats(loop: Loop) -> bool:
    """Whether who acts changes in a loop."""
    return loop.items is not None and loop.item is None
