"""Threads that stand in for the processes of a run, so that a test needs no launcher."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from threading import Barrier
from typing import Any, TypeVar

import torch

from gamedsl.policies.process_group import ProcessGroup

T = TypeVar("T")


class ThreadGroup(ProcessGroup):
    """A group whose collective operations meet at a barrier."""

    def __init__(self, rank: int, size: int, shared: dict[int, Any], barrier: Barrier) -> None:
        super().__init__(rank, size)
        self._shared, self._barrier = shared, barrier

    def add(self, tensor: torch.Tensor) -> None:
        tensor.copy_(torch.stack(self.gather(tensor.clone())).sum(0))

    def gather(self, value: T) -> list[T]:
        self._shared[self.rank] = deepcopy(value)
        self._barrier.wait(60)
        found = [self._shared[rank] for rank in range(self.size)]
        self._barrier.wait(60)
        return found


def in_processes(size: int, act: Callable[[ProcessGroup], T]) -> list[T]:
    """Returns what `act` gives in each of so many processes. Raises what one of them raises."""
    shared: dict[int, Any] = {}
    barrier = Barrier(size)

    def run(rank: int) -> T:
        try:
            return act(ThreadGroup(rank, size, shared, barrier))
        except BaseException:
            barrier.abort()
            raise

    with ThreadPoolExecutor(size) as pool:
        return [one.result() for one in [pool.submit(run, rank) for rank in range(size)]]
