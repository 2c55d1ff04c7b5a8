"""Control flow of a game's operations: jump targets, the loops and stages around a step, and the
checks for the end of the game that can be left out.

A check that fails is known to fail until something that its condition reads is written. This is
followed through the operations, along all paths that play can take.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import assert_never

from gamedsl.engine import flow
from gamedsl.engine.codegen.expressions import Expressions
from gamedsl.ir.builtins import values
from gamedsl.ir.expr import Const, Expr
from gamedsl.ir.program import (
    Block,
    Call,
    Choose,
    Do,
    Draw,
    Loop,
    Pay,
    Show,
    Stage,
    Step,
    walk_with_path,
)
from gamedsl.ir.statements import write_of

STRAIGHT = (flow.Execute, flow.Reveal, flow.PayNow, flow.CheckEnd, flow.Branch)
"""Operations that may stand inside an `if`."""


class Jumps:
    """The jumps among the operations of a game.

    `heads` are the operations that begin a function. `ifs` are conditions whose bodies always go on
    with the next operation or leave the function, so that they can be written as `if`.
    """

    def __init__(self, ops: tuple[flow.Op, ...]) -> None:
        self._ops = ops
        self.ifs = {place for place in range(len(ops)) if self._is_if(place, len(ops))}
        targets = {0}.union(*(self._targets(place, op) for place, op in enumerate(ops)))
        self.heads = {self._end(place) for place in targets}

    def to(self, place: int) -> str:
        """Returns the function that an operation begins, or to which an empty jump leads."""
        return f"at_{self._end(place)}"

    def _end(self, place: int) -> int:
        op = self._ops[place]
        while isinstance(op, flow.EndPass) and op.loop.until is None:
            place = op.head
            op = self._ops[place]
        return place

    def _is_if(self, place: int, end: int) -> bool:
        """Returns whether a condition can be an `if` that ends before another operation."""
        op = self._ops[place]
        if not isinstance(op, flow.Branch) or op.otherwise > end:
            return False
        return all(
            isinstance(self._ops[at], STRAIGHT)
            and (not isinstance(self._ops[at], flow.Branch) or self._is_if(at, op.otherwise))
            for at in range(place + 1, op.otherwise)
        )

    def _targets(self, place: int, op: flow.Op) -> set[int]:
        """Returns the operations at which play may go on after one, without the next one of the
        same function."""
        match op:
            case flow.Branch(otherwise=otherwise):
                return set() if place in self.ifs else {otherwise}
            case flow.CheckEnd(over=over):
                return {over}
            case flow.BeginPass(after=after, over=over):
                return {place, after} if op.loop.at_bound != "end" else {place, after, over}
            case flow.EndPass(after=after):
                return {after}
            case flow.Decide(after=after, over=over, bodies=bodies):
                return {place + 1, after, *(first for _, first in bodies)} | (
                    {over} if over >= 0 else set()
                )
            case flow.DrawOutcome(step=step):
                return {place + 1} | ({place} if is_repeated_draw(step) else set())
            case (
                flow.EnterLoop()
                | flow.ReturnFromBody()
                | flow.Reveal()
                | flow.Execute()
                | flow.PayNow()
            ):
                return set()
            case flow.CallFunction() | flow.EnterStage() | flow.LeaveStage() | flow.Stop():
                return set()
        assert_never(op)


def is_repeated_draw(step: Draw) -> bool:
    """Returns whether chance draws more than once at a step."""
    return prod(map(len, step.per)) > 1


@dataclass(frozen=True, slots=True)
class StepContext:
    """The loops around a step, outermost first; the outermost stage around it, if there is one; and
    the seats that may be acting (empty: nothing is known). Loops and stages by their ids."""

    loops: tuple[str, ...] = ()
    stage: str | None = None
    acting: tuple[str, ...] = ()


def step_contexts(steps: tuple[Step, ...]) -> dict[str, StepContext]:
    """Returns the context of each step, by its id. It is the same whenever the step runs."""
    return {step.id: _context(path) for step, path in walk_with_path(steps)}


def _context(path: tuple[Step, ...]) -> StepContext:
    loops = tuple(step.id for step in path if isinstance(step, Loop))
    stage = next((step.id for step in path if isinstance(step, Stage)), None)
    acting: tuple[str, ...] = ()
    for step in path:
        match step:
            case Choose(actors=actors):
                acting = actors
            case Loop(items=items) if step.in_turn:
                acting = values(items.value) if isinstance(items, Const) else ()
            case Loop() | Block() | Stage() | Draw() | Show() | Do() | Pay() | Call():
                pass
            case _:
                assert_never(step)
    return StepContext(loops, stage, acting)


ME = "@me"
"""Stands for the acting seat, among the names of variables."""


def needless_checks(ops: tuple[flow.Op, ...], make: Expressions) -> set[int]:
    """Returns the checks that need not be made, as positions in the list of operations."""
    ends = {id(op.end): op.end for op in ops if isinstance(op, flow.CheckEnd)}
    needless: set[int] = set()
    for end in ends.values():
        checked = _known_to_fail(ops, end, make)
        needless |= {
            place for place, op in enumerate(ops)
            if isinstance(op, flow.CheckEnd) and op.end is end and checked[place]
        }  # fmt: skip
    return needless


def _known_to_fail(ops: tuple[flow.Op, ...], end: Expr, make: Expressions) -> list[bool]:
    """Returns, for each operation, whether a condition is known not to hold before it."""
    reads = make.known.variables(end) | ({ME} if make.known.reads_me(end) else set())
    known = [place > 0 for place in range(len(ops))]
    edges = list(_edges(ops, end, reads))
    changed = True
    while changed:
        changed = False
        for place, after, fails in edges:
            if known[after] and not (known[place] if fails is None else fails):
                known[after] = False
                changed = True
    return known


def _edges(
    ops: tuple[flow.Op, ...], end: Expr, reads: set[str]
) -> Iterator[tuple[int, int, bool | None]]:
    """Yields each operation with one that may follow it, and whether `end` is known to fail there;
    None where that is as before the operation."""
    asks = {first: place for place, op in enumerate(ops)
            if isinstance(op, flow.Decide) for _, first in op.bodies}  # fmt: skip
    for place, op in enumerate(ops):
        written = _writes(op)
        fails = None if written is not None and not written & reads else False
        if isinstance(op, flow.CheckEnd) and op.end is end:
            yield place, place + 1, True
            yield place, op.over, False
        elif isinstance(op, flow.ReturnFromBody):
            yield place, asks[max(first for first in asks if first <= place)] + 1, fails
        else:
            yield from ((place, after, fails) for after in _following(place, op))


def _following(place: int, op: flow.Op) -> list[int]:
    """Returns the operations at which play may go on after one."""
    match op:
        case flow.Stop():
            return []
        case flow.Branch(otherwise=otherwise):
            return [place + 1, otherwise]
        case flow.CheckEnd(over=over):
            return [place + 1, over]
        case flow.BeginPass(after=after, over=over):
            return [place + 1, after, over]
        case flow.EndPass(head=head, after=after):
            return [head, after]
        case flow.Decide(after=after, over=over, bodies=bodies):
            return [place + 1, after, over, *(first for _, first in bodies)]
        case (
            flow.EnterLoop()
            | flow.ReturnFromBody()
            | flow.DrawOutcome()
            | flow.Reveal()
            | flow.Execute()
        ):
            return [place + 1]
        case flow.PayNow() | flow.CallFunction() | flow.EnterStage() | flow.LeaveStage():
            return [place + 1]
    assert_never(op)


def _writes(op: flow.Op) -> set[str] | None:
    """Returns the variables that an operation changes; None for all."""
    match op:
        case flow.Branch() | flow.CheckEnd() | flow.EnterLoop() | flow.PayNow() | flow.Stop():
            return set()
        case flow.BeginPass(loop=loop):
            return {ME, *loop.resets, *filter(None, (loop.item, loop.count))}
        case flow.EndPass() | flow.ReturnFromBody():
            return {ME}
        case flow.Reveal(step=show):
            return {show.variable}
        case flow.Execute(step=do):
            return {write_of(statement).place.variable for statement in do.statements}
        case flow.DrawOutcome(step=draw):
            bag, place = draw.source.bag, draw.place
            return {draw.variable, *(part.variable for part in (bag, place) if part is not None)}
        case flow.Decide(step=step):
            place = step.place
            parameters = {name for action in step.moves for name, _ in action.parameters}
            return {ME, step.variable, *parameters} | ({place.variable} if place else set())
        case flow.CallFunction() | flow.EnterStage() | flow.LeaveStage():
            return None
    assert_never(op)
