"""How many lines beat the policy's likeliest moves, in the records of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import gamedsl
from gamedsl.training.errors import TrainError
from tests.train.conftest import HIDDEN, recipe_of, run_of

NIM = {"games": 32, "lr": 1e-5, "lines_every": 2, "steps": 3, "model": "words"}


def test_losing_lines_are_counted_at_intervals(tmp_path: Path) -> None:
    """In piles of 1 and 2 who begins wins, by one move alone; in every other line it may lose."""
    game = gamedsl.load("nim", params={"piles": [1, 2], "misere": False})
    run, _ = run_of(game, recipe_of(game, **NIM), tmp_path / "untaught")
    told = [record.get("lines") for record in run.records()]
    assert [one is not None for one in told] == [True, False, True, False, False]
    assert told[0]["losses"] > 0
    assert told[0]["losses"] == sum(one["losses"] for one in told[0]["seats"].values())
    settings = {**NIM, "warm_up__expert": "minimax", "warm_up__lr": 5e-3, "warm_up__epochs": 60}
    run, _ = run_of(game, recipe_of(game, **settings), tmp_path / "taught")
    first = run.records()[0]["lines"]["seats"]["first"]
    assert (first["losses"], first["draws"]) == (0, 0)
    assert first["wins"] > 0


def test_hidden_information_has_no_line_count(compiled: Any, tmp_path: Path) -> None:
    game = compiled(HIDDEN)
    with pytest.raises(TrainError, match="everybody sees everything"):
        run_of(game, recipe_of(game, lines_every=1), tmp_path / "run")
