"""Where two features of the trainer meet."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import gamedsl
from gamedsl.training.advantages import Advantages
from gamedsl.training.bundles import Bundles
from gamedsl.training.curriculum import climb
from gamedsl.training.errors import TrainError
from gamedsl.training.estimators import ActionSums, action_sums
from gamedsl.training.loop import train
from gamedsl.training.methods.magnet_policy import MagnetPolicy
from gamedsl.training.methods.project import action_values
from gamedsl.training.metrics import PolicyMetrics
from gamedsl.training.rollout import play
from gamedsl.training.runfolder import create
from gamedsl.training.scoring import Scorer
from gamedsl.training.seats import assign_seats
from tests.train.conftest import (
    DILEMMA,
    HIDDEN,
    OFFER,
    StopAfter,
    policy_of,
    recipe_of,
    run_of,
    same,
)

THREE = """
game: three
roles: [a, b, c]
actions: [left, right]
protocol: simultaneous
payoffs: 1 if move.a == move.b else 0
"""


def test_project_resumes_beside_an_untrained_role(compiled, tmp_path: Path) -> None:
    game = compiled(HIDDEN)
    recipe = recipe_of(
        game, model="tiny", method="project", games=64, steps=4, checkpoint_every=1,
        roles__caller__trained=False,
    )  # fmt: skip
    run_of(game, recipe, tmp_path / "whole")
    stop = StopAfter(2)
    run, cut = run_of(game, recipe, tmp_path / "cut", observers=[stop], interrupt=stop.interrupt)
    assert not cut.finished
    assert train(game, recipe, run, policy_of(game, recipe)).finished
    same(tmp_path / "whole", tmp_path / "cut")


def test_project_goes_on_at_the_next_level(tmp_path: Path) -> None:
    game = gamedsl.load("repeated_prisoners_dilemma", params={"rounds": 1})
    recipe = recipe_of(
        game, method="project", games=64, steps=6, curriculum__param="rounds",
        curriculum__levels=[1, 2], curriculum__at=0.1, curriculum__over=2,
    )  # fmt: skip
    policy = policy_of(game, recipe)
    run = create(game, recipe, tmp_path / "run", {"rounds": 1}, policy.tokenizer, 1)
    assert climb(game, recipe, run, policy, load=gamedsl.load).finished
    levels = [record["level"] for record in run.records() if record["event"] == "step"]
    assert set(levels) == {1, 2}


def test_pool_is_judged_beside_untrained_role(compiled, tmp_path: Path) -> None:
    game = compiled(THREE)
    recipe = recipe_of(
        game, games=32, steps=2, opponents__self=0.5, opponents__pool=0.5, pool__every=1,
        roles__c__trained=False,
    )  # fmt: skip
    run, _ = run_of(game, recipe, tmp_path / "run")
    assert run.records()[-1]["population"]["members"] == [0, 1, 2]


@pytest.mark.parametrize(("games", "size"), [(8, 8), (24, 8), (16, 4)])
def test_the_policy_takes_every_seat_as_often(compiled, tmp_path, games: int, size: int) -> None:
    game = compiled(OFFER)
    recipe = recipe_of(game, games=games, group_size=size, steps=8, opponents__random=1)
    run, _ = run_of(game, recipe, tmp_path / "run")
    seating = assign_seats(game, recipe)
    met: dict[str, int] = {"proposer": 0, "responder": 0}
    groups = games // size
    for step in range(1, 9):
        rng = np.random.default_rng(step)
        for lineup, count in seating.lineups(rng, games, size, (step - 1) * groups).items():
            met[str(lineup.learner)] += count
    assert met["proposer"] == met["responder"] == 4 * games
    asked = [record["sequences"] for record in run.records() if record["event"] == "step"]
    assert sum(asked) == 8 * games


def test_token_estimate_without_imitation_is_one_step(compiled, tmp_path: Path) -> None:
    same = DILEMMA.replace("3, 3", "1, 1").replace("0, 5", "1, 1").replace("5, 0", "1, 1")
    game = compiled(same.replace("labels: masked", "labels: {masked: alien, per: episode}"))
    recipe = recipe_of(game, method="expert", games=16, steps=5)
    run, _ = run_of(game, recipe, tmp_path / "run")
    tokens = [record["tokens"] for record in run.records() if record["event"] == "step"]
    assert max(tokens) < 2 * min(tokens)


def test_unsampled_action_takes_the_mean_value() -> None:
    """A bad prompt's advantages are below 0; that speaks for nothing that was not tried."""
    zero = [np.zeros(3)]
    weights = ActionSums(zero, [np.array([-4.0, -2.0, 0.0])], [np.array([2.0, 2.0, 0.0])], 4)
    assert action_values(weights)[0].tolist() == [-2.0, -1.0, -1.5]


def test_moved_magnet_equals_the_played_policy(compiled) -> None:
    game = compiled(DILEMMA)
    recipe = recipe_of(game, method="magnet", temperature=2, magnet__every=1, magnet__uniform=1e-9)
    policy = policy_of(game, recipe)
    queries = PolicyMetrics(game.env(tokenizer=policy.tokenizer), recipe).queries
    loss = -sum(one[0] for one in policy.forward(queries))
    loss.backward()
    with torch.no_grad():
        for parameter in policy.parameters():
            if parameter.grad is not None:
                parameter -= 1e-3 * parameter.grad / parameter.grad.abs().max()
    magnet = MagnetPolicy(policy, queries, every=1, uniform=1e-9, temperature=recipe.temperature)
    magnet.move()
    for rho, score in zip(magnet.log_rho(queries), policy.log_probs(queries), strict=True):
        assert not torch.allclose(score, torch.full_like(score, float(score.mean())), atol=1e-3)
        assert torch.allclose(rho, (score / 2).log_softmax(0), atol=1e-5)


@pytest.mark.parametrize("setting", [{"baseline": "global"}, {"compare": "team"}])
def test_what_untrained_roles_earn_is_no_baseline(compiled, setting: dict[str, str]) -> None:
    game = compiled(OFFER)
    sums = []
    for given in ({}, setting):
        recipe = recipe_of(game, games=64, roles__responder__trained=False, **given)
        policy = policy_of(game, recipe)
        batch = play(
            game.env(tokenizer=policy.tokenizer), Bundles(Scorer(policy)), recipe, 1,
            seating=assign_seats(game, recipe),
        )  # fmt: skip
        found = Advantages(recipe).weigh(batch, {"proposer"})
        weights = action_sums(batch.queries, found.advantages)
        sums.append(sum(float(one.sum()) for one in weights.sums_A))
    assert sums == pytest.approx([0.0, 0.0], abs=1e-9)


def test_weights_that_diverge_are_said(compiled, tmp_path: Path) -> None:
    """The step's own loss was a number; it is play by the new weights that meets what is none."""
    recipe = recipe_of(compiled(DILEMMA), model="words", steps=9, weight_decay=1e6, lr=1e6)
    with pytest.raises(TrainError, match="training diverged: the policy's scores are no numbers"):
        run_of(compiled(DILEMMA), recipe, tmp_path / "run")
