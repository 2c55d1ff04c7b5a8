"""The model of a table: columns with an alignment, rows of cells, a title and notes.

A cell is a text, or a `Cell` where it is more: runs of text with styles of their own, a note below,
or several rows of height. A style is a list of names with spaces between; each renderer shows those
that it knows: `strong`, `soft`, `marked`, `code`, and `f0` to `f7`, the colours of series.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

COLOURS = 8
"""The number of colours that tell series (roles, lines of a chart) apart."""

Align = Literal["left", "right"]

_NUMERIC = re.compile(r"·|<?-?[\d./]+(e[-+]?\d+)?( \(-?[\d.]+\))?")


class TextRun(NamedTuple):
    """A stretch of text with one style."""

    text: str
    style: str = ""


@dataclass(frozen=True)
class Cell:
    """A cell that is more than a text. `rows` is its height in rows: the cells that it covers in
    the rows below are None. `note` is a second, smaller line (HTML alone shows it)."""

    content: str | Sequence[TextRun] = ""
    style: str = ""
    rows: int = 1
    note: str = ""

    @property
    def runs(self) -> Sequence[TextRun]:
        return (TextRun(self.content),) if isinstance(self.content, str) else self.content


Entry = str | Cell | None
"""The content of a row in one column; None if a cell above reaches down."""


@dataclass(frozen=True)
class Column:
    """A column: its heading, and the side on which its cells stand. `style` is that of its cells,
    `head_style` adds to it for the heading."""

    head: str = ""
    align: Align = "left"
    style: str = ""
    head_style: str = ""


@dataclass(frozen=True)
class Table:
    """Rows under headings. The first `row_heads` columns name their row. `over` is a heading above
    those of all other columns. Raises ValueError if a row has another length than `columns`."""

    columns: tuple[Column, ...]
    rows: Sequence[Sequence[Entry]]
    title: str = ""
    notes: Sequence[str] = ()
    row_heads: int = 0
    over: Cell | None = None

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"{len(row)} cells in a row of {len(self.columns)} columns")

    @property
    def has_heads(self) -> bool:
        return any(column.head for column in self.columns)

    def cells(self, row: Sequence[Entry]) -> Iterator[tuple[Column, Cell | None]]:
        """Each column with the cell of a row; None where a cell above reaches down."""
        for column, entry in zip(self.columns, row, strict=True):
            yield column, Cell(entry) if isinstance(entry, str) else entry


def text_columns(*heads: str) -> tuple[Column, ...]:
    """Columns of text, which stand to the left."""
    return tuple(Column(head) for head in heads)


def number_columns(*heads: str) -> tuple[Column, ...]:
    """Columns of numbers, which stand to the right."""
    return tuple(Column(head, "right") for head in heads)


def columns_by_content(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> tuple[Column, ...]:
    """A column for each heading: of numbers where every cell of `rows` is one, otherwise of
    text."""
    cells = list(zip(*rows, strict=True)) or [()] * len(heads)
    return tuple(
        Column(head, "right" if all(map(_NUMERIC.fullmatch, texts)) else "left")
        for head, texts in zip(heads, cells, strict=True)
    )


def series(number: int, prefix: str = "f") -> str:
    """The style of a series: a role of a game, or a line of a chart. The prefix says what takes its
    colour: `f` the letters; in pictures also `s` a line, `m` a mark."""
    return f"{prefix}{number % COLOURS}"
