"""Tables and other styled lines as text of a terminal: aligned, cut or wrapped to its width, with
colours only if asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from textwrap import wrap
from unicodedata import east_asian_width

from gamedsl.tables.model import Align, Cell, Table, TextRun

Line = Sequence[TextRun]

GAP = 2
"""Blanks between two columns."""

_CODES = {
    "strong": "1", "soft": "2", "f0": "38;5;32", "f1": "38;5;166", "f2": "38;5;36",
    "f3": "38;5;169", "f4": "38;5;178", "f5": "38;5;74", "f6": "38;5;98", "f7": "38;5;245",
}  # fmt: skip
_PLAIN = str.maketrans("─│┌┐└┘├┤┬┴┼╌●○◐▸·…−×∙↻", "-|+++++++++-*o@>..-x.@")


def table_lines(
    table: Table,
    *,
    indent: int = 0,
    rule: bool = False,
    width: int | None = None,
    most: int | None = None,
) -> Iterator[Line]:
    """The headings and rows of a table.

    `rule` draws a line under the headings. Where the table is wider than `width`, its columns of
    text are wrapped. Only the first `most` rows are rendered.
    """
    rows = [[_terminal_runs(cell) for _, cell in table.cells(row)] for row in table.rows[:most]]
    heads = [[TextRun(c.head, f"{c.style} {c.head_style}".strip())] for c in table.columns]
    grid = [heads, *rows] if table.has_heads else rows
    wide = [max((_width(row[i]) for row in grid), default=0) for i in range(len(table.columns))]
    if width is not None:
        wide = _narrowed(table, wide, width - indent)
    for number, row in enumerate(grid):
        yield from _row_lines(table, row, wide, indent)
        if rule and table.has_heads and number == 0:
            length = sum(wide) + GAP * (len(wide) - 1)
            yield [TextRun(" " * indent + "─" * length, "soft")]


def titled_lines(
    table: Table, *, width: int | None = None, most: int | None = None, more: str = ""
) -> Iterator[Line]:
    """A table with its title above and its notes below. `more` says where the rows after the first
    `most` are."""
    for part in wrap(table.title, width) if width else [table.title]:
        yield [TextRun(part, "strong")]
    yield from table_lines(table, rule=True, width=width, most=most)
    if most is not None and len(table.rows) > most:
        yield [TextRun(f"… and {len(table.rows) - most:,} more rows{more}", "soft")]
    for note in table.notes:
        for part in wrap(note, width) if width else [note]:
            yield [TextRun(part, "soft")]


def grid_lines(table: Table) -> Iterator[Line]:
    """A table in a frame, with a line between every two cells; the row heads stand outside."""
    rows = [[_terminal_runs(cell) for _, cell in table.cells(row)] for row in table.rows]
    outside, heads = table.row_heads, [[TextRun(c.head, c.head_style)] for c in table.columns]
    grid = [heads, *rows]
    wide = [max(_width(row[i]) for row in grid) for i in range(len(table.columns))]
    inner = [max(wide[outside:])] * (len(wide) - outside)
    blank = " " * sum(size + 1 for size in wide[:outside])
    if table.over is not None:
        yield [TextRun(f"{blank}  "), *_terminal_runs(table.over)]
    yield [TextRun(f"{blank}  "), *_join_cells(heads[outside:], inner, "   ")]
    yield _frame(blank, inner, "┌┬┐")
    names = _centred(table)
    for number, row in enumerate(rows):
        line: list[TextRun] = []
        for column in range(outside):
            line += [*_padded_runs(names[number][column], wide[column]), TextRun(" ")]
        for size, cell in zip(inner, row[outside:], strict=True):
            line += [TextRun("│ ", "soft"), *_padded_runs(cell, size), TextRun(" ")]
        yield [*line, TextRun("│", "soft")]
        yield _frame(blank, inner, "├┼┤" if number < len(rows) - 1 else "└┴┘")


def rendered(
    lines: Iterable[Line],
    *,
    width: int | None = None,
    colour: bool = False,
    encoding: str | None = "utf-8",
) -> str:
    """Lines as text: cut to `width`, in colour if asked, and in ASCII where the encoding has no box
    drawing."""
    painted = "\n".join(_coloured(_fitted(line, width), colour) for line in lines)
    try:
        painted.encode(encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        painted = painted.translate(_PLAIN)
    return painted


def text_width(text: str) -> int:
    """The columns of a terminal that a text takes."""
    return sum(1 + (east_asian_width(letter) in "WF") for letter in text)


def padded(text: str, width: int, align: Align = "left") -> str:
    """A text with blanks up to `width` columns."""
    room = " " * (width - text_width(text))
    return room + text if align == "right" else text + room


def plural(count: int, noun: str) -> str:
    """A count with its noun: `1 seat`, `2 seats`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def cut(text: str, most: int) -> str:
    """A text of at most `most` letters: a longer one ends in an ellipsis."""
    return text if len(text) <= most else text[: max(most - 1, 1)] + "…"


def _terminal_runs(cell: Cell | None) -> list[TextRun]:
    """The runs of a cell; a terminal shows a marked run with a star."""
    runs = cell.runs if cell is not None else ()
    style = cell.style if cell is not None else ""
    return [
        TextRun(
            run.text + "*" * ("marked" in run.style.split()), f"{style} {run.style}".strip()
        )
        for run in runs
    ]  # fmt: skip


def _width(runs: Line) -> int:
    return sum(text_width(run.text) for run in runs)


def _narrowed(table: Table, wide: list[int], room: int) -> list[int]:
    """The widths of columns that fit into `room` where wrapping columns of text can do it: the
    widest give way first."""
    wide = list(wide)
    texts = [i for i, column in enumerate(table.columns) if column.align == "left"]
    while sum(wide) + GAP * (len(wide) - 1) > room and texts:
        widest = max(texts, key=lambda i: wide[i])
        if wide[widest] == 1:
            break
        wide[widest] -= 1
    return wide


def _row_lines(
    table: Table, row: Sequence[Line], wide: Sequence[int], indent: int
) -> Iterator[Line]:
    """A row, of as many lines as its most wrapped cell."""
    parts = [_wrapped(cell, size) for cell, size in zip(row, wide, strict=True)]
    for number in range(max(map(len, parts))):
        line = [TextRun(" " * indent)] if indent else []
        for column, size, part in zip(table.columns, wide, parts, strict=True):
            cell: Line = part[number] if number < len(part) else ()
            styled = [TextRun(run.text, run.style or column.style) for run in cell]
            line += _padded_runs(styled, size, column.align)
            line.append(TextRun(" " * GAP))
        while line and not line[-1].text.strip():
            line.pop()
        yield line


def _wrapped(cell: Line, width: int) -> list[Line]:
    if _width(cell) <= width:
        return [cell]
    style = cell[0].style
    parts = wrap("".join(run.text for run in cell), width)
    return [[TextRun(part, style)] for part in parts] or [()]


def _padded_runs(cell: Line, width: int, align: Align = "left") -> list[TextRun]:
    room = TextRun(" " * max(width - _width(cell), 0))
    return [room, *cell] if align == "right" else [*cell, room]


def _join_cells(cells: Sequence[Line], wide: Sequence[int], gap: str) -> Iterator[TextRun]:
    for number, (cell, size) in enumerate(zip(cells, wide, strict=True)):
        yield from [TextRun(gap)] if number else []
        yield from _padded_runs(cell, size)


def _frame(blank: str, inner: Sequence[int], corners: str) -> Line:
    left, middle, right = [*corners]
    return [TextRun(blank + left + middle.join("─" * (n + 2) for n in inner) + right, "soft")]


def _centred(table: Table) -> list[list[Line]]:
    """The row heads of every row; one that spans several rows is in their middle."""
    heads: list[list[Line]] = [[() for _ in range(table.row_heads)] for _ in table.rows]
    for number, row in enumerate(table.rows):
        for column, (_, cell) in enumerate(list(table.cells(row))[: table.row_heads]):
            if cell is not None:
                heads[number + (cell.rows - 1) // 2][column] = _terminal_runs(cell)
    return heads


def _fitted(line: Line, width: int | None) -> Line:
    if width is None or _width(line) <= width:
        return line
    room, kept = width - 1, []
    for run in line:
        text = run.text
        while text_width(text) > room:
            text = text[:-1]
        room -= text_width(text)
        kept.append(TextRun(text, run.style))
        if text != run.text:
            break
    return [*kept, TextRun("…", "soft")]


def _coloured(line: Line, colour: bool) -> str:
    if not colour:
        return "".join(run.text for run in line).rstrip()
    parts = []
    for run in line:
        codes = [_CODES[name] for name in run.style.split() if name in _CODES]
        parts.append(f"\x1b[{';'.join(codes)}m{run.text}\x1b[0m" if codes else run.text)
    return "".join(parts)
