"""Which operations begin a function, because something jumps to them; and where jumps end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from gamedsl.engine import flow
from gamedsl.engine.codegen.expressions import Expressions
from gamedsl.ir.builtins import values
from gamedsl.ir.expr import Const, Expr
from gamedsl.ir.program import Choose, Draw, Loop, Stage, Step, substeps
from gamedsl.ir.statements import ForEach, Statement

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
    for index in step.per:
        count *= len(index)
    return count > 1


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


ME = "@me"
"""Stands for who acts, among the names of variables."""


def needless(ops: tuple[flow.Op, ...], make: Expressions) -> set[int]:
    """The places of checks that need not be made."""
    ends = {id(op.end): op.end for op in ops if isinstance(op, flow.Check)}
    found: set[int] = set()
    for end in ends.values():
        checked = _checked(ops, end, make)
        found |= {
            place for place, op in enumerate(ops)
            if isinstance(op, flow.Check) and op.end is end and checked[place]
        }  # fmt: skip
    return found


def _checked(ops: tuple[flow.Op, ...], end: Expr, make: Expressions) -> list[bool]:
    """For each operation, whether a condition is known not to hold before it."""
    reads = make.variables(end) | ({ME} if make.reads_me(end) else set())
    asked = {first: place for place, op in enumerate(ops)
             if isinstance(op, flow.Ask) for _, first in op.bodies}  # fmt: skip
    ways: list[list[tuple[int, bool | None]]] = []
    """For each operation, where play goes on, and what is known there; None: what was before."""
    for place, op in enumerate(ops):
        written = _writes(op)
        same = None if written is not None and not written & reads else False
        if isinstance(op, flow.Check) and op.end is end:
            ways.append([(place + 1, True), (op.over, False)])
        elif isinstance(op, flow.Return):
            home = asked[max(first for first in asked if first <= place)]
            ways.append([(home + 1, same)])
        else:
            ways.append([(after, same) for after in _after(place, op)])
    known = [place > 0 for place in range(len(ops))]
    changed = True
    while changed:
        changed = False
        for place, following in enumerate(ways):
            for after, value in following:
                if known[after] and not (known[place] if value is None else value):
                    known[after] = False
                    changed = True
    return known


def _after(place: int, op: flow.Op) -> list[int]:
    """Where play may go on after an operation."""
    match op:
        case flow.Stop():
            return []
        case flow.Test(otherwise=otherwise):
            return [place + 1, otherwise]
        case flow.Check(over=over):
            return [place + 1, over]
        case flow.Pass(after=after, over=over):
            return [place + 1, after, over]
        case flow.Again(head=head, after=after):
            return [head, after]
        case flow.Ask(after=after, over=over, bodies=bodies):
            return [place + 1, after, over, *(first for _, first in bodies)]
    return [place + 1]


def _writes(op: flow.Op) -> set[str] | None:
    """The variables that an operation changes; None for all."""
    match op:
        case flow.Test() | flow.Check() | flow.Enter() | flow.Credit() | flow.Stop():
            return set()
        case flow.Pass(loop=loop):
            return {ME, *loop.resets, *filter(None, (loop.item, loop.count))}
        case flow.Again() | flow.Return():
            return {ME}
        case flow.Tell(step=show):
            return {show.variable}
        case flow.Run(step=do):
            return {name for statement in do.statements for name in _written(statement)}
        case flow.Chance(step=draw):
            bag, place = draw.source.bag, draw.place
            return {draw.variable, *(part.variable for part in (bag, place) if part is not None)}
        case flow.Ask(step=step):
            place = step.place
            parameters = {name for action in step.moves for name, _ in action.parameters}
            return {ME, step.variable, *parameters} | ({place.variable} if place else set())
    return None


def _written(statement: Statement) -> Iterator[str]:
    if isinstance(statement, ForEach):
        yield from _written(statement.body)
    else:
        yield statement.place.variable
