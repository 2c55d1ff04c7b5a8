"""Diagnostics as text: the exact pretty form, and that nothing in a file can break it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamedsl.compiler import compile_file
from gamedsl.diagnostics import CompileError, Diagnostic, Note, Problems
from gamedsl.diagnostics.render import render
from gamedsl.diagnostics.spans import Source, Span
from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.storage.shipped import shipped_folder

SOURCE = Source(
    "games/stag_hunt.yaml",
    "game: stag_hunt\nroles: [hunter, partner]\n"
    "\n\n\n\n\n\n\npayoffs:\n  hunterr: 4 if partner else 0\n",
)


def at(text: str, source: Source = SOURCE) -> Span:
    start = source.text.index(text)
    return Span(source, start, start + len(text))


PROBLEM = Diagnostic(
    "GD0312",
    "unknown role `hunterr`",
    at("hunterr"),
    "not a role of this game",
    (Note(at("hunter"), "declared here"),),
    "did you mean `hunter`?",
)


def test_pretty() -> None:
    assert render([PROBLEM]) == (
        "error[GD0312]: unknown role `hunterr`\n"
        "  --> games/stag_hunt.yaml:11:3\n"
        "   |\n"
        "11 |   hunterr: 4 if partner else 0\n"
        "   |   ^^^^^^^ not a role of this game\n"
        "   |\n"
        " 2 | roles: [hunter, partner]\n"
        "   |         ------ declared here\n"
        "   = help: did you mean `hunter`?"
    )


def test_notes_on_same_line_and_in_other_files() -> None:
    other = Source("games/base.yaml", "one: 1\ntwo: 2\n")
    notes = (
        Note(at("two", other), "there"),
        Note(at("partner else"), "on this line"),
        Note(at("roles"), "above"),
    )
    problem = Diagnostic("GD0400", "m", at("hunterr"), notes=notes, witness=("h1", "h2"))
    assert render([problem]) == (
        "error[GD0400]: m\n"
        "  --> games/stag_hunt.yaml:11:3\n"
        "   |\n"
        "11 |   hunterr: 4 if partner else 0\n"
        "   |   ^^^^^^^\n"
        "   |\n"
        " 2 | roles: [hunter, partner]\n"
        "   | ----- above\n"
        "   |\n"
        "11 |   hunterr: 4 if partner else 0\n"
        "   |                 ------------ on this line\n"
        "  ::: games/base.yaml:2:1\n"
        "   |\n"
        " 2 | two: 2\n"
        "   | --- there\n"
        "   |\n"
        "   | h1\n"
        "   | h2"
    )


def test_several_are_separated_by_a_blank_line() -> None:
    assert render([PROBLEM, PROBLEM]) == f"{render([PROBLEM])}\n\n{render([PROBLEM])}"
    assert render([]) == ""


def mark(text: str, part: str) -> tuple[str, str]:
    """The source line and the mark line that are shown, without the gutter."""
    source = Source("a.yaml", text)
    lines = render([Diagnostic("GD0001", "m", at(part, source), "w")]).split("\n")
    return lines[3][4:], lines[4][4:]


def test_tabs_and_wide_characters_are_aligned() -> None:
    assert mark("\tab: x\n", "x") == ("    ab: x", "        ^ w")
    assert mark("日本: x\n", "x") == ("日本: x", "      ^ w")
    assert mark("x: 日本\n", "日本") == ("x: 日本", "   ^^^^ w")
    assert mark("e\u0301: x\n", "x") == ("e\u0301: x", "   ^ w")


def test_long_lines_are_windowed() -> None:
    line, below = mark("a" * 500 + "TARGET" + "b" * 500 + "\n", "TARGET")
    assert len(line) < 130
    assert line.startswith("... ")
    assert line.endswith(" ...")
    assert line[below.index("^") :].startswith("TARGET")
    assert below.count("^") == 6
    line, below = mark("a" * 500 + "\n", "a" * 500)
    assert below.count("^") <= len(line)


def test_multi_line_span_shows_its_first_line() -> None:
    assert mark("a: |\n  b\n", "|\n  b") == ("a: |", "   ^ w")
    assert mark("a: b\n", "\n") == ("a: b", "    ^ w")


def test_concise() -> None:
    assert render([PROBLEM], "concise") == (
        "games/stag_hunt.yaml:11:3: error[GD0312]: unknown role `hunterr` (did you mean `hunter`?)"
    )


def test_json_has_stable_keys() -> None:
    (found,) = json.loads(render([PROBLEM], "json"))
    assert found == {
        "code": "GD0312",
        "severity": "error",
        "message": "unknown role `hunterr`",
        "file": "games/stag_hunt.yaml",
        "line": 11,
        "column": 3,
        "end_line": 11,
        "end_column": 10,
        "why": "not a role of this game",
        "help": "did you mean `hunter`?",
        "safe": False,
        "edits": [],
        "notes": [
            {
                "file": "games/stag_hunt.yaml",
                "line": 2,
                "column": 9,
                "end_line": 2,
                "end_column": 15,
                "text": "declared here",
            }
        ],
        "witness": [],
    }
    assert json.loads(render([], "json")) == []


def test_colour_changes_no_text() -> None:
    import re

    coloured = render([PROBLEM], colour=True)
    assert "\x1b[1;31merror[GD0312]\x1b[0m" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == render([PROBLEM])


@given(st.text(max_size=80), st.integers(0, 90), st.integers(0, 90), st.text(max_size=10))
def test_nothing_breaks_the_frame(text: str, start: int, length: int, word: str) -> None:
    source = Source("a\x1b.yaml", text)
    start = min(start, len(text))
    place = Span(source, start, min(start + length, len(text)))
    problem = Diagnostic("GD0001", word, place, word, (Note(place, word),), word, witness=(word,))
    for form in ("pretty", "concise", "json"):
        shown = render([problem], form)
        shown.encode()
        assert all(c.isprintable() or c == "\n" for c in shown)


def test_problems_are_recorded_once_and_sorted() -> None:
    problems = Problems()
    for _ in range(2):
        problems.add("GD0200", "late", at("partner"))
        problems.add("GD0100", "early", at("game"), severity="warning")
    assert not [d for d in problems.found if problems.found.count(d) > 1]
    assert [d.message for d in problems.sorted()] == ["early", "late"]
    assert problems.errors
    assert problems.count_errors() == 1


def test_a_compile_error_shows_its_problems() -> None:
    assert "unknown role `hunterr`" in str(CompileError([PROBLEM]))


@pytest.mark.parametrize(
    ("word", "known", "meant"),
    [
        ("hunterr", ["hunter", "partner"], "hunter"),
        ("payoff", ["payoffs", "params"], "payoffs"),
        ("simultanous", ["simultaneous", "alternate"], "simultaneous"),
        ("Roles", ["rules", "roles"], "roles"),
        ("use-it", ["use_it"], "use_it"),
        ("sue", ["use", "choose"], "use"),
        ("chose", ["choose", "use"], "choose"),
        ("xyz", ["abc", "ab"], None),
        ("a", ["b"], None),
        ("if", ["of"], None),
        ("wibble", ["payoffs"], None),
        ("", ["a", ""], None),
        ("stag", [], None),
    ],
)
def test_did_you_mean(word: str, known: list[str], meant: str | None) -> None:
    assert did_you_mean(word, known) == meant


def test_shipped_file_is_named_without_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "ship.yaml"
    path.write_text(
        "game: ship\nroles: [agent]\nactions: {answer: {args: {text: text(20)}}}\n"
        "turns:\n  - {use: tool_loop, calls: 5, done: 5}\npayoffs: 0\nrespond: tool\n"
        "on_invalid: {retry: 1, then: forfeit, pay: -1}\n",
        encoding="utf-8",
    )
    found = compile_file(path).diagnostics
    assert "--> shipped protocols/tool_loop.yaml:12:12\n" in render(found)
    assert str(shipped_folder()) not in render(found)
    assert f"{shipped_folder() / 'protocols' / 'tool_loop.yaml'}:12:12: " in render(
        found, "concise"
    )
