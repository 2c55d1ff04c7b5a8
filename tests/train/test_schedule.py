"""Who learns when: a role that does not learn stays as it is, under every method."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from gamedsl.train import checkpoint
from gamedsl.train.schedule import Schedule
from tests.train.conftest import DILEMMA, recipe_of, run_of


class _RowUntil(Schedule):
    """The row alone learns up to step 2, then the column alone."""

    def learns(self, step: int) -> frozenset[str]:
        return frozenset({"row"} if step <= 2 else {"column"})


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("grpo", {"weight_decay": 0.1, "entropy": 0.01}),
        ("magnet", {"betas": [0.9, 0.99]}),
        ("project", {"project__fitter": "newton"}),
        ("project", {"project__fitter": "adam", "betas": [0.9, 0.99]}),
    ],
)
def test_the_adapter_of_a_role_that_is_held_stays_to_the_last_bit(
    compiled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str, settings: dict
) -> None:
    """With momentum, decay and a magnet at work on the other."""
    monkeypatch.setattr("gamedsl.train.loop.Schedule", _RowUntil)
    game = compiled(DILEMMA)
    given = {"adapters": "per_role", "games": 64, "checkpoint_every": 1, "keep_checkpoints": 9}
    recipe = recipe_of(game, model="tiny", method=method, steps=4, **given, **settings)
    run, _ = run_of(game, recipe, tmp_path / "run")
    states = [torch.load(path, weights_only=True)["adapters"] for path in checkpoint.steps(run)]
    for before, after, learner in zip(states, states[1:], ("row", "row", "column", "column")):
        for role in ("row", "column"):
            same = all(torch.equal(before[role][key], after[role][key]) for key in before[role])
            assert same == (role != learner)
