"""Bounds on how much a seat can have seen since a choice of its own.

The program is interpreted over bounds: for each of a seat's last choices, the most that steps can
have weighed since. Where two courses meet, the larger bound holds; a loop is repeated until nothing
grows. That ends where the seat surely chooses in each pass, however many there are; otherwise all
that the loop can weigh counts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, assert_never

from gamedsl.bounds.programs import ProgramBounds, exact_passes, has_pass
from gamedsl.ir.expr import Const, Expr, Me
from gamedsl.ir.program import Block, Call, Choose, Do, Draw, Loop, Pay, Show, Stage, Step

PASSES = 4096
"""Passes of loops that are gone through at most; beyond them loops count whole."""

FEW = 8
"""Passes of a loop that are gone through one by one, where their number is known."""

Bounds = tuple[int | None, ...]
"""The most since the last choice, since the one before, and so on; None is no bound."""


class Weights(NamedTuple):
    """The weights of a step by itself: `all` of it, and `first`, the part that counts of a choice
    with which a window begins."""

    all: Callable[[Step], int]
    first: Callable[[Step], int]


def most_since(
    bounds: ProgramBounds, steps: tuple[Step, ...], seat: str, choices: int,
    counts: Callable[[Choose], bool], weights: Weights,
) -> dict[str, int | None]:  # fmt: skip
    """Returns for each choice of a seat, by its id, the most that steps can weigh together from the
    seat's choice that was `choices` before until then, or from the beginning where there were
    fewer. `counts` says which of its choices are counted, whatever it replies."""
    walk = _WindowWalk(bounds, seat, counts, weights)
    walk.steps(steps, (0,) * choices)
    return walk.found


class _WindowWalk:
    def __init__(
        self, bounds: ProgramBounds, seat: str, counts: Callable[[Choose], bool], weights: Weights
    ) -> None:
        self._bounds, self._seat, self._counts, self._weights = bounds, seat, counts, weights
        self._acting: str | None = None
        """The seat whose pass it is, where that is known."""
        self._exits: Bounds | None = None
        """The bounds wherever the stage under way may end; None where none is or it cannot."""
        self._passes = 0
        self.found: dict[str, int | None] = {}

    def steps(self, steps: tuple[Step, ...], bounds: Bounds) -> Bounds:
        for step in steps:
            after = self._step(step, bounds)
            bounds = after if step.condition is None else _either(bounds, after)
            if self._exits is not None:
                self._exits = _either(self._exits, bounds)
        return bounds

    def _step(self, step: Step, bounds: Bounds) -> Bounds:
        match step:
            case Block(body=body):
                return self.steps(body, bounds)
            case Loop():
                return self._loop(step, bounds)
            case Stage(body=body):
                outer, self._exits = self._exits, bounds if step.end is not None else None
                after = self.steps(body, bounds)
                if self._exits is not None:
                    after = _either(after, self._exits)
                self._exits = outer
                return after
            case Choose():
                return self._choice(step, bounds)
            case Draw() | Show() | Do() | Pay() | Call():
                return _more(bounds, self._weights.all(step))
            case _:
                assert_never(step)

    def _choice(self, step: Choose, bounds: Bounds) -> Bounds:
        if self._seat in step.actors:
            met, last = self.found.get(step.id, 0), bounds[-1]
            self.found[step.id] = None if met is None or last is None else max(met, last)
        after = _more(bounds, self._weights.all(step))
        if self._seat in step.actors and self._counts(step):
            begun = (self._weights.first(step), *after[:-1])
            after = begun if self._surely(step) else _either(begun, after)
        bodies = [self._bounds.total(self._weights.all, action.body) for action in step.moves]
        known = [body for body in bodies if body is not None]
        if len(known) < len(bodies):
            return (None,) * len(after)
        actors = len(step.actors) if step.joint else 1
        return _more(after, actors * max(known, default=0))

    def _surely(self, step: Choose) -> bool:
        """Whether the seat has a choice here whenever a play reaches the step."""
        if step.said is None and (not step.static or len(step.options_of(self._seat)) < 2):
            return False
        return step.condition is None and (
            step.joint or step.actors == (self._seat,) or self._actor(step.actor) == self._seat
        )

    def _actor(self, actor: Expr | None) -> str | None:
        if isinstance(actor, Const):
            return str(actor.value)
        return self._acting if isinstance(actor, Me) else None

    def _loop(self, loop: Loop, bounds: Bounds) -> Bounds:
        """Returns the bounds after a loop: after its last pass where their number is known, else
        after any pass, and before the first where there may be none."""
        times, order, outer = self._bounds.passes(loop), self._order(loop), self._acting
        exact = exact_passes(loop) if loop.until is None and loop.bound is None else None
        now, done, found = bounds, 0, None if has_pass(loop) else bounds
        if exact is not None and exact <= FEW:
            for number in range(exact):
                self._acting = order[number % len(order)]
                now = self.steps(loop.body, now)
            self._acting = outer
            return now
        while times is None or done < times:
            entry = now
            for self._acting in order:
                now = self.steps(loop.body, now)
                found = now if found is None else _either(found, now)
                done += 1
            now = _either(entry, now)
            if now == entry:
                break
            self._passes += 1
            if done > len(order) * (len(bounds) + FEW) or self._passes > PASSES:
                found = self._whole(loop, bounds, times)
                break
        self._acting = outer
        return bounds if found is None else found

    def _whole(self, loop: Loop, before: Bounds, times: int | None) -> Bounds:
        """All that a loop can weigh, in all its passes, on top of what there was before."""
        self._acting = None
        inside = self._bounds.total(self._weights.all, loop.body)
        if inside is None or (times is None and inside):
            after: Bounds = (None,) * len(before)
        else:
            after = _more(before, inside * (times or 0))
        self.steps(loop.body, after)
        return after

    def _order(self, loop: Loop) -> tuple[str | None, ...]:
        """Returns the seats of the passes of a loop; None for a pass whose seat is unknown."""
        if loop.in_turn and isinstance(loop.items, Const) and loop.items.value:
            return tuple(map(str, loop.items.value))
        return (None,) if loop.in_turn else (self._acting,)


def _more(bounds: Bounds, weight: int) -> Bounds:
    return tuple(None if bound is None else bound + weight for bound in bounds)


def _either(one: Bounds, other: Bounds) -> Bounds:
    pairs = zip(one, other, strict=True)
    return tuple(None if a is None or b is None else max(a, b) for a, b in pairs)
