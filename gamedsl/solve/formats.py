"""Numbers, mixtures and small tables as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from gamedsl.solve.best_responses import Number
from gamedsl.tables.model import Table, columns_by_content, text_columns
from gamedsl.tables.text import rendered, table_lines


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


def profile(names: Sequence[str]) -> str:
    return f"({', '.join(names)})"


def table_text(
    heads: Sequence[str], rows: Sequence[Sequence[str]], *, left: bool = False,
    width: int | None = None,
) -> list[str]:  # fmt: skip
    """The lines of an indented table. Columns of numbers stand to the right, unless all are to
    stand to the `left`. Columns of text are wrapped where it is wider than `width`."""
    columns = text_columns(*heads) if left else columns_by_content(heads, rows)
    return rendered(table_lines(Table(columns, rows), indent=2, width=width)).split("\n")
