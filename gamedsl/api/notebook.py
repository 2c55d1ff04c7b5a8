"""HTML for notebooks: the few elements that the representations of public objects consist of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def table(rows: Iterable[tuple[str, object]], caption: str) -> str:
    """Returns a table of names and values under a caption; all texts are escaped."""
    found = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th>'
        f'<td style="text-align:left">{escape(str(value))}</td></tr>'
        for name, value in rows
    )
    return (
        f'<table><caption style="text-align:left;font-weight:bold">{escape(caption)}</caption>'
        f"<tbody>{found}</tbody></table>"
    )


def grid(head: Sequence[str], rows: Iterable[Sequence[object]], caption: str) -> str:
    """Returns a table with a row of column names."""
    names = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows
    )
    return (
        f'<table><caption style="text-align:left;font-weight:bold">{escape(caption)}</caption>'
        f"<thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>"
    )


def verbatim(text: str) -> str:
    """Returns a text whose lines and columns stay as they are."""
    return f'<pre style="line-height:1.25">{escape(text)}</pre>'


def paragraph(text: str) -> str:
    """Returns a paragraph of text."""
    return f"<p>{escape(text)}</p>"


def frame(page: str, height: int = 600) -> str:
    """Returns a whole page inside of a frame, where its styles touch nothing else. No script of it
    runs."""
    return (
        f'<iframe sandbox srcdoc="{escape(page)}" width="100%" height="{height}" '
        'style="border:1px solid #8888"></iframe>'
    )
