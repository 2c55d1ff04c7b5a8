"""Runs and models in seats: they play as they were trained, under the labels that they learnt."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import gamedsl
from gamedsl.cli import main
from gamedsl.evaluate import EvalError, Options, contestant, evaluate
from gamedsl.training.runfolder import open_run
from tests.evaluate.small import RPS, cell, evaluated, plan_of


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two runs of one step that play rock four times in five, each with labels of its own."""
    folder = tmp_path_factory.mktemp("runs")
    made = []  # one step hardly moves them
    for seed in (0, 1):
        path = folder / f"rocky{seed}"
        rock = [f"--set=start.{role}.rock=0.8" for role in ("left", "right")]
        argv = [
            "train",
            RPS,
            "--model",
            "tabular",
            "--steps",
            "1",
            "--set",
            "games=16",
            "--set",
            "lr=1e-8",
        ]
        argv += ["--seed", str(seed), "--out", str(path), "--format", "json", *rock]
        assert main(argv) == 0
        made.append(path)
    return made


def test_runs_with_different_labels_meet(runs: list[Path]) -> None:
    first, second = map(str, runs)
    assert open_run(runs[0]).labels() != open_run(runs[1]).labels()
    found = evaluated(RPS, first, second, "fixed:paper")
    assert found.exact
    for run in (first, second):
        assert cell(found, run, "fixed:paper").value == pytest.approx(-0.7, abs=0.03)
    assert abs(cell(found, first, second).value) < 0.03


def test_exploitability_is_what_the_run_measured(runs: list[Path]) -> None:
    found = evaluated(RPS, str(runs[0]), "random")
    last = [r for r in open_run(runs[0]).records() if r["event"] == "step"][-1]
    measured = found.exploitability[str(runs[0])].estimate.value
    assert measured == pytest.approx(last["exploitability"], abs=1e-6)
    assert measured > 0.5


def test_sampled_run_games_agree_with_exact(runs: list[Path]) -> None:
    plan = plan_of(str(runs[0]), against=("fixed:paper",))
    found = evaluate(gamedsl.load(RPS), plan, Options(games=400, method="sampled", seed=9))
    one = cell(found, str(runs[0]), "fixed:paper")
    assert one.low - 0.1 < -0.7 < one.high + 0.1


def test_a_run_names_its_game(runs: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", str(runs[0]), "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["game"] == RPS
    assert found["contestants"][0]["player"] == f"run:{runs[0]}"
    assert main(["eval", f"run:{runs[0]}@1", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["game"] == RPS


def test_a_run_of_other_rules_is_refused(runs: list[Path]) -> None:
    with pytest.raises(EvalError, match="trained on `rock_paper_scissors` by other rules"):
        evaluated("matching_pennies", str(runs[0]))
    with pytest.raises(EvalError, match="not the folder of a run"):
        evaluated(RPS, "run:nowhere")


def test_a_run_that_goes_on_is_another_contestant(runs: list[Path]) -> None:
    before = contestant(str(runs[0])).identity
    assert contestant(f"again={runs[0]}").identity == before
    assert contestant(str(runs[1])).identity != before
    early, late = (contestant(f"run:{runs[0]}@{step}").identity for step in (0, 1))
    assert early != late


def test_a_model_plays_as_it_comes() -> None:
    assert contestant("tiny").spec == "model:tiny"
    found = evaluated(RPS, "model:tabular", "fixed:paper")
    assert found.exact
    assert found.exploitability["model:tabular"].estimate.value == pytest.approx(0, abs=1e-6)


@pytest.mark.slow
def test_a_language_model_plays_as_it_comes() -> None:
    found = evaluated(RPS, "tiny", "fixed:paper")
    assert -1 < cell(found, "tiny", "fixed:paper").value < 1
    with pytest.raises(EvalError, match="no model is called"):
        evaluated(RPS, "model:tinny")
