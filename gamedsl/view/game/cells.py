"""The payoff table of a one-shot game, with what game theory says of its cells.

Payoffs, not rewards: what the rules give. Best responses are exact; an action is dominated where
another pays more whatever the others do, or never less and sometimes more. Mixtures are no matter
here: `gamedsl solve` looks for those.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from gamedsl.solve.table import Profile, Table
from gamedsl.view.game.metrics import exact

MANY = 16
"""A sheet with more rows or columns than this is cut."""
SHEETS = 12


@dataclass(frozen=True)
class Sheet:
    """The cells of two roles, rows and columns, for what the other roles do (`given`, in their
    order)."""

    given: Profile
    rows: tuple[str, ...]
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Cells:
    """A table laid out on sheets: one for two roles, for three one per action of the first. With
    more roles there is one for every combination of what all but the last two do.

    `best[profile][seat]` says whether the seat's action is a best response there; `dominated` maps
    a seat's action to "strictly" or "weakly" and to what dominates it.
    """

    table: Table
    best: dict[Profile, tuple[bool, ...]]
    dominated: dict[tuple[int, str], tuple[str, str]]

    @property
    def seats(self) -> tuple[str, ...]:
        return self.table.seats

    @property
    def equilibria(self) -> tuple[Profile, ...]:
        """The pure ones."""
        return tuple(profile for profile, best in self.best.items() if all(best))

    def sheets(self) -> Iterator[Sheet]:
        *others, rows, columns = self.table.actions
        for given in product(*others):
            yield Sheet(given, rows, columns)

    def cell(self, profile: Profile) -> list[tuple[str, bool]]:
        """What each seat gets, and whether its action is a best response."""
        got = self.table.payoffs[profile]
        return [(exact(v), b) for v, b in zip(got, self.best[profile], strict=True)]

    def notes(self) -> list[str]:
        """What there is to say below the table."""
        said = []
        found = self.equilibria
        if not found:
            said.append("no pure equilibrium")
        elif len(found) <= 6:
            listed = ", ".join(f"({', '.join(profile)})" for profile in found)
            said.append(f"pure equilibri{'um' if len(found) == 1 else 'a'}: {listed}")
        else:
            said.append(f"{len(found)} pure equilibria")
        by: dict[tuple[int, str, str], list[str]] = {}
        for (seat, action), (how, other) in self.dominated.items():
            by.setdefault((seat, how, other), []).append(action)
        for (seat, how, other), actions in by.items():
            verb = "is" if len(actions) == 1 else "are"
            said.append(
                f"{', '.join(actions)} of {self.seats[seat]} {verb} {how} dominated by {other}"
            )
        if self.table.rewards != self.table.payoffs:
            said.append("these are payoffs; what is trained on (rewards) differs")
        return said


def cells_of(table: Table) -> Cells:
    """Lay out a table."""
    most: dict[tuple[int, Profile], Fraction] = {}
    for profile, got in table.payoffs.items():
        for seat, amount in enumerate(got):
            key = seat, (*profile[:seat], *profile[seat + 1 :])
            most[key] = max(most.get(key, amount), amount)
    best = {
        profile: tuple(
            amount == most[seat, (*profile[:seat], *profile[seat + 1 :])]
            for seat, amount in enumerate(got)
        )
        for profile, got in table.payoffs.items()
    }
    return Cells(table, best, dict(_dominated(table)))


def _dominated(table: Table) -> Iterator[tuple[tuple[int, str], tuple[str, str]]]:
    if len(table.payoffs) > 5_000:
        return
    for seat, names in enumerate(table.actions):
        others = list(product(*(a for i, a in enumerate(table.actions) if i != seat)))

        def got(action: str, seat: int = seat, others: list[Profile] = others) -> list[Fraction]:
            return [table.payoffs[(*o[:seat], action, *o[seat:])][seat] for o in others]

        worth = {name: got(name) for name in names}
        for name, mine in worth.items():
            for how in ("strictly", "weakly"):
                by = [o for o, row in worth.items() if o != name and _beats(row, mine, how)]
                if by:
                    yield (seat, name), (how, by[0])
                    break


def _beats(row: list[Fraction], mine: list[Fraction], how: str) -> bool:
    gains = [a - b for a, b in zip(row, mine, strict=True)]
    return min(gains) > 0 if how == "strictly" else min(gains) >= 0 < max(gains)
