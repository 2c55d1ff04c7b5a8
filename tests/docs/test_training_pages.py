"""The pages about training: each recipe line, command and fragment is one that training reads."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

import gamedsl
from gamedsl.compiler import compile_file
from gamedsl.diagnostics import Problems
from gamedsl.recipe.resolve import parse_overrides, resolve
from tests.docs.training_commands import training_commands, understood

DOCS = Path(__file__).parents[2] / "docs"
PAGES = {path.stem: path.read_text(encoding="utf-8") for path in (DOCS / "training").glob("*.md")}
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGES["index"].splitlines()
    if line.startswith("| ") and line.count("](") == 1
]
COMMANDS = sorted({command for page in PAGES.values() for command in training_commands(page)})
FRAGMENTS = [
    (name, text)
    for name, page in PAGES.items()
    for text in re.findall(r"```yaml\n(train:.*?)```", page, re.DOTALL)
]


def test_seven_pages_and_an_index() -> None:
    assert len(PAGES) == 8
    listed = set(re.findall(r"^- \[[^\]]+\]\((\w+)\.md\)", PAGES["index"], re.MULTILINE))
    assert listed == PAGES.keys() - {"index"}


def test_index_begins_with_the_question() -> None:
    assert re.findall(r"^## (.+)$", PAGES["index"], re.MULTILINE)[0] == "Which recipe do I need?"
    assert len(ROWS) >= 15


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_recipe_lines_are_understood(row: list[str]) -> None:
    _, lines, game = row
    given = [line.replace(": ", "=", 1) for line in re.findall(r"`([^`]+)`", lines)]
    problems = Problems()
    resolve(gamedsl.load(game.strip("`")).ir, parse_overrides(given), problems)
    assert [one.message for one in problems.sorted() if one.severity != "note"] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_are_understood(command: str) -> None:
    assert understood(command) is not None


@pytest.mark.parametrize(("page", "text"), FRAGMENTS)
def test_fragments_are_understood(page: str, text: str, tmp_path: Path) -> None:
    """In a game that has what the fragment names: its roles, or a draw from rows of data."""
    given = yaml.safe_load(text)["train"]
    path = tmp_path / "shown.yaml"
    head = "extends: tool_agent" if "curriculum" in given else "extends: tic_tac_toe"
    if roles := list(given.get("roles", ())):
        head = f"roles: {roles}\nactions: [a, b]\nprotocol: simultaneous\npayoffs: 1"
    path.write_text(f"game: shown\n{head}\n{text}", encoding="utf-8")
    problems = compile_file(path).diagnostics
    assert [one.message for one in problems if one.severity == "error"] == [], page
