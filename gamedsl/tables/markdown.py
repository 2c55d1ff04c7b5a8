"""Tables as Markdown (GitHub's dialect)."""

from __future__ import annotations

from collections.abc import Iterable

from gamedsl.tables.model import Cell, Table


def markdown(table: Table) -> str:
    """A table with its title as a heading and its notes as paragraphs below."""
    title = [f"### {table.title}", ""] if table.title else []
    notes = [line for note in table.notes for line in ("", note)]
    return "\n".join([*title, *markdown_rows(table), *notes]) + "\n"


def markdown_rows(table: Table) -> list[str]:
    """The headings, the rule and the rows, a line each."""
    rule = ("---:" if column.align == "right" else "---" for column in table.columns)
    rows = ((_inline(cell) for _, cell in table.cells(row)) for row in table.rows)
    return [_line(escaped(column.head) for column in table.columns), _line(rule), *map(_line, rows)]


def escaped(text: str) -> str:
    """A text that ends no cell."""
    return text.replace("|", "\\|").replace("\n", " ")


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _inline(cell: Cell | None) -> str:
    parts = []
    for run in cell.runs if cell is not None else ():
        text, style = escaped(run.text), run.style.split()
        if text and "code" in style:
            text = f"`{text}`"
        parts.append(f"**{text}**" if text and {"strong", "marked"} & {*style} else text)
    return "".join(parts)
