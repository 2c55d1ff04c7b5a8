"""MCCFR in shards: as near to equilibrium as one process, and the same whoever samples."""

from __future__ import annotations

import importlib.util
import json
import pickle
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any

import pytest
from small_games import shipped

import gamedsl
from gamedsl.api.solve_workers import ShardWorker, shards_of
from gamedsl.cli import main
from gamedsl.ir.evaluate import EvaluationError
from gamedsl.policies.cluster import Workers
from gamedsl.policies.errors import ModelError
from gamedsl.solve import SampledPolicy, exploitability, mccfr, solve
from gamedsl.solve.mccfr import Nodes, RegretNode, Sampling, Traversal, traversal_of
from gamedsl.solve.sharded_mccfr import Part, Sampler, StartShards, _rounds, sharded_mccfr
from tests.train.local_workers import LocalWorkers


def _shards(
    count: int, ends: Sequence[int] = (), into: list[LocalWorkers] | None = None
) -> StartShards:
    """Shards of workers in this process, which are noted; some calls lose one."""

    def start(opening: Callable[[], Any], kind: type) -> Workers:
        workers = LocalWorkers(count, ends, opening, kind)
        if into is not None:
            into.append(workers)
        return workers

    return shards_of(start)


def _learnt(
    game: gamedsl.Game, iterations: int, shards: StartShards, seed: int = 0,
    sampling: Sampling = "external",
) -> SampledPolicy:  # fmt: skip
    sampler = Sampler(game, sampling, "payoffs")
    return sharded_mccfr(sampler, iterations, seed, shards, lambda done, sets: None)


@pytest.mark.parametrize(
    ("name", "sampling", "iterations", "count"),
    [
        ("kuhn_poker", "external", 2_000, 4),
        ("kuhn_poker", "outcome", 4_000, 4),
        ("leduc_poker", "external", 800, 8),
    ],
)
def test_shards_come_as_near_as_one_process(
    name: str, sampling: Sampling, iterations: int, count: int
) -> None:
    """Together they come about as near as one process that runs all iterations, and much nearer
    than one that runs those of one shard."""
    game, tree = shipped(name)

    def distance(learn: Callable[[int], SampledPolicy]) -> float:
        found = (exploitability(tree, learn(seed).on(tree), "payoffs") for seed in range(6))
        return fmean(float(one.per_player) for one in found)

    whole = distance(lambda seed: mccfr(game, iterations, seed, sampling=sampling))
    part = distance(lambda seed: mccfr(game, iterations // count, seed, sampling=sampling))
    shared = distance(lambda seed: _learnt(game, iterations, _shards(count), seed, sampling))
    assert shared < 1.6 * whole
    assert shared < 0.8 * part


@pytest.mark.parametrize("ends", [(), (1, 2, 9, 10, 30)])
def test_who_samples_changes_nothing(ends: Sequence[int]) -> None:
    """A policy follows from the seed, the number of shards and the iterations, to the last bit:
    not from who is lost, nor from who has started."""
    game, started = shipped("kuhn_poker")[0], list[LocalWorkers]()
    found = _learnt(game, 300, _shards(3, ends, started))
    assert [one.lost for one in started] == [len(ends)]
    assert started[0].closed

    class OneHasStarted(LocalWorkers):
        def started(self) -> list[int]:
            return [1]

    alone = shards_of(lambda opening, kind: OneHasStarted(3, (), opening, kind))
    assert _learnt(game, 300, alone) == found
    assert found.method == "external-sampling MCCFR, 300 iterations in 3 shards"
    assert _learnt(game, 300, _shards(4)).visited != found.visited
    assert _learnt(game, 300, _shards(3), seed=1).visited != found.visited


def _numbers(nodes: Nodes) -> dict[str, tuple[list[float], list[float]]]:
    return {key: (node.regrets, node.totals) for key, node in nodes.items()}


def test_a_part_leaves_the_tables_as_they_are() -> None:
    """From empty tables it is MCCFR itself; from others, what it adds."""
    game = shipped("kuhn_poker")[0]
    sampler, traversal = Sampler(game, "external", "payoffs"), _traversal(game, "7", {})
    tables = sampler.sample({}, Part(40, "7"))
    assert _numbers(tables) == _numbers(traversal.nodes)
    after = _traversal(game, "8", tables).nodes
    added = sampler.sample(tables, Part(40, "8"))
    assert _numbers(tables) == _numbers(traversal.nodes)
    for key, node in added.items():
        known = tables.get(key, RegretNode(node.legal))
        sums = [x + y for x, y in zip(known.regrets, node.regrets, strict=True)]
        assert sums == pytest.approx(after[key].regrets)


def _traversal(game: gamedsl.Game, seed: str, known: Nodes) -> Traversal:
    """A traversal after 40 iterations."""
    traversal = traversal_of(game, "external", seed, "payoffs")
    traversal.known = known
    for _ in range(40):
        traversal.iterate()
    return traversal


@pytest.mark.parametrize(("iterations", "count"), [(1, 1), (3, 8), (100, 7), (20_000, 16)])
def test_rounds_share_out_all_iterations(iterations: int, count: int) -> None:
    rounds = _rounds(iterations, count, 5)
    parts = [part for each in rounds for part in each]
    assert sum(part.iterations for part in parts) == iterations
    assert len({part.seed for part in parts}) == len(parts)
    sizes = {part.iterations for part in parts}
    assert min(sizes) >= 1
    assert max(sizes) - min(sizes) <= 1
    assert all(len(each) <= count for each in rounds)


def test_rules_that_fail_at_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error comes back as it was raised."""
    game = shipped("kuhn_poker")[0]
    error = EvaluationError("division by zero", game.ir.payoffs[0][1])

    def fail(self: Sampler, nodes: Nodes, part: Part) -> Nodes:
        raise error

    monkeypatch.setattr(Sampler, "sample", fail)
    failed = ShardWorker(lambda: Sampler(game, "external", "payoffs")).sample(dict, Part(1, "0"))
    assert str(pickle.loads(pickle.dumps(failed))) == str(error)
    with pytest.raises(EvaluationError, match="division by zero") as there:
        _learnt(game, 50, _shards(2))
    assert str(there.value) == str(error)


def test_workers_that_keep_ending_end_it() -> None:
    started: list[LocalWorkers] = []
    with pytest.raises(ModelError, match="ended 6 times"):
        _learnt(shipped("kuhn_poker")[0], 50, _shards(2, range(100), started))
    assert started[0].closed


def test_what_samples_nothing_starts_no_worker() -> None:
    started: list[LocalWorkers] = []
    game = shipped("kuhn_poker")[0]
    assert solve(game, shards=_shards(2, into=started)).method == "lp"
    assert not started
    report = solve(game, "mccfr", iterations=60, shards=_shards(2, into=started))
    assert report.solution is not None
    assert report.solution.method.endswith("60 iterations in 2 shards")
    assert len(started) == 1


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--workers", "2"], "there is none"),
        (["--cluster", "slurm"], "neither `ray`"),
        (["--cluster", "ray", "--method", "lp"], "samples nothing"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(
    given: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code = main(["solve", "kuhn_poker", *given])
    except SystemExit as error:
        code = error.code
    assert code == 2
    assert said in capsys.readouterr().err


@pytest.mark.ray
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed")
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_ray_cluster_samples_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    """The whole way, by the command: the policy is that of two shards in this process."""
    game = shipped("kuhn_poker")[0]
    asked = ["solve", "kuhn_poker", "--method", "mccfr", "--iterations", "200", "--format", "json"]
    assert main([*asked, "--cluster", "ray", "--workers", "2"]) == 0
    found = json.loads(capsys.readouterr().out)
    here = _learnt(game, 200, _shards(2))
    assert found["solution"]["policy"] == here.visited
    assert found["solution"]["method"] == here.method
