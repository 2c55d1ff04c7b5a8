"""The processes that train one run together, as `torchrun` starts them.

`torchrun` tells each process its rank and their number by environment variables; without these a
run has one process. Every process runs the same program on the same numbers; what they share out is
the work of models (`gamedsl.policies.data_parallel`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from gamedsl.errors import UserError
from gamedsl.policies.errors import ModelError

if TYPE_CHECKING:
    import torch

T = TypeVar("T")


def rank_and_size() -> tuple[int, int]:
    """Returns the rank of this process and the number of processes, (0, 1) without `torchrun`.
    Raises ModelError for variables that are no such numbers."""
    texts = os.environ.get("RANK", "0"), os.environ.get("WORLD_SIZE", "1")
    if all(text.isdecimal() for text in texts):
        rank, size = map(int, texts)
        if rank < size:
            return rank, size
    raise ModelError(
        f"RANK={texts[0]} and WORLD_SIZE={texts[1]} are no rank and number of processes",
        "start the processes with torchrun, or unset both variables",
    )


class ProcessGroup:
    """Collective operations; every process calls the same ones in the same order. They raise
    ModelError where another process has ended."""

    def __init__(self, rank: int, size: int) -> None:
        self.rank, self.size = rank, size

    @property
    def leads(self) -> bool:
        """Whether this process writes the run's folder and speaks to the user."""
        return self.rank == 0

    def add(self, tensor: torch.Tensor) -> None:
        """Replaces a tensor by its sum over all processes, the same bits in each."""
        import torch.distributed as dist

        with _others_alive():
            dist.all_reduce(tensor)

    def gather(self, value: T) -> list[T]:
        """Returns the values of all processes, by rank."""
        import torch.distributed as dist

        found: list[T] = [value] * self.size
        with _others_alive():
            dist.all_gather_object(found, value)
        return found

    def exchange(self, value: T, error: Exception | None) -> list[T]:
        """Returns the values of all processes, by rank. Raises in all what one of them has as an
        error; in the others as ModelError, with its text."""
        told = None
        if isinstance(error, UserError):
            told = error.fact, error.fix
        elif error is not None:
            told = f"process {self.rank} failed: {error!r}", "see its own message above"
        found = self.gather((value, told))
        if error is not None:
            raise error
        for _, failed in found:
            if failed is not None:
                raise ModelError(*failed)
        return [one for one, _ in found]

    def any(self, flag: bool) -> bool:
        """Whether the flag of any process is set."""
        return any(self.gather(flag))

    def first(self, value: Callable[[], T]) -> T:
        """Returns what `value` gives in the leading process, to all. What it raises there, all
        raise."""
        found: list[T] = []
        error: Exception | None = None
        if self.leads:
            try:
                found.append(value())
            except Exception as raised:
                error = raised
        return self.exchange(found, error)[0][0]

    def close(self) -> None:
        """Leaves the group."""
        import torch.distributed as dist

        if dist.is_initialized():  # vLLM ends it with its own groups
            dist.destroy_process_group()


def join() -> ProcessGroup | None:
    """Joins the processes that were started together; None where this one is alone. Each process
    of a machine with CUDA takes a device of its own. Raises ModelError."""
    rank, size = rank_and_size()
    if size == 1:
        return None
    import torch
    import torch.distributed as dist

    backend = "gloo"
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", rank)))
        backend = "cpu:gloo,cuda:nccl"
    try:
        dist.init_process_group(backend)
    except (RuntimeError, ValueError) as error:
        raise ModelError(
            f"process {rank} of {size} did not meet the others: {error}",
            "start all processes with torchrun, and see that they reach each other",
        ) from error
    return ProcessGroup(rank, size)


def contiguous_shares(costs: Iterable[int], size: int) -> list[int]:
    """Returns the share, from 0 to `size` - 1, of each item of a list, so that shares are
    contiguous and of about equal cost."""
    costs = [max(1, cost) for cost in costs]
    total, done, shares = sum(costs), 0, []
    for cost in costs:
        shares.append(min(size - 1, (2 * done + cost) * size // (2 * total)))
        done += cost
    return shares


@contextmanager
def _others_alive() -> Iterator[None]:
    """Has an operation that another process did not take part in end in a message."""
    try:
        yield
    except RuntimeError as error:  # torch's DistError and gloo's own are RuntimeErrors
        raise ModelError(
            f"another process of this run has ended: {str(error).splitlines()[0]}",
            "see its message above; the run goes on from its last checkpoint with --resume",
        ) from error
