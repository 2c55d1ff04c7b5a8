"""AGENTS.md and llms.txt: short, true, and linked to what is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gamedsl.cli import COMMANDS
from gamedsl.compiler import compile_file
from gamedsl.diagnostics import codes

ROOT = Path(__file__).parents[2]
AGENTS = (ROOT / "AGENTS.md").read_text(encoding="utf-8")
LLMS = (ROOT / "llms.txt").read_text(encoding="utf-8")
GAMES = re.findall(r"```yaml\n(.*?)```", AGENTS, re.DOTALL)
FENCES = re.compile(r"```.*?```", re.DOTALL)
MOST_WORDS = 800


@pytest.mark.parametrize("text", GAMES, ids=lambda text: text.split()[1])
def test_every_example_compiles_cleanly(text: str, tmp_path: Path) -> None:
    path = tmp_path / f"{text.split()[1]}.yaml"
    path.write_text(text, encoding="utf-8")
    assert compile_file(path).diagnostics == []


def test_page_shows_each_kind_of_game() -> None:
    said = "".join(GAMES)
    for word in ("payoffs: |", "deal:|draw:", "seen_by: owner", "referees:", "read:", "state:"):
        assert re.search(re.escape(word).replace(r"\|", "|"), said), word


def test_page_is_short() -> None:
    assert len(FENCES.sub("", AGENTS).split()) <= MOST_WORDS


def test_commands_and_codes_exist() -> None:
    for name in re.findall(r"gamedsl (\w+)", "".join(FENCES.findall(AGENTS))):
        assert name in COMMANDS
    assert set(re.findall(r"GD\d{4}", AGENTS)) <= set(codes.codes())


@pytest.mark.parametrize("text", [AGENTS, LLMS], ids=["AGENTS.md", "llms.txt"])
def test_links_lead_to_files(text: str) -> None:
    links = re.findall(r"\]\(([^)#]+)", text)
    assert links
    assert [link for link in links if not (ROOT / link).is_file()] == []


def test_paths_named_exist() -> None:
    named = re.findall(r"`((?:gamedsl|tests|docs|games)/[\w./]*)`", AGENTS)
    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_llms_txt_follows_its_convention() -> None:
    """A title, a summary as a quotation, and sections that are lists of links."""
    lines = LLMS.splitlines()
    assert lines[0].startswith("# ")
    assert lines[2].startswith("> ")
    for section in LLMS.split("\n## ")[1:]:
        _, *items = filter(None, section.splitlines())
        assert all(re.fullmatch(r"- \[[^\]]+\]\([^)]+\): .+", item) for item in items)
