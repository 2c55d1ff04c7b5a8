"""The payoff table of a one-shot game, with its best responses, equilibria and dominated actions.

It shows payoffs, not rewards. Best responses are exact. An action is strictly dominated if another
always pays more, weakly if another never pays less and sometimes more. Mixed equilibria are left
to `gamedsl solve`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from gamedsl.solve.table import PayoffTable, Profile
from gamedsl.tables.model import Cell, Column, Table, TextRun, series
from gamedsl.tables.numbers import exact
from gamedsl.tables.text import Line, cut, grid_lines

LETTERS = 16
"""Letters of an action's name in a terminal."""
MANY = 16
"""A sheet with more rows or columns than this is cut."""
SHEETS = 12


@dataclass(frozen=True)
class Sheet:
    """The cells of two roles, rows and columns. `given` has the actions of the other roles, in
    their order."""

    given: Profile
    rows: tuple[str, ...]
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Cells:
    """A table laid out on sheets: one for each combination of actions of all roles but the last
    two.

    `best[profile][seat]` says whether the seat's action is a best response there; `dominated` maps
    a seat's action to "strictly" or "weakly" and to what dominates it.
    """

    table: PayoffTable
    best: dict[Profile, tuple[bool, ...]]
    dominated: dict[tuple[int, str], tuple[str, str]]

    @property
    def seats(self) -> tuple[str, ...]:
        return self.table.seats

    @property
    def equilibria(self) -> tuple[Profile, ...]:
        """The pure equilibria."""
        return tuple(profile for profile, best in self.best.items() if all(best))

    def sheets(self) -> Iterator[Sheet]:
        *others, rows, columns = self.table.actions
        for given in product(*others):
            yield Sheet(given, rows, columns)

    def cell(self, profile: Profile) -> list[tuple[str, bool]]:
        """Each seat's payoff, and whether its action is a best response."""
        payoffs = self.table.payoffs[profile]
        return [(exact(v), b) for v, b in zip(payoffs, self.best[profile], strict=True)]

    def notes(self) -> list[str]:
        """The lines below the table: what is cut, equilibria, dominated actions."""
        lines, found = [], self.equilibria
        if any(len(names) > MANY for names in self.table.actions):
            lines.append(f"the first {MANY} actions of each role")
        if not found:
            lines.append("no pure equilibrium")
        elif len(found) <= 6:
            listed = ", ".join(f"({', '.join(profile)})" for profile in found)
            lines.append(f"pure equilibri{'um' if len(found) == 1 else 'a'}: {listed}")
        else:
            lines.append(f"{len(found)} pure equilibria")
        by: dict[tuple[int, str, str], list[str]] = {}
        for (seat, action), (strength, other) in self.dominated.items():
            by.setdefault((seat, strength, other), []).append(action)
        for (seat, strength, other), actions in by.items():
            verb = "is" if len(actions) == 1 else "are"
            names = f"{', '.join(actions)} of {self.seats[seat]}"
            lines.append(f"{names} {verb} {strength} dominated by {other}")
        if self.table.rewards != self.table.payoffs:
            lines.append("these are payoffs; what is trained on (rewards) differs")
        return lines


def payoff_lines(cells: Cells, name: str) -> Iterator[Line]:
    """The payoff table in a terminal, one sheet after another. A star marks a best response, a cell
    of stars an equilibrium."""
    sheets = list(cells.sheets())
    yield [TextRun(name, "strong"), TextRun(" · payoffs, best responses starred", "soft")]
    for sheet in sheets[:SHEETS]:
        if sheet.given:
            names = zip(cells.seats, sheet.given, strict=False)
            yield []
            yield [TextRun(", ".join(f"{seat}: {action}" for seat, action in names), "strong")]
        yield from grid_lines(sheet_table(cells, sheet))
    if len(sheets) > SHEETS:
        yield [TextRun(f"… {len(sheets) - SHEETS:,} more tables", "soft")]
    yield from ([TextRun(note, "soft")] for note in cells.notes())


def sheet_table(cells: Cells, sheet: Sheet) -> Table:
    """A sheet as a table: the row role with its actions on the left, the column role above."""
    row_seat, column_seat = len(cells.seats) - 2, len(cells.seats) - 1
    rows, across = sheet.rows[:MANY], sheet.columns[:MANY]
    seat = Cell(cells.seats[row_seat], series(row_seat), rows=len(rows))
    return Table(
        columns=(Column(), Column(), *(Column(cut(name, LETTERS)) for name in across)),
        rows=[
            (
                None if number else seat,
                cut(action, LETTERS),
                *(_amounts(cells.cell((*sheet.given, action, other))) for other in across),
            )
            for number, action in enumerate(rows)
        ],
        row_heads=2,
        over=Cell(cells.seats[column_seat], series(column_seat)),
    )


def _amounts(amounts: list[tuple[str, bool]]) -> Cell:
    runs = []
    for seat, (text, best) in enumerate(amounts):
        runs.append(TextRun(text, series(seat) + " strong marked" * best))
        runs.append(TextRun(", " if seat < len(amounts) - 1 else ""))
    return Cell(runs)


def cells_of(table: PayoffTable) -> Cells:
    """Finds the best responses and dominated actions of a table."""
    most: dict[tuple[int, Profile], Fraction] = {}
    for profile, payoffs in table.payoffs.items():
        for seat, amount in enumerate(payoffs):
            key = seat, (*profile[:seat], *profile[seat + 1 :])
            most[key] = max(most.get(key, amount), amount)
    best = {
        profile: tuple(
            amount == most[seat, (*profile[:seat], *profile[seat + 1 :])]
            for seat, amount in enumerate(payoffs)
        )
        for profile, payoffs in table.payoffs.items()
    }
    return Cells(table, best, dict(_dominated(table)))


def _dominated(table: PayoffTable) -> Iterator[tuple[tuple[int, str], tuple[str, str]]]:
    if len(table.payoffs) > 5_000:
        return
    for seat, names in enumerate(table.actions):
        others = list(product(*(a for i, a in enumerate(table.actions) if i != seat)))

        payoffs = {
            name: [table.payoffs[(*o[:seat], name, *o[seat:])][seat] for o in others]
            for name in names
        }
        for name, own in payoffs.items():
            for strength in ("strictly", "weakly"):
                by = [o for o, row in payoffs.items() if o != name and _beats(row, own, strength)]
                if by:
                    yield (seat, name), (strength, by[0])
                    break


def _beats(row: list[Fraction], own: list[Fraction], strength: str) -> bool:
    gains = [a - b for a, b in zip(row, own, strict=True)]
    return min(gains) > 0 if strength == "strictly" else min(gains) >= 0 < max(gains)
