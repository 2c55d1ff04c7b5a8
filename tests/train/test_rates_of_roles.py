"""Roles whose adapters learn at a rate of their own, or are of a size of their own."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from gamedsl.diagnostics import Problems
from gamedsl.players.table import open_player
from gamedsl.policies.base import Query
from gamedsl.policies.hf import HFPolicy
from gamedsl.policies.lora import LoraSpec
from gamedsl.recipe.resolve import override, resolve
from gamedsl.runtime import Game
from gamedsl.training.loop import train
from gamedsl.training.optimizer import optimizer_of
from gamedsl.training.runfolder import create
from gamedsl.training.seats import SeatAssignment
from gamedsl.training.sessions import writer
from tests.train import in_words
from tests.train.conftest import DILEMMA, StopAfter, policy_of, recipe_of, run_of, same

APART = {"adapters": "per_role", "roles__row__lr": 0.004, "roles__column__lora__rank": 4}
"""The row learns four times as fast, the column has a smaller adapter."""
SAY = """
game: say
roles: [row, column]
turns:
  - {role: all, say: word, max_tokens: 4}
payoffs: 0
on_invalid: {then: skip, pay: -1}
train: {finetuning: lora}
"""


def moved(before: dict[str, torch.Tensor], after: dict[str, torch.Tensor]) -> float:
    """The farthest that a number of an adapter went."""
    return max(float((after[name] - before[name]).abs().max()) for name in before)


@pytest.mark.parametrize("schedule", ["constant", "linear"])
@pytest.mark.parametrize("words", [False, True], ids=["closed", "words"])
def test_adapters_move_by_their_own_rate(
    compiled: Callable[[str], Game], tmp_path: Path, words: bool, schedule: str
) -> None:
    """The first step of AdamW moves a number by its rate, whatever its gradient; the second step
    of a linear schedule over two has half of it."""
    game = compiled(SAY if words else DILEMMA)
    make = in_words.recipe_of if words else recipe_of
    settings = {**APART, "model": "tiny", "lr": 0.001, "games": 8, "lr_schedule": schedule}
    recipe = make(game, steps=2, baseline="none", **settings)
    policy = policy_of(game, recipe)
    first = {name: policy.adapter_state(name) for name in ("row", "column")}
    seen: list[dict[str, float]] = []

    class Watch:
        def progress(self, record: Any) -> None: ...
        def start(self, record: Any) -> None: ...

        def step(self, record: Any) -> None:
            now = {name: policy.adapter_state(name) for name in first}
            seen.append({name: moved(first[name], now[name]) for name in first})

        warm_up = end = start

    run = create(game, recipe, tmp_path / "run", {}, policy.tokenizer, 1)
    if words:
        train(game, recipe, run, writer(policy), observers=[Watch()])
    else:
        train(game, recipe, run, policy, observers=[Watch()])
    assert seen[0] == pytest.approx({"row": 0.004, "column": 0.001}, rel=0.01)
    last = 2.0 if schedule == "constant" else 1.5
    assert seen[1]["row"] <= last * 0.004 * 1.01
    assert seen[1]["row"] > 3 * seen[1]["column"]


def test_adapter_sizes_do_not_affect_each_other() -> None:
    """Beside one of the usual size: the same numbers at first, the same gradient, and the same
    files as where all are of that size."""
    small, query = LoraSpec(4, 8), Query((("user", "Which?"),), ("yes", "no way"), "b")
    policies = (
        HFPolicy("tiny", ("a", "b"), lora=LoraSpec(8, 32), shapes={"b": small}),
        HFPolicy("tiny", ("a", "b"), lora=small),
    )
    gradients = []
    for policy in policies:
        with torch.no_grad():
            for tensor in policy.parameters("b"):
                tensor.add_(0.1 * torch.sin(torch.arange(tensor.numel())).view(tensor.shape))
        policy.backward([query], [torch.tensor([1.0, -1.0])])
        gradients.append([tensor.grad for tensor in policy.parameters("b")])
    one, other = (policy.adapter_state("b") for policy in policies)
    assert all(torch.equal(one[name], other[name]) for name in other)
    for mine, theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(mine, theirs)
    torch.testing.assert_close(policies[0].log_probs([query]), policies[1].log_probs([query]))
    ranks = {name: min(policies[0].parameters(name)[0].shape) for name in ("a", "b")}
    assert ranks == {"a": 8, "b": 4}


def test_run_with_rates_resumes_and_reads_back(
    compiled: Callable[[str], Game], tmp_path: Path
) -> None:
    game = compiled(DILEMMA)
    settings = {**APART, "model": "tiny", "lr": 0.001, "games": 16, "steps": 4}
    recipe = recipe_of(game, checkpoint_every=2, **settings)
    run, _ = run_of(game, recipe, tmp_path / "whole")
    kept = yaml.safe_load((run.path / "recipe.yaml").read_text(encoding="utf-8"))
    assert kept["roles"] == {"row": {"lr": 0.004}, "column": {"lora": {"rank": 4}}}
    again = resolve(game.ir, [override(k, v) for k, v in kept.items()], Problems())
    assert again.roles == recipe.roles
    stop = StopAfter(2)
    part, _ = run_of(game, recipe, tmp_path / "parts", observers=[stop], interrupt=stop.interrupt)
    assert train(game, recipe, part, policy_of(game, recipe)).finished
    same(tmp_path / "whole", tmp_path / "parts")
    config = json.loads((run.path / "adapters" / "column" / "adapter_config.json").read_text())
    assert (config["r"], config["lora_alpha"]) == (4, 32)
    for at in ("", "@2"):
        player: Any = open_player(f"run:{run.path}{at}", game, seed=0)
        episode = game.env().reset()
        (_, column) = episode.decisions
        assert len(player.odds(column, episode)) == 2


def test_single_role_rate_makes_one_group(compiled: Callable[[str], Game]) -> None:
    """One rate for all is one group of parameters, as checkpoints have always had it."""
    game = compiled(DILEMMA)
    for settings, shares in (({}, [1.0]), (APART, [4.0, 1.0])):
        recipe = recipe_of(game, model="tiny", lr=0.001, **settings)
        optimizer = optimizer_of(policy_of(game, recipe), SeatAssignment(game.ir, recipe), recipe)
        assert [group["share"] for group in optimizer.param_groups] == pytest.approx(shares)
