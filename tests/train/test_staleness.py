"""Games of a step that an earlier policy played: which, what they count, and a run that goes on."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

import gamedsl
from gamedsl.diagnostics import Problems
from gamedsl.policies.ray_workers import RayPolicy
from gamedsl.recipe.resolve import parse_overrides, resolve
from gamedsl.runtime import Game
from gamedsl.training.loop import train
from gamedsl.training.losses import TRUNCATED, Truncation
from gamedsl.training.runfolder import create
from tests.train.in_words import opened, recipe_of, steps_of
from tests.train.local_workers import LocalWorkers
from tests.train.nearness import near
from tests.train.test_thinking import PICK
from tests.train.test_training_in_words import LASTING, PAIR, SPEAK

# PEFT itself asks transformers for a name that transformers has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")

SHAPE = {"games": 8, "group_size": 8, "lr": 0.005}

ENDS = (2, 5, 6, 9, 12)
"""The calls at which a worker is lost."""


def _without(record: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in record.items() if k not in ("seconds", "lost_workers")}


@pytest.fixture(scope="module")
def stale_steps(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("stale")
    (folder / "pick.yaml").write_text(PICK, encoding="utf-8")
    game = gamedsl.load(folder / "pick.yaml")
    return steps_of(game, recipe_of(game, steps=4, staleness=2, **SHAPE), folder / "run")


def test_lag_grows_to_the_staleness(stale_steps: list[dict[str, Any]]) -> None:
    assert [step["lag"] for step in stale_steps] == [0, 1, 2, 2]
    assert stale_steps[0]["ess"] == pytest.approx(1, abs=1e-4)
    assert 0 < min(step["ess"] for step in stale_steps[1:]) < 0.999


def test_first_games_are_of_the_first_policy(
    stale_steps: list[dict[str, Any]], compiled: Callable[[str], Game], tmp_path: Path
) -> None:
    """Games of a policy that never learns are those of the first."""
    game = compiled(PICK)
    still = steps_of(game, recipe_of(game, steps=4, **SHAPE | {"lr": 1e-9}), tmp_path / "run")
    played = ("reward", "payoff", "valid", "reply_tokens", "tokens")
    for one, other in zip(stale_steps[:3], still, strict=False):
        assert near({k: one[k] for k in played}, {k: other[k] for k in played}, 1e-6)
    assert stale_steps[3]["reward"] != still[3]["reward"]


def test_lost_workers_play_the_same_games(
    stale_steps: list[dict[str, Any]], compiled: Callable[[str], Game], tmp_path: Path
) -> None:
    game = compiled(PICK)
    recipe = recipe_of(game, steps=4, staleness=2, **SHAPE)
    workers = LocalWorkers(2, ENDS, lambda: opened(game, recipe))
    policy = RayPolicy(opened(game, recipe), workers)
    run = create(game, recipe, tmp_path / "run", {}, policy.tokenizer, 1)
    assert train(game, recipe, run, policy).finished
    steps = [record for record in run.records() if record["event"] == "step"]
    assert workers.lost == len(ENDS)
    for one, other in zip(steps, stale_steps, strict=True):
        assert near(_without(one), _without(other), 1e-3)


def test_workers_are_lost_while_they_score(compiled: Callable[[str], Game], tmp_path: Path) -> None:
    """Options are scored while replies are under way: a worker that is lost then owes some."""
    game = compiled(PAIR.replace("max_tokens: 8", "max_tokens: 40"))
    recipe = recipe_of(game, steps=3, staleness=2, **SHAPE | {"games": 32, "group_size": 32})
    expected = steps_of(game, recipe, tmp_path / "here")
    opening = partial(opened, game, recipe)
    workers = LocalWorkers(2, range(1, 100, 3), opening, counted="score")
    policy = RayPolicy(opening(), workers)
    run = create(game, recipe, tmp_path / "run", {}, policy.tokenizer, 1)
    assert train(game, recipe, run, policy).finished
    assert workers.lost > 3
    steps = [record for record in run.records() if record["event"] == "step"]
    for one, other in zip(steps, expected, strict=True):
        assert near(_without(one), _without(other), 1e-3)


def test_resume_plays_by_past_policies(
    stale_steps: list[dict[str, Any]], compiled: Callable[[str], Game], tmp_path: Path
) -> None:
    game = compiled(PICK)
    short = recipe_of(game, steps=1, staleness=1, lr_schedule="constant", **SHAPE)
    whole = recipe_of(game, steps=3, staleness=1, lr_schedule="constant", **SHAPE)
    run = create(game, short, tmp_path / "run", {}, opened(game, short).tokenizer, 1)
    assert train(game, short, run, opened(game, short)).finished
    assert train(game, whole, run, opened(game, whole)).finished
    steps = [record for record in run.records() if record["event"] == "step"]
    expected = steps_of(game, whole, tmp_path / "undisturbed")
    assert [_without(one) for one in steps] == [_without(one) for one in expected]


def test_truncated_ratios_keep_their_gradient() -> None:
    log_rho = torch.tensor([-2.0, 0.0, 0.5, 1.5], requires_grad=True)
    Truncation().gained(log_rho.exp()).sum().backward()
    assert log_rho.grad is not None
    assert log_rho.grad.tolist() == pytest.approx(log_rho.exp().clamp(max=TRUNCATED).tolist())


@pytest.mark.parametrize(
    ("source", "settings", "problem"),
    [
        (SPEAK, {"method": "expert"}, "learns from games of the policy as it is"),
        (PAIR, {"credit": "counterfactual"}, "plays games on by the policy as it is"),
        (PAIR, {"learn.who": "weakest"}, "who is the `weakest`"),
        (PAIR, {"opponents": "{pool: 1}"}, "before the pool has the snapshots"),
        (LASTING, {}, "go on from what those of the step before left"),
    ],
)  # fmt: skip
def test_stale_games_are_refused(
    source: str, settings: dict[str, str], problem: str, compiled: Callable[[str], Game]
) -> None:
    problems = Problems()
    given = {"model": "tiny", "staleness": "1", **settings}
    texts = [f"{key}={value}" for key, value in given.items()]
    resolve(compiled(source).ir, parse_overrides(texts), problems)
    found = [one.message for one in problems.sorted() if one.code == "GD0704"]
    assert any(problem in message for message in found), found
