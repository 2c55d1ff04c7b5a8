"""The parts of a section of a page, each as HTML: paragraphs, tables, figures and lists.

Every text is escaped, unless it is `Markup`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from markupsafe import Markup

from gamedsl.tables import html
from gamedsl.tables.model import Entry, Table, number_columns, text_columns


class Figure(NamedTuple):
    """A picture with a title and a note above it. `svg` is the picture's text."""

    title: str
    note: str
    svg: str


class Section(NamedTuple):
    """A section of a page: its heading and its parts."""

    title: str
    parts: Sequence[Markup]


def paragraph(text: str) -> Markup:
    """A paragraph in small print; the text is escaped unless it is Markup."""
    return Markup('<p class="small">{}</p>\n').format(text)


def figures(drawn: Iterable[Figure], style: str = "charts") -> Markup:
    """Pictures beside each other."""
    caption = Markup("<figcaption><b>{}</b>{}</figcaption>")
    parts = (
        Markup("<figure>{}{}</figure>\n").format(
            caption.format(one.title, Markup(" <span>{}</span>").format(one.note) * bool(one.note)),
            Markup(one.svg),
        )
        for one in drawn
    )
    return Markup('<div class="{}">\n{}</div>').format(style, Markup("").join(parts))


def wide_table(table: Table, about: str = "", *, id: str = "", kind: str = "plain") -> Markup:
    """A table that may scroll sideways. `about` is the paragraph above it; `id` names that
    paragraph on the page, as the table's description."""
    markup = Markup(html.html(table, kind, id if about else ""))
    above = Markup('<p class="small" id="{}">{}</p>\n').format(id, about) if about else Markup()
    return above + Markup('<div class="wide">{}</div>').format(markup)


def pairs(rows: Iterable[tuple[str, Entry]], *, numbers: bool = False) -> Markup:
    """A table of names and values, which may be `numbers`."""
    values = number_columns("") if numbers else text_columns("")
    table = Table((*text_columns(""), *values), list(rows), row_heads=1)
    return Markup(html.html(table, "plain pairs"))


def bullets(lines: Iterable[str]) -> Markup:
    """A list in small print."""
    items = Markup("").join(Markup("<li>{}</li>").format(line) for line in lines)
    return Markup('<ul class="small">{}</ul>').format(items)


def heading(text: str) -> Markup:
    """A heading below that of the section."""
    return Markup("<h3>{}</h3>").format(text)
