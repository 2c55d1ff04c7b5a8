"""Files become trees or problems: bounds, encodings, and no exception for any input."""

from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gamedsl.cli import main
from gamedsl.compiler import compile_game
from gamedsl.diagnostics.errors import CompileError
from gamedsl.diagnostics.model import Problems
from gamedsl.diagnostics.render import render
from gamedsl.diagnostics.spans import Source
from gamedsl.frontend.source import loader
from gamedsl.frontend.source.compose import compose
from gamedsl.frontend.source.nodes import Mapping, Node, Scalar, Sequence

ROOT = Path(__file__).parent.parent.parent
SHIPPED = sorted(p for d in ("games", "protocols", "rewards") for p in (ROOT / d).glob("*.yaml"))


def parse(text: str) -> tuple[Mapping | None, Problems]:
    problems = Problems()
    return loader.parse(loader.from_text("test.yaml", text), problems), problems


def value(text: str) -> object:
    root, problems = parse(f"x: {text}\n")
    assert not problems.found, render(problems.found)
    assert root is not None
    node = root.get("x")
    assert isinstance(node, Scalar)
    return node.value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("yes", "yes"),
        ("no", "no"),
        ("on", "on"),
        ("off", "off"),
        ("y", "y"),
        ("true", True),
        ("TRUE", True),
        ("tRue", "tRue"),
        ("False", False),
        ("null", None),
        ("~", None),
        ("Null", None),
        ("none", "none"),
        ("010", 10),
        ("-7", -7),
        ("+7", 7),
        ("0x1F", 31),
        ("0o17", 15),
        ("-0x1F", "-0x1F"),
        ("0b11", "0b11"),
        ("1_000", "1_000"),
        ("12:30", "12:30"),
        ("2001-01-01", "2001-01-01"),
        ("0.1", Fraction(1, 10)),
        (".5", Fraction(1, 2)),
        ("-.5", Fraction(-1, 2)),
        ("5.", Fraction(5)),
        ("1e3", Fraction(1000)),
        ("1.5E-2", Fraction(3, 200)),
        ("0.1234567890123456789", Fraction(1234567890123456789, 10**19)),
        ("1e", "1e"),
        (".", "."),
        ("1/3", "1/3"),
        ("<<", "<<"),
        ("=", "="),
        ("'1'", "1"),
        ('"true"', "true"),
        ('""', ""),
        ("9" * 100, int("9" * 100)),
    ],
)
def test_core_schema(text: str, expected: object) -> None:
    found = value(text)
    assert found == expected
    assert type(found) is type(expected)


def scalars(node: Node) -> list[Scalar]:
    if isinstance(node, Scalar):
        return [node]
    if isinstance(node, Sequence):
        return [leaf for item in node for leaf in scalars(item)]
    return [leaf for entry in node for leaf in (entry.key, *scalars(entry.value))]


OFFSETS = """\
plain: one + two
quoted: "one + two"
single: 'it''s + two'
escaped: "tab\\t\\x41\\u00e9 + two"
joined: "one \\
   + two"
folded: "one
   + two

   three  "
plain_lines: one
  + two

  three
literal: |
  one
    + two

  three
literal_strip: |-
  one + two
literal_keep: |+
  one + two

greater: >
  one
  + two

  three
greater_deep: >-
  one
    + two
  three
flow: {a: one + two, b: "one + two", c: [x, 'y']}
anchored: &a one + two
anchored_quote: &b "one + two"
wide: "日本 + two"
"""


def test_every_character_knows_its_place() -> None:
    root, problems = parse(OFFSETS)
    assert root is not None
    assert not problems.found
    source = root.span.source
    for leaf in scalars(root):
        if not leaf.text or isinstance(leaf.value, int):
            continue
        assert leaf.offsets != (), leaf
        for index, char in enumerate(leaf.text):
            place = leaf.locate(index, index + 1)
            written = source.text[place.start]
            assert written == char or written in "\\\n", (leaf, index)


@pytest.mark.parametrize("name", ["plain", "quoted", "literal", "greater", "folded", "anchored"])
def test_a_part_is_underlined_where_it_was_written(name: str) -> None:
    root, _ = parse(OFFSETS)
    assert root is not None
    leaf = root.get(name)
    assert isinstance(leaf, Scalar)
    start = leaf.text.index("two")
    assert leaf.locate(start, start + 3).text == "two"


def test_spans_are_tight() -> None:
    text = 'a: [1, "b"]   # c\nd:\n  e: |\n    f\n\n  g: h  \n\n'
    root, _ = parse(text)
    assert root is not None
    assert root.get("a").span.text == '[1, "b"]'
    assert root.get("d").span.text == "e: |\n    f\n\n  g: h"
    assert root.get("d").get("e").span.text == "|\n    f"
    assert root.get("d").get("e").value == "f\n"


def test_aliases_repeat_the_node() -> None:
    root, problems = parse("a: &x [1, 2]\nb: *x\n")
    assert root is not None
    assert not problems.found
    assert root.get("a") is root.get("b")


def test_line_ends_and_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"\xef\xbb\xbfgame: x\r\nabout: y\r\n")
    problems = Problems()
    source = loader.read(path, problems)
    assert source is not None
    assert not problems.found
    root = loader.parse(source, problems)
    assert root is not None
    assert (root.entries[0].key.span.column, root.entries[1].key.span.line) == (1, 2)
    assert root.get("game").value == "x"


def codes_of(path: Path | str) -> list[str]:
    problems = Problems()
    source = loader.read(path, problems)
    assert (source is None) == problems.errors
    return [d.code for d in problems.found]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "GD0005"),
        (b"\xef\xbb\xbf \n\n", "GD0005"),
        (b"a: \xff\n", "GD0004"),
        (b"a: \0\n", "GD0004"),
        ("a: 1".encode("utf-16"), "GD0004"),
        (b"a" * ((1 << 20) + 1), "GD0003"),
    ],
)
def test_refused_contents(data: bytes, code: str, tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(data)
    assert codes_of(path) == [code]


def test_refused_paths(tmp_path: Path) -> None:
    assert codes_of(tmp_path) == ["GD0002"]
    assert codes_of(tmp_path / "none.yaml") == ["GD0001"]
    assert codes_of(str(tmp_path) + "/a\0b") == ["GD0001"]
    assert codes_of("") == ["GD0002"]
    assert codes_of(tmp_path / ("x" * 300)) == ["GD0006"]
    os.mkfifo(tmp_path / "pipe")
    assert codes_of(tmp_path / "pipe") == ["GD0002"]


def test_a_large_file_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "large.yaml"
    with path.open("wb") as stream:
        stream.truncate(1 << 33)
    monkeypatch.setattr(Path, "open", lambda *a, **k: pytest.fail("opened"))
    assert codes_of(path) == ["GD0003"]


def test_a_file_of_the_largest_size_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"a: 1\n#" + b"x" * ((1 << 20) - 6))
    assert codes_of(path) == []


@pytest.mark.parametrize("size", [1000, 100_000])
@pytest.mark.parametrize("part", ["[", "{", "- ", "{a: ", "[[],", "? ", "- - ", "a: {", "&a ["])
def test_depth_is_bounded(part: str, size: int) -> None:
    _, problems = parse("x: " + part * size)
    assert problems.errors
    assert {d.code for d in problems.found} <= {"GD0008", "GD0018", "GD0017"}


def test_indented_depth_is_bounded() -> None:
    _, problems = parse("".join(" " * i + "a:\n" for i in range(500)))
    assert [d.code for d in problems.found] == ["GD0008"]


def test_deepest_that_is_allowed() -> None:
    root, problems = parse("a: " + "[" * 99 + "1" + "]" * 99)
    assert root is not None
    assert not problems.found


def check_whatever(text: str) -> None:
    problems = Problems()
    root = loader.parse(loader.from_text("fuzz.yaml", text), problems)
    assert (root is None) == problems.errors
    for form in ("pretty", "concise", "json"):
        render(problems.sorted(), form).encode()
    if root is not None:
        for leaf in scalars(root):
            assert 0 <= leaf.span.start <= leaf.span.end <= len(text)
            leaf.locate(0, len(leaf.text))


YAMLISH = st.text(alphabet="ab1:,-?[]{}()#&*!|>'\"%@`\\ \t\n~.é日\u2028\x07", max_size=60)


@settings(max_examples=1500, deadline=None)
@given(YAMLISH | st.text(max_size=40))
def test_any_text_is_a_tree_or_problems(text: str) -> None:
    check_whatever(text)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(SHIPPED), st.data())
def test_any_change_of_a_shipped_file_never_crashes(path: Path, data: st.DataObject) -> None:
    text = path.read_text(encoding="utf-8")
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text)))
        cut = data.draw(st.integers(0, 8))
        text = text[:at] + data.draw(YAMLISH.map(lambda t: t[:6])) + text[at + cut :]
    check_whatever(text)


def test_source_positions() -> None:
    source = Source("a", "ab\n\ncd")
    assert [source.position(i) for i in (0, 2, 3, 4, 6)] == [(1, 1), (1, 3), (2, 1), (3, 1), (3, 3)]
    assert [source.line(i) for i in (0, 1, 2, 3, 4)] == ["", "ab", "", "cd", ""]


@pytest.mark.parametrize(
    "text",
    ["a: 1\n" * 20_000, "x: [" + "(," * 20_000 + "1]", "x: {" + "a: (b, " * 20_000 + "c: 1}"],
)
def test_a_flood_of_problems_is_cut_off(text: str) -> None:
    root, problems = parse(text)
    assert root is None or not problems.found
    assert len(problems.found) <= 101


@pytest.mark.parametrize("text", ["x: [" + "1," * 100_000 + "]", "x:\n" + "- a\n" * 100_000])
def test_values_of_a_file_are_counted(text: str) -> None:
    root, problems = parse(text)
    assert root is None
    assert [problem.code for problem in problems.found] == ["GD0003"]


@pytest.mark.parametrize("text", ["\x1b", "\x00", "\u202e", "\ud800", "a: [\x07]", "{a: \ufffe}"])
def test_odd_characters_are_not_composed(text: str) -> None:
    """Settings and params of a command line are YAML too."""
    problems = Problems()
    assert compose(Source("--set", text), problems) is None
    assert [problem.code for problem in problems.found] == ["GD0007"]
    for bracket in "[{":
        with pytest.raises(CompileError):
            compile_game("nim", {"piles": f"{bracket}{text}"})


def test_commands_survive_odd_settings(capsys: pytest.CaptureFixture[str]) -> None:
    for option in (["--set", "lr=\x1b"], ["--set", "lr=[\x07"], ["--param", "stake={\x1b}"]):
        assert main(["train", "kuhn_poker", "--dry-run", *option]) in (1, 2)
        assert "\x1b" not in capsys.readouterr().err
