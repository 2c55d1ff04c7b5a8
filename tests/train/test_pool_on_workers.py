"""A pool whose snapshots write on workers: the games of a run here, whoever writes and is lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from gamedsl.policies.errors import ModelError
from gamedsl.policies.generation import Request
from gamedsl.policies.ray_workers import RayPolicy
from gamedsl.runtime import Game
from gamedsl.training.loop import train
from gamedsl.training.runfolder import create
from tests.train.conftest import StopAfter
from tests.train.in_words import opened, recipe_of, steps_of
from tests.train.local_workers import LocalWorkers, tiny_policy
from tests.train.nearness import near
from tests.train.test_words_as_closed import DUEL, TWO

# PEFT itself asks transformers for a name that transformers has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")

POOL = {
    "steps": 4, "games": 16, "group_size": 4, "temperature": 3, "opponents": {"self": 1, "pool": 3},
    "pool__every": 1, "pool__size": 2,
}  # fmt: skip


def _without(record: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in record.items() if k not in ("seconds", "lost_workers")}


@pytest.mark.parametrize(
    ("text", "given", "ends"),
    [
        (DUEL, {}, ()),
        (DUEL, {}, (1, 4, 5, 9, 14)),
        (TWO, {"adapters": "per_role"}, (3, 6, 7)),
        (TWO, {"finetuning": "full", "lr": 1e-4}, (3,)),
    ],
    ids=["all-stay", "some-are-lost", "an-adapter-a-role", "full-finetuning"],
)
def test_workers_write_for_snapshots(
    text: str, given: dict[str, Any], ends: Sequence[int], compiled: Callable[[str], Game],
    tmp_path: Path,
) -> None:  # fmt: skip
    """Each seat is written by its own adapter, also by a worker that was started anew."""
    game = compiled(text)
    recipe = recipe_of(game, **POOL | given)
    here = steps_of(game, recipe, tmp_path / "here")
    workers = LocalWorkers(2, ends, lambda: opened(game, recipe))
    policy = RayPolicy(opened(game, recipe), workers)
    run = create(game, recipe, tmp_path / "there", {}, policy.tokenizer, 1)
    assert train(game, recipe, run, policy).finished
    there = [record for record in run.records() if record["event"] == "step"]
    assert workers.lost == len(ends)
    assert any(step["opponents"].get("pool") for step in here)
    for one, other in zip(there, here, strict=True):
        assert near(_without(one), _without(other), 1e-3)
    # before each step the policy changes, and a member joins: no adapter is sent more often
    assert workers.kept == len(policy.adapters) * 2 * POOL["steps"]


def test_a_run_goes_on_with_workers(compiled: Callable[[str], Game], tmp_path: Path) -> None:
    """A run that was begun here meets the same snapshots when workers write for it."""
    game = compiled(DUEL)
    recipe = recipe_of(game, **POOL, checkpoint_every=1)
    here = steps_of(game, recipe, tmp_path / "here")
    own = opened(game, recipe)
    run, stop = create(game, recipe, tmp_path / "parts", {}, own.tokenizer, 1), StopAfter(2)
    assert not train(game, recipe, run, own, observers=[stop], interrupt=stop.interrupt).finished
    workers = LocalWorkers(2, (), lambda: opened(game, recipe))
    assert train(game, recipe, run, RayPolicy(opened(game, recipe), workers)).finished
    steps = [record for record in run.records() if record["event"] == "step"]
    for one, other in zip(steps, here, strict=True):
        assert near(_without(one), _without(other), 1e-3)


def _with_guest(workers: LocalWorkers) -> RayPolicy:
    """A policy with a guest of the weights that it had before it learned."""
    policy = RayPolicy(tiny_policy(), workers)
    policy.add_guest("past", "guesser")
    policy.load_adapter_state("past", policy.adapter_state("guesser"))
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.add_(0.3)
    return policy


def _asked(adapter: str) -> list[Request]:
    return [Request((("user", "Game"),), adapter, 6, seed=n) for n in range(4)]


def test_a_replaced_guest_is_sent_again() -> None:
    """An adapter that did not change is not sent again."""
    workers = LocalWorkers(2)
    policy = _with_guest(workers)
    before = [one.reply_ids for one in tiny_policy().generate(_asked("guesser"))]
    assert [one.reply_ids for one in policy.generate(_asked("past"))] == before
    assert workers.kept == 2
    policy.load_adapter_state("past", policy.adapter_state("guesser"))
    now = [one.reply_ids for one in policy.own.generate(_asked("guesser"))]
    assert [one.reply_ids for one in policy.generate(_asked("past"))] == now != before
    assert workers.kept == 3


def test_other_weights_of_a_guest_are_noticed() -> None:
    class Mixed(LocalWorkers):
        """Workers that get the weights of the first adapter for all."""

        def keep(self, what: Any) -> Callable[[], Any]:
            self.first = getattr(self, "first", what)
            return super().keep(self.first)

    with pytest.raises(ModelError, match="does not write by the adapter `past`"):
        _with_guest(Mixed(2)).generate(_asked("past"))
