"""Workers of a policy that write in this process, and are lost when they are told to be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gamedsl.policies.base import Policy, Query
from gamedsl.policies.factory import PolicyOptions, open_policy
from gamedsl.policies.generation import Request, Writing
from gamedsl.policies.ray_workers import Workers, Writer
from gamedsl.prompting.tokenizers import together
from gamedsl.training.sessions import writer

MODELS = {"guesser": "tiny"}


def tiny_policy() -> Writing:
    return writer(open_policy(MODELS, PolicyOptions(), join_tokenizers=together))


class LocalWorkers(Workers):
    """Workers in this process: each request is answered when it is waited for. `ends` are the
    numbers of calls at which the worker is lost."""

    def __init__(
        self, count: int, ends: Sequence[int] = (), opening: Callable[[], Policy] = tiny_policy
    ) -> None:
        self.count, self.session, self.lost, self.closed = count, -1, 0, False
        self._opening = opening
        self._writers = [Writer(opening) for _ in range(count)]
        self._ends, self._calls = set(ends), 0
        self.weights: dict[str, Any] = {}

    def send(self, version: int, weights: dict[str, Any]) -> None:
        self.weights = weights

    def write(
        self, worker: int, session: int, version: int, requests: Sequence[tuple[int, Request]]
    ) -> Any:
        weights = self.weights
        return lambda one: one.write(session, version, weights, requests)

    def score(self, worker: int, version: int, queries: Sequence[Query]) -> Any:
        weights = self.weights
        return lambda one: one.score(version, weights, queries)

    def wait(self, asked: Mapping[int, Any]) -> dict[int, Any]:
        worker, answer = next(iter(asked.items()))
        self._calls += 1
        if self._calls in self._ends:
            self.lost += 1
            self._writers[worker] = Writer(self._opening)
            return {worker: None}
        return {worker: answer(self._writers[worker])}
