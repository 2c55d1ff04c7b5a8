"""Which operations begin a function, because something jumps to them; and where jumps end."""

from __future__ import annotations

from gamedsl.engine import flow
from gamedsl.ir.program import Draw

STRAIGHT = (flow.Run, flow.Tell, flow.Credit, flow.Check, flow.Test)
"""Operations that may stand inside an `if`."""


class Jumps:
    """The jumps among the operations of a game.

    `heads` are the places where functions begin; `ifs` are conditions with nothing inside but what
    always goes on with the next operation or leaves the function.
    """

    def __init__(self, ops: tuple[flow.Op, ...]) -> None:
        self._ops = ops
        self.ifs = {place for place in range(len(ops)) if self._is_if(place, len(ops))}
        targets = {0}.union(*(self._targets(place, op) for place, op in enumerate(ops)))
        self.heads = {self._end(place) for place in targets}

    def to(self, place: int) -> str:
        """The function that begins at a place, or where an empty jump from there leads."""
        return f"at_{self._end(place)}"

    def _end(self, place: int) -> int:
        op = self._ops[place]
        while isinstance(op, flow.Again) and op.loop.until is None:
            place = op.head
            op = self._ops[place]
        return place

    def _is_if(self, place: int, end: int) -> bool:
        """Whether a condition can be an `if` that ends before another place."""
        op = self._ops[place]
        if not isinstance(op, flow.Test) or op.otherwise > end:
            return False
        return all(
            isinstance(self._ops[at], STRAIGHT)
            and (not isinstance(self._ops[at], flow.Test) or self._is_if(at, op.otherwise))
            for at in range(place + 1, op.otherwise)
        )

    def _targets(self, place: int, op: flow.Op) -> set[int]:
        """Where play may go on after an operation, if not with the next one of its function."""
        match op:
            case flow.Test(otherwise=otherwise) if place not in self.ifs:
                return {otherwise}
            case flow.Check(over=over):
                return {over}
            case flow.Pass(after=after, over=over):
                return {place, after} if op.loop.at_bound != "end" else {place, after, over}
            case flow.Again(after=after):
                return {after}
            case flow.Ask(after=after, over=over, bodies=bodies):
                return {place + 1, after, *(first for _, first in bodies)} | (
                    {over} if over >= 0 else set()
                )
            case flow.Chance(step=step):
                return {place + 1} | ({place} if is_several(step) else set())
        return set()


def is_several(step: Draw) -> bool:
    """Whether chance draws more than once at a step."""
    count = 1
    for values in step.per:
        count *= len(values)
    return count > 1
