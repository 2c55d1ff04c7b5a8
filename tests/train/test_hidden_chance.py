"""A decision that does not see what chance brought is trained, without ranges of equilibria."""

from __future__ import annotations

from pathlib import Path

from tests.train.conftest import recipe_of, run_of

BLIND = """
game: blind
roles: [player]
turns:
  - {draw: task, from: [first, second], seen_by: all}
  - {draw: coin, from: [heads, tails], seen_by: nobody}
  - {role: player, choose: guess, from: [heads, tails]}
payoffs: 1 if guess == coin else 0
"""


def test_hidden_chance_before_one_decision_trains(compiled, tmp_path: Path) -> None:
    game = compiled(BLIND)
    run, outcome = run_of(game, recipe_of(game, steps=1, games=16), tmp_path / "run")
    assert outcome.finished
    assert run.records()[0]["ranges"] is None
