"""Who can read a value: sets of seats, as the bits of a number, and the same for parts of values.

The analysis is made for every seat that may act, one after another, so that `me`, `others` and the
roles that a loop goes through are known seats and no symbols: of `hand[to]` with `to` another than
`me` it is then known that `me` is not its owner.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_
from typing import Literal

from gamedsl.ir.statements import Readers

Seats = int
"""A set of seats: seat number i is bit i."""


def each(seats: Seats) -> Iterator[int]:
    """The numbers of the seats in a set, in order."""
    number = 0
    while seats >> number:
        if seats >> number & 1:
            yield number
        number += 1


@dataclass(frozen=True, slots=True)
class Sight:
    """Who reads a value. `readers` are those who read the whole of it, or, where it has `parts`
    (one for each seat, or one for each field), those who may read what their parts say.

    `seats` are the roles that it may be, or that may be in it, where it is a role or holds roles.
    """

    readers: Seats
    seats: Seats
    parts: tuple[Sight, ...] = ()
    by: Literal["", "seat", "field"] = ""

    @property
    def all(self) -> Seats:
        """Those who read all of it."""
        return reduce(and_, (part.all for part in self.parts), self.readers)

    @property
    def any(self) -> Seats:
        """Those who read something of it."""
        if not self.parts:
            return self.readers
        return self.readers & reduce(or_, (part.any for part in self.parts), 0)

    def part(self, index: int) -> Sight:
        return self.parts[index].within(self.readers)

    def within(self, readers: Seats) -> Sight:
        """The same, for some seats only."""
        left = self.readers & readers
        return self if left == self.readers else Sight(left, self.seats, self.parts, self.by)

    def also(self, readers: Seats) -> Sight:
        """The same, for some seats more."""
        parts = tuple(part.also(readers) for part in self.parts)
        return Sight(self.readers | readers, self.seats, parts, self.by)

    def being(self, seats: Seats) -> Sight:
        """The same, with what roles it may be."""
        return self if seats == self.seats else Sight(self.readers, seats, self.parts, self.by)

    def flat(self) -> Sight:
        return Sight(self.all, self.seats) if self.parts else self


def either(left: Sight, right: Sight) -> Sight:
    """A value that is one or the other: read by those who read both."""
    seats, readers = left.seats | right.seats, left.readers & right.readers
    if left.by == right.by and len(left.parts) == len(right.parts):
        parts = tuple(map(either, left.parts, right.parts))
        return Sight(readers, seats, parts, left.by)
    if left.parts and right.parts:
        return Sight(left.all & right.all, seats)
    whole = left if left.parts else right
    return Sight(readers, seats, whole.parts, whole.by)


def beyond(target: Sight, value: Sight) -> Seats:
    """The seats that read something of a target into which a value goes that they cannot read."""
    if target.parts and target.by == value.by and len(target.parts) == len(value.parts):
        places = range(len(target.parts))
        return reduce(or_, (beyond(target.part(i), value.part(i)) for i in places), 0)
    return target.any & ~value.all


@dataclass(frozen=True, slots=True)
class Table:
    """The seats of a game by number, and what `Readers` mean among them."""

    names: tuple[str, ...]

    @property
    def everyone(self) -> Seats:
        return (1 << len(self.names)) - 1

    @property
    def public(self) -> Sight:
        return Sight(self.everyone, self.everyone)

    def of(self, names: object) -> Seats:
        """The seats in a value: a role, or a collection of roles."""
        if isinstance(names, str):
            return 1 << self.names.index(names) if names in self.names else 0
        if isinstance(names, tuple | frozenset):
            return reduce(or_, map(self.of, names), 0)
        return 0 if names is None else self.everyone

    def sight(
        self,
        readers: Readers,
        owner: int | None,
        holds: Callable[[Readers, int], bool],
        fields: int = 0,
    ) -> Sight:
        """Who reads what such readers see, if it is a seat's own (None: nobody's).

        `holds` says of a seat whether the test of `Readers` counts; a record has so many `fields`.
        """
        if readers.fields:
            inner = dict(readers.fields)
            nobody = Sight(0, self.everyone)
            parts = tuple(
                self.sight(inner[i], owner, holds) if i in inner else nobody for i in range(fields)
            )
            return Sight(self.everyone, self.everyone, parts, "field") if parts else nobody
        return Sight(self._whole(readers, owner, holds), self.everyone)

    def _whole(
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
        return 0

    def per_seat(self, part: Callable[[int], Sight]) -> Sight:
        """A per-role map, of each seat's own."""
        parts = tuple(map(part, range(len(self.names))))
        return Sight(self.everyone, self.everyone, parts, "seat")
