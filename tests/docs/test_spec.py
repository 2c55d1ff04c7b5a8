"""docs/spec.md and its tests belong together: every rule has tests, every test has its rule."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

from tests.spec.rule_cases import read_chapters, references

ROOT = Path(__file__).parents[2]
SPEC = (ROOT / "docs" / "spec.md").read_text(encoding="utf-8")
LANGUAGE = (ROOT / "docs" / "language.md").read_text(encoding="utf-8")
RULE = re.compile(r'- <a id="([\d.]+)"></a>\*\*([\d.]+)\*\*: [A-Z`*].*[.:)*]')


def rules() -> list[str]:
    """Returns the numbers of the rules, in the order of the page."""
    return [number for number, _ in re.findall(RULE.pattern, SPEC)]


@cache
def functions(file: str) -> set[str]:
    """Returns the names of the functions of a test module, which is not imported."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_every_rule_has_a_number_and_anchor() -> None:
    lines = [line for line in SPEC.split("\n") if line.startswith("- ")]
    assert len(lines) > 20
    for line in lines:
        found = RULE.fullmatch(line)
        assert found, line
        assert found[1] == found[2], line


def test_rules_are_numbered_in_order() -> None:
    expected: list[str] = []
    places: dict[str, int] = {}
    for line in SPEC.split("\n"):
        if heading := re.match(r"### (\d+\.\d+) ", line):
            section = heading[1]
        if RULE.fullmatch(line):
            places[section] = places.get(section, 0) + 1
            expected.append(f"{section}.{places[section]}")
    assert rules() == expected
    headings = re.findall(r"^#{2,3} (\d+)(?:\.(\d+))? ", SPEC, re.MULTILINE)
    chapter = part = 0
    for first, second in headings:
        chapter, part = (int(first), 0) if not second else (chapter, part + 1)
        assert (int(first), int(second or 0)) == (chapter, part)


def test_every_rule_has_a_test() -> None:
    tested = [rule for _, chapter in read_chapters() for rule, found in chapter.items() if found]
    withdrawn = set(re.findall(r"\*\*([\d.]+)\*\* \*Withdrawn\.\*$", SPEC, re.MULTILINE))
    assert tested == [rule for rule in rules() if rule not in withdrawn]


def test_cases_stand_in_the_file_of_their_chapter() -> None:
    for path, chapter in read_chapters():
        assert {int(rule.partition(".")[0]) for rule in chapter} == {int(path.name[:2])}


def test_named_tests_exist() -> None:
    for rule, test in references():
        if test.startswith("tests/diagnostics/cases/"):
            assert "[GD" in (ROOT / test).read_text(encoding="utf-8"), f"{rule}: {test}"
            continue
        file, _, name = test.partition("::")
        assert name.startswith("test_"), f"{rule}: {test}"
        assert name in functions(file), f"{rule}: {test}"


def prose(page: str) -> list[list[str]]:
    """Returns the blocks of a page, lists and tables too, without headings and code."""
    text = re.sub(r"^```.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL)
    blocks = [block.split("\n") for block in re.split(r"\n\s*\n", text) if block.strip()]
    return [block for block in blocks if not block[0].startswith("#")]


def test_language_page_names_its_rules() -> None:
    """A block that leads to the next one ends with a colon; any other says below which rules of the
    specification it states: `<!-- rules: 6.1.2; 7.1.9 -->`, or `none`."""
    known, blocks = {*rules(), "none"}, prose(LANGUAGE)
    assert len(blocks) > 100
    for block, below in zip(blocks, [*blocks[1:], ["the end"]], strict=True):
        if block[0].startswith("<!--") or block[-1].endswith(":"):
            continue
        named = re.fullmatch(r"<!-- rules: ([\d.; ]+|none) -->", below[0])
        assert named, f"no rules are named below: {block[0]}"
        assert set(named[1].split("; ")) <= known, f"{block[0]} names {named[1]}"
