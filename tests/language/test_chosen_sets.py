"""A set of a finite type can be chosen, be an argument of an action, and be drawn."""

from __future__ import annotations

from pathlib import Path

import pytest

import gamedsl

SOURCES = ["Dice", "set of Die", "[d for d in Dice if len(d) < 3]"]


def game_of(folder: Path, turns: str, more: str = "") -> gamedsl.Game:
    path = folder / "dice.yaml"
    path.write_text(
        "game: dice\nroles: [thrower]\n"
        f"types: {{Die: [first, second], Dice: set of Die}}\n{more}turns:\n{turns}",
        encoding="utf-8",
    )
    return gamedsl.load(path)


@pytest.mark.parametrize("source", SOURCES)
def test_each_subset_is_an_option(tmp_path: Path, source: str) -> None:
    turns = f'  - {{role: thrower, choose: again, from: "{source}"}}\npayoffs: len(again)\n'
    episode = game_of(tmp_path, turns).env().reset()
    (decision,) = episode.decisions
    assert decision.legal == ("{}", "{first}", "{second}", "{first second}")
    episode.step({"thrower": "{first second}"})
    assert episode.payoffs == {"thrower": 2}


def test_an_action_takes_a_subset(tmp_path: Path) -> None:
    actions = "actions: {throw: {args: {dice: set of Die}}}\nstate: {thrown: 0}\n"
    turns = "  - {role: thrower, choose: move, from: actions}\npayoffs: thrown\n"
    actions = actions.replace("Die}}", "Die}, do: thrown = len(dice)}")
    episode = game_of(tmp_path, turns, actions).env().reset()
    (decision,) = episode.decisions
    assert len(decision.legal) == 4
    episode.step({"thrower": gamedsl.Action(decision.legal[-1])})
    assert episode.payoffs == {"thrower": 2}


def test_chance_draws_each_subset_alike(tmp_path: Path) -> None:
    turns = (
        "  - {draw: fallen, from: Dice, seen_by: nobody}\n"
        "  - {role: thrower, choose: guess, from: 0..2}\n"
        "payoffs: 1 if guess == len(fallen) else 0\n"
    )
    outcomes = game_of(tmp_path, turns).env().reset(chance="asked").chance
    assert [str(outcome.probability) for outcome in outcomes] == ["1/4"] * 4
