"""The layout of a payoff table: its bars below each other, one space around each."""

from __future__ import annotations

from gamedsl.diagnostics.spans import Source, Span
from gamedsl.frontend.layout.spacing import spaced
from gamedsl.frontend.source.nodes import Scalar
from gamedsl.frontend.syntax.tables import Piece, is_table, read_table


def rows_of(text: str) -> list[list[tuple[str, ...]]] | None:
    """Returns the pieces of each field of each line of a table, without spaces; None where a text
    is no table."""
    scalar = Scalar(text, text, Span(Source("", text), 0, len(text)))
    if not is_table(scalar):
        return None
    table = read_table(scalar)
    head = [_texts(table.roles), *((column.text,) for column in table.columns)]
    return [head, *([_texts(row.keys), *map(_texts, row.cells)] for row in table.rows)]


def aligned(text: str) -> str | None:
    """Returns the lines of a table with aligned bars; None where a text is no table, or has a line
    that is longer or shorter than the first."""
    rows = rows_of(text)
    if rows is None or len({len(row) for row in rows}) != 1:
        return None
    fields = [[", ".join(map(spaced, pieces)) for pieces in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*fields)]
    lines = (" | ".join(f.ljust(width) for f, width in zip(row, widths)) for row in fields)
    return "\n".join(line.rstrip() for line in lines)


def _texts(pieces: tuple[Piece, ...]) -> tuple[str, ...]:
    return tuple(piece.text for piece in pieces)
