"""The simplex method in exact rationals, for linear programs that floats cannot hold.

Coefficients that differ by more than the 53 bits of a float are lost in one, and a solver in floats
then finds no vertex, or another one. Here nothing is rounded. Bland's rule (1977) ends the method
in spite of ties. It is slow, so that `MANY_TERMS` bounds the work.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gamedsl.solve.linear_programs import Program

MANY_TERMS = 3_000_000
"""Terms that pivots may touch before a program counts as too large."""


class TooMuchWork(ArithmeticError):
    """The program takes more than `MANY_TERMS` terms."""


def solve_exactly(program: Program) -> tuple[list[Fraction], list[Fraction]] | None:
    """Returns the best x and the price of each row of `most`; None where no x meets the
    constraints. Raises `TooMuchWork`, and ValueError for a program without bounds."""
    tableau = _Tableau(program)
    if not tableau.make_feasible():
        return None
    tableau.climb(tableau.goal)
    return tableau.solution()


class _Tableau:
    """The rows of a program in terms of its basis. Columns: x, the negative parts of free ones,
    slacks of `most`, and artificial ones of rows that no slack can begin with. `-1` is a row's
    right side."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.minus = {j: program.columns + k for k, j in enumerate(sorted(program.free))}
        first = program.columns + len(self.minus)
        self.slack = [first + i for i in range(len(program.most))]
        self.rows: list[dict[int, Fraction]] = []
        self.basis: list[int] = []
        self.artificial: set[int] = set()
        self.left = MANY_TERMS
        width = first + len(self.slack)
        for i, (row, total) in enumerate((*program.most, *program.equal)):
            here = self._split(row)
            if i < len(self.slack):
                here[self.slack[i]] = Fraction(1)
            if total:
                here[-1] = Fraction(total)
            basic = self.slack[i] if i < len(self.slack) else None
            if total < 0:
                here = {c: -v for c, v in here.items()}
                basic = None
            if basic is None:
                basic = width + len(self.artificial)
                self.artificial.add(basic)
                here[basic] = Fraction(1)
            self.rows.append(here)
            self.basis.append(basic)
        self.goal = self._split(program.objective)
        """The objective in terms of what is not in the basis; `-1` is the negative of its value."""

    def make_feasible(self) -> bool:
        """Drives the artificial columns out; False where that cannot be done."""
        if not self.artificial:
            return True
        lack: dict[int, Fraction] = {c: Fraction(-1) for c in self.artificial}
        for row, basic in zip(self.rows, self.basis, strict=True):
            if basic in self.artificial:
                _add(lack, row, Fraction(1))
        self.climb(lack, self.goal)
        if lack.get(-1):
            return False
        for place, basic in enumerate(self.basis):
            if basic in self.artificial:
                column = next(
                    (c for c in self.rows[place] if c >= 0 and c not in self.artificial), None
                )
                if column is not None:
                    self._pivot(place, column, (self.goal,))
        for row in (self.goal, *self.rows):
            for column in self.artificial:
                row.pop(column, None)
        return True

    def climb(self, goal: dict[int, Fraction], *others: dict[int, Fraction]) -> None:
        """Pivots until nothing raises the goal; other objectives are kept in terms of the
        basis."""
        while True:
            column = min((c for c, v in goal.items() if c >= 0 and v > 0), default=None)
            if column is None:
                return
            best: tuple[Fraction, int, int] | None = None
            for place, row in enumerate(self.rows):
                if row.get(column, 0) > 0:
                    ratio = row.get(-1, Fraction(0)) / row[column]
                    if best is None or (ratio, self.basis[place]) < best[:2]:
                        best = ratio, self.basis[place], place
            if best is None:
                raise ValueError("the linear program has no optimum: it is unbounded")
            self._pivot(best[2], column, (goal, *others))

    def solution(self) -> tuple[list[Fraction], list[Fraction]]:
        held = {
            basic: row.get(-1, Fraction(0))
            for basic, row in zip(self.basis, self.rows, strict=True)
        }
        zero = Fraction(0)
        x = [
            held.get(j, zero) - (held.get(self.minus[j], zero) if j in self.minus else zero)
            for j in range(self.program.columns)
        ]
        return x, [-self.goal.get(column, zero) for column in self.slack]

    def _split(self, row: Mapping[int, Fraction]) -> dict[int, Fraction]:
        here = {c: Fraction(v) for c, v in row.items() if v}
        return here | {self.minus[c]: -v for c, v in here.items() if c in self.minus}

    def _pivot(self, place: int, column: int, goals: tuple[dict[int, Fraction], ...]) -> None:
        head = self.rows[place][column]
        row = self.rows[place] = {c: v / head for c, v in self.rows[place].items()}
        for other in (*self.rows, *goals):
            if other is not row and (factor := other.get(column)):
                self.left -= len(row)
                _add(other, row, -factor)
        if self.left < 0:
            raise TooMuchWork(f"it takes more than {MANY_TERMS:,} terms in exact rationals")
        self.basis[place] = column


def _add(target: dict[int, Fraction], row: Mapping[int, Fraction], factor: Fraction) -> None:
    for column, value in row.items():
        total = target.get(column, 0) + factor * value
        if total:
            target[column] = total
        else:
            target.pop(column, None)
