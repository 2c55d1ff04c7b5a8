"""Numbers, mixtures and columns as text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction

from gamedsl.solve.respond import Number

GAP = "  "
NUMERIC = re.compile(r"·|<?-?[\d./]+(e[-+]?\d+)?( \(-?[\d.]+\))?")


def number(value: Number, short: bool = False) -> str:
    """`3`, `-1/18 (-0.05556)`; of a long rational the decimals alone, and with `short` of none."""
    if isinstance(value, int) or value == int(value):
        return str(int(value))
    if isinstance(value, Fraction) and value.denominator < 10_000:
        return str(value) if short else f"{value} ({float(value):.5f})"
    return f"{float(value):.7f}" if abs(float(value)) >= 1e-4 else f"{float(value):.2g}"


def chance(p: Number) -> str:
    """A probability: `2/3`, `0.6667`, `·` for never."""
    if not p:
        return "·"
    if isinstance(p, Fraction) and p.denominator < 1_000:
        return str(p)
    return "<0.0001" if p < 0.0001 else f"{float(p):.4f}"


def mixture(row: Mapping[str, Number], most: int = 6) -> str:
    """`2/3 bet, 1/3 check`; a pure one by its name alone, of many actions the likeliest few."""
    used = {name: p for name, p in row.items() if p}
    if len(used) == 1:
        return next(iter(used))
    ranked = list(used.items())
    if len(ranked) > most:
        ranked.sort(key=lambda pair: -pair[1])
    said = ", ".join(f"{chance(p)} {name}" for name, p in ranked[:most])
    return said + (f", … {len(ranked) - most} more" if len(ranked) > most else "")


def percent(p: float) -> str:
    return f"{p:.0%}" if p == 1 or 0.005 < p < 0.995 else f"{p:.1%}"


def plural(count: int, noun: str) -> str:
    """`1 seat`, `2 seats`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def profile(names: Sequence[str]) -> str:
    return f"({', '.join(names)})"


def columns(
    rows: Sequence[Sequence[str]], *, left: bool = False, widest: int | None = None
) -> list[str]:
    """Rows under each other, indented; the first row is a heading. Columns of numbers stand to the
    right, unless all are to stand to the `left`. Lines are cut where they are longer than `widest`.
    """
    wide = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    right = [not left and all(_numeric(row[i]) for row in rows[1:]) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(size) if to_right else cell.ljust(size)
            for cell, size, to_right in zip(row, wide, right, strict=True)
        ]
        line = GAP + GAP.join(cells).rstrip()
        if widest is not None and len(line) > widest:
            line = line[: widest - 1] + "…"
        lines.append(line)
    return lines


def _numeric(text: str) -> bool:
    return NUMERIC.fullmatch(text) is not None
