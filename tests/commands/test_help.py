"""The help of every command: its groups of options, and what it says of each."""

from __future__ import annotations

import argparse
import re

import pytest

from gamedsl import cli
from gamedsl.policies.names import EMBEDDED, NO_LANGUAGE
from gamedsl.recipe.table import MODELS

GROUPS = {
    "the game", "players", "seeds", "checks", "changes of files", "which games", "which prompts",
    "what is trained", "where it goes", "what is written", "what is measured", "how it is solved",
    "what may be read", "the picture", "leaderboard", "engines", "endpoints", "address", "limits",
    "output",
}  # fmt: skip
OF_ARGPARSE = ("positional arguments", "options")


def parser_of(command: str) -> cli._Parser:
    parser = cli._Parser(prog=f"gamedsl {command}", formatter_class=cli._HelpFormatter)
    cli.configured(command, parser)
    return parser


def helped(capsys: pytest.CaptureFixture[str], command: str) -> str:
    assert cli.main([command, "--help"]) == cli.CLEAN
    return capsys.readouterr().out


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_every_option_is_in_a_group(command: str) -> None:
    groups = {group.title: group._group_actions for group in parser_of(command)._action_groups}
    assert [action.dest for action in groups.pop("options")] == ["help"]
    assert not any(action.option_strings for action in groups.pop("positional arguments"))
    assert set(groups) <= GROUPS
    assert all(groups.values()), "a group is empty"


def test_every_group_is_of_a_command() -> None:
    titles = {group.title for name in cli.COMMANDS for group in parser_of(name)._action_groups}
    assert titles - set(OF_ARGPARSE) == GROUPS


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_every_argument_says_what_it_is(command: str) -> None:
    assert [one.dest for one in parser_of(command)._actions if not one.help] == []


@pytest.mark.parametrize("columns", [80, 120])
def test_help_stays_within_the_terminal(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    for command in cli.COMMANDS:
        text, _, _ = helped(capsys, command).partition("\nexample:")
        kept = parser_of(command).epilog or ""
        long = [line for line in text.splitlines() if len(line) > columns and line not in kept]
        assert long == [], command


def test_help_of_train_lists_the_models(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = helped(capsys, "train")
    assert set(MODELS) == {*EMBEDDED, *NO_LANGUAGE}
    for name, what in MODELS.items():
        assert re.search(rf"^ +{name} +{what}$", text, re.M), name


def test_a_group_is_made_once() -> None:
    parser = argparse.ArgumentParser()
    assert cli.game_options(parser) is cli.game_options(parser)
