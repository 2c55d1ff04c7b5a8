"""Slots: the places of a view that steps fill, one for each variable and key."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import assert_never

from gamedsl.ir.program import Binding, Call, Choose, Draw, Show
from gamedsl.ir.statements import Readers
from gamedsl.ir.types import Type, join
from gamedsl.prompting.draw_heads import Key, keys_of


@dataclass(frozen=True)
class Slot:
    """A variable that steps bind, for one key. For a choice, `options` are the names that may be
    chosen; a view holds the name. Otherwise, and for a choice of which some see only some fields,
    there are no options, and `type` is the type of the value. `readers` are those of each step that
    binds the variable, with the seat that then owns it (empty: nobody)."""

    variable: str
    key: Key
    type: Type
    options: tuple[str, ...] = ()
    readers: tuple[tuple[Readers, str], ...] = ()
    unordered: bool = False
    """Whether the value is a selection, in no order."""
    choosers: tuple[str, ...] = ()
    """The seats that may choose the value."""

    def chosen_by(self, seat: str) -> bool:
        """Returns whether a seat may choose the value; a seat always knows its own choice."""
        return seat in self.choosers


def slots_of(
    steps: Iterable[Binding], declared: Collection[str], seats: tuple[str, ...]
) -> dict[tuple[str, Key], Slot]:
    """Returns the slots that steps fill, by variable and key. Steps that bind `declared` state fill
    none."""
    filling = [step for step in steps if step.variable not in declared]
    actors: dict[str, set[str]] = {}
    for step in filling:
        if isinstance(step, Choose):
            actors.setdefault(step.variable, set()).update(step.actors)
    slots: dict[tuple[str, Key], Slot] = {}
    for step in filling:
        for slot in _slots_of(step, len(actors.get(step.variable, ())) > 1, seats):
            place = slot.variable, slot.key
            known = slots.get(place, slot)
            slots[place] = Slot(
                *place, join(known.type, slot.type) or known.type,
                tuple(dict.fromkeys((*known.options, *slot.options))),
                tuple(dict.fromkeys((*known.readers, *slot.readers))),
                known.unordered and slot.unordered,
                tuple(dict.fromkeys((*known.choosers, *slot.choosers))),
            )  # fmt: skip
    return slots


def _slots_of(step: Binding, several: bool, seats: tuple[str, ...]) -> Iterable[Slot]:
    """Yields the slots of one step; `several` says that more than one seat chooses its variable."""
    match step:
        case Choose():
            for seat, options in zip(step.actors, step.options, strict=True):
                names = () if step.readers.fields else tuple(option.name for option in options)
                key: Key = (seat,) if step.joint or several else ()
                readers = (step.readers, seat)
                yield Slot(step.variable, key, step.type, names, (readers,), choosers=(seat,))
        case Show(by_seat=True) | Call(by_seat=True):
            for seat in seats:
                yield Slot(step.variable, (seat,), step.entry_type, (), ((step.readers, seat),))
        case Show() | Call():
            yield Slot(step.variable, (), step.type, (), ((step.readers, ""),))
        case Draw():
            unordered = step.source.take is not None
            for key in keys_of(step):
                owned = (step.readers, key[0] if step.by_seat else "")
                yield Slot(step.variable, key, step.type, (), (owned,), unordered)
        case _:
            assert_never(step)
