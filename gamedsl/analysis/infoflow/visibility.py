"""Visibility of values: the seats that read one, and those that read parts of one.

The analysis is made for every seat that may act, one after another, so that `me`, `others` and the
roles that a loop goes through are known seats and no symbols: of `hand[to]` with `to` another than
`me` it is then known that `me` is not its owner.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_
from typing import Literal, assert_never

from gamedsl.ir.statements import Readers

Seats = int
"""A set of seats: seat number i is bit i."""


def seat_numbers(seats: Seats) -> Iterator[int]:
    """Yields the numbers of the seats in a set, in order."""
    number = 0
    while seats >> number:
        if seats >> number & 1:
            yield number
        number += 1


@dataclass(frozen=True, slots=True)
class Visibility:
    """The seats that read a value.

    `readers` read the whole of it, or, where it has `parts` (one for each seat, or one for each
    field), may read what its parts say.

    `seats` are the roles that the value may be, or that may be in it.
    """

    readers: Seats
    seats: Seats
    parts: tuple[Visibility, ...] = ()
    by: Literal["", "seat", "field"] = ""

    @property
    def all(self) -> Seats:
        """The seats that read all of it."""
        return reduce(and_, (part.all for part in self.parts), self.readers)

    @property
    def any(self) -> Seats:
        """The seats that read something of it."""
        if not self.parts:
            return self.readers
        return self.readers & reduce(or_, (part.any for part in self.parts), 0)

    def part(self, index: int) -> Visibility:
        return self.parts[index].restricted(self.readers)

    def restricted(self, readers: Seats) -> Visibility:
        """Returns the visibility without the seats that are not among `readers`."""
        left = self.readers & readers
        return self if left == self.readers else Visibility(left, self.seats, self.parts, self.by)

    def widened(self, readers: Seats) -> Visibility:
        """Returns the visibility with further readers."""
        parts = tuple(part.widened(readers) for part in self.parts)
        return Visibility(self.readers | readers, self.seats, parts, self.by)

    def with_roles(self, seats: Seats) -> Visibility:
        """Returns the visibility of a value that is, or holds, some of these roles."""
        return self if seats == self.seats else Visibility(self.readers, seats, self.parts, self.by)

    def flattened(self) -> Visibility:
        return Visibility(self.all, self.seats) if self.parts else self


def join(left: Visibility, right: Visibility) -> Visibility:
    """Returns the visibility of a value that is one or the other: those who read both read it."""
    seats, readers = left.seats | right.seats, left.readers & right.readers
    if left.by == right.by and len(left.parts) == len(right.parts):
        parts = tuple(map(join, left.parts, right.parts))
        return Visibility(readers, seats, parts, left.by)
    if left.parts and right.parts:
        return Visibility(left.all & right.all, seats)
    whole = left if left.parts else right
    return Visibility(readers, seats, whole.parts, whole.by)


def leaked_to(target: Visibility, value: Visibility) -> Seats:
    """Returns the seats that read a target, or a part of it, but not the value stored in it."""
    if target.parts and target.by == value.by and len(target.parts) == len(value.parts):
        places = range(len(target.parts))
        return reduce(or_, (leaked_to(target.part(i), value.part(i)) for i in places), 0)
    return target.any & ~value.all


@dataclass(frozen=True, slots=True)
class SeatTable:
    """The seats of a game by number, and the visibilities that `Readers` give."""

    names: tuple[str, ...]

    @property
    def everyone(self) -> Seats:
        return (1 << len(self.names)) - 1

    @property
    def public(self) -> Visibility:
        return Visibility(self.everyone, self.everyone)

    def of(self, names: object) -> Seats:
        """Returns the seats in a value: a role, or a collection of roles."""
        if isinstance(names, str):
            return 1 << self.names.index(names) if names in self.names else 0
        if isinstance(names, tuple | frozenset):
            return reduce(or_, map(self.of, names), 0)
        return 0 if names is None else self.everyone

    def visibility(
        self,
        readers: Readers,
        owner: int | None,
        holds: Callable[[Readers, int], bool],
        fields: int = 0,
    ) -> Visibility:
        """Returns the visibility of a value with such readers, and an owner (None: nobody).

        `holds` decides for a seat whether the test of `Readers` counts; a record has so many
        `fields`.
        """
        if readers.fields:
            inner = dict(readers.fields)
            nobody = Visibility(0, self.everyone)
            parts = tuple(
                self.visibility(inner[i], owner, holds) if i in inner else nobody
                for i in range(fields)
            )
            return Visibility(self.everyone, self.everyone, parts, "field") if parts else nobody
        return Visibility(self._readers(readers, owner, holds), self.everyone)

    def _readers(
        self, readers: Readers, owner: int | None, holds: Callable[[Readers, int], bool]
    ) -> Seats:
        own = 0 if owner is None else 1 << owner
        match readers.kind:
            case "all":
                return self.everyone
            case "owner":
                return own
            case "others":
                return self.everyone & ~own
            case "seats":
                return self.of(readers.seats)
            case "test":
                return sum(1 << seat for seat in range(len(self.names)) if holds(readers, seat))
            case "nobody":
                return 0
            case _:
                assert_never(readers.kind)

    def per_seat(self, part: Callable[[int], Visibility]) -> Visibility:
        """Returns the visibility of a per-role map, from that of each seat's entry."""
        parts = tuple(map(part, range(len(self.names))))
        return Visibility(self.everyone, self.everyone, parts, "seat")
