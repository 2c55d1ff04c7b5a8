"""What the documentation says is what the compiler does."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import gamedsl
from gamedsl.compiler import compile_file

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted([*DOCS.glob("*.md"), *DOCS.glob("training/*.md")])]
FENCE = re.compile(r"```(\w*)\n(.*?)```", re.DOTALL)


def blocks(language: str) -> list[tuple[str, str]]:
    """(page, text) of every fenced block of a language."""
    return [
        (page.name, text)
        for page in PAGES
        for kind, text in FENCE.findall(page.read_text(encoding="utf-8"))
        if kind == language
    ]


def test_the_reference_is_what_the_tables_say() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "docs" / "generate.py"), "--check"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("page", "text"),
    [
        (page, text)
        for page, text in blocks("yaml")
        if re.match(r"(#.*\n)*(game|reward|protocol):", text) and page != "extending.md"
    ],
)
def test_every_file_shown_compiles(page: str, text: str, tmp_path: Path) -> None:
    """The games of extending.md use what the page adds; test_extending.py compiles them."""
    kind, name = re.search(r"^(game|reward|protocol): (\w+)", text, re.MULTILINE).groups()
    path = tmp_path / f"{name}.yaml"
    path.write_text(text, encoding="utf-8")
    result = compile_file(path)
    problems = [d for d in result.diagnostics if d.severity != "note"]
    assert problems == [], f"{page}: {kind} {name}"


def test_the_python_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pettingzoo")
    pytest.importorskip("pyspiel")
    pages = [text for page, text in blocks("python") if page == "python.md"]
    exec(compile("\n".join(pages), "python.md", "exec"), {})
    out = capsys.readouterr().out
    assert "first [first.card=K]" in out
    assert "58 11/12" in out
    assert "30 plays" in out


def test_the_word_game_of_the_python_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    pages = [text for page, text in blocks("python") if page == "python.md"]
    start = next(i for i, text in enumerate(pages) if "HAGGLE" in text)
    code = "\n".join(["import gamedsl", *pages[start : start + 2]])
    exec(compile(code, "python.md", "exec"), {})
    out = capsys.readouterr().out.splitlines()
    told = re.findall(r"^print\(.*?\)(?:  # (.*))?$", code, re.MULTILINE)
    assert len(out) == len(told) == 7
    for shown, comment in zip(out, told, strict=True):
        assert comment in ("", shown) or comment.startswith("what was wrong"), shown
    assert out[5] == "[('buyer', 'missing', False), ('buyer', 'value', True)]"


def test_the_page_of_players_runs(capsys: pytest.CaptureFixture[str]) -> None:
    pages = [text for page, text in blocks("python") if page == "players.md"]
    exec(compile("\n".join(pages), "players.md", "exec"), {})
    assert capsys.readouterr().out.startswith("3\n")


def test_readme_extra_covers_its_commands() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]

    def brought(extra: str) -> set[str]:
        wants = [re.split(r"(?=[\[><=])", want, maxsplit=1) for want in extras[extra]]
        own = {name for name, _ in wants} - {"gamedsl"}
        inner = {
            each for name, rest in wants if name == "gamedsl" for each in re.findall(r"\w+", rest)
        }
        return own.union(*map(brought, inner))

    assert brought("train") >= brought("solve") | brought("eval")
    assert {"torch", "scipy", "httpx2"} <= brought("train")


def test_the_gallery_names_every_shipped_file() -> None:
    text = (ROOT / "docs" / "gallery" / "index.md").read_text(encoding="utf-8")
    for folder in ("games", "protocols", "rewards"):
        for path in (ROOT / folder).glob("*.yaml"):
            assert f"`{path.stem}`" in text, path.stem


def test_the_diagnostic_of_the_page_is_the_compilers(tmp_path: Path) -> None:
    from gamedsl.diagnostics.render import render

    text = (ROOT / "docs" / "validate.md").read_text(encoding="utf-8")
    (shown,) = [t for kind, t in FENCE.findall(text) if t.startswith("error[")]
    game = Path(gamedsl.load("prisoners_dilemma").files[0]).read_text(encoding="utf-8")
    body = (
        game.partition("\n")[2]
        .replace("prisoners_dilemma", "bad")
        .replace("  defect  ", "  defct   ")
    )
    path = tmp_path / "bad.yaml"
    path.write_text(body, encoding="utf-8")
    rendered = render(compile_file(path).diagnostics, form="pretty", colour=False)
    assert shown.strip() == rendered.replace(str(path), "bad.yaml").strip()
