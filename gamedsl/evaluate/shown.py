"""Tables as text: for a terminal, or as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gamedsl.evaluate.intervals import Estimate

if TYPE_CHECKING:
    from rich.console import Console

NAME = 24
"""Letters of a name in a row; the whole stands in the list of contestants."""
ROWS = 30
"""Rows of a table that are printed."""


@dataclass(frozen=True)
class Table:
    """Rows under a heading; the first `left` columns are text, the others numbers."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: int = 1
    below: str = ""


def show(table: Table, console: Console) -> None:
    """Print a table."""
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    shown = RichTable(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for number, name in enumerate(table.head):
        text = number < table.left
        shown.add_column(
            name, justify="left" if text else "right", no_wrap=not text, overflow="fold"
        )
    for row in table.rows[:ROWS]:
        shown.add_row(*map(Text, row))
    console.print()
    console.print(table.title, style="bold", markup=False, highlight=False)
    console.print(shown)
    if len(table.rows) > ROWS:
        left = len(table.rows) - ROWS
        console.print(f"… and {left:,} more rows (--format json has all)", style="dim")
    if table.below:
        console.print(table.below, style="dim", markup=False, highlight=False)


def markdown(table: Table) -> str:
    """A table as Markdown."""

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    rule = ["---" if n < table.left else "---:" for n in range(len(table.head))]
    lines = [f"### {table.title}", "", line(table.head), line(rule), *map(line, table.rows)]
    return "\n".join([*lines, *(["", table.below] if table.below else [])]) + "\n"


def short(name: str) -> str:
    """The end of a long name: of a path, what tells it from others."""
    return name if len(name) <= NAME else f"…{name[1 - NAME :]}"


def percent(part: Estimate | None, interval: bool = True) -> str:
    """`62.5%`, `62% [58, 66]`; `–` where there is none."""
    if part is None:
        return "–"
    if part.kind == "exact":
        return f"{part.value:.1%}"
    if not interval:
        return f"{part.value:.1%}" if part.value else "0%"
    if part.rows >= 400:
        low, high = f"{100 * part.low:.1f}", f"{100 * part.high:.1f}"
        return f"{part.value:.1%} [{low}, {high}]"
    return f"{part.value:.0%} [{100 * part.low:.0f}, {100 * part.high:.0f}]"
