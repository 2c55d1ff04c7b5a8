"""Fixes that the compiler proposes can be applied: their problem goes, and nothing new comes."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest

from gamedsl.compiler import compile_file
from gamedsl.diagnostics import Diagnostic, Edit, Problems
from gamedsl.diagnostics.fixes import apply_edits, respell
from gamedsl.diagnostics.render import render
from gamedsl.diagnostics.spans import Source, Span
from gamedsl.frontend.source.compose import compose
from gamedsl.frontend.source.edits import (
    add_entry,
    append_words,
    delete_entry,
    delete_item,
    delete_unnamed,
    set_readers,
)
from tests.diagnostics.expectations import CASES, case_files
from tests.diagnostics.fixing import Kind, faults_of_fixes, remaining

FILES = [path.relative_to(CASES) for path in case_files()]

SEVERAL = {
    "syntax/comma.yaml": "the list is then taken for a payoff table",
    "yaml/quote_open_double.yaml": "a line `---` stands in the text that is not closed",
}
"""Cases whose fix uncovers what the file has besides."""

EDITED = 1 / 3
"""The share of the cases' helps that have edits, at least; all others are advice: a name to invent,
a choice, or what to think of."""


def problems_of(path: Path) -> list[Diagnostic]:
    return compile_file(path).diagnostics


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a copy of all cases, whose files may be changed."""
    return Path(shutil.copytree(CASES, tmp_path_factory.mktemp("cases") / "cases"))


@pytest.mark.parametrize("path", FILES, ids=str)
def test_every_fix_can_be_applied(path: Path, copies: Path) -> None:
    wrong = faults_of_fixes(copies / path, problems_of(copies / path), problems_of)
    assert not wrong or str(path) in SEVERAL, "\n\n".join(wrong)


def test_most_fixes_have_edits() -> None:
    told = [d for path in FILES[::3] for d in problems_of(CASES / path) if d.help]
    advice = Counter(d.code for d in told if not d.edits)
    assert len(told) - advice.total() >= EDITED * len(told), advice


def test_a_wrong_fix_is_found(tmp_path: Path) -> None:
    """One that leaves its problem, and one that brings another."""
    path = tmp_path / "case.yaml"
    text = (
        "game: case\nroles: [left, right]\nactions: [up, down]\nprotocol: simultanous\npayoffs: 1\n"
    )
    path.write_text(text)
    (found,) = problems_of(path)
    assert not faults_of_fixes(path, problems_of(path), problems_of)
    for new in ("simultanuos", "[simultaneous"):
        edit = Edit(found.span, new)

        def broken(each: Path, edit: Edit = edit) -> list[Diagnostic]:
            return [
                Diagnostic(d.code, d.message, d.span, help=d.help, edits=(edit,))
                for d in problems_of(each)
            ]

        assert faults_of_fixes(path, broken(path), broken)
    assert path.read_text() == text
    assert Kind.of(found) not in map(Kind.of, remaining(path, found, problems_of))


def test_json_has_the_edits(tmp_path: Path) -> None:
    path = tmp_path / "case.yaml"
    path.write_text("game: case\nroles: [left]\npayofs: 1\n")
    found = json.loads(render(problems_of(path), "json"))
    edits = [edit for each in found if each["code"] == "GD0101" for edit in each["edits"]]
    assert edits == [{
        "file": str(path), "line": 3, "column": 1, "end_line": 3, "end_column": 7,
        "text": "payoffs",
    }]  # fmt: skip


def test_edits_are_applied_together() -> None:
    source = Source("text", "one two three")
    edits = [Edit(Span(source, 8, 13), "3"), Edit(Span(source, 0, 3), "1")]
    assert apply_edits(source.text, edits) == "1 two 3"
    with pytest.raises(ValueError, match="overlap"):
        apply_edits(source.text, [*edits, Edit(Span(source, 2, 5), "")])


def test_no_word_near_leaves_the_advice() -> None:
    assert respell(Span(Source("text", "x"), 0, 1), None, "write a name") == "write a name"


HELPS = {
    "game/weights_of_counts.yaml": (
        "divide each by their sum, 4",
        "divide each by their sum, or write the last as 1 less the others",
        "write fractions, such as `1/3`",
    ),
    "names/written_as_elsewhere.yaml": (
        "a range is written `0..10`; both ends are in it",
        "roles that act at once are listed: `[left, right]`",
        "roles that act at once are listed: `[left, right]`",
        "options are listed: `[red, blue]`",
        "write `[green, grey]`",
        "say there which cells are joined: `Cell: {cell: [3, 3], neighbors: square}`, "
        "or `king`, `hex` or `torus`",
        "a number is written in digits: `2`",
        "a number is written in digits: `7`",
    ),
    "syntax/words_of_other_languages.yaml": (
        "write `1..3`",
        "write `add 2 to log`",
        "write `drop 2 from log`",
        "write `pot += 1`",
        "a further case stands behind `else`: `a if test else b if other_test else c`",
    ),
    "shape/no_roles.yaml": ("write a list of names",),
    "shape/loop_beside_its_steps.yaml": (
        "write the steps of the loop below it, under `turns:` beside `repeat` and indented more, "
        "each beginning with `- `",
    ),
    "prompts/shown_too_early.yaml": (
        "leave it out, or show it in the `ask` of `last`",
        "write `card.right`",
        "leave it out: no part of it is seen by all who are asked",
    ),
}


@pytest.mark.parametrize("case", HELPS)
def test_helps_fit_the_file(case: str) -> None:
    assert tuple(d.help for d in problems_of(CASES / case)) == HELPS[case]


YAML = """game: case
roles: [left, right]   # two
state:
  first: 1
  second: {of: 1..3, start: 1}
turns:
  - choose: move
    from: [a, b]
  - {role: left, choose: stay, from: [a, b]}
"""

ADDED = (("choose: move", "role: all"), ("role: left", "if: true"), ("game", "claims: [zero_sum]"))
DELETED = ("first: 1", "second: {", "of: 1", "start: 1", "choose: move", "from: [a, b]\n")
ITEMS = ("left, right", "right]", "{role: left", "a, b]\n  -", "b]}")


def _place(text: str, piece: str) -> Span:
    word = piece.split(":")[0].strip("{}[], \n-").split(",")[0]
    start = text.index(piece) + piece.index(word)
    return Span(Source("text", text), start, start + len(word))


@pytest.mark.parametrize(("piece", "entry"), ADDED)
def test_an_entry_is_added(piece: str, entry: str) -> None:
    before, after = _texts(add_entry(_place(YAML, piece), entry))
    assert after.count(entry) == 1
    assert _size(after) == _size(before) + 1


@pytest.mark.parametrize("piece", DELETED)
def test_an_entry_is_deleted(piece: str) -> None:
    before, after = _texts(delete_entry(_place(YAML, piece)))
    assert _size(after) < _size(before)
    assert "# two" in after


@pytest.mark.parametrize("piece", ITEMS)
def test_an_item_is_deleted(piece: str) -> None:
    place = _place(YAML, piece)
    if piece.startswith("{"):
        place = Span(place.source, place.start - 1, YAML.index("}\n", place.start) + 1)
    before, after = _texts(delete_item(place))
    assert _size(after) < _size(before)


@pytest.mark.parametrize(("name", "declared"), [
    ("first: 1", "first: {start: 1, seen_by: nobody}"),
    ("second: {", "second: {seen_by: nobody, of: 1..3, start: 1}"),
])  # fmt: skip
def test_state_is_given_readers(name: str, declared: str) -> None:
    _, after = _texts(set_readers(_place(YAML, name), "nobody"))
    assert declared in after
    again = after.replace("nobody", "all")
    edits = set_readers(_place(again, name.split(":")[0] + ":"), "nobody")
    assert apply_edits(again, edits) == after


WORDS = {
    "ask: You act.\n": "ask: You act. {{ x | f('a') }}\n",
    'ask: "You act."\n': "ask: \"You act. {{ x | f('a') }}\"\n",
    "ask: 'You act.'\n": "ask: 'You act. {{ x | f(''a'') }}'\n",
    "ask: |\n  You act.\n": "ask: |\n  You act. {{ x | f('a') }}\n",
    "{ask: You act.}\n": "",
}  # fmt: skip


@pytest.mark.parametrize(("text", "after"), WORDS.items())
def test_words_are_added_to_a_text(text: str, after: str) -> None:
    problems = Problems()
    root = compose(Source("text", text), problems)
    assert root is not None
    edits = append_words(root.get("ask").span, "{{ x | f('a') }}")
    assert (apply_edits(text, edits) if edits else "") == after
    if after:
        assert compose(Source("text", after), problems) is not None
        assert not problems.found


def test_what_is_named_elsewhere_is_not_deleted() -> None:
    place = _place(YAML, "first: 1")
    assert delete_unnamed(place) == delete_entry(place) != ()
    assert delete_unnamed(_place(YAML.replace("[a, b]", "first"), "first: 1")) == ()


def test_what_stands_alone_is_not_deleted() -> None:
    assert delete_item(_place("roles: [left]\n", "left")) == ()
    assert delete_entry(_place("roles: [left]\n", "roles")) == ()


def _texts(edits: tuple[Edit, ...]) -> tuple[str, str]:
    assert edits
    return YAML, apply_edits(YAML, edits)


def _size(text: str) -> int:
    """Returns the number of scalars in a text that is YAML without a problem."""
    problems = Problems()
    root = compose(Source("text", text), problems)
    assert root is not None
    assert not problems.found
    return _scalars(root)


def _scalars(node: object) -> int:
    parts = getattr(node, "items", None) or getattr(node, "entries", None)
    if parts is None:
        return 1
    return sum(_scalars(getattr(part, "value", part)) for part in parts)
