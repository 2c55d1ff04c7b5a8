"""Where a generated game stops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Go = Any
"""The function to go on with, or None; its own type cannot be written down."""


class Asks:
    """Where seats choose: which stop of the program this is, the step, what happens once they have,
    each seat's options, and the slot of what was paid before the stage around it (empty: there is
    none)."""

    __slots__ = ("_places", "names", "number", "step", "take", "unpaid")

    def __init__(
        self, number: int, step: str, take: Callable[[Any, Sequence[int]], Go],
        names: dict[str, list[str]], unpaid: str,
    ) -> None:  # fmt: skip
        self.number = number
        self.step = step
        self.take = take
        self.names = names
        self.unpaid = unpaid
        self._places: dict[str, dict[str, int]] = {}

    def place(self, seat: str, name: str) -> int:
        """The place of an option among all of a seat."""
        if seat not in self._places:
            self._places[seat] = {name: i for i, name in enumerate(self.names[seat])}
        return self._places[seat][name]


class Draws:
    """Where chance draws: its number and step as in `Asks`, the names of each index, what happens
    once it has, which passes of the loops around it are under way, the name of what is drawn, and
    the slot as in `Asks`."""

    __slots__ = ("indices", "name", "number", "passes", "step", "take", "unpaid")

    def __init__(
        self, number: int, step: str, indices: tuple[tuple[str, ...], ...],
        take: Callable[[Any, Any], Go], passes: Callable[[Any], tuple[int, ...]],
        name: Callable[[Any], str], unpaid: str,
    ) -> None:  # fmt: skip
        self.number = number
        self.step = step
        self.indices = indices
        self.take = take
        self.passes = passes
        self.name = name
        self.unpaid = unpaid
