"""Shards of sampled CFR, which workers of a Ray cluster sample.

A worker keeps nothing from round to round: it is sent the tables and a part, and any worker may
sample any part. So one that ends is replaced by another (`gamedsl.solve.sharded_mccfr`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from gamedsl.calls.files import allow_calls, allowed_calls
from gamedsl.ir.evaluate import EvaluationError
from gamedsl.policies.cluster import StartWorkers, Workers, WorkQueue
from gamedsl.solve.mccfr import Nodes
from gamedsl.solve.sharded_mccfr import Part, Sampler, Shards, StartShards


@dataclass(frozen=True)
class SamplerOpening:
    """Opens a sampler in the process of a worker. `calls` are the files of functions that the game
    may call."""

    sampler: Sampler
    calls: tuple[str, ...]

    def __call__(self) -> Sampler:
        for file in self.calls:
            allow_calls(file)
        return self.sampler


class ShardWorker:
    """The part of a worker that knows no Ray."""

    def __init__(self, opening: Callable[[], Sampler]) -> None:
        self._sampler = opening()

    def sample(self, tables: Callable[[], Nodes], part: Part) -> Nodes | EvaluationError:
        """Returns what a part adds to the tables, or the failure of the rules."""
        try:
            return self._sampler.sample(tables(), part)
        except EvaluationError as error:
            return error


class WorkerShards:
    """Shards, as many as there are workers; those that have started sample them all."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers

    @property
    def count(self) -> int:
        return self._workers.count

    def sample(self, nodes: Nodes, parts: Sequence[Part]) -> list[Nodes]:
        """Returns what each part adds to the tables. Raises EvaluationError where the rules fail,
        and ModelError where workers do."""
        tables = self._workers.keep(nodes)
        given = {number: (tables, part) for number, part in enumerate(parts)}
        queue = WorkQueue[Nodes | EvaluationError](self._workers, "sample", given)
        found = []
        for number in given:
            added = queue.result(number)
            if isinstance(added, EvaluationError):
                raise added
            found.append(added)
        return found


def shards_of(start: StartWorkers) -> StartShards:
    """Returns what starts shards that workers sample."""

    @contextmanager
    def begin(sampler: Sampler) -> Iterator[Shards]:
        calls = tuple(str(one.path) for one in allowed_calls())
        workers = start(SamplerOpening(sampler, calls), ShardWorker)
        try:
            yield WorkerShards(workers)
        finally:
            workers.close()

    return begin
