"""Workers of a policy that write in this process, and are lost when they are told to be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from gamedsl.policies.cluster import Workers
from gamedsl.policies.factory import PolicyOptions, open_policy
from gamedsl.policies.generation import Writing
from gamedsl.policies.ray_workers import Writer
from gamedsl.prompting.tokenizers import together
from gamedsl.training.sessions import writer

T = TypeVar("T")
MODELS = {"guesser": "tiny"}


def tiny_policy() -> Writing:
    return writer(open_policy(MODELS, PolicyOptions(), join_tokenizers=together))


class LocalWorkers(Workers):
    """Workers in this process: each request is answered when it is waited for, that of the last
    worker first. `ends` are the numbers of calls at which the worker is lost; only calls of a
    method count that ends with `counted`."""

    def __init__(
        self, count: int, ends: Sequence[int] = (), opening: Callable[[], Any] = tiny_policy,
        kind: type = Writer, counted: str = "",
    ) -> None:  # fmt: skip
        self._counted = counted
        self.count, self.lost, self.closed = count, 0, False
        self._new = lambda: kind(opening)
        self._here = [self._new() for _ in range(count)]
        self.births = [1] * count
        self._ends, self._calls = set(ends), 0
        self.kept = 0
        """The number of things, such as adapters, that workers were sent."""

    def keep(self, what: Any) -> Callable[[], Any]:
        self.kept += 1
        return lambda: what

    def share(self, kind: type[T]) -> T:
        return kind()

    def ask(self, worker: int, method: str, *given: Any) -> Any:
        return self.births[worker], method, lambda one: getattr(one, method)(*given)

    def started(self) -> list[int]:
        return list(range(self.count))

    def close(self) -> None:
        self.closed = True

    def wait(self, asked: Mapping[int, Any]) -> dict[int, Any]:
        worker, (birth, method, answer) = max(asked.items(), key=lambda item: item[0])
        if birth != self.births[worker]:
            return {worker: None}
        counts = method.endswith(self._counted)
        self._calls += counts
        if counts and self._calls in self._ends:
            self.lost += 1
            self._here[worker] = self._new()
            self.births[worker] += 1
            return {worker: None}
        return {worker: answer(self._here[worker])}
