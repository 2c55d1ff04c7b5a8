"""A base class of policies that score decisions in chunks, so that memory stays bounded."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence

import torch

from gamedsl.policies.activations import Activations
from gamedsl.policies.base import Encoded, Query
from gamedsl.policies.chat import HFTokenizer
from gamedsl.policies.cost import ModelSize

Scored = tuple[list[int], list[torch.Tensor]]
"""Which queries are in a chunk, and log pi [labels] of each, on the device."""


class ChunkedPolicy(ABC):
    """The scoring part of a `Policy`."""

    tokenizer: HFTokenizer
    activations: Activations
    most_rows: int
    """Positions whose logits are computed together."""

    @property
    @abstractmethod
    def size(self) -> ModelSize:
        """The size of the model and its adapters."""

    @property
    @abstractmethod
    def adapters(self) -> tuple[str, ...]:
        """The names of the adapters."""

    @abstractmethod
    def _scored(self, queries: Sequence[Query]) -> Iterator[Scored]:
        """All queries, chunk by chunk; a chunk is scored when it is its turn."""

    @property
    def guests(self) -> tuple[str, ...]:
        """Adapters that may be asked, and are neither listed nor trained."""
        return ()

    @property
    @abstractmethod
    def keeps_for_step(self) -> bool:
        """Whether what frozen layers give for a prompt is kept until `end_step`."""

    @abstractmethod
    def end_step(self) -> None:
        """Drops what is kept for a training step alone."""

    def encode(self, query: Query) -> Encoded:
        """Token ids of `query`, cached. Raises ValueError for unusable labels."""
        return self.tokenizer.encode(query)

    def log_probs(self, queries: Sequence[Query]) -> list[torch.Tensor]:
        """Per query log pi [labels], float32 on the CPU, without a graph."""
        with torch.no_grad():
            return self._each_chunk(queries, lambda _, scores: [s.cpu() for s in scores])

    def forward(self, queries: Sequence[Query]) -> list[torch.Tensor]:
        """Per query log pi [labels], float32 on the device, with a graph.

        The graphs of all chunks are alive until released; `backward` keeps one at a time.
        """
        return self._each_chunk(queries, lambda _, scores: scores)

    def backward(
        self, queries: Sequence[Query], weights: Sequence[torch.Tensor]
    ) -> list[torch.Tensor]:
        """Add the gradient of sum(weights * log pi) to `.grad`; return log pi as `log_probs` does.

        weights: one 1-D tensor per query, as long as its labels.
        """
        if len(weights) != len(queries):
            raise ValueError(f"{len(weights)} weights for {len(queries)} queries")

        def step(indices: list[int], scores: list[torch.Tensor]) -> list[torch.Tensor]:
            weight = torch.cat([weights[index] for index in indices]).to(scores[0])
            torch.autograd.backward((torch.cat(scores) * weight).sum())
            return [score.detach().cpu() for score in scores]

        return self._each_chunk(queries, step)

    def _each_chunk(
        self,
        queries: Sequence[Query],
        use: Callable[[list[int], list[torch.Tensor]], list[torch.Tensor]],
    ) -> list[torch.Tensor]:
        """`use(indices, log pi)` on each chunk; its results in the order of `queries`."""
        if unknown := {query.adapter for query in queries}.difference(
            (*self.adapters, *self.guests)
        ):
            raise KeyError(f"no adapter {', '.join(sorted(unknown))}; there are {self.adapters}")
        results: dict[int, torch.Tensor] = {}
        for indices, scores in self._scored(queries):
            results.update(zip(indices, use(indices, scores), strict=True))
        return [results[index] for index in range(len(queries))]
