"""An invalid reply costs its author; the other seats' samples of that game are as if not played."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from gamedsl.runtime import Action, Decision, Episode, ParseFailure
from gamedsl.training.advantages import Advantages
from gamedsl.training.bundles import Bundles
from gamedsl.training.estimators import action_sums
from gamedsl.training.loop import train
from gamedsl.training.losses import backward, objective
from gamedsl.training.metrics import role_entropy, role_means
from gamedsl.training.rollout import play
from gamedsl.training.runfolder import create
from gamedsl.training.scoring import Scorer
from gamedsl.training.seats import SeatAssignment
from gamedsl.training.trajectories import Batch
from tests.train.conftest import OFFER, policy_of, recipe_of, untimed

ROLES = {"responder": {"player": "random"}}


class Misbehaving:
    """Replies rubbish in one game of so many, and takes the first action in the others."""

    def __init__(self, one_of: int) -> None:
        self._one_of, self._asked = one_of, 0

    def act(self, decision: Decision, episode: Episode) -> Action | str | ParseFailure:
        self._asked += 1
        if self._asked % self._one_of:
            return Action(decision.legal[0])
        return "I refuse" if self._asked % 2 else ParseFailure("empty", "")


def _played(game, recipe, one_of: int, policy) -> tuple[Batch, Scorer]:
    seating = SeatAssignment(game.ir, recipe, {"responder": Misbehaving(one_of)})
    scorer = Scorer(policy)
    return play(
        game.env(tokenizer=policy.tokenizer), Bundles(scorer), recipe, 1, seating=seating
    ), scorer


def _gradient(policy, recipe, batch: Batch) -> list[torch.Tensor]:
    """Of the update, with the statistics of a run that begins here."""
    found = Advantages(recipe).weigh(batch, {"proposer"})
    weights = action_sums(batch.queries, found.advantages)
    for parameter in policy.parameters():
        parameter.grad = None
    backward(policy, batch.queries, objective(policy.log_probs(batch.queries), weights))
    return [p.grad.clone() for p in policy.parameters() if p.grad is not None]


def test_the_author_pays(compiled) -> None:
    game = compiled(OFFER)
    recipe = recipe_of(game, roles=ROLES, games=99)
    batch, _ = _played(game, recipe, 3, policy_of(game, recipe))
    failed = [history for history in batch.trajectories if history.episode.failures]
    assert sum(history.games for history in failed) == 33
    for history in failed:
        assert history.episode.rewards == {"proposer": None, "responder": 0}


@pytest.mark.parametrize("baseline", ["mean", "leave_one_out", "information_set", "running"])
def test_the_gradient_is_that_of_the_games_without(compiled, baseline: str) -> None:
    game = compiled(OFFER)
    recipe = recipe_of(game, roles=ROLES, games=300, model="tiny", baseline=baseline)
    policy = policy_of(game, recipe)
    batch, _ = _played(game, recipe, 3, policy)
    whole = [history for history in batch.trajectories if not history.episode.failures]
    assert 0 < len(whole) < len(batch.trajectories)
    without = replace(batch, trajectories=whole)
    for one, other in zip(
        _gradient(policy, recipe, batch), _gradient(policy, recipe, without), strict=True
    ):
        assert torch.equal(one, other)
    assert any(bool(grad.any()) for grad in _gradient(policy, recipe, batch))


def test_statistics_are_those_of_the_games_without(compiled) -> None:
    game = compiled(OFFER)
    recipe = recipe_of(game, roles=ROLES, games=300, baseline="running")
    batch, scorer = _played(game, recipe, 3, policy_of(game, recipe))
    whole = [history for history in batch.trajectories if not history.episode.failures]
    without = replace(batch, trajectories=whole)
    assert role_entropy(scorer, batch) == role_entropy(scorer, without)
    assert role_means(batch)["reward"]["proposer"] == role_means(without)["reward"]["proposer"]
    one, other = Advantages(recipe), Advantages(recipe)
    weights, left = one.weigh(batch, {"proposer"}), other.weigh(without, {"proposer"})
    assert (weights.samples, weights.void, left.void) == (200, 100, 0)
    assert one.state() == other.state()


@pytest.mark.parametrize("method", ["grpo", "magnet", "project"])
def test_where_all_games_are_void_nothing_moves(compiled, tmp_path: Path, method: str) -> None:
    game = compiled(OFFER)
    recipe = recipe_of(
        game, roles=ROLES, steps=2, games=16, method=method, entropy=0.0, weight_decay=0.5,
        model="tiny",
    )  # fmt: skip
    policy = policy_of(game, recipe)
    before = policy.adapter_state("shared")
    run = create(game, recipe, tmp_path / "run", {}, policy.tokenizer, 1)
    train(
        game,
        recipe,
        run,
        policy,
        seating=SeatAssignment(game.ir, recipe, {"responder": Misbehaving(1)}),
    )
    after = policy.adapter_state("shared")
    assert all(torch.equal(before[key], after[key]) for key in before)
    record = untimed(run.records())[-2]
    assert (record["void"], record["sequences"], record["entropy"]) == (16, 16, {})
    assert record["reward"] == {"proposer": None, "responder": 0.0}
