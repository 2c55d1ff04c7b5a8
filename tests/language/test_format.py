"""`gamedsl fmt`: comments and meaning stay, and what is laid out once stays as it is."""

from __future__ import annotations

import os
import re
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gamedsl import cli
from gamedsl.compiler import check_names
from gamedsl.formatter import format_file
from gamedsl.frontend.layout.parts import all_comments
from gamedsl.frontend.layout.spacing import spaced, tokens_of
from gamedsl.frontend.source.loader import replacing
from gamedsl.sema.library import FOLDERS
from tests.golden.printing import show
from tests.golden.test_golden import golden_of
from tests.language.layouts import other_layout
from tests.properties.strategies import game_files
from tests.properties.test_generated_files import damaged

ROOT = Path(__file__).parents[2]
SHIPPED = [path for folder in FOLDERS.values() for path in sorted((ROOT / folder).glob("*.yaml"))]
STARTERS = sorted((ROOT / "gamedsl" / "starters").glob("*.yaml"))
PAGES = [ROOT / "README.md", ROOT / "AGENTS.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```yaml\n((?:#[^\n]*\n|\n)*(?:game|protocol|reward):.*?)^```$", re.M | re.S)


def formatted(path: Path, text: str | None = None) -> str:
    """Returns a file's text as it is laid out, or that of a text in its place."""
    with replacing({} if text is None else {path: text}):
        done = format_file(path)
    assert done.after is not None, done.problems
    assert all_comments(done.after) == all_comments(done.before)
    return done.after


def laid_out(text: str, folder: Path) -> str:
    path = folder / "game.yaml"
    path.write_text(text, encoding="utf-8")
    return formatted(path)


@pytest.mark.parametrize("path", [*SHIPPED, *STARTERS], ids=lambda path: path.stem)
def test_shipped_files_are_laid_out(path: Path) -> None:
    assert formatted(path) == path.read_text(encoding="utf-8")


def test_games_on_pages_are_laid_out(tmp_path: Path) -> None:
    blocks = [text for page in PAGES for text in BLOCK.findall(page.read_text(encoding="utf-8"))]
    assert len(blocks) > 30
    for text in blocks:
        assert laid_out(text, tmp_path) == text


def test_games_of_explanations_are_not_refused(tmp_path: Path) -> None:
    pages = sorted((ROOT / "gamedsl" / "diagnostics" / "explain").glob("*.md"))
    blocks = [text for page in pages for text in BLOCK.findall(page.read_text(encoding="utf-8"))]
    assert len(blocks) > 300
    path = tmp_path / "game.yaml"
    for text in blocks:
        path.write_text(text, encoding="utf-8")
        done = format_file(path)
        assert not done.refused
        assert done.after or done.problems


@pytest.mark.parametrize("path", [*SHIPPED, *STARTERS], ids=lambda path: path.stem)
def test_other_layouts_keep_the_meaning(path: Path) -> None:
    check_other_layout(path, Random(path.stem))


@pytest.mark.weekly
@settings(max_examples=150)
@given(st.sampled_from([*SHIPPED, *STARTERS]), st.integers(0, 10**9))
def test_many_other_layouts_keep_the_meaning(path: Path, seed: int) -> None:
    check_other_layout(path, Random(seed))


def check_other_layout(path: Path, random: Random) -> None:
    other = other_layout(path.read_text(encoding="utf-8"), random)
    after = formatted(path, other)
    assert formatted(path, after) == after
    before = check_names(path)
    for text in (other, after):
        with replacing({path: text}):
            again = check_names(path)
        assert again.ok, again.diagnostics
        if before.ir is not None:
            assert again.ir is not None
            assert again.ir.rules_hash == before.ir.rules_hash
            assert again.ir.rendering_hash == before.ir.rendering_hash
            assert again.ir.settings == before.ir.settings


@pytest.mark.parametrize(
    "path", [path for path in SHIPPED if path.stem in ("kuhn_poker", "hanabi", "village", "nim")]
)
def test_prompts_and_plays_stay(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    other = other_layout(path.read_text(encoding="utf-8"), Random(path.stem))
    with replacing({path: formatted(path, other)}):
        assert show(path) == golden_of(path).read_text(encoding="utf-8")


@settings(max_examples=settings().max_examples // 2)
@given(game_files(), st.integers(0, 10**9))
def test_games_and_damaged_games(text: str, seed: int) -> None:
    random, path = Random(seed), ROOT / "games" / "generated.yaml"
    for file in (text, damaged(text, random), other_layout(text, random)):
        with replacing({path: file}):
            done = format_file(path)
            before = check_names(path)
        assert not done.refused
        if done.after is None:
            assert done.problems
            continue
        with replacing({path: done.after}):
            assert format_file(path).after == done.after
            after = check_names(path)
        assert [d.code for d in before.diagnostics] == [d.code for d in after.diagnostics]
        if before.ir is not None and after.ir is not None:
            assert before.ir.hash == after.ir.hash


MESSY = """\
# above


game:   mess
roles: [ ann,bob ]   # who
params:
    pay:    {default: 1, in: 0..9}


    # the last
let:
      twice :  2*pay   # doubled
      half: '2 * pay'
turns:
- {role: all, choose: move, from: [go, stay], about: "What now, at last or ever?", seen_by: all}
-   do:   x=1;add -1 to   seen
    if: not(move.ann==go)and  move.bob!= go
# of the end
payoffs: |
    ann,bob|go|stay
    go | 1,-pay | twice-1, -  2
    stay | 0 , 1/2 | 0, 0
prompts:
  rules: "It is: {{ pay }}."
  ask: {move: 'Go or stay'}
  who:
    ann: >
        You are ann,
        and go.

    # nobody else
"""

TIDY = """\
# above

game: mess
roles: [ann, bob]    # who
params:
  pay: {default: 1, in: 0..9}

  # the last
let:
  twice: 2 * pay       # doubled
  half: 2 * pay
turns:
  - {role: all, choose: move, from: [go, stay], about: "What now, at last or ever?", seen_by: all}
  - do: x = 1; add -1 to seen
    if: not (move.ann == go) and move.bob != go
# of the end
payoffs: |
  ann, bob | go      | stay
  go       | 1, -pay | twice - 1, -2
  stay     | 0, 1/2  | 0, 0
prompts:
  rules: "It is: {{ pay }}."
  ask: {move: Go or stay}
  who:
    ann: >
      You are ann,
      and go.

    # nobody else
"""


def test_the_layout(tmp_path: Path) -> None:
    mess = MESSY.replace("x=1;add -1 to   seen", "seen=seen+ -pay").replace(
        "let:", "state: {seen: 0}\nlet:"
    )
    tidy = TIDY.replace("x = 1; add -1 to seen", "seen = seen + -pay").replace(
        "let:", "state: {seen: 0}\nlet:"
    )
    assert laid_out(mess, tmp_path) == tidy


def test_a_file_with_errors_keeps_its_expressions(tmp_path: Path) -> None:
    text = "game: wrong\nroles:   [ann]\npayoffs: 1+wibble\n"
    assert laid_out(text, tmp_path) == "game: wrong\nroles: [ann]\npayoffs: 1+wibble\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a  if b   else -c", "a if b else -c"),
        ("-a-b**-c", "-a - b ** -c"),
        ("f ( x,y )[ 0 ] . z", "f(x, y)[0].z"),
        ("0 .. n-1", "0..n - 1"),
        ("x in[1,2]or not(y)", "x in [1, 2] or not (y)"),
        ("1/2*x", "1/2 * x"),
        ("x/2", "x / 2"),
        ("drop(a)from b", "drop(a) from b"),
        ("add (a) to b;c=1", "add (a) to b; c = 1"),
        ("[r for r in roles\n   if r!=me]", "[r for r in roles\n   if r != me]"),
        ("what | else?", "what | else?"),
    ],
)
def test_spaces_of_expressions(old: str, new: str) -> None:
    assert spaced(old) == new
    assert tokens_of(old) == tokens_of(new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a: 'yes'", 'a: "yes"'),
        ("a: '1'", 'a: "1"'),
        ("a: 'b: c'", 'a: "b: c"'),
        ('a: "b"', "a: b"),
        ("a: 'b ''c'''", "a: b 'c'"),
        ("a: 'say \"x\"'", 'a: say "x"'),
        ("a: 'say: \"x\"'", "a: 'say: \"x\"'"),
        ('a: ""', 'a: ""'),
        ('a: "b\\nc"', 'a: "b\\nc"'),
        ("a: {b: [c,d,],}", "a: {b: [c, d]}"),
        ("a: [b, # why\n  c]", "a: [b,  # why\n    c]"),
        ("a: {\n  b: 1,\n  c: 2\n  }", "a: {b: 1,\n    c: 2}"),
        ("a: &x [1]\nb: *x", "a: &x [1]\nb: *x"),
        ("a:\n- b\n-  - c\n   - d", "a:\n  - b\n  - - c\n    - d"),
        ("a: # why\n    b", "a:  # why\n  b"),
        ("a: |2\n    b\n   c", "a: |2\n    b\n   c"),
        ("a: >+\n   b\n\n", "a: >+\n  b\n\n"),
        ("? a\n: b", "a: b"),
        ("a: b\n c\n    d", "a: b\n  c\n    d"),
    ],
)
def test_layouts_of_yaml(tmp_path: Path, old: str, new: str) -> None:
    done = laid_out(f"game: x\ntrain:\n{_indented(old)}\n", tmp_path)
    assert done == f"game: x\ntrain:\n{_indented(new)}\n"


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" if line else "" for line in text.split("\n"))


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = cli.main(["fmt", *words])
    return (code, *capsys.readouterr())


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.yaml"
    old = b"\xef\xbb\xbfgame:  a\r\nroles: [ann]\r\npayoffs: 1"
    path.write_bytes(old)
    path.chmod(0o750)
    code, out, _ = run(capsys, str(path), "--check")
    assert (code, path.read_bytes()) == (1, old)
    assert "would be formatted" in out
    code, out, _ = run(capsys, str(path), "--diff")
    assert (code, path.read_bytes()) == (1, old)
    assert "-game:  a\n+game: a\n" in out
    assert "-payoffs: 1\n\\ No newline at end of file\n+payoffs: 1\n" in out
    assert run(capsys, str(path))[0] == 0
    assert path.read_bytes() == b"\xef\xbb\xbfgame: a\r\nroles: [ann]\r\npayoffs: 1\r\n"
    if os.name == "posix":
        assert path.stat().st_mode & 0o777 == 0o750
    assert run(capsys, str(path), "--check") == (0, "", "")
    assert run(capsys, str(path)) == (0, "", "")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("game: a\nroles: [ann\n", "GD00"),
        ("services: {a: 1}\n", "GD0105"),
        ("- a\n", "GD0027"),
        ("game: a\nx: " + "[" * 200 + "]" * 200, "GD0008"),
    ],
)
def test_other_files_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, code: str
) -> None:
    path, good = tmp_path / "a.yaml", tmp_path / "b.yaml"
    path.write_text(text, encoding="utf-8")
    good.write_text("game:  b\n", encoding="utf-8")
    status, _, err = run(capsys, str(path), str(good))
    assert status == 1
    assert f"error[{code}" in err
    assert path.read_text(encoding="utf-8") == text
    assert good.read_text(encoding="utf-8") == "game: b\n"


def test_hook_is_the_command() -> None:
    hooks = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
    entries = re.findall(r"^  entry: gamedsl (\w+)", hooks, re.M)
    assert entries == ["validate", "fmt"]
    assert set(entries) <= set(cli.COMMANDS)


def test_a_large_file_takes_seconds(tmp_path: Path) -> None:
    rows = ", ".join(f"{{a: {i}, b: [x,y]}}" for i in range(4000))
    deep = "[" * 90 + "1" + "]" * 90
    text = f"game: large\nroles: [ann]\nlet: {{rows: [{rows}], deep: {deep}}}\npayoffs: 1\n"
    after = laid_out(text, tmp_path)
    assert max(map(len, after.split("\n"))) <= 200
