"""Replies written by workers: the same as here, whoever writes them and whoever ends."""

from __future__ import annotations

import importlib
import importlib.util
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import pytest
import torch

from gamedsl.policies import cluster, ray_workers
from gamedsl.policies.cluster import Workers, connected
from gamedsl.policies.decoding import Decoding
from gamedsl.policies.errors import ModelError
from gamedsl.policies.factory import close_policy
from gamedsl.policies.generation import Generated, Request, Writing
from gamedsl.policies.ray_workers import RayPolicy, Writer
from gamedsl.runtime import Game
from gamedsl.training.dry_run import dry_run
from gamedsl.training.loop import train
from gamedsl.training.runfolder import create
from gamedsl.training.seats import SeatAssignment
from tests.train.in_words import opened, recipe_of, steps_of
from tests.train.local_workers import LocalWorkers, tiny_policy
from tests.train.nearness import near
from tests.train.test_pool_on_workers import POOL
from tests.train.test_thinking import PICK
from tests.train.test_training_in_words import PAIR
from tests.train.test_words_as_closed import DUEL

# PEFT itself asks transformers for a name that transformers has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")

NEEDS_RAY = [
    pytest.mark.ray,
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


class _Zeros(LocalWorkers):
    """Workers that get other weights than those that were sent."""

    def keep(self, what: Any) -> Callable[[], Any]:
        return super().keep({name: torch.zeros_like(one) for name, one in what.items()})


def _requests() -> list[Request]:
    return [Request((("user", f"Game {n // 2}"),), "guesser", 3 + n, seed=n) for n in range(9)]


def _talk(policy: Writing) -> dict[int, Generated]:
    """Conversations of two replies each."""
    asked, found = _requests(), {}

    def then(number: int, reply: Generated) -> list[Request]:
        assert number not in found
        found[number] = reply
        before = asked[number]
        if number >= 9:
            return []
        said = (*before.messages, ("assistant", reply.reply_ids), ("user", "And then?"))
        asked.append(Request(said, "guesser", 4, seed=number + 100))
        return asked[-1:]

    policy.serve(list(asked), then)
    return {asked[number].seed: reply for number, reply in found.items()}


def _check_alike(found: dict[int, Generated], expected: dict[int, Generated]) -> None:
    assert found.keys() == expected.keys()
    for seed, reply in found.items():
        assert reply.reply_ids == expected[seed].reply_ids
        assert reply.log_probs == pytest.approx(expected[seed].log_probs, abs=1e-5)


@pytest.mark.parametrize("ends", [(), (1,), (2, 3, 7), (4, 5, 6, 8)])
def test_replies_survive_the_loss_of_workers(ends: Sequence[int]) -> None:
    workers = LocalWorkers(3, ends)
    _check_alike(_talk(RayPolicy(tiny_policy(), workers)), _talk(tiny_policy()))
    assert workers.lost == len(ends)


def test_workers_that_keep_ending_are_given_up() -> None:
    policy = RayPolicy(tiny_policy(), LocalWorkers(2, range(100)))
    with pytest.raises(ModelError, match="ended 6 times over the same work"):
        policy.generate(_requests())


def test_new_weights_are_sent_once_and_used() -> None:
    own, workers = tiny_policy(), LocalWorkers(2)
    policy = RayPolicy(own, workers)
    before = policy.generate(_requests())
    policy.generate(_requests())
    assert workers.kept == 1
    with torch.no_grad():
        for parameter in own.parameters():
            parameter.add_(0.3)
    after = policy.generate(_requests())
    assert workers.kept == 2
    _check_alike(dict(enumerate(after)), dict(enumerate(own.generate(_requests()))))
    assert [one.reply_ids for one in after] != [one.reply_ids for one in before]


def test_other_weights_than_those_sent_are_noticed() -> None:
    own = tiny_policy()
    policy = RayPolicy(own, _Zeros(2))
    with torch.no_grad():
        for parameter in own.parameters():
            parameter.add_(0.3)
    with pytest.raises(ModelError, match="does not write by the adapter `guesser`"):
        policy.generate(_requests())


@pytest.fixture(scope="module")
def _cluster() -> Iterator[None]:
    yield
    import ray

    ray.shutdown()


def _steps(game: Game, folder: Path, **settings: Any) -> list[dict[str, Any]]:
    given = {"steps": 4, "games": 16, "group_size": 16, **settings}
    return steps_of(game, recipe_of(game, **given), folder)


def _without(record: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in record.items() if k not in ("seconds", "lost_workers")}


def _held(ray: Any, cores: int) -> Any:
    """Returns an actor that holds so many processor cores."""

    class Holder:
        pass

    held = ray.remote(num_cpus=cores)(Holder).remote()
    ray.get(held.__ray_ready__.remote())
    return held


class TestCluster:
    """A real cluster on this machine."""

    pytestmark = [*NEEDS_RAY, pytest.mark.usefixtures("_cluster")]

    @pytest.mark.parametrize(("text", "given"), [(PAIR, {}), (DUEL, POOL)], ids=["self", "pool"])
    def test_metrics_are_those_of_a_local_run(
        self, text: str, given: dict[str, Any], compiled: Callable[[str], Game], tmp_path: Path
    ) -> None:
        game = compiled(text)
        local = _steps(game, tmp_path / "local", **given)
        shared = _steps(game, tmp_path / "ray", cluster="ray", workers=2, **given)
        for one, other in zip(local, shared, strict=True):
            assert near(_without(other), _without(one), 1e-3)
            assert other["lost_workers"] == 0

    def test_a_dry_run_tells_what_the_trainer_costs(self, compiled: Callable[[str], Game]) -> None:
        game = compiled(PAIR)
        recipe = recipe_of(game, cluster="ray", workers=1)
        told = dry_run(game, recipe, SeatAssignment(game.ir, recipe), lambda line: None)
        assert all(f"\n{part} " in told for part in ("process", "floor"))

    def test_more_workers_than_the_cluster_holds_are_refused(
        self, compiled: Callable[[str], Game]
    ) -> None:
        game = compiled(PAIR)
        with pytest.raises(ModelError, match=r"1000 workers need a .* each, and the cluster has"):
            opened(game, recipe_of(game, cluster="ray", workers=1000))

    def test_runs_go_on_without_workers_that_wait(
        self, compiled: Callable[[str], Game], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Somebody else holds all but one of the cores."""
        ray, game = connected(None), compiled(PAIR)
        local = _steps(game, tmp_path / "local")
        monkeypatch.setattr(cluster, "LONGEST_WAIT", 1.0)
        other = _held(ray, int(ray.cluster_resources()["CPU"]) - 1)
        try:
            shared = _steps(game, tmp_path / "ray", cluster="ray", workers=2)
        finally:
            ray.kill(other)
        for one, shown in zip(local, shared, strict=True):
            assert near(_without(shown), _without(one), 1e-3)

    def test_no_room_for_any_worker_is_told(
        self, compiled: Callable[[str], Game], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ray, game = connected(None), compiled(PAIR)
        monkeypatch.setattr(cluster, "LONGEST_START", 3.0)
        other = _held(ray, int(ray.cluster_resources()["CPU"]))
        policy = opened(game, recipe_of(game, cluster="ray", workers=1))
        assert isinstance(policy, RayPolicy)
        try:
            with pytest.raises(ModelError, match=r"no worker has started .* are 0 processor"):
                policy.generate(_requests())
        finally:
            close_policy(policy)
            ray.kill(other)

    def test_workers_that_cannot_start_say_why_at_once(self) -> None:
        lacking = partial(importlib.import_module, "no_such_library")
        workers = Workers(lacking, Writer, address=None, count=1)
        with pytest.raises(ModelError, match=r"a worker cannot start: .*no_such_library"):
            workers.started()
        workers.close()

    @pytest.mark.parametrize(
        ("text", "given"),
        [
            (PAIR, {"steps": 30}),
            (PAIR, {"steps": 10, "staleness": 2}),
            (DUEL, {**POOL, "steps": 10}),
        ],
        ids=["fresh", "stale", "pool"],
    )
    def test_killed_workers_lose_no_game(
        self, text: str, given: dict[str, Any], compiled: Callable[[str], Game], tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:  # fmt: skip
        """Each request of the local run is answered once, by its seed."""
        game = compiled(text)
        given = {"games": 16, "group_size": 16, **given}
        with monkeypatch.context() as patch:
            here = _Requests(patch, Decoding)
            local = _steps(game, tmp_path / "local", **given)
        expected = here.answered
        assert expected == here.asked
        recipe = recipe_of(game, cluster="ray", workers=2, **given)
        policy = opened(game, recipe)
        run = create(game, recipe, tmp_path / "ray", {}, policy.tokenizer, 1)
        assert isinstance(policy, RayPolicy)
        kills = _Kills(policy.workers, random.Random(5), monkeypatch)
        requests = _Requests(monkeypatch)
        try:
            assert train(game, recipe, run, policy).finished
        finally:
            close_policy(policy)
        records = [record for record in run.records() if record["event"] == "step"]
        for one, other in zip(local, records, strict=True):
            assert near(_without(other), _without(one), 1e-3)
        assert kills.made == kills.most == records[-1]["lost_workers"]
        assert requests.answered == requests.asked == expected
        assert any(record["loss"] for record in records)

    def test_stale_games_are_learned(self, compiled: Callable[[str], Game], tmp_path: Path) -> None:
        game = compiled(PICK)
        given = {"steps": 8, "staleness": 2}
        local = _steps(game, tmp_path / "local", **given)
        shared = _steps(game, tmp_path / "ray", cluster="ray", workers=2, **given)
        for one, other in zip(local, shared, strict=True):
            assert near(_without(other), _without(one), 1e-3)
        assert shared[-1]["reward"]["picker"] > 0.9 > shared[0]["reward"]["picker"]
        assert shared[-1]["lag"] == 2
        assert shared[-1]["ess"] < 1


class _Requests:
    """Counts the requests that sessions of a class are asked and answer, by their seeds."""

    def __init__(self, patch: pytest.MonkeyPatch, kind: Any = ray_workers._Session) -> None:
        self.asked, self.answered = Counter[int](), Counter[int]()
        ask, step = kind.ask, kind.step
        seeds: WeakKeyDictionary[Any, list[int]] = WeakKeyDictionary()

        def counted_ask(session: Any, requests: Sequence[Request]) -> None:
            new = [request.seed for request in requests]
            seeds.setdefault(session, []).extend(new)
            self.asked.update(new)
            ask(session, requests)

        def counted_step(session: Any) -> list[tuple[int, Generated]]:
            ended: list[tuple[int, Generated]] = step(session)
            self.answered.update(seeds[session][number] for number, _ in ended)
            return ended

        patch.setattr(kind, "ask", counted_ask)
        patch.setattr(kind, "step", counted_step)


class _Kills:
    """Kills workers at random moments of random calls, until so many are killed. The call waits
    until all workers are there again: each kill is of a worker that has started, and the run cannot
    end before the last one. A run gives up where six workers end over one request, so each session
    loses a few at most."""

    most, of_session = 10, 2

    def __init__(
        self, workers: Workers, rng: random.Random, patch: pytest.MonkeyPatch
    ) -> None:  # fmt: skip
        self._workers, self._rng, self._ask = workers, rng, workers.ask
        self.made, self._wait = 0, rng.randint(1, 3)
        self._session, self._kills = -1, Counter[int]()
        patch.setattr(workers, "ask", self._asked)

    def _asked(self, worker: int, method: str, *given: Any) -> Any:
        if method == "write":
            self._session = given[0]
        self._wait -= 1
        spared = self.made == self.most or self._kills[self._session] == self.of_session
        if spared or self._wait > 0 or self._workers.lost < self.made:
            return self._ask(worker, method, *given)
        self._wait = self._rng.randint(1, 3)
        self._kills[self._session] += 1
        self.made += 1
        self._await_all()
        actor = self._workers._actors[worker]
        process = self._workers._ray.get(actor.__ray_call__.remote(lambda _: os.getpid()))
        asked = self._ask(worker, method, *given)
        time.sleep(self._rng.uniform(0, 0.05))
        os.kill(process, signal.SIGKILL)
        return asked

    def _await_all(self) -> None:
        while self._workers._starting:
            self._workers._look(list(self._workers._starting.values()))
