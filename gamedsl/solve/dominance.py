"""Dominated actions of one-shot games, and what is left when they are taken away again and again.

An action is strictly dominated where some mixture of the seat's other actions pays more whatever
the others do (Pearce 1984: it is then never a best reply, for two seats), and weakly where it never
pays less and once more. All that are dominated go at once, round by round. For strict dominance the
order is of no matter and no equilibrium is lost; for weak dominance both are otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Literal

from gamedsl.solve.linear_programs import Program, maximise
from gamedsl.solve.table import PayoffTable, Profile
from gamedsl.solve.tree import Utility

Strength = Literal["strictly", "weakly"]
Got = Mapping[Profile, tuple[Fraction, ...]]
Left = tuple[tuple[str, ...], ...]
"""The actions that each seat has left."""

MANY_CELLS = 5_000


@dataclass(frozen=True)
class Removed:
    """An action that goes in a round (from 1), and the mixture of other actions that beats it."""

    round: int
    seat: str
    action: str
    by: dict[str, Fraction]


@dataclass(frozen=True)
class Elimination:
    """The eliminated actions, in order, and each seat's remaining ones. `mixtures` says whether
    actions dominated by mixtures alone were eliminated too: not without scipy, nor in games of
    over 5,000 profiles."""

    strength: Strength
    removed: tuple[Removed, ...]
    left: dict[str, tuple[str, ...]]
    mixtures: bool

    @property
    def solved(self) -> bool:
        """Whether one profile is left."""
        return all(len(names) == 1 for names in self.left.values())


def eliminate(table: PayoffTable, strength: Strength, utility: Utility = "payoffs") -> Elimination:
    """Take away dominated actions until there are none."""
    got = table.worth(utility)
    left: Left = table.actions
    removed: list[Removed] = []
    mixtures = len(got) <= MANY_CELLS
    for number in range(1, 1 + sum(map(len, left))):
        gone: list[Removed] = []
        for seat, name in enumerate(table.seats):
            for action in left[seat]:
                by = _by_pure(got, left, seat, action, strength)
                if by is None and mixtures and len(left[seat]) > 2:
                    try:
                        by = _by_mixture(got, left, seat, action, strength)
                    except ImportError:
                        mixtures = False
                if by is not None:
                    gone.append(Removed(number, name, action, by))
        if not gone:
            break
        removed += gone
        out = {(one.seat, one.action) for one in gone}
        left = tuple(
            tuple(a for a in names if (seat, a) not in out)
            for seat, names in zip(table.seats, left, strict=True)
        )
    return Elimination(
        strength, tuple(removed), dict(zip(table.seats, left, strict=True)), mixtures
    )


def _others(left: Left, seat: int) -> Iterator[tuple[Profile, Profile]]:
    """Yields the others' profiles: the part before the seat's own place, and the part after it."""
    for others in product(*left[:seat], *left[seat + 1 :]):
        yield others[:seat], others[seat:]


def _by_pure(
    got: Got, left: Left, seat: int, action: str, strength: Strength
) -> dict[str, Fraction] | None:
    for other in left[seat]:
        if other == action:
            continue
        gains = [
            got[(*before, other, *after)][seat] - got[(*before, action, *after)][seat]
            for before, after in _others(left, seat)
        ]
        beaten = min(gains) > 0 if strength == "strictly" else min(gains) >= 0 < max(gains)
        if beaten:
            return {other: Fraction(1)}
    return None


def _by_mixture(
    got: Got, left: Left, seat: int, action: str, strength: Strength
) -> dict[str, Fraction] | None:
    """By a linear program over mixtures of the other actions. Strictly: the largest margin in every
    column. Weakly: the largest sum of margins, none below 0. Only what is certified counts."""
    others = [name for name in left[seat] if name != action]
    size = len(others)
    program = Program(size + 1, {}, free=frozenset([size]))
    program.equal.append((dict.fromkeys(range(size), Fraction(1)), Fraction(1)))
    total: dict[int, Fraction] = dict.fromkeys(range(size), Fraction(0))
    worth = Fraction(0)
    for before, after in _others(left, seat):
        here = got[(*before, action, *after)][seat]
        gains = [got[(*before, name, *after)][seat] for name in others]
        row = {j: -gain for j, gain in enumerate(gains)}
        if strength == "strictly":
            row[size] = Fraction(1)
        for j, gain in enumerate(gains):
            total[j] += gain
        worth += here
        program.most.append((row, -here))
    if strength == "strictly":
        program.objective = {size: Fraction(1)}
    else:
        program.objective = total
        program.equal.append(({size: Fraction(1)}, Fraction(0)))
    best = maximise(program)
    if best is None or not best.exact or best.value <= (0 if strength == "strictly" else worth):
        return None
    return {name: Fraction(p) for name, p in zip(others, best.x, strict=False) if p}
