"""Payoff tables written as text.

    row, column | cooperate | defect
    cooperate   | 3, 3      | 0, 5
    defect      | 5, 0      | 1, 1

The header is the roles, separated by commas, then the last role's actions. Each row begins with one
action of every other role, in role order, and has one cell a column: one expression a role. This
module only cuts the text and keeps every piece's place; what the names mean is `sema`'s business.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from gamedsl.diagnostics.spans import Span
from gamedsl.frontend.source.nodes import Scalar


@dataclass(frozen=True, slots=True)
class Piece:
    """Characters `start` to `end` of the table's text, without outer spaces."""

    text: str
    start: int
    end: int
    span: Span


@dataclass(frozen=True, slots=True)
class TextRow:
    keys: tuple[Piece, ...]
    cells: tuple[tuple[Piece, ...], ...]
    span: Span


@dataclass(frozen=True, slots=True)
class TextTable:
    roles: tuple[Piece, ...]
    columns: tuple[Piece, ...]
    rows: tuple[TextRow, ...]
    span: Span


_HEADER = re.compile(r"[^|+*/()=<>!&\[\]]*\|")
_CHOICE = re.compile(r"\b(if|else)\b")


def is_table(scalar: Scalar) -> bool:
    """A payoff text is a table if it begins with names and a bar: no expression has one."""
    head = _HEADER.match(scalar.text) if isinstance(scalar.value, str) else None
    return head is not None and not _CHOICE.search(head[0])


def read_table(scalar: Scalar) -> TextTable:
    """Cut the text of a table; blank lines are passed over. Never fails: sema checks the shape."""
    lines: list[tuple[int, int]] = []
    start = 0
    for text in scalar.text.split("\n"):
        if text.strip():
            lines.append((start, start + len(text.rstrip())))
        start += len(text) + 1
    (begin, end), *body = lines
    first, *columns = _split(scalar, begin, end, "|")
    rows = []
    for begin, end in body:
        keys, *cells = _split(scalar, begin, end, "|")
        rows.append(
            TextRow(
                _commas(scalar, keys),
                tuple(_commas(scalar, c) for c in cells),
                scalar.locate(*_trim(scalar, begin, end)),
            )
        )
    return TextTable(_commas(scalar, first), tuple(columns), tuple(rows), scalar.span)


def _commas(scalar: Scalar, piece: Piece) -> tuple[Piece, ...]:
    return _split(scalar, piece.start, piece.end, ",")


def _split(scalar: Scalar, start: int, end: int, mark: str) -> tuple[Piece, ...]:
    """Cut at the bars, which no expression has, or at the commas outside of brackets."""
    pieces, depth, begin = [], 0, start
    for at in range(start, end):
        character = scalar.text[at]
        if character in "([":
            depth += 1
        elif character in ")]":
            depth -= 1
        elif character == mark and (depth == 0 or mark == "|"):
            pieces.append(_piece(scalar, begin, at))
            begin = at + 1
    pieces.append(_piece(scalar, begin, end))
    return tuple(pieces)


def _piece(scalar: Scalar, start: int, end: int) -> Piece:
    start, end = _trim(scalar, start, end)
    return Piece(scalar.text[start:end], start, end, scalar.locate(start, end))


def _trim(scalar: Scalar, start: int, end: int) -> tuple[int, int]:
    while start < end and scalar.text[start].isspace():
        start += 1
    while end > start and scalar.text[end - 1].isspace():
        end -= 1
    return start, end
