"""Controls that a person would otherwise tune by hand, by what a policy then does."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch

import gamedsl
from gamedsl.training.estimators import ActionSums
from gamedsl.training.methods import method_of
from gamedsl.training.methods.base import Learner
from gamedsl.training.methods.entropy_floor import GAIN, EntropyFloor
from gamedsl.training.methods.project import target
from gamedsl.training.metrics import PolicyMetrics
from gamedsl.training.reference import Reference
from gamedsl.training.scoring import Scorer
from tests.train.conftest import DILEMMA, experience, policy_of, recipe_of, run_of


def _step(game, **settings) -> tuple[list[float], list[float]]:
    """How far one step with these settings moves the log-odds of the dilemma's two decisions, by
    the scorer and by the policy itself."""
    recipe = recipe_of(game, lr=0.003, **settings)
    policy = policy_of(game, recipe)
    queries = PolicyMetrics(game.env(tokenizer=policy.tokenizer), recipe).queries
    optimizer = torch.optim.AdamW(policy.parameters(), lr=recipe.lr, betas=recipe.betas)
    scorer = Scorer(policy)
    scorer.score(queries)
    before = [scorer.log_pi(query) for query in queries]
    learner = Learner(policy, optimizer, scorer, Reference(policy, {}), recipe, queries)
    sums = [np.array([0.0, 4.0]), np.array([0.0, 1.0])]
    losses = [np.array([-4.0, 0.0]), np.array([-1.0, 0.0])]
    counts = [np.array([5.0, 5.0]) for _ in queries]
    method_of(learner).update(experience(queries, ActionSums(sums, losses, counts, 20)))
    moved = [
        [float(row[1] - row[0] - was[1] + was[0]) for row, was in zip(rows, before, strict=True)]
        for rows in (learner.scores(queries), policy.log_probs(queries))
    ]
    return moved[0], moved[1]


@pytest.mark.parametrize("method", ["grpo", "magnet"])
@pytest.mark.parametrize("inner_steps", [1, 2])
def test_step_limits_log_odds_change(compiled, method: str, inner_steps) -> None:
    game = compiled(DILEMMA)
    for model in ("tabular", "tiny") if inner_steps == 1 else ("tabular",):
        given = {"model": model, "method": method, "inner_steps": inner_steps}
        free, _ = _step(game, **given)
        assert max(free) > 1
        held, seen = _step(game, **given, max_change=0.2)
        assert held == pytest.approx(seen, abs=1e-5)
        assert 0.15 * inner_steps < max(map(abs, held)) <= 0.2 * inner_steps + 1e-6


def test_a_bound_that_nothing_exceeds_changes_nothing(compiled) -> None:
    game = compiled(DILEMMA)
    assert _step(game, method="grpo") == _step(game, method="grpo", max_change=1e6)


def test_the_floor_of_a_target() -> None:
    log_pi = torch.tensor([0.001, 0.009, 0.99]).log()
    zero = torch.zeros(3)
    bare = target(log_pi, log_pi, zero, eta=1.0, alpha=0.0, change=0.1)
    assert bare.exp().tolist() == pytest.approx([0.001, 0.009, 0.99], rel=1e-4)
    lifted = target(log_pi, log_pi, zero, eta=1.0, alpha=0.0, change=0.1, least=0.05)
    assert lifted.exp().tolist() == pytest.approx([0.05 / 1.09, 0.05 / 1.09, 0.99 / 1.09], rel=1e-4)
    above = torch.tensor([0.3, 0.7]).log()
    kept = target(above, above, torch.zeros(2), eta=1.0, alpha=0.0, change=0.1, least=0.05)
    assert kept.exp().tolist() == pytest.approx([0.3, 0.7], rel=1e-5)


def test_no_action_dies_under_a_floor(tmp_path: Path) -> None:
    game = gamedsl.load("kuhn_poker")
    least = []
    for floor in (0, 0.04):
        recipe = recipe_of(
            game, method="project", steps=12, games=4096, magnet__weight=[0, 0],
            project__eta=[2, 2], project__min_probability=floor,
        )  # fmt: skip
        run, _ = run_of(game, recipe, tmp_path / str(floor))
        last = [record for record in run.records() if record["event"] == "step"][-1]
        least.append(min(p for row in last["policy"].values() for p in row["probs"].values()))
    assert least[0] < 0.01
    assert least[1] > 0.035


def test_the_weight_of_the_entropy_by_hand() -> None:
    """Above the floor it is 0, below it grows as the entropy falls; what is at stake is the largest
    mean advantage so far."""
    floor = EntropyFloor(0.5)
    rows = [torch.tensor(row).log() for row in ([0.5, 0.5], [0.01, 0.99], [0.2, 0.2, 0.6], [1.0])]
    sums = [np.array([2.0, -2.0]), np.array([-3.0, 0.0]), np.zeros(3), np.zeros(1)]
    counts = [np.array([4.0, 4.0]), np.array([1.0, 9.0]), np.ones(3), np.ones(1)]
    nothing = [np.zeros_like(row) for row in sums]
    found = floor.weights(rows, ActionSums(sums, nothing, counts, 20))
    share = -(0.01 * math.log(0.01) + 0.99 * math.log(0.99)) / math.log(2)
    assert found == pytest.approx([0, GAIN * 3 * (0.5 / share - 1), 0, 0], rel=1e-4)
    again = floor.weights(rows[1:2], ActionSums(nothing[1:2], nothing[1:2], counts[1:2], 10))
    assert again == pytest.approx(found[1:2])
    assert EntropyFloor(0).weights(rows, ActionSums(sums, nothing, counts, 20)) is None


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("prisoners_dilemma", {"games": 256}),
        ("kuhn_poker", {"method": "magnet", "magnet__weight": [0, 0], "games": 4096}),
    ],
)
def test_no_decision_falls_below_a_floor_of_entropy(tmp_path: Path, name: str, settings) -> None:
    game = gamedsl.load(name)
    least = []
    for floor in (0, 0.3):
        recipe = recipe_of(game, steps=30, exploitability="off", entropy_floor=floor, **settings)
        run, _ = run_of(game, recipe, tmp_path / str(floor))
        steps = [record for record in run.records() if record["event"] == "step"]
        least.append(min(_share(row) for r in steps[20:] for row in r["policy"].values()))
    assert least[0] < 0.1
    assert least[1] > 0.2


def _share(row: dict) -> float:
    """The entropy of a decision, of that of uniform play."""
    probs = [p for p in row["probs"].values() if p > 0]
    return -sum(p * math.log(p) for p in probs) / math.log(len(row["probs"]))
