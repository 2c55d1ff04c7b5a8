"""Tables as HTML. Cells are escaped. Classes name the styles; the page's style sheet draws them."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from gamedsl.tables.model import Cell, Column, Table, TextRun


def html(table: Table, kind: str = "plain", described_by: str = "") -> str:
    """A `<table>` of class `kind`, without the table's title and notes.

    `described_by` is the id of the element that describes the table for those who cannot see it.
    """
    described = f' aria-describedby="{escape(described_by)}"' if described_by else ""
    head = f"<thead><tr>{''.join(_heads(table))}</tr></thead>\n" if table.has_heads else ""
    body = "\n".join(
        f"<tr>{''.join(_row(table, number))}</tr>" for number in range(len(table.rows))
    )
    return f'<table class="{escape(kind)}"{described}>{head}<tbody>{body}</tbody></table>'


def _heads(table: Table) -> Iterator[str]:
    for number, column in enumerate(table.columns):
        if column.head or number >= table.row_heads:
            yield f'<th scope="col">{escape(column.head)}</th>'
        else:
            yield "<td></td>"


def _row(table: Table, number: int) -> Iterator[str]:
    for place, (column, cell) in enumerate(table.cells(table.rows[number])):
        if cell is None:
            continue
        span = f' rowspan="{cell.rows}"' if cell.rows > 1 else ""
        note = f"<small>{escape(cell.note)}</small>" if cell.note else ""
        inner = "".join(map(_run, cell.runs)) + note
        if place < table.row_heads:
            yield f'<th scope="row"{span}>{inner}</th>'
        else:
            yield f"<td{_classes(column, cell)}{span}>{inner}</td>"


def _classes(column: Column, cell: Cell) -> str:
    names = [*(["num"] if column.align == "right" else []), *cell.style.split()]
    return f' class="{escape(" ".join(names))}"' if names else ""


def _run(run: TextRun) -> str:
    text, style = escape(run.text), run.style.split()
    if "code" in style:
        others = " ".join(name for name in style if name != "code")
        text = f'<code class="{escape(others)}">{text}</code>' if others else f"<code>{text}</code>"
    return f"<u>{text}</u>" if "marked" in style else text
