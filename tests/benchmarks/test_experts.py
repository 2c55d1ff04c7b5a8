"""What models imitate in `benchmarks/experts.py` and `askers.py`: it plays as it says, and games
pay it so."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from gamedsl.cli import main

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def _played(
    folder: Path, game: str, player: str, *more: str, module: str = "experts.py"
) -> list[dict[str, Any]]:
    """Returns the transcripts of games in which a player holds all seats."""
    named = f"module:{BENCHMARKS}/{module}:{player}"
    given = ["--against", named, "--game", str(BENCHMARKS / game), "--search", "0"]
    assert main(["eval", named, *given, "--transcripts", str(folder), *more]) == 0
    (file,) = folder.glob("*.jsonl")
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def _choice(game: dict[str, Any], step: str) -> dict[str, str]:
    (made,) = (one["choices"] for one in game["steps"] if one["step"] == step)
    return dict(made)


def test_keeper_reads_half_of_its_notes(tmp_path: Path) -> None:
    played = _played(tmp_path, "hidden_key.yaml", "Keeper", "--games", "400", "--carry", "8")
    assert {game["payoffs"]["keeper"] for game in played} == {"1", "2"}  # a note is always right
    later = [game["payoffs"]["keeper"] == "2" for game in played if game["memory"]]
    first = [game["payoffs"]["keeper"] == "2" for game in played if not game["memory"]]
    assert 0.5 < sum(later) / len(later) < 0.67  # 1/2 and a sixth of the rest: 0.58
    assert sum(first) / len(first) < 0.4


def test_key_is_where_the_note_says(tmp_path: Path) -> None:
    played = _played(tmp_path, "hidden_key.yaml", "Keeper", "--games", "64", "--carry", "8")
    for before, game in pairwise(played):
        if game["memory"]:
            (tonight,) = (one["chance"] for one in before["steps"] if one["step"] == "tonight")
            found = _choice(game, "look")["keeper"] == tonight["tonight"]
            assert found == (game["payoffs"]["keeper"] == "2")


def test_judges_of_debates_are_right_in_both_orders(tmp_path: Path) -> None:
    referee = f"judge=module:{BENCHMARKS}/experts.py:judge"
    played = _played(
        tmp_path, "debate_judged.yaml", "Side",
        "--referee", referee, "--games", "120", "--rows", "training",
    )  # fmt: skip
    assert {amount for game in played for amount in game["referees"].values()} == {"1"}
    assert {game["payoffs"]["pro"] for game in played} == {"0", "1"}  # no debate is undecided
    made = [tuple(sorted(_choice(game, "speech").values())) for game in played]
    assert len(set(made)) > 60


@pytest.mark.parametrize(("player", "least", "most"), [("Asker", 0.52, 0.65), ("fixed", 0.58, 0.7)])
def test_answers_about_animals_are_right(
    tmp_path: Path, player: str, least: float, most: float
) -> None:
    """So none crosses the right animal out, and a repeated question crosses out nothing."""
    referee = f"answerer=module:{BENCHMARKS}/askers.py:answerer"
    games = ("--referee", referee, "--games", "400", "--rows", "training")
    played = _played(tmp_path, "animals.yaml", player, *games, module="askers.py")
    paid = [Fraction(game["payoffs"]["asker"]) for game in played]
    assert {*paid} == {0, Fraction(1, 2), 1}
    assert least < sum(paid) / len(paid) < most
    asked = [_said(game, "question", "asker") for game in played]
    assert all(game["referees"]["answerer"] == str(Fraction(len(one), 2))
               for game, one in zip(played, asked, strict=True))  # fmt: skip
    assert len({one[0] for one in asked}) == {"Asker": 6, "fixed": 1}[player]
    same = [p for p, one in zip(paid, asked, strict=True) if len({*one}) < len(one)]
    assert all(p < 1 for p in same)


def _said(game: dict[str, Any], step: str, seat: str) -> list[str]:
    return [
        one["choices"][seat] for one in game["steps"] if one["step"] == step and "choices" in one
    ]
