"""Scores each distinct query once between two updates, and keeps what was computed.

Sampling, the update and the metrics all need the same log-probabilities of the same policy. The
first to ask pays for the pass. The graph of a pass is kept while there is memory for it, and then
the first inner step of the update runs the backward pass alone. A pass whose graph was not kept is
run again with the same queries. So what is kept changes no number, and depends on the memory that
is free now. Always true: all scores held belong to the policy as it is now, because `forget` is
called at every update.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gamedsl.policies.base import Policy, Query

if TYPE_CHECKING:
    import torch

GRAPH_TOKENS = 2048
"""Distinct tokens whose graph is kept of a policy whose passes have no bound."""


@dataclass
class _Pass:
    """Queries that were scored together, and their log pi with a graph, if it is kept."""

    queries: list[Query]
    graphs: list[torch.Tensor] | None


class Scorer:
    """Log-probabilities of queries under the policy as it is now."""

    def __init__(
        self, policy: Policy, *, temperature: float = 1.0, keeps_graphs: bool = True
    ) -> None:
        self.policy = policy
        self.temperature = temperature
        self.keeps_graphs = keeps_graphs
        self._passes: list[_Pass] = []
        self._log_pi: dict[Query, torch.Tensor] = {}
        self._tokens = self._alive = 0
        """Distinct tokens scored, and the bytes, or tokens without a bound, of the graphs kept."""

    @property
    def tokens(self) -> int:
        """Distinct tokens scored since the last update."""
        return self._tokens

    def score(self, queries: Sequence[Query], *, graphs: bool = True) -> None:
        """Scores all queries that were not scored yet; without `graphs` no graph is kept. Raises
        TrainError where a score is no number."""
        missing = list(dict.fromkeys(q for q in queries if q not in self._log_pi))
        if not missing:
            return
        size = distinct_tokens(self.policy, missing)
        self._tokens += size
        if not (graphs and self.keeps_graphs):
            self._take(missing, self.policy.log_probs(missing))
            return
        passes = list(_passes(self.policy, missing))
        for model, own in passes:
            tokens = size if len(passes) == 1 else distinct_tokens(self.policy, own)
            keeps = self._keeps(model, tokens)
            found = self.policy.forward(own) if keeps else self.policy.log_probs(own)
            self._take(own, [score.detach().cpu() for score in found] if keeps else found)
            self._passes.append(_Pass(own, found if keeps else None))

    def _keeps(self, model: Policy, tokens: int) -> bool:
        """Whether the graph of one more pass has room; if so it is counted."""
        from gamedsl.policies.chunk_scoring import ChunkedPolicy

        if isinstance(model, ChunkedPolicy):
            more = model.activations.graph_bytes(tokens)
            has_room = model.activations.has_room(self._alive, more)
        else:
            more, has_room = tokens, self._alive + tokens <= GRAPH_TOKENS
        self._alive += more * has_room
        return has_room

    def _take(self, queries: Sequence[Query], scores: Sequence[torch.Tensor]) -> None:
        _require_numbers(scores)
        self._log_pi.update(zip(queries, scores, strict=True))

    def log_pi(self, query: Query) -> torch.Tensor:
        """Returns log pi [labels] as the policy gives it, float32 on the CPU, of a query that was
        scored."""
        return self._log_pi[query]

    def probabilities(self, query: Query) -> np.ndarray:
        """Returns the probabilities of play, [labels]: pi ** (1 / temperature), float64, made to
        sum to one."""
        log_pi_A = self._log_pi[query].double().numpy()
        pi_A: np.ndarray = np.exp((log_pi_A - log_pi_A.max()) / self.temperature)
        pi_A /= pi_A.sum()
        return pi_A

    def graphs(self, queries: Sequence[Query]) -> list[torch.Tensor | None]:
        """Returns log pi with their graphs, good for one backward pass; None where it was not
        kept."""
        kept = {
            query: graph
            for one in self._passes if one.graphs is not None
            for query, graph in zip(one.queries, one.graphs, strict=True)
        }  # fmt: skip
        return [kept.get(query) for query in queries]

    def backward(self, queries: Sequence[Query], weights: Sequence[torch.Tensor]) -> None:
        """Adds the gradient of sum(weights * log pi) to the adapters, for distinct queries: pass by
        pass, by the graphs that were kept, which are used up, and by the same passes again."""
        import torch

        left = dict(zip(queries, weights, strict=True))
        for one in self._passes:
            own = [left.pop(query, None) for query in one.queries]
            if all(weight is None for weight in own):
                continue
            if one.graphs is not None:
                found = [
                    (graph, weight.to(graph))
                    for graph, weight in zip(one.graphs, own, strict=True) if weight is not None
                ]  # fmt: skip
                one.graphs = None
                scores, slopes = zip(*found, strict=True)
                torch.autograd.backward(scores, slopes)
            else:
                nothing = [torch.zeros(len(query.labels)) for query in one.queries]
                self.policy.backward(one.queries, [
                    none if weight is None else weight
                    for weight, none in zip(own, nothing, strict=True)
                ])  # fmt: skip
        self.drop_graphs()
        if left:
            self.policy.backward(list(left), list(left.values()))

    def drop_graphs(self) -> None:
        """Keeps the scores alone: the graphs were used up."""
        self._alive = 0
        for one in self._passes:
            one.graphs = None

    def forget(self) -> None:
        """Drops everything: the policy has changed."""
        self._passes, self._log_pi, self._tokens, self._alive = [], {}, 0, 0


def _require_numbers(scores: Sequence[torch.Tensor]) -> None:
    import torch

    from gamedsl.training.optimizer import diverged

    if bool(torch.cat([log_pi.detach() for log_pi in scores]).isnan().any()):
        raise diverged("the policy's scores are no numbers")


def tempered(log_pi: torch.Tensor, temperature: float) -> torch.Tensor:
    """Returns the log-probabilities [labels] of what a policy of these plays at a temperature."""
    return log_pi if temperature == 1 else (log_pi / temperature).log_softmax(0)


def untempered(probs: torch.Tensor, temperature: float) -> torch.Tensor:
    """Returns the probabilities [labels] of the policy that plays these at a temperature."""
    if temperature == 1:
        return probs
    raised = (probs.double() / probs.max()) ** temperature
    return (raised / raised.sum()).to(probs.dtype)


def _passes(policy: Policy, queries: Sequence[Query]) -> Iterator[tuple[Policy, list[Query]]]:
    """Yields the passes in which a policy scores queries, each with its model."""
    from gamedsl.policies.chunk_scoring import ChunkedPolicy
    from gamedsl.policies.multi_model import models_of

    models = models_of(policy)
    for model in models:
        names = {*model.adapters, *getattr(model, "guests", ())}
        own = [query for query in queries if len(models) == 1 or query.adapter in names]
        if isinstance(model, ChunkedPolicy):
            yield from ((model, chunk) for chunk in model.passes(own))
        elif own:
            yield model, own


def distinct_tokens(policy: Policy, queries: Sequence[Query]) -> int:
    """Returns the tokens that a packed pass over the queries computes (a shared prefix counts
    once)."""
    if not queries:
        return 0
    from gamedsl.policies.prefix_tree import pack

    return len(pack([(query.adapter, policy.encode(query)) for query in queries]))
