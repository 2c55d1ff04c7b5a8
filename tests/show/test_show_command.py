"""`gamedsl show`: what it prints and writes, and that the pictures in the documentation are its."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from gamedsl.cli import main
from gamedsl.tables.model import TextRun
from gamedsl.tables.text import rendered

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "show.md"
DRAWN = re.findall(r"^gamedsl (show .+ -o docs/pictures/.+)$", PAGE.read_text("utf-8"), re.M)
CURVES = "docs/pictures/kuhn_methods.svg"  # measured: `benchmarks/methods.py --curves` draws it
PARTS = "docs/pictures/architecture.svg"  # drawn by docs/generate.py, which has its own test
RUN = {"docs/pictures/stag_hunt_training.svg", "docs/pictures/stag_hunt_portrait.svg"}
"""Of a training run: `docs/run_pictures.py` draws them."""
PRINTED = re.findall(r"```\n\$ gamedsl (show .+)\n((?:.*\n)+?)```", PAGE.read_text("utf-8"))


@pytest.mark.parametrize("command", DRAWN)
def test_documentation_pictures_are_current(command: str, tmp_path: Path) -> None:
    words = shlex.split(command)
    picture = ROOT / words[-1]
    words[-1] = str(tmp_path / picture.name)
    assert main(words) == 0
    now = (tmp_path / picture.name).read_text("utf-8")
    assert picture.read_text("utf-8") == now, f"run `gamedsl {command}`"


def test_every_picture_has_a_command() -> None:
    made = {shlex.split(command)[-1] for command in DRAWN} | {CURVES, PARTS} | RUN
    there = {f"docs/pictures/{path.name}" for path in (ROOT / "docs" / "pictures").iterdir()}
    assert there == made
    assert len(made) == 7


@pytest.mark.parametrize(("command", "text"), PRINTED)
def test_the_page_shows_what_is_printed(
    command: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(shlex.split(command)) == 0
    assert capsys.readouterr().out == text


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("stag_hunt", ["stag_hunt · payoffs"]),
        ("ultimatum", ["ultimatum · 10 nodes", "ultimatum · who sees what"]),
        (
            "goofspiel",
            ["goofspiel · turn program", "goofspiel · who sees what", "the tree has 418"],
        ),
    ],
)
def test_what_fits_the_game_is_shown(
    name: str, first: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", name]) == 0
    blocks = re.split(r"\n\n(?=\w+ · |the tree)", capsys.readouterr().out)
    assert len(blocks) == len(first)
    for block, start in zip(blocks, first, strict=True):
        assert block.startswith(start)


def test_all_views_become_files_of_their_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", "matching_pennies", "--view", "all", "-o", str(tmp_path / "mp.svg")]) == 0
    written = sorted(path.name for path in tmp_path.iterdir())
    assert written == ["mp-flow.svg", "mp-sight.svg", "mp-table.svg", "mp-tree.svg"]
    assert "mp-tree.svg: the tree of matching_pennies" in capsys.readouterr().out


def test_a_param_changes_the_picture(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "centipede", "--view", "tree", "--param", "rounds=2", "-o", "-"]) == 0
    assert "5 nodes, 2 information sets" in capsys.readouterr().out


def test_a_game_without_a_table_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "ultimatum", "--view", "table"]) == 2
    assert "has no payoff table to draw" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["individual"], "is a reward file"),
        (["ultimatum", "--param", "pie"], "not of the form name=value"),
        (["ultimatum", "-o", "y.png"], "only as .svg: name y.svg"),
        (["ultimatum", "-o", "/nowhere/there/x.svg"], "no such file"),
        (["ultimatum", "--limit", "0"], "is no number from 1 up"),
    ],
)
def test_wrong_usage_is_one_line(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_lines_are_cut_to_the_width() -> None:
    line = [TextRun("half "), TextRun("of this goes", "f1")]
    assert rendered([line], width=9) == "half of …"
    assert rendered([line], width=17) == "half of this goes"


def test_colours_appear_only_on_request() -> None:
    assert (
        rendered([[TextRun("x", "f0 strong"), TextRun("y")]], colour=True)
        == "\x1b[38;5;32;1mx\x1b[0my"
    )
    assert rendered([[TextRun("x", "f0")]]) == "x"


def test_an_encoding_without_box_drawing_gets_plain_lines() -> None:
    assert rendered([[TextRun("├─ ○ −1")]], encoding="ascii") == "+- o -1"
