"""Pages that change a game and show the problem: the game is right, and the problem is true."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from page_blocks import write_files

from gamedsl.compiler import compile_file
from gamedsl.diagnostics.render import render

DOCS = Path(__file__).parents[2] / "docs"
FOLDERS = ("tutorial", "how-to", "concepts", "coming-from")
PAGES = [page for folder in FOLDERS for page in sorted((DOCS / folder).glob("*.md"))]


def mistakes(page: Path) -> Iterator[tuple[str, str, str]]:
    """(game, change, problem shown) of each `diff` of a page; the game is the last above it."""
    fenced = re.findall(r"```(\w*)\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    game = ""
    for at, (kind, text) in enumerate(fenced):
        if kind == "yaml":
            game = text
        elif kind == "diff":
            yield game, text, fenced[at + 1][1]


def changed(text: str, diff: str) -> str:
    """The text with the `-` lines of a diff replaced by its `+` lines."""
    lines = diff.splitlines(keepends=True)
    old, new = ("".join(line[1:] for line in lines if line[0] == sign) for sign in "-+")
    assert text.count(old) == 1, old
    return text.replace(old, new)


def problems(text: str, folder: Path) -> str:
    name = re.search(r"^game: (\w+)", text, re.MULTILINE)[1] + ".yaml"
    path = folder / name
    path.write_text(text, encoding="utf-8")
    said = render(compile_file(path).diagnostics, form="pretty", colour=False)
    return said.replace(str(path), name).strip()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_games_of_a_page_compile(page: Path, tmp_path: Path) -> None:
    write_files(page, tmp_path)
    for game in re.findall(r"```yaml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        assert problems(game, tmp_path) == ""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_mistakes_are_reported_as_shown(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(page, tmp_path)
    monkeypatch.chdir(tmp_path)
    for game, change, shown in mistakes(page):
        assert problems(changed(game, change), tmp_path) == shown.strip()
