"""The keys for which a draw has an outcome each, as the names of its outcomes begin with them."""

from __future__ import annotations

from gamedsl.ir.program import Draw
from gamedsl.ir.values import name_of
from gamedsl.prompting.events import Event

Key = tuple[str, ...]
"""The seat that chose or is drawn for, and the indices of a draw, by name."""


def keys_of(step: Draw) -> tuple[Key, ...]:
    """Returns the keys of the slots that a draw fills: one for each index."""
    keys: tuple[Key, ...] = ((),)
    for values in step.per:
        keys = tuple((*key, name_of(value)) for key in keys for value in values)
    return keys


class DrawHeads:
    """The beginnings of the names of a draw's outcomes, which say for which key it was: `k1:k2:`.
    An outcome is looked up by them, since a draw may have thousands of keys. The name of an outcome
    of which some fields are seen says no key: its place among those that were seen does."""

    def __init__(self, step: Draw) -> None:
        self._owned = step.by_seat
        self._places: dict[tuple[str, str], tuple[int, Key]] = {}
        for number, key in enumerate(keys_of(step)):
            head = "".join(f"{part}:" for part in key[step.by_seat :])
            self._places.setdefault((key[0] if step.by_seat else "", head), (number, key))
        self._in_order: dict[str, list[Key]] | None = {} if step.readers.fields else None
        """The keys for each seat in the order of their outcomes, where fields alone are seen."""
        if self._in_order is not None:
            for key in keys_of(step):
                self._in_order.setdefault(key[0] if step.by_seat else "", []).append(key)
        self._longest = max((len(head) for _, head in self._places), default=0)

    def key_of(self, event: Event) -> tuple[Key, str]:
        """Returns the key for which an outcome was drawn, the first of several, and the outcome's
        own name. Raises ValueError for an event that is no outcome of the draw."""
        owner, name, found = event.seat if self._owned else "", event.name, []
        if self._in_order is not None:
            keys = self._in_order[owner]
            return keys[event.occurrence % len(keys)], name
        ends = (at + 1 for at, letter in enumerate(name[: self._longest]) if letter == ":")
        for end in (0, *ends):
            place = self._places.get((owner, name[:end]))
            if place is not None:
                found.append((*place, name[end:]))
        if not found:
            raise ValueError(f"`{name}` is no outcome of `{event.step}`")
        _, key, own = min(found)
        return key, own
