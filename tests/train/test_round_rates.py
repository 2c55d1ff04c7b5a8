"""The action rates of a repeated game, by how its last round ended."""

from __future__ import annotations

from pathlib import Path

import pytest

import gamedsl
from gamedsl.training.monitors import monitors_of
from tests.train.conftest import recipe_of, run_of

ROUNDS = ["cooperate, cooperate", "cooperate, defect", "defect, cooperate", "defect, defect"]


def test_rates_after_outcomes_match_the_policy(tmp_path: Path) -> None:
    game = gamedsl.load("repeated_prisoners_dilemma", {"rounds": 2})
    recipe = recipe_of(game, steps=2, games=4096, lr=2e-4, exploitability="off")
    run, _ = run_of(game, recipe, tmp_path / "run")
    *_, last, _ = run.records()
    after = last["after"]["row:move"]
    assert list(after) == ["first round", *ROUNDS]
    assert sum(after[key]["games"] for key in ROUNDS) == after["first round"]["games"] == 4096
    for mine in ("cooperate", "defect"):
        for theirs in ("cooperate", "defect"):
            row = f"row:move [row.move={mine}, column.move={theirs}]"
            column = f"column:move [row.move={theirs}, column.move={mine}]"
            for role, key in (("row:move", row), ("column:move", column)):
                told = last["after"][role][f"{mine}, {theirs}"]["probs"]
                assert told == pytest.approx(last["policy"][key]["probs"])


def test_hidden_rounds_are_reported_as_observed(tmp_path: Path) -> None:
    path = tmp_path / "blind.yaml"
    path.write_text(
        "game: blind\nprotocol:\n"
        "  {use: repeated, stage: prisoners_dilemma, rounds: 2, shown: false}\n"
    )
    game = gamedsl.load(path)
    run, _ = run_of(game, recipe_of(game, steps=1, exploitability="off"), tmp_path / "run")
    assert list(run.records()[-2]["after"]["row:move"]) == ["first round", "cooperate", "defect"]


def test_optional_stage_decisions_are_not_reported(tmp_path: Path) -> None:
    stage = tmp_path / "stage.yaml"
    stage.write_text(
        "game: stage\nroles: [a, b]\nturns:\n  - {role: a, choose: x, from: [l, r]}\n"
        "  - {role: b, choose: y, from: [l, r], if: x == l}\npayoffs: 1 if y == l else 0\n"
    )
    (tmp_path / "game.yaml").write_text(
        "game: again\nprotocol: {use: repeated, stage: stage, rounds: 2}\n"
    )
    assert monitors_of(gamedsl.load(tmp_path / "game.yaml").ir) == ()


def test_joint_loop_is_reported_without_stage(tmp_path: Path) -> None:
    """The iterated prisoner's dilemma shows the last round alone, so that what is done after it is
    the policy itself."""
    game = gamedsl.load("iterated_prisoners_dilemma")
    recipe = recipe_of(game, steps=1, games=64, warm_up__expert="none")
    run, _ = run_of(game, recipe, tmp_path / "run")
    last = run.records()[-2]
    assert list(last["after"]["row:move"]) == ["first round", *ROUNDS]
    for end in ROUNDS:
        mine, theirs = end.split(", ")
        key = f"row:move [row.move={mine}, column.move={theirs}, next_round=go]"
        told = last["after"]["row:move"][end]["probs"]
        assert told == pytest.approx(last["policy"][key]["probs"])


@pytest.mark.parametrize("name", ["goofspiel", "tic_tac_toe", "centipede", "pursuit", "spread"])
def test_boards_and_hands_have_no_rounds(name: str) -> None:
    assert "after" not in [teller.field for teller in monitors_of(gamedsl.load(name).ir)]
