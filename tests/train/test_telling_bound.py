"""The lower bound of exploitability, held against the exact one of a small game."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gamedsl.train.telling import bound
from tests.train.conftest import DILEMMA, HIDDEN, recipe_of, run_of


@pytest.mark.parametrize("text", [DILEMMA, HIDDEN])
def test_lower_bound_is_close_to_exact(compiled: Any, tmp_path: Path, text: str) -> None:
    game = compiled(text)
    settings = {"steps": 2, "games": 64, "lr": 1e-4}
    exact, _ = run_of(game, recipe_of(game, **settings), tmp_path / "exact")
    searched = recipe_of(game, **settings, exploitability="off", bound_every=2)
    run, _ = run_of(game, searched, tmp_path / "bounded")
    start, first, second, _ = run.records()
    assert "exploitability_bound" not in start | first
    found = second["exploitability_bound"]
    wanted = exact.records()[2]["exploitability"]
    assert exact.records()[2]["policy"] == second["policy"], "measuring changes nothing"
    assert found["gain"] == pytest.approx(wanted, abs=4 * found["error"])
    assert 0.5 * wanted < found["at_least"] < wanted


def test_where_it_is_exact_nothing_is_searched(
    compiled: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bound, "EpisodeSearch", None)
    game = compiled(DILEMMA)
    run, _ = run_of(game, recipe_of(game, steps=1, bound_every=1), tmp_path / "run")
    assert "exploitability_bound" not in run.records()[1]
