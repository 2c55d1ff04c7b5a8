"""Who answers for a role, and who learns: adapters by name, frozen ones, and players."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml

from gamedsl.api.training_job import hire
from gamedsl.diagnostics import Problems
from gamedsl.players.base import DrawingPlayer, Player
from gamedsl.recipe.resolve import override, parse_overrides, resolve
from gamedsl.runtime import Action, Decision, Episode
from gamedsl.training.bundles import Bundles
from gamedsl.training.loop import train
from gamedsl.training.rollout import play
from gamedsl.training.runfolder import create
from gamedsl.training.scoring import Scorer
from gamedsl.training.seats import SeatAssignment, assign_seats
from tests.train.conftest import (
    DILEMMA,
    HIDDEN,
    OFFER,
    StopAfter,
    policy_of,
    recipe_of,
    run_of,
    untimed,
)


class Leaning(DrawingPlayer):
    """Takes its first action with a given probability; remembers how often it was asked."""

    def __init__(self, first: float) -> None:
        super().__init__(seed=0)
        self.first, self.asked = first, 0

    def odds(self, decision: Decision, episode: Episode) -> Sequence[float]:
        self.asked += 1
        others = len(decision.legal) - 1
        return [self.first, *[(1 - self.first) / others] * others]


class Counting:
    """Takes its actions in turn, and cannot tell its odds."""

    def __init__(self) -> None:
        self.asked = 0

    def act(self, decision: Decision, episode: Episode) -> Action:
        self.asked += 1
        return Action(decision.legal[self.asked % len(decision.legal)])


def _cast(game, recipe, player: Player) -> SeatAssignment:
    return SeatAssignment(game.ir, recipe, {"responder": player})


def test_any_map_of_roles_to_adapters(compiled, tmp_path: Path) -> None:
    text = DILEMMA.replace("[row, column]", "[row, column, third]").split("payoffs")[0]
    game = compiled(text + "payoffs: 1 if move.me == defect else 0\nlabels: masked\n")
    roles = {"row": {"adapter": "odd"}, "third": {"adapter": "odd"}, "column": {"trained": False}}
    recipe = recipe_of(game, model="tiny", roles=roles, steps=2, checkpoint_every=1)
    policy = policy_of(game, recipe)
    assert policy.adapters == ("odd", "column")
    run, _ = run_of(game, recipe, tmp_path / "run")
    assert sorted(path.name for path in (run.path / "adapters").iterdir()) == ["column", "odd"]
    record = run.records()[-2]
    assert {row["role"] for row in record["policy"].values()} == {"row", "column", "third"}
    assert record["sequences"] == 2 * 128


def test_roles_go_to_yaml_and_back(compiled) -> None:
    game = compiled(OFFER)
    roles = {"proposer": {"adapter": "one"}, "responder": {"player": "random"}}
    recipe = recipe_of(game, roles=roles)
    read = yaml.safe_load(yaml.safe_dump(recipe.as_dict()))
    assert read["roles"] == roles
    problems = Problems()
    again = resolve(game.ir, [override(key, value) for key, value in read.items()], problems)
    assert (again, problems.found) == (recipe, [])
    assert "roles" not in recipe_of(game).as_dict()


@pytest.mark.parametrize("method", ["grpo", "magnet", "project"])
@pytest.mark.parametrize("estimator", ["sampled", "tree"])
def test_a_frozen_adapter_stays_to_the_bit(
    compiled, tmp_path: Path, method: str, estimator: str
) -> None:
    game = compiled(HIDDEN)
    recipe = recipe_of(
        game, model="tiny", method=method, estimator=estimator, steps=2, games=64, group_by="deal",
        weight_decay=0.1, roles={"caller": {"trained": False}},
    )  # fmt: skip
    policy = policy_of(game, recipe)
    before = {name: policy.adapter_state(name) for name in policy.adapters}
    run = create(game, recipe, tmp_path / "run", {}, policy.tokenizer, 1)
    train(game, recipe, run, policy)
    for name, stays in (("shared", False), ("caller", True)):
        after = policy.adapter_state(name)
        same = all(torch.equal(after[key], before[name][key]) for key in after)
        assert same == stays, name
    assert set(run.records()[-2]["entropy"]) == {"holder", "caller"}


def test_gradients_of_what_is_not_trained_are_zero(compiled, tmp_path: Path) -> None:
    game = compiled(HIDDEN)
    recipe = recipe_of(
        game, model="tiny", steps=1, games=64, entropy=0.1, kl=0.1, inner_steps=2,
        roles={"caller": {"trained": False}},
    )  # fmt: skip
    policy = policy_of(game, recipe)
    run = create(game, recipe, tmp_path / "run", {}, policy.tokenizer, 1)
    train(game, recipe, run, policy)
    gradients = [p.grad for p in policy.parameters("caller") if p.grad is not None]
    assert all(bool((gradient == 0).all()) for gradient in gradients)
    assert any(bool((p.grad != 0).any()) for p in policy.parameters("shared"))


def test_a_player_who_tells_its_odds_splits_bundles(compiled) -> None:
    game = compiled(OFFER)
    recipe = recipe_of(game, games=100_000, roles={"responder": {"player": "random"}})
    policy, player = policy_of(game, recipe), Leaning(0.3)
    scorer, seating = Scorer(policy), _cast(game, recipe, player)
    env = game.env(tokenizer=policy.tokenizer)
    batch = play(env, Bundles(scorer), recipe, 1, seating=seating)
    assert len(batch.trajectories) == 6
    assert {sample.role for history in batch.trajectories for sample in history.samples} == {
        "proposer"
    }
    accepted = sum(h.games for h in batch.trajectories if h.episode.payoffs["proposer"])
    assert accepted / 100_000 == pytest.approx(0.3, abs=0.01)
    assert player.asked == 3
    play(env, Bundles(scorer), recipe, 2, seating=seating)
    assert player.asked == 3  # once for each information set


def test_any_other_player_is_asked_once_a_game(compiled) -> None:
    game = compiled(OFFER)
    recipe = recipe_of(game, games=1000, roles={"responder": {"player": "random"}})
    policy, player = policy_of(game, recipe), Counting()
    env = game.env(tokenizer=policy.tokenizer)
    batch = play(env, Bundles(Scorer(policy)), recipe, 1, seating=_cast(game, recipe, player))
    assert player.asked == 1000
    assert len(batch.trajectories) == 6
    accepted = sum(h.games for h in batch.trajectories if h.episode.payoffs["proposer"])
    assert abs(accepted - 500) <= 3  # each of three bundles in turn


def test_learning_against_a_player_is_a_best_reply(compiled, tmp_path: Path) -> None:
    """The responder refuses anything in seven games of ten: the higher the offer the better."""
    game = compiled(OFFER)
    recipe = recipe_of(
        game, roles={"proposer": {"player": "fixed:fair"}}, steps=20, lr=3e-3, games=512
    )
    run, _ = run_of(game, recipe, tmp_path / "run")
    last = run.records()[-2]
    rows = {row["role"]: row["probs"] for row in last["policy"].values()}
    assert rows["proposer"] == {"low": 0.0, "fair": 1.0, "high": 0.0}
    assert last["reward"]["responder"] > 4.5
    assert last["entropy"].keys() == {"responder"}
    assert last["exploitability"] > 0
    assert run.records()[0]["prediction"] is None


def test_unknown_player_odds_are_not_claimed(compiled, tmp_path: Path) -> None:
    game = compiled(OFFER)
    recipe = recipe_of(game, roles={"responder": {"player": "random"}}, steps=2)
    policy = policy_of(game, recipe)
    run = create(game, recipe, tmp_path / "run", {}, policy.tokenizer, 1)
    train(game, recipe, run, policy, seating=_cast(game, recipe, Counting()))
    record = run.records()[-2]
    assert record["exploitability"] is None
    assert {row["role"] for row in record["policy"].values()} == {"proposer"}


class Stateful:
    """Moves as its seed and its own past say: resuming must give it both again."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def act(self, decision: Decision, episode: Episode) -> Action:
        return Action(decision.legal[int(self._rng.integers(len(decision.legal)))])


def test_run_with_players_resumes_to_same_numbers(compiled, tmp_path: Path) -> None:
    game = compiled(OFFER)
    recipe = recipe_of(game, steps=5, roles={"responder": {"player": "random"}})

    def cast() -> SeatAssignment:
        player = {"responder": Stateful(0)}
        return SeatAssignment(game.ir, recipe, player, lambda role, seed: Stateful(seed))

    run_of(game, recipe, tmp_path / "whole", seating=cast())
    stop = StopAfter(3)
    run, _ = run_of(
        game, recipe, tmp_path / "parts", seating=cast(), observers=[stop], interrupt=stop.interrupt
    )
    train(game, recipe, run, policy_of(game, recipe), seating=cast())
    whole = run.__class__(tmp_path / "whole")
    assert untimed(run.records()) == untimed(whole.records())
    assert run.records()[1]["reward"] != run.records()[4]["reward"]


def test_unavailable_player_is_reported_at_its_place(compiled) -> None:
    game = compiled(OFFER)
    settings = parse_overrides(["roles.responder.player=policy:nowhere.json"])
    problems = Problems()
    recipe = resolve(game.ir, settings, problems)
    assert hire(game, recipe, settings, problems) is None
    (found,) = problems.found
    assert (found.code, found.span.text) == ("GD0711", "policy:nowhere.json")
    assert hire(game, recipe_of(game, roles={"responder": {"player": "random"}}), (), problems)
    assert assign_seats(game, recipe_of(game)).players == {}
