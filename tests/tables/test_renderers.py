"""One table, as text of a terminal, as Markdown and as HTML."""

from __future__ import annotations

import pytest

from gamedsl.tables.html import html
from gamedsl.tables.markdown import markdown
from gamedsl.tables.model import (
    Cell,
    Column,
    Table,
    TextRun,
    columns_by_content,
    number_columns,
    text_columns,
)
from gamedsl.tables.text import cut, grid_lines, rendered, table_lines, text_width, titled_lines

RESULTS = Table(
    (*text_columns("player"), *number_columns("games", "won")),
    [("random", "1,000", "48%"), ("a|b", "20", Cell([TextRun("100%", "marked")], "best"))],
    title="Results",
    notes=["won: of all games"],
    row_heads=1,
)


def test_numbers_stand_to_the_right() -> None:
    assert rendered(table_lines(RESULTS, indent=2, rule=True)).split("\n") == [
        "  player  games    won",
        "  ────────────────────",
        "  random  1,000    48%",
        "  a|b        20  100%*",
    ]


def test_title_notes_and_omitted_rows() -> None:
    lines = rendered(titled_lines(RESULTS, most=1, more=" in the file")).split("\n")
    assert lines[0] == "Results"
    assert lines[-2:] == ["… and 1 more rows in the file", "won: of all games"]


@pytest.mark.parametrize("width", [20, 30, 60])
def test_text_columns_wrap_to_the_width(width: int) -> None:
    rows = [("some words that are longer than the line", "12")]
    table = Table((*text_columns("about"), *number_columns("n")), rows)
    lines = rendered(table_lines(table, width=width)).split("\n")
    assert max(map(text_width, lines)) <= width
    assert " ".join(line.removesuffix("12").strip() for line in lines[1:]) == rows[0][0]


def test_wide_letters_take_two_columns() -> None:
    table = Table((*text_columns("", ""),), [("日本", "a"), ("x", "b")])
    assert rendered(table_lines(table)).split("\n") == ["日本  a", "x     b"]


def test_columns_of_numbers_are_found_by_content() -> None:
    columns = columns_by_content(("a", "b", "c"), [("x", "1/3", "·"), ("y", "-2", "<0.0001")])
    assert [column.align for column in columns] == ["left", "right", "right"]


def test_grid_frames_all_but_row_heads() -> None:
    seat = Cell("row", rows=2)
    table = Table(
        (Column(), Column(), Column("a"), Column("b")),
        [(seat, "c", "1", "2"), (None, "d", "3", "4")],
        row_heads=2,
        over=Cell("column"),
    )
    assert rendered(grid_lines(table)).split("\n") == [
        "        column",
        "        a   b",
        "      ┌───┬───┐",
        "row c │ 1 │ 2 │",
        "      ├───┼───┤",
        "    d │ 3 │ 4 │",
        "      └───┴───┘",
    ]


def test_encoding_without_box_drawing_gets_ascii() -> None:
    assert rendered(table_lines(RESULTS, rule=True), encoding="ascii").split("\n")[1] == "-" * 20


def test_colours_only_if_asked() -> None:
    table = Table((Column("n", style="f0"),), [("1",)])
    assert rendered(table_lines(table)) == "n\n1"
    assert (
        rendered(table_lines(table), colour=True) == "\x1b[38;5;32mn\x1b[0m\n\x1b[38;5;32m1\x1b[0m"
    )


def test_markdown() -> None:
    assert markdown(RESULTS) == (
        "### Results\n\n"
        "| player | games | won |\n| --- | ---: | ---: |\n"
        "| random | 1,000 | 48% |\n| a\\|b | 20 | **100%** |\n"
        "\nwon: of all games\n"
    )


def test_html_escapes_and_spans_rows() -> None:
    table = Table(
        (*text_columns("<a>"), *number_columns("n")),
        [(Cell("x & y", rows=2), "1"), (None, Cell([TextRun("2", "code")], note="two"))],
        row_heads=1,
    )
    assert html(table, described_by="about").replace("\n", "") == (
        '<table class="plain" aria-describedby="about">'
        '<thead><tr><th scope="col">&lt;a&gt;</th><th scope="col">n</th></tr></thead><tbody>'
        '<tr><th scope="row" rowspan="2">x &amp; y</th><td class="num">1</td></tr>'
        '<tr><td class="num"><code>2</code><small>two</small></td></tr></tbody></table>'
    )


def test_short_row_is_refused() -> None:
    with pytest.raises(ValueError, match="1 cells in a row of 2 columns"):
        Table(text_columns("a", "b"), [("x",)])


def test_cut_ends_in_an_ellipsis() -> None:
    assert [cut("abcdef", most) for most in (6, 4, 1)] == ["abcdef", "abc…", "a…"]
