"""A policy whose work several processes share: data parallelism.

Every process has a whole copy of the policy, is asked the same, and answers the same. Each scores,
writes and differentiates only its share of the queries, rows or requests; results are exchanged,
and gradients are added up. So whatever uses a policy runs unchanged in every process, and gets the
numbers of a single process, but for the last bits.

A graph (`forward`) is made whole in each process: who asks for one differentiates it at will.

Shape letters: L labels of all queries, T trained tokens of all rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, TypeVar, cast

import torch

from gamedsl.policies.base import Policy, Query
from gamedsl.policies.generation import (
    Generated,
    Ids,
    Request,
    Session,
    Then,
    TokenEntropy,
    TokenRow,
    Weigh,
    Writing,
    all_served,
    numbers_of,
    served,
    weights_of,
)
from gamedsl.policies.handed_on import HandedOn, WritingHandedOn
from gamedsl.policies.placement import Placement
from gamedsl.policies.prefix_tree import common_prefix
from gamedsl.policies.process_group import ProcessGroup, contiguous_shares

if TYPE_CHECKING:
    from gamedsl.policies.sharding import Lockstep

T = TypeVar("T")

STEPS = 8
"""Steps that each process writes, at most, before replies are exchanged."""


class DataParallelPolicy(HandedOn):
    """A `Policy` that shares its work with the same policy in other processes; see the module
    docstring. `own` is the policy of this process."""

    def __init__(self, own: Policy, group: ProcessGroup) -> None:
        super().__init__(own)
        self._group = group

    def log_probs(self, queries: Sequence[Query]) -> list[torch.Tensor]:
        mine = self._share(queries)
        with self._together():
            found = self.own.log_probs([queries[at] for at in mine])
        return self._joined(mine, found, [len(query.labels) for query in queries])

    def backward(
        self, queries: Sequence[Query], weights: Sequence[torch.Tensor]
    ) -> list[torch.Tensor]:
        if len(weights) != len(queries):
            raise ValueError(f"{len(weights)} weights for {len(queries)} queries")
        mine = self._share(queries)
        with self._adding(query.adapter for query in queries), self._together(backward=True):
            found = self.own.backward([queries[at] for at in mine], [weights[at] for at in mine])
        return self._joined(mine, found, [len(query.labels) for query in queries])

    def _share(self, queries: Sequence[Query]) -> list[int]:
        """Returns the places of the queries that this process scores."""
        encoded = [self.own.encode(query) for query in queries]
        return self._mine(
            [(query.adapter, one.prompt) for query, one in zip(queries, encoded, strict=True)],
            [sum(map(len, one.labels)) for one in encoded],
        )

    def _mine(self, sequences: Sequence[tuple[str, Ids]], more: Sequence[int]) -> list[int]:
        """Returns the places of this process's share of token sequences, whose distinct tokens are
        about as many as those of the others; sequences that begin alike stay together. `more` are
        the tokens beside each sequence."""
        order = sorted(range(len(sequences)), key=sequences.__getitem__)
        costs: list[int] = []
        last_adapter, last_ids = "", cast("Ids", ())
        for at in order:
            adapter, ids = sequences[at]
            shared = common_prefix(last_ids, ids) if adapter == last_adapter else 0
            costs.append(len(ids) - shared + more[at])
            last_adapter, last_ids = adapter, ids
        shares = contiguous_shares(costs, self._group.size)
        return sorted(at for at, share in zip(order, shares) if share == self._group.rank)

    def _joined(
        self, mine: Sequence[int], found: Sequence[torch.Tensor], sizes: Sequence[int]
    ) -> list[torch.Tensor]:
        """Returns the results of all processes, by place: tensors of these sizes."""
        whole = torch.zeros(sum(sizes))
        parts = whole.split_with_sizes(list(sizes))
        for at, result in zip(mine, found, strict=True):
            parts[at].copy_(result)
        self._group.add(whole)
        return list(whole.split_with_sizes(list(sizes)))

    def _together(self, *, backward: bool = False) -> AbstractContextManager[None]:
        """For this process's share of passes, where processes must run as many."""
        lockstep: Lockstep | None = getattr(self.own, "lockstep", None)
        return nullcontext() if lockstep is None else lockstep.together(backward=backward)

    @contextmanager
    def _adding(self, adapters: Iterable[str]) -> Iterator[None]:
        """Adds up over all processes the gradients that come inside of the block, and leaves those
        that were there before."""
        names = sorted(set(adapters).intersection(self.own.adapters))
        parameters = [tensor for name in names for tensor in self.own.parameters(name)]
        before = [tensor.grad for tensor in parameters]
        for tensor in parameters:
            tensor.grad = None
        yield
        if not parameters:
            return
        flat = torch.cat([
            (torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in parameters
        ])  # fmt: skip
        self._group.add(flat)
        sums = flat.split_with_sizes([tensor.numel() for tensor in parameters])
        for tensor, total, earlier in zip(parameters, sums, before, strict=True):
            total = total.view_as(tensor)
            tensor.grad = total if earlier is None else earlier + total


class DataParallelWriter(DataParallelPolicy, WritingHandedOn):
    """The same of a policy that writes replies."""

    def generate(self, requests: Sequence[Request]) -> list[Generated]:
        return all_served(self.serve, requests)

    def serve(self, requests: Sequence[Request], then: Then) -> None:
        served(self.session(), requests, then)

    def session(self) -> Session:
        return SharedSession(self.writing.session(), self._group, self._together)

    def token_log_probs(
        self, rows: Sequence[TokenRow], entropy: TokenEntropy | None = None
    ) -> list[torch.Tensor]:
        mine, own_entropy = self._share_of_rows(rows), None
        if entropy is not None:
            own_entropy = entropy.part(numbers_of(rows, mine))
        with self._together():
            found = self.writing.token_log_probs([rows[at] for at in mine], own_entropy)
        self._exchange(entropy, own_entropy, rows, mine)
        return self._joined(mine, found, [len(row.positions) for row in rows])

    def token_backward(
        self, rows: Sequence[TokenRow], weights: Sequence[torch.Tensor] | Weigh,
        entropy: TokenEntropy | None = None,
    ) -> list[torch.Tensor]:  # fmt: skip
        mine, own_entropy = self._share_of_rows(rows), None
        if entropy is not None:
            own_entropy = entropy.part(numbers_of(rows, mine))
        own, told = [rows[at] for at in mine], weights_of(weights, rows, mine)
        with self._adding(row.adapter for row in rows), self._together(backward=True):
            found = self.writing.token_backward(own, told, own_entropy)
        self._exchange(entropy, own_entropy, rows, mine)
        return self._joined(mine, found, [len(row.positions) for row in rows])

    def _exchange(
        self, entropy: TokenEntropy | None, own: TokenEntropy | None,
        rows: Sequence[TokenRow], mine: Sequence[int],
    ) -> None:  # fmt: skip
        """Has all processes take the entropies that each has found of its share of the rows."""
        if entropy is None or own is None:
            return
        sizes = [len(row.positions) for row in rows]
        own_sizes = [sizes[at] for at in mine]
        found_T = own.found(torch.arange(sum(own_sizes)))
        whole = self._joined(mine, found_T.split_with_sizes(own_sizes), sizes)
        most = max(self._group.gather(own.most if mine else 0.0))
        entropy.see(torch.arange(sum(sizes)), torch.cat([torch.zeros(0), *whole]), most)

    def _share_of_rows(self, rows: Sequence[TokenRow]) -> list[int]:
        return self._mine([(row.adapter, row.ids) for row in rows], [0] * len(rows))


class SharedSession:
    """A session of several processes. Each is asked the same requests, writes its share of them,
    and gets all replies, in the same order."""

    def __init__(
        self, own: Session, group: ProcessGroup,
        together: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:  # fmt: skip
        self._own, self._group, self._together = own, group, together
        self.own_numbers: list[int] = []
        """The requests that this process writes, by their numbers with its own session."""
        self._open: dict[int, int] = {}
        """The ranks of requests that have no reply yet, by number."""
        self._count = 0
        self._placement = Placement()
        self._failed: Exception | None = None

    @property
    def under_way(self) -> bool:
        return bool(self._open)

    def ask(self, requests: Sequence[Request]) -> None:
        owed = Counter(self._open.values())
        ranks = self._placement.of(requests, owed, range(self._group.size))
        mine = []
        for number, (request, rank) in enumerate(zip(requests, ranks, strict=True), self._count):
            self._open[number] = rank
            if rank == self._group.rank:
                mine.append(request)
                self.own_numbers.append(number)
        self._count += len(requests)
        with self._together():
            if mine:
                self._attempt(lambda: self._own.ask(mine))

    def step(self) -> list[tuple[int, Generated]]:
        """Writes until a reply has ended in this process, `STEPS` steps at most, and exchanges the
        replies. Raises in all processes what one of them raises."""
        ended: list[tuple[int, Generated]] = []

        def write() -> None:
            for _ in range(STEPS):
                if ended or not self._own.under_way:
                    return
                ended.extend((self.own_numbers[at], reply) for at, reply in self._own.step())

        with self._together():
            if self._failed is None:
                self._attempt(write)
        found = self._group.exchange(ended, self._failed)
        every = sorted((pair for part in found for pair in part), key=lambda pair: pair[0])
        for number, _ in every:
            del self._open[number]
        return every

    def close(self) -> None:
        self._own.close()

    def _attempt(self, act: Callable[[], None]) -> None:
        """Keeps an error until all processes can hear of it."""
        try:
            act()
        except Exception as error:
            self._failed = error


def in_parallel(policy: Policy, group: ProcessGroup | None) -> Policy:
    """Returns a policy that shares its work with the processes of a group, if there is one."""
    if group is None:
        return policy
    if hasattr(policy, "generate"):
        shared: Writing = DataParallelWriter(policy, group)
        return shared
    return DataParallelPolicy(policy, group)


def is_parallel(policy: Policy) -> bool:
    """Whether other processes take a share of a policy's work."""
    from gamedsl.policies.multi_model import models_of

    return any(isinstance(one, DataParallelPolicy) for one in models_of(policy))
