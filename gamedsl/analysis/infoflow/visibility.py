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

from gamedsl.ir import statements

Seats = int
"""A set of seats: seat number i is bit i."""

Readers = int
"""A set of readers, which are seats in their cases (`gamedsl.analysis.infoflow.cases`): seat number
i of n is bit i in its first case, bit i + n in its second, and so on."""


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

    readers: Readers
    seats: Seats
    parts: tuple[Visibility, ...] = ()
    by: Literal["", "seat", "field"] = ""

    @property
    def all(self) -> Readers:
        """The seats that read all of it."""
        return reduce(and_, (part.all for part in self.parts), self.readers)

    @property
    def any(self) -> Readers:
        """The seats that read something of it."""
        if not self.parts:
            return self.readers
        return self.readers & reduce(or_, (part.any for part in self.parts), 0)

    def part(self, index: int) -> Visibility:
        return self.parts[index].restricted(self.readers)

    def restricted(self, readers: Readers) -> Visibility:
        """Returns the visibility without the seats that are not among `readers`."""
        left = self.readers & readers
        return self if left == self.readers else Visibility(left, self.seats, self.parts, self.by)

    def widened(self, readers: Readers) -> Visibility:
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


def leaked_to(target: Visibility, value: Visibility) -> Readers:
    """Returns the seats that read a target, or a part of it, but not the value stored in it."""
    if target.parts and target.by == value.by and len(target.parts) == len(value.parts):
        places = range(len(target.parts))
        return reduce(or_, (leaked_to(target.part(i), value.part(i)) for i in places), 0)
    return target.any & ~value.all


@dataclass(frozen=True, slots=True)
class SeatTable:
    """The seats of a game by number, each in so many `cases`, and the visibilities that the readers
    of a value give."""

    names: tuple[str, ...]
    cases: int = 1

    @property
    def seats(self) -> Seats:
        return (1 << len(self.names)) - 1

    @property
    def everyone(self) -> Readers:
        """All seats in all cases."""
        return (1 << len(self.names) * self.cases) - 1

    @property
    def public(self) -> Visibility:
        return Visibility(self.everyone, self.seats)

    def of(self, names: object) -> Seats:
        """Returns the seats in a value: a role, or a collection of roles."""
        if isinstance(names, str):
            return 1 << self.names.index(names) if names in self.names else 0
        if isinstance(names, tuple | frozenset):
            return reduce(or_, map(self.of, names), 0)
        return 0 if names is None else self.seats

    # seats and their cases

    def readers(self, seats: Seats) -> Readers:
        """Returns some seats in all their cases."""
        return reduce(or_, (seats << len(self.names) * case for case in range(self.cases)), 0)

    def own(self, seat: int) -> Readers:
        """Returns one seat in all its cases."""
        return self.readers(1 << seat)

    def seat(self, reader: int) -> int:
        """Returns the number of the seat that a reader, by number, is."""
        return reader % len(self.names)

    def some(self, readers: Readers) -> Seats:
        """Returns the seats that are among readers in some case."""
        return reduce(or_, self._by_case(readers), 0)

    def always(self, readers: Readers) -> Seats:
        """Returns the seats that are among readers in all cases."""
        return reduce(and_, self._by_case(readers), self.seats)

    def _by_case(self, readers: Readers) -> Iterator[Seats]:
        count = len(self.names)
        return (readers >> count * case & self.seats for case in range(self.cases))

    def certain(self, value: Visibility) -> Visibility:
        """Returns a visibility by seats: those that read the value in all cases."""
        if self.cases == 1:
            return value
        parts = tuple(map(self.certain, value.parts))
        return Visibility(self.always(value.readers), value.seats, parts, value.by)

    # visibilities

    def visibility(
        self,
        readers: statements.Readers,
        owner: int | None,
        holds: Callable[[statements.Readers, int], bool],
        fields: int = 0,
    ) -> Visibility:
        """Returns the visibility of a value with such readers, and an owner (None: nobody).

        `holds` decides for a reader, by number, whether the test of `Readers` counts; a record has
        so many `fields`.
        """
        if readers.fields:
            inner = dict(readers.fields)
            nobody = Visibility(0, self.seats)
            parts = tuple(
                self.visibility(inner[i], owner, holds) if i in inner else nobody
                for i in range(fields)
            )
            return Visibility(self.everyone, self.seats, parts, "field") if parts else nobody
        return Visibility(self._readers(readers, owner, holds), self.seats)

    def _readers(
        self,
        readers: statements.Readers,
        owner: int | None,
        holds: Callable[[statements.Readers, int], bool],
    ) -> Readers:
        own = 0 if owner is None else self.own(owner)
        match readers.kind:
            case "all":
                return self.everyone
            case "owner":
                return own
            case "others":
                return self.everyone & ~own
            case "seats":
                return self.readers(self.of(readers.seats))
            case "test":
                count = len(self.names) * self.cases
                return sum(1 << reader for reader in range(count) if holds(readers, reader))
            case "nobody":
                return 0
            case _:
                assert_never(readers.kind)

    def per_seat(self, part: Callable[[int], Visibility]) -> Visibility:
        """Returns the visibility of a per-role map, from that of each seat's entry."""
        parts = tuple(map(part, range(len(self.names))))
        return Visibility(self.everyone, self.seats, parts, "seat")
