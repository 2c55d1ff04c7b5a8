"""The history of a seat as floats of one size.

They are: the seat and its decision, then one block for each event in order, one-hot among all
events that the seat can ever see. Equal floats mean equal information. The size is the most events
of a play times the number of possible events, so only games of modest length have such a tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any, assert_never

from gamedsl.bounds.programs import ProgramBounds
from gamedsl.ir.program import (
    Binding,
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
    walk_steps,
)
from gamedsl.ir.types import domain
from gamedsl.ir.values import name_of
from gamedsl.prompting.draw_heads import keys_of
from gamedsl.prompting.events import Seen
from gamedsl.prompting.visibility import may_read
from gamedsl.runtime.views import Viewer

Kind = tuple[str, str, str]
"""A step, whose event it is, and the name."""


@dataclass(frozen=True)
class HistoryTensor:
    """`places` are the events that any seat can see, each with its place in a block; `blocks` the
    most events of a play; `steps` the decisions of the game."""

    seats: tuple[str, ...]
    steps: tuple[str, ...]
    places: dict[Kind, int]
    blocks: int

    @classmethod
    def of(cls, viewer: Viewer, limit: int) -> HistoryTensor | None:
        """The layout for a game; None where it has more than `limit` floats, or where its form does
        not show what there is to be seen."""
        seats = viewer.ir.seats
        kinds: dict[Kind, int] = {}
        for step in walk_steps(viewer.ir.turns):
            for kind in _kinds(step, seats) or ():
                kinds.setdefault(kind, len(kinds))
            if _kinds(step, seats) is None or len(kinds) > limit:
                return None
        longest, bounds = 0, ProgramBounds(viewer.ir)
        for seat in seats:
            length = bounds.total(partial(_events, seat=seat, seats=seats))
            if length is None:
                return None
            longest = max(longest, length)
        steps = tuple(step.id for step in viewer.ir.steps)
        made = cls(seats, steps, kinds, longest)
        return made if made.size <= limit else None

    @property
    def size(self) -> int:
        return len(self.seats) + len(self.steps) + self.blocks * len(self.places)

    def floats(self, seat: str, asked: str | None, seen: Seen) -> Iterator[float]:
        """The floats of a seat that has seen these events and is asked at a step, or at none."""
        yield from (float(seat == other) for other in self.seats)
        yield from (float(asked == step) for step in self.steps)
        for event in seen:
            block = [0.0] * len(self.places)
            block[self.places[event.step, event.seat, event.name]] = 1.0
            yield from block


def _events(step: Step, seat: str, seats: tuple[str, ...]) -> int:
    """The most events that a step can be for a seat."""
    chooses = isinstance(step, Choose)
    return _most_events(
        step,
        seats,
        lambda readers, owner: (
            (chooses and owner == seat) or may_read(readers, seat, owner or None)
        ),
    )


def _kinds(step: Step, seats: tuple[str, ...]) -> list[Kind] | None:
    """The events of a step, for any seat; None where they are not known or not finite."""
    if isinstance(step, Binding) and step.readers.fields:
        return None
    match step:
        case Choose(actors=actors):
            options = zip(actors, step.options, strict=True)
            return [(step.id, seat, option.name) for seat, each in options for option in each]
        case Show(type=type, by_seat=by_seat):
            values = domain(type, seats)
            if values is None:
                return None
            owners = seats if by_seat else ("",)
            return [(step.id, owner, name_of(value)) for owner in owners for value in values]
        case Draw(type=type):
            values = domain(type, seats)
            names = [name_of(value) for value in values or ()]
            return None if values is None else list(_draw_kinds(step, names, seats))
        case Do() | Pay() | Block() | Loop() | Stage():
            return []
        case Call():  # games with calls are refused before
            return []
        case _:
            assert_never(step)


def _draw_kinds(step: Draw, names: list[str], seats: tuple[str, ...]) -> Iterator[Kind]:
    """The events of a draw, with their possible owners."""
    owned = step.place is not None or step.readers.kind in ("owner", "others")
    for key in keys_of(step):
        owners = (key[0],) if step.by_seat else ("", *seats) if owned else ("",)
        for owner in owners:
            for name in names:
                yield step.id, owner, ":".join((*key[step.by_seat :], name))


def _most_events(step: Step, seats: tuple[str, ...], tells: Callable[[Any, str], bool]) -> int:
    """The most events that one choice, draw or show can be for a reader. `tells(readers, owner)`
    says whether the reader sees the value of an owner."""
    match step:
        case Choose(actors=actors, joint=joint, readers=readers):
            seen = sum(tells(readers, actor) for actor in actors)
            return seen if joint else min(seen, 1)
        case Draw(per=per, by_seat=by_seat, readers=readers):
            if not by_seat:
                return prod(map(len, per)) * tells(readers, "")
            rest = prod(map(len, per[1:]))
            return rest * sum(tells(readers, seat) for seat in per[0])
        case Show(readers=readers, by_seat=by_seat):
            return sum(tells(readers, owner) for owner in (seats if by_seat else ("",)))
        case Do() | Pay() | Call() | Block() | Loop() | Stage():
            return 0
        case _:
            assert_never(step)
