"""Runs that end once they have learned enough."""

from __future__ import annotations

from pathlib import Path

import pytest

import gamedsl
from gamedsl.training.errors import TrainError
from gamedsl.training.loop import train
from gamedsl.training.runfolder import open_run
from tests.train.conftest import DILEMMA, StopAfter, policy_of, recipe_of, run_of, untimed

UNTIL = {"until__exploitability": 0.5, "until__over": 3}


def far(folder: Path) -> list[float]:
    records = open_run(folder).records()
    return [record["exploitability"] for record in records if record["event"] == "step"]


def test_a_run_ends_once_exploitability_has_stayed_low(compiled, tmp_path: Path) -> None:
    game = compiled(DILEMMA)
    whole, ended = tmp_path / "whole", tmp_path / "ended"
    run_of(game, recipe_of(game, model="tabular", steps=40), whole)
    run, outcome = run_of(game, recipe_of(game, model="tabular", steps=40, **UNTIL), ended)
    assert outcome.finished
    assert 3 < outcome.step < 40
    assert far(ended) == far(whole)[: outcome.step]
    low = [one <= 0.5 for one in far(whole)]
    first = next(step for step in range(3, 41) if all(low[step - 3 : step]))
    assert outcome.step == first
    assert run.records()[-1]["event"] == "end"
    assert (ended / "transcripts" / f"step-{first:06d}.jsonl").exists()


def test_a_stopped_run_ends_where_it_would_have(compiled, tmp_path: Path) -> None:
    game = compiled(DILEMMA)
    recipe = recipe_of(game, model="tabular", steps=40, **UNTIL)
    whole, outcome = run_of(game, recipe, tmp_path / "whole")
    stop = StopAfter(outcome.step - 1)
    run, cut = run_of(game, recipe, tmp_path / "cut", observers=[stop], interrupt=stop.interrupt)
    assert not cut.finished
    assert train(game, recipe, run, policy_of(game, recipe)) == outcome
    assert untimed(run.records()) == untimed(whole.records())


def test_what_is_not_measured_ends_nothing(tmp_path: Path) -> None:
    game = gamedsl.load("tic_tac_toe")
    with pytest.raises(TrainError, match="no exact exploitability"):
        run_of(game, recipe_of(game, model="tabular", **UNTIL), tmp_path / "run")
