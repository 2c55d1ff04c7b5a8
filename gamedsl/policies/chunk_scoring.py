"""A base class of policies that score decisions in chunks, so that memory stays bounded.

Shape letters: Q queries, R rows of hidden states, D hidden size.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence

import torch

from gamedsl.policies.activations import Activations
from gamedsl.policies.base import Encoded, Prompt, Query
from gamedsl.policies.chat import HFTokenizer
from gamedsl.policies.cost import ModelSize
from gamedsl.policies.prefix_tree import AdapterQuery, ScorePlan

Scored = tuple[list[int], list[torch.Tensor]]
"""Which queries are in a chunk, and log pi [labels] of each, on the device."""


class ChunkedPolicy(ABC):
    """The scoring part of a `Policy`."""

    name: str
    tokenizer: HFTokenizer
    activations: Activations
    most_rows: int
    """Positions whose logits are computed together."""
    keeps_states: bool = False
    """Whether passes that score decisions keep the hidden states at the ends of their prompts, for
    `states`."""
    _states: dict[str, tuple[int, dict[tuple[int, ...], torch.Tensor]]] | None = None
    """By adapter: its version, and the state [D] at the end of each prompt under that version."""

    @property
    @abstractmethod
    def size(self) -> ModelSize:
        """The size of the model and its adapters."""

    @property
    @abstractmethod
    def adapters(self) -> tuple[str, ...]:
        """The names of the adapters."""

    @abstractmethod
    def _chunks(self, items: Sequence[AdapterQuery]) -> list[list[int]]:
        """Places of the queries, in chunks of one pass each. The queries of a chunk by themselves
        are that chunk again."""

    @abstractmethod
    def _log_pi(self, items: list[AdapterQuery]) -> list[torch.Tensor]:
        """Scores of a chunk; tells `_keep` of them."""

    @abstractmethod
    def parameters(self, adapter: str | None = None) -> list[torch.nn.Parameter]:
        """The trainable tensors of one adapter, or of all."""

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

    def passes(self, queries: Sequence[Query]) -> list[list[Query]]:
        """The queries in the passes that score them. Those of one pass, asked alone, are one pass
        with the same numbers."""
        items = [(query.adapter, self.encode(query)) for query in queries]
        return [[queries[index] for index in chunk] for chunk in self._chunks(items)]

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

    @torch.no_grad()
    def states(self, prompts: Sequence[Prompt]) -> torch.Tensor:
        """See `HiddenStates`. Those of passes since the adapter's weights were last written to are
        there already where `keeps_states`; others cost a pass."""
        self._check_adapters({adapter for adapter, _ in prompts})
        kept = self._states or {}
        known = {
            (adapter, ids): state
            for adapter in {name for name, _ in prompts}.intersection(kept)
            if kept[adapter][0] == self._version(adapter)
            for ids, state in kept[adapter][1].items()
        }
        missing = [prompt for prompt in dict.fromkeys(prompts) if prompt not in known]
        # A label of one predicted token adds no node, so each tree is its prompts alone.
        items = [(adapter, Encoded(ids, ((0,),))) for adapter, ids in missing]
        before, self.keeps_states = self.keeps_states, True
        for indices, _ in self._scored(items):
            assert self._states is not None
            for adapter, ids in (missing[index] for index in indices):
                known[adapter, ids] = self._states[adapter][1][ids]
        self.keeps_states = before
        if not before:
            self._states = None
        return torch.stack([known[prompt] for prompt in prompts])

    def _scored(self, items: Sequence[AdapterQuery]) -> Iterator[Scored]:
        """Yields all queries, chunk by chunk; a chunk is scored when it is its turn."""
        for indices in self._chunks(items):
            yield indices, self._log_pi([items[index] for index in indices])

    def _keep(
        self, items: Sequence[AdapterQuery], hidden_RD: torch.Tensor, plan: ScorePlan
    ) -> None:
        """Takes the hidden states of a pass over queries."""
        if not self.keeps_states:
            return
        self._states = self._states or {}
        state_QD = hidden_RD.detach()[plan.prompt_row_Q.to(hidden_RD.device)].float().cpu()
        versions = {name: self._version(name) for name in {adapter for adapter, _ in items}}
        for (adapter, query), state_D in zip(items, state_QD, strict=True):
            if self._states.get(adapter, (None,))[0] != versions[adapter]:
                self._states[adapter] = versions[adapter], {}
            self._states[adapter][1][query.prompt] = state_D

    def _version(self, adapter: str) -> int:
        """Grows whenever a tensor of the adapter is written to in place; 0 of guests, whose states
        nobody asks for."""
        own = adapter in self.adapters
        return sum(tensor._version for tensor in self.parameters(adapter)) if own else 0

    def _check_adapters(self, names: set[str]) -> None:
        """Raises KeyError for adapters that there are not."""
        if unknown := names.difference((*self.adapters, *self.guests)):
            raise KeyError(f"no adapter {', '.join(sorted(unknown))}; there are {self.adapters}")

    def _each_chunk(
        self,
        queries: Sequence[Query],
        use: Callable[[list[int], list[torch.Tensor]], list[torch.Tensor]],
    ) -> list[torch.Tensor]:
        """`use(indices, log pi)` on each chunk; its results in the order of `queries`."""
        self._check_adapters({query.adapter for query in queries})
        items = [(query.adapter, self.encode(query)) for query in queries]
        results: dict[int, torch.Tensor] = {}
        for indices, scores in self._scored(items):
            results.update(zip(indices, use(indices, scores), strict=True))
        return [results[index] for index in range(len(queries))]
