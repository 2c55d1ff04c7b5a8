"""Linear algebra in exact rationals, for systems of a few hundred unknowns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

Row = Mapping[int, Fraction]
"""A row of a matrix: column -> coefficient; those that are not there are 0."""

MANY_TERMS = 400_000
"""Terms that elimination may touch before a system counts as too large."""

SIMPLE = 1_000
"""The largest denominator that a guess is rounded to."""


def solve_linear(
    equations: Iterable[tuple[Row, Fraction]],
    unknowns: int,
    guess: Sequence[float] | None = None,
) -> list[Fraction] | None:
    """The solution of `row · x = total` for all equations, of which there may be more than
    unknowns. None where there is no solution, and for a system too large.

    Where there is more than one, the unknowns that are left open are what `guess` says, rounded to
    simple fractions; without a guess the answer is None. Gaussian elimination, the sparsest rows
    first.
    """
    rows = [({c: v for c, v in row.items() if v}, total) for row, total in equations]
    solved: list[tuple[int, dict[int, Fraction], Fraction]] = []
    terms = 0
    while rows:
        place = min(range(len(rows)), key=lambda i: len(rows[i][0]) or unknowns + 1)
        row, total = rows.pop(place)
        if not row:
            if total or any(t for r, t in rows if not r):
                return None
            break
        column = next(iter(row))
        head = row.pop(column)
        row = {c: v / head for c, v in row.items()}
        total /= head
        for other, (there, right) in enumerate(rows):
            factor = there.pop(column, None)
            if factor is not None:
                terms += len(row)
                _subtract(there, row, factor)
                rows[other] = there, right - factor * total
        if terms > MANY_TERMS:
            return None
        solved.append((column, row, total))
    values: dict[int, Fraction] = {}
    if len(solved) < unknowns:
        if guess is None:
            return None
        settled = {column for column, _, _ in solved}
        for column in set(range(unknowns)) - settled:
            values[column] = Fraction(guess[column]).limit_denominator(SIMPLE)
    for column, row, total in reversed(solved):
        values[column] = total - sum((v * values[c] for c, v in row.items()), Fraction(0))
    return [values[c] for c in range(unknowns)]


def _subtract(target: dict[int, Fraction], row: Row, factor: Fraction) -> None:
    for column, value in row.items():
        left = target.get(column, 0) - factor * value
        if left:
            target[column] = left
        else:
            del target[column]
