"""Training finds what theory says it must."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.train.conftest import ANEW, DILEMMA, OFFER, recipe_of, run_of


@pytest.mark.parametrize("adapters", ["shared", "per_role"])
def test_the_dilemma_moves_to_defection(compiled, tmp_path: Path, adapters: str) -> None:
    game = compiled(DILEMMA)
    start = {role: {"cooperate": 0.7} for role in game.ir.seats}
    recipe = recipe_of(game, model="tiny", steps=12, lr=2e-3, adapters=adapters, start=start)
    run, _ = run_of(game, recipe, tmp_path / "run")
    first, *_, last, _ = run.records()
    for place in first["policy"].values():
        assert place["probs"]["cooperate"] == pytest.approx(0.7, abs=0.01)
    for place in last["policy"].values():
        assert place["probs"]["defect"] > 0.95
    for role in game.ir.seats:
        assert last["reward"][role] == pytest.approx(1, abs=0.3)
    assert last["exploitability"] < 0.05 < first["exploitability"]


def test_a_responder_takes_what_it_gets(compiled, tmp_path: Path) -> None:
    game = compiled(OFFER)
    recipe = recipe_of(game, steps=60)
    run, _ = run_of(game, recipe, tmp_path / "run")
    last = run.records()[-2]
    assert last["policy"]["proposer:offer"]["probs"]["low"] > 0.9
    assert last["reward"]["proposer"] > 7


def test_labels_drawn_anew_are_learned_from(compiled, tmp_path: Path) -> None:
    """Without lasting labels nothing can be told apart, and nothing is claimed."""
    game = compiled(ANEW)
    recipe = recipe_of(game, model="tiny", steps=2, games=16)
    run, _ = run_of(game, recipe, tmp_path / "run")
    start, step, *_ = run.records()
    assert start["exploitability"] is None
    assert start["prediction"] is None
    assert (step["games"], step["prompts"]) == (16, 4)
    assert set(step["policy"]) == {"row:move", "column:move"}
    assert sum(step["policy"]["row:move"]["probs"].values()) == pytest.approx(1)


def test_entropy_holds_a_policy_back(compiled, tmp_path: Path) -> None:
    game = compiled(DILEMMA)
    ends = {}
    for entropy in (0.0, 2.0):
        recipe = recipe_of(game, steps=30, entropy=entropy)
        run, _ = run_of(game, recipe, tmp_path / str(entropy))
        ends[entropy] = run.records()[-2]["entropy"]["row"]
    assert ends[0.0] < 0.05 < 0.3 < ends[2.0]


def test_divergence_from_the_first_policy_holds_it_there(compiled, tmp_path: Path) -> None:
    game = compiled(DILEMMA)
    start = {role: {"cooperate": 0.8} for role in game.ir.seats}
    ends = {}
    for kl in (0.0, 50.0):
        recipe = recipe_of(game, steps=30, kl=kl, start=start)
        run, _ = run_of(game, recipe, tmp_path / str(kl))
        ends[kl] = run.records()[-2]["policy"]["row:move"]["probs"]["cooperate"]
    assert ends[0.0] < 0.2
    assert 0.7 < ends[50.0] < 0.85
