"""What is sent to the processes of a cluster and what comes back: folders, work and errors."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import gamedsl
from gamedsl.calls.files import CallFileError
from gamedsl.compiler import compile_game
from gamedsl.diagnostics import CompileError
from gamedsl.errors import UserError
from gamedsl.ir.evaluate import EvaluationError
from gamedsl.policies import cluster
from gamedsl.policies.budget import BudgetSpent, Interrupted
from gamedsl.policies.cluster import LOSSES, InFolder, Workers, WorkQueue
from gamedsl.policies.errors import ModelError
from gamedsl.runs.errors import FileDamaged
from gamedsl.training.errors import TrainError
from tests.policies import local_ray
from tests.policies.local_ray import LocalRay
from tests.train.local_workers import LocalWorkers
from tests.writing import write


def _read(name: str) -> str:
    return Path(name).read_text(encoding="utf-8")


def test_relative_paths_mean_what_they_mean_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "players.py").write_text("named by its path", encoding="utf-8")
    monkeypatch.chdir(tmp_path / "here")
    sent = pickle.dumps(InFolder.this(_read))
    monkeypatch.chdir(tmp_path)
    assert pickle.loads(sent)("players.py") == "named by its path"


def test_machine_without_the_folder_stays_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own.txt").write_text("own", encoding="utf-8")
    assert InFolder(_read, str(tmp_path / "absent"))("own.txt") == "own"


class _Doubling:
    """Work whose result is twice what is given."""

    def __init__(self, opening: Any) -> None:
        pass

    def twice(self, number: int) -> int:
        return 2 * number


class _Machine(LocalWorkers):
    """Workers that all end at once, each with what it does, so many times."""

    def __init__(self, count: int, times: int) -> None:
        super().__init__(count, opening=lambda: None, kind=_Doubling)
        self._times = times

    def wait(self, asked: Mapping[int, Any]) -> dict[int, Any]:
        if self._times:
            self._times -= 1
            return dict.fromkeys(asked)
        return super().wait(asked)


def test_machine_lost_with_many_workers_loses_nothing() -> None:
    given = {number: (number,) for number in range(20)}
    queue = WorkQueue[int](_Machine(2 * LOSSES, LOSSES), "twice", given)
    assert [queue.result(number) for number in given] == [2 * number for number in given]


def test_work_that_ends_every_worker_ends_the_run() -> None:
    queue = WorkQueue[int](_Machine(2 * LOSSES, LOSSES + 1), "twice", {0: (0,)})
    with pytest.raises(ModelError, match="over the same work"):
        queue.result(0)


def _workers(monkeypatch: pytest.MonkeyPatch, ray: LocalRay, **given: Any) -> Workers:
    monkeypatch.setattr(cluster, "connected", lambda address: ray)
    return Workers(lambda: None, _Doubling, **{"address": None, "count": None, **given})


@pytest.mark.parametrize(
    "error",
    [
        local_ray.RayActorError("the actor died"),
        local_ray.ObjectLostError("all copies are lost"),
        local_ray.OwnerDiedError("its owner died"),
        local_ray.NodeDiedError("the node died"),
        local_ray.WorkerCrashedError("the worker died"),
        local_ray.OutOfMemoryError("the node was low on memory"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_work_with_a_lost_result_is_done_again(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine is lost with a large result of a call that had ended."""
    ray = LocalRay({"CPU": 3}, {4: error})  # after two starts and one result
    workers = _workers(monkeypatch, ray)
    queue = WorkQueue[int](workers, "twice", {number: (number,) for number in range(6)})
    assert [queue.result(number) for number in range(6)] == [0, 2, 4, 6, 8, 10]
    assert workers.lost == 1
    assert sorted(workers.births) == [1, 2]
    assert len(ray.killed) == 1


@pytest.mark.parametrize(
    ("resources", "given", "count", "kept"),
    [
        ({"CPU": 4}, {}, 3, 0),
        ({"CPU": 1}, {}, 1, 0),
        ({"CPU": 4}, {"uses_gpu": True}, 3, 0),
        ({"CPU": 16, "GPU": 8}, {}, 8, 0),
        ({"CPU": 16, "GPU": 8}, {"uses_gpu": True}, 7, 1),
        ({"CPU": 16, "GPU": 8}, {"uses_gpu": True, "address": "ray://head:10001"}, 7, 0),
        ({"CPU": 16, "GPU": 8}, {"uses_gpu": True, "count": 3}, 3, 1),
        ({"CPU": 16, "GPU": 8}, {"uses_gpu": True, "count": 8}, 8, 0),
        ({"CPU": 16, "GPU": 1}, {"uses_gpu": True}, 1, 0),
        ({"CPU": 16, "GPU": 8}, {"uses_gpu": True, "gpus": False}, 15, 0),
    ],
)
def test_a_gpu_is_left_to_the_trainer(
    resources: dict[str, float], given: dict[str, Any], count: int, kept: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """As a core is, where there are no GPUs. `kept`: GPUs that Ray gives to no worker."""
    ray = LocalRay(resources)
    workers = _workers(monkeypatch, ray, **given)
    assert workers.count == count
    keepers = [one for one in ray.made if "scheduling_strategy" in one]
    assert len(ray.made) - len(keepers) == count
    assert len(keepers) == kept
    assert ray.made[:kept] == keepers  # before a worker can have the GPU
    workers.close()
    assert len(ray.killed) == count + kept


def test_errors_of_workers_are_no_lost_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another worker would raise the same."""
    error = local_ray.LostInTask(local_ray.ObjectLostError("all copies are lost"))
    workers = _workers(monkeypatch, LocalRay({"CPU": 3}, {3: error}))
    queue = WorkQueue[int](workers, "twice", {0: (0,)})
    with pytest.raises(ModelError, match="failed: ObjectLostError"):
        queue.result(0)


@pytest.mark.parametrize(
    "error",
    [
        ModelError("a fact", "a fix"),
        TrainError("a fact", "a fix"),
        BudgetSpent("calls", 10, "endpoints", "allow more with `budget.{}`"),
        Interrupted(),
        FileDamaged(Path("run.json"), "it ends early"),
    ],
)
def test_errors_are_sent_whole(error: UserError) -> None:
    there = pickle.loads(pickle.dumps(error))
    assert type(there) is type(error)
    assert str(there) == str(error)
    assert vars(there) == vars(error)


def test_diagnostics_are_sent_whole(tmp_path: Path) -> None:
    with pytest.raises(CompileError) as caught:
        compile_game(write(tmp_path, "game: g\nrolls: [a]\n"))
    there = pickle.loads(pickle.dumps(caught.value))
    assert str(there) == str(caught.value)
    assert repr(there.diagnostics) == repr(caught.value.diagnostics)


def test_failures_of_rules_are_sent_whole() -> None:
    expr = dict(gamedsl.load("kuhn_poker").ir.payoffs)["first"]
    failure = pickle.loads(pickle.dumps(EvaluationError("it has no value", expr)))
    assert (failure.message, str(failure.span)) == ("it has no value", str(expr.span))
    refused = pickle.loads(pickle.dumps(CallFileError("no such file", "name another")))
    assert (refused.fact, refused.fix) == ("no such file", "name another")
