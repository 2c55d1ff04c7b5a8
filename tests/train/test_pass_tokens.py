"""How many tokens a pass may have decides over memory and time, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch

from gamedsl.policies.activations import Activations
from gamedsl.policies.base import Query
from gamedsl.runtime import Game
from gamedsl.training.advantages import Advantage
from gamedsl.training.dry_run import dry_run
from gamedsl.training.rollout import play
from gamedsl.training.seats import SeatAssignment
from gamedsl.training.sessions import Sessions
from tests.train.conftest import policy_of
from tests.train.in_words import learn, opened, recipe_of, weighed

TALK = """
game: talk
roles: [ann, bob]
turns:
  - {draw: topic, from: [rain, sun], seen_by: ann}
  - repeat: 2
    turns: [{each: roles, say: line, max_tokens: 9}]
  - {role: bob, choose: guess, from: [rain, sun]}
payoffs: {ann: 1 if guess == topic else 0, bob: 1 if guess == rain else 0}
on_invalid: {then: skip, pay: -1}
prompts: {rules: ""}
train: {adapters: per_role}
"""
CLOSED = """
game: meeting
roles: [ann, bob]
protocol: simultaneous
actions: [park, museum, station]
payoffs: 1 if move.ann == move.bob else 0
"""


def _updated(
    game: Game, worth: tuple[list[Advantage], list[Query]], **settings: Any
) -> tuple[list[torch.Tensor], dict[str, Any], list[int]]:
    """Gradients of one update, its record, and the tokens of each of its passes."""
    recipe = recipe_of(game, max_grad_norm=1e9, **settings)
    policy, passes = opened(game, recipe), list[int]()
    run = policy._network.whole
    policy._network.whole = lambda ids, *rest: passes.append(ids.numel()) or run(ids, *rest)
    optimizer = torch.optim.SGD(policy.parameters(), lr=0.0)
    record = learn(policy, optimizer, *worth, recipe, 1)
    return [parameter.grad for parameter in policy.parameters()], record, passes


def _worth(game: Game) -> tuple[list[Advantage], list[Query]]:
    """Replies of eight games, some of which count for and some against."""
    recipe = recipe_of(game, baseline="none")
    policy = opened(game, recipe)
    seating = SeatAssignment(game.ir, recipe)
    batch = play(game.env(tokenizer=policy.tokenizer), Sessions(policy), recipe, 1, seating)
    worth = weighed(batch, recipe, seating.learners).advantages
    return [
        one._replace(amount=(-1) ** at * (1 + at)) for at, one in enumerate(worth)
    ], batch.queries


@pytest.mark.parametrize(
    "settings", [{"pass_tokens": 1}, {"pass_tokens": 300}, {"recompute": "on"}],
    ids=["a row a pass", "some rows a pass", "layers computed again"],
)  # fmt: skip
def test_update_is_independent_of_pass_tokens(
    compiled: Callable[[str], Game], settings: dict[str, Any]
) -> None:
    game = compiled(TALK)
    worth = _worth(game)
    whole, told, one = _updated(game, worth)
    parts, same, many = _updated(game, worth, **settings)
    scale = max(float(gradient.abs().max()) for gradient in whole)
    assert scale > 1e-3
    for a, b in zip(whole, parts, strict=True):
        torch.testing.assert_close(a / scale, b / scale, atol=1e-5, rtol=0)
    assert same == pytest.approx(told, rel=1e-5, abs=1e-6)
    if "pass_tokens" in settings:
        assert len(many) > len(one)
        assert settings["pass_tokens"] == 1 or max(many) <= settings["pass_tokens"]


def test_pass_tokens_applies_to_closed_and_full(
    compiled: Callable[[str], Game],
) -> None:
    game, seen = compiled(CLOSED), {}
    for model in ("tiny", "small"):
        for given in ({}, {"pass_tokens": 70, "recompute": "on"}):
            policy = policy_of(game, recipe_of(game, model=model, **given))
            seen[model, len(given)] = policy.activations.pass_tokens, policy.activations.again(1)
    assert seen == {
        ("tiny", 0): (32768, False), ("tiny", 2): (70, True),
        ("small", 0): (32768, False), ("small", 2): (70, True),
    }  # fmt: skip


@pytest.mark.parametrize("text", [TALK, CLOSED])
def test_a_dry_run_tells_what_a_pass_keeps(compiled: Callable[[str], Game], text: str) -> None:
    game = compiled(text)

    def line(**settings: Any) -> str:
        recipe = recipe_of(game, **settings)
        told = dry_run(game, recipe, SeatAssignment(game.ir, recipe), print)
        return next(one for one in told.splitlines() if one.startswith("a pass "))

    assert line(pass_tokens=10_000).endswith("at most 10,000 tokens: layers kept, 0.2 GB")
    again = line(pass_tokens=10_000_000, recompute="on")
    assert again.endswith("at most 10,000,000 tokens: layers computed again, 61.4 GB")


def test_a_dry_run_tells_what_is_kept_from_play(
    compiled: Callable[[str], Game], monkeypatch: pytest.MonkeyPatch
) -> None:
    game = compiled(CLOSED)

    def told(**settings: Any) -> str:
        recipe = recipe_of(game, **settings)
        return dry_run(game, recipe, SeatAssignment(game.ir, recipe), print)

    line = re.compile(r"^kept +about (\d+) of (\d+) tokens from play to (.*), [\d.]+ GB$", re.M)
    found = line.search(told())
    assert found is not None
    assert found[1] == found[2]
    assert f"{found[2]} a step" in told()  # its distinct tokens
    assert not line.search(told(kl=0.1))
    several = line.search(told(inner_steps=3))
    assert several is not None
    assert several[3] == "the first of 3 updates"
    monkeypatch.setattr(Activations, "room_tokens", lambda _: 20)
    short = line.search(told())
    assert short is not None
    assert (short[1], short[3]) == ("20", "the update")
