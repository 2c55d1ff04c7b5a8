"""README.md is short, and what it shows is what the commands do."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import pytest

from gamedsl.cli import main
from tests.docs.training_commands import training_commands, understood

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
MOST_WORDS = 600
ONE_SCREEN = 40
"""Lines of code."""
FENCED = re.findall(r"```(\w*)\n(.*?)```", README, re.DOTALL)
PICTURES = [ROOT / path for path in re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README)]
SHOWN = re.findall(r"\| `gamedsl ([^`]+)` \|", README)
QUICK = [command for command in SHOWN if not command.startswith("train")]
INSTALL = r'pip install -c constraints.txt -e "\.\[{}\]" && {}'


def test_readme_is_short() -> None:
    assert len(README.split()) <= MOST_WORDS
    assert sum(len(code.splitlines()) for _, code in FENCED) <= ONE_SCREEN


def test_one_command_trains_and_one_tests() -> None:
    _, trains, _, tests = (code.strip() for code in ("", *(code for _, code in FENCED)))
    assert re.fullmatch(INSTALL.format("train", "gamedsl train games/stag_hunt.yaml"), trains)
    assert re.fullmatch(INSTALL.format("dev", "pytest -n auto"), tests)


def test_game_shown_is_the_shipped_one() -> None:
    (shown,) = [code for kind, code in FENCED if kind == "yaml"]
    shipped = (ROOT / "games" / "stag_hunt.yaml").read_text(encoding="utf-8")
    assert shipped.endswith(shown)


def test_five_things_have_commands() -> None:
    assert len(SHOWN) == 5
    assert {command.split()[0] for command in SHOWN} == {"validate", "solve", "train", "eval"}


@pytest.mark.parametrize("command", QUICK)
def test_commands_shown_run(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(shlex.split(command)) == 0
    if command.startswith("solve"):
        assert "-1/18" in capsys.readouterr().out


@pytest.mark.parametrize("command", training_commands(README))
def test_training_commands_are_understood(command: str) -> None:
    assert understood(command) is not None


@pytest.mark.parametrize("picture", PICTURES, ids=lambda path: path.stem)
def test_pictures_open_offline(picture: Path) -> None:
    text = picture.read_text(encoding="utf-8")
    root = ElementTree.fromstring(text)
    assert root.get("viewBox")
    outside = text.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert not re.search(r"//|url\(|@import|<script|<image", outside)


def test_text_is_true_of_the_recorded_run() -> None:
    recording, portrait = (path.read_text(encoding="utf-8") for path in PICTURES)
    end = re.search(r'<desc id="about">(.*?)</desc>', recording, re.DOTALL)[1]
    assert end.startswith("$ gamedsl train games/stag_hunt.yaml\n")
    leaning = "Predicted: too close to call (margin 0.02), leaning hare"
    for words in ("seed 0", "step 20 of 20", leaning):
        assert words in end
    assert "Both hunters learned stag" in end
    assert re.search(r"and ends, after step 20, at 1\.00, 1\.00\.</desc>", portrait)
    assert "*too close to call*" in README


def test_index_shows_no_relative_link() -> None:
    """The package index has no files beside README.md: pictures go, and links become words."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    shown = README
    for rule in project["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]:
        shown = re.sub(rule["pattern"], rule["replacement"], shown)
    assert "](" not in shown
    assert "[tutorial]" not in shown
    assert "| tutorial |" in shown
