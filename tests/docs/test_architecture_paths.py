"""The page of the architecture names functions that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PLACES = re.findall(r"`([\w/]+\.py)::([\w.]+)`", PAGE)


def names_in(tree: ast.Module) -> set[str]:
    """Returns the classes and functions of a module, and the methods as `Class.method`."""
    found = set()
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{n.name}" for n in node.body if isinstance(n, ast.FunctionDef)}
    return found


@pytest.mark.parametrize(("file", "name"), PLACES)
def test_named_functions_exist(file: str, name: str) -> None:
    text = (ROOT / "gamedsl" / file).read_text(encoding="utf-8")
    assert name in names_in(ast.parse(text))


def test_paths_of_values_are_short() -> None:
    lists = re.findall(r"becomes a \w+:\n\n((?:\d\. .*\n(?:   .*\n)*)+)", PAGE)
    assert [len(re.findall(r"^\d\.", one, re.M)) for one in lists] == [4, 4]


def test_page_tells_the_time_of_slow_tests() -> None:
    """`.ci/run` counts in seconds."""
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    found = re.search(r"SECONDS < (\d+) \? (\d+) - SECONDS : (\d+)\)", script)
    assert found is not None
    late, end, least = (int(number) // 60 for number in found.groups())
    told = f"begins no slow test after {end} minutes, or {least} minutes after the first where"
    assert f"{told} that came after {late}," in " ".join(PAGE.split())
