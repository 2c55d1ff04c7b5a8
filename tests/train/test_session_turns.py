"""Two threads that ask the same workers for replies: each gets its own, by its own weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import torch

from gamedsl.policies.daemon_threads import DaemonExecutor
from gamedsl.policies.errors import ModelError
from gamedsl.policies.generation import Generated, Request
from gamedsl.policies.ray_workers import RayPolicy, SentAdapter, Writer, digest_of, probe
from gamedsl.policies.turns import Turns
from gamedsl.runtime import Game
from gamedsl.training.checkpoint import adapters_of
from gamedsl.training.loop import train
from gamedsl.training.runfolder import create
from tests.evaluate.small import PENNIES
from tests.train.in_words import opened, recipe_of, steps_of
from tests.train.local_workers import LocalWorkers, tiny_policy
from tests.train.nearness import near

# PEFT itself asks transformers for a name that transformers has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")

PATIENCE = 60.0
"""Seconds that a thread may take."""


class _Counted(LocalWorkers):
    """Workers that are waited for a limited number of times, so that no test lasts for ever."""

    left = 3000

    def wait(self, asked: Mapping[int, Any]) -> dict[int, Any]:
        self.left -= 1
        assert self.left, "workers are asked without end"
        return super().wait(asked)


def _requests() -> list[Request]:
    return [Request((("user", f"Game {n}"),), "guesser", 24, seed=n) for n in range(6)]


def _ids(replies: list[Generated]) -> list[tuple[int, ...]]:
    return [one.reply_ids for one in replies]


def test_sessions_of_two_threads_take_turns() -> None:
    """Games by past weights are under way when the policy is measured by its weights of now."""
    own = tiny_policy()
    policy = RayPolicy(own, _Counted(2))
    past = policy.at(adapters_of(own), probe(own, own.adapters))
    before = _ids(own.generate(_requests()))
    threads, begun, measured = DaemonExecutor(2), Event(), Event()
    found: dict[int, Generated] = {}

    def then(number: int, reply: Generated) -> tuple[Request, ...]:
        found[number] = reply
        begun.set()
        measured.wait(0.3)  # the other thread asks meanwhile
        return ()

    def measure() -> list[Generated]:
        replies = policy.generate(_requests())
        measured.set()
        return replies

    with torch.no_grad():
        for parameter in own.parameters():
            parameter.add_(0.3)
    games = threads.submit(past.serve, _requests(), then)
    assert begun.wait(PATIENCE)
    now = threads.submit(measure)
    games.result(PATIENCE)
    assert _ids([found[number] for number in range(6)]) == before
    assert _ids(now.result(PATIENCE)) == _ids(own.generate(_requests())) != before


def test_thoughts_are_measured_while_games_are_played(
    compiled: Callable[[str], Game], tmp_path: Path
) -> None:
    """Workers play games of past policies: what is measured is the policy of the step."""
    game = compiled(PENNIES.replace("think: 2", "think: 20"))
    given = {"steps": 3, "games": 8, "checkpoint_every": 1, "temperature": 2, "staleness": 2}
    recipe = recipe_of(game, thoughts=4, **given)
    here = steps_of(game, recipe, tmp_path / "here")
    opening = partial(opened, game, recipe)
    policy = RayPolicy(opening(), _Counted(2, (), opening))
    run = create(game, recipe, tmp_path / "there", {}, policy.tokenizer, 1)
    thread = DaemonExecutor(1)
    assert thread.submit(train, game, recipe, run, policy).result(PATIENCE * 3).finished
    there = [record for record in run.records() if record["event"] == "step"]
    assert all("exploitability" in one for one in here)
    for one, other in zip(there, here, strict=True):
        assert near(_without(one), _without(other), 1e-3)


def _without(record: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in record.items() if k not in ("seconds", "lost_workers")}


@pytest.mark.parametrize("by", ["another-session", "other-weights"])
def test_a_closed_session_is_an_error(by: str) -> None:
    """A worker never answers with nothing for ever."""
    own, writer = tiny_policy(), Writer(tiny_policy)
    requests = list(enumerate(_requests()))
    writer.write(0, {}, requests)
    if by == "another-session":
        writer.write(1, {}, requests)
    else:
        state = own.adapter_state("guesser")
        changed = {name: one + 0.3 for name, one in state.items()}
        sent = SentAdapter(digest_of(changed), lambda: changed, None)
        writer.score({"guesser": sent}, [])
    for _ in range(2):
        with pytest.raises(ModelError, match="closed a session that still owed replies"):
            writer.write(0, {}, [])


def test_the_thread_that_waits_is_next() -> None:
    """Although the one that had the lock asks for it again at once."""
    turns, order = Turns(), list[str]()
    threads = DaemonExecutor(1)
    begun = Event()

    def other() -> None:
        begun.set()
        with turns:
            order.append("other")

    waiting: Future[None]
    with turns, turns:  # a thread may take it again
        waiting = threads.submit(other)
        assert begun.wait(PATIENCE)
        while not turns._waiting:
            pass
    with turns:
        order.append("first")
    waiting.result(PATIENCE)
    assert order == ["other", "first"]
