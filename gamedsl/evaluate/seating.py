"""Pairings and seatings of contestants.

A pairing is ordered: its focal contestant takes one of the free seats in turn, and the background
contestant all others (with two seats, the two ways to sit). A pairing with itself has one seating.
Seats that `--role` assigns are never free. If only one seat is free, there is nobody to pair with,
and every contestant plays it against the holders of the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Holders = tuple[str, ...]
"""The name of each seat's holder, in seat order."""


@dataclass(frozen=True)
class Seating:
    """One way to sit, and the numbers of the seats that the focal contestant has in it."""

    holders: Holders
    focal: tuple[int, ...]


@dataclass(frozen=True)
class Pairing:
    """`background` is None where no seat is left for one."""

    focal: str
    background: str | None
    seatings: tuple[Seating, ...]

    @property
    def mirror(self) -> bool:
        """Whether the contestant plays itself."""
        return self.focal == self.background


def pairings(
    seats: Sequence[str], fixed: Mapping[str, str], focal: Sequence[str], background: Sequence[str]
) -> tuple[Pairing, ...]:
    """Pairs each focal contestant with itself and with each background one; `fixed` are the seats
    with one holder always."""
    free = [number for number, seat in enumerate(seats) if seat not in fixed]
    base = [fixed.get(seat, "") for seat in seats]

    def seating(at: Sequence[int], who: str, rest: str) -> Seating:
        holders = list(base)
        for number in free:
            holders[number] = who if number in at else rest
        return Seating(tuple(holders), tuple(at))

    if len(free) == 1:
        return tuple(Pairing(who, None, (seating(free, who, ""),)) for who in focal)
    found = []
    for who in focal:
        for rest in dict.fromkeys((who, *background)):
            taken = [free] if who == rest else [[number] for number in free]
            found.append(Pairing(who, rest, tuple(seating(at, who, rest) for at in taken)))
    return tuple(found)
