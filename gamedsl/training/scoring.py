"""Scores each distinct query once between two updates, and keeps what was computed.

Sampling, the update and the metrics all need the same log-probabilities of the same policy. The
first to ask pays for the pass; while the distinct tokens are few its graph is kept, and the first
inner step of the update then runs the backward pass alone. Always true: all scores held belong to
the policy as it is now, because `forget` is called at every update.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gamedsl.policies.base import Policy, Query

if TYPE_CHECKING:
    import torch

GRAPH_TOKENS = 2048
"""Distinct tokens whose graph is kept; a graph costs about 1 MB a token in a model of 135M."""


class Scorer:
    """Log-probabilities of queries under the policy as it is now."""

    def __init__(
        self, policy: Policy, *, temperature: float = 1.0, graph_tokens: int = GRAPH_TOKENS
    ) -> None:
        self.policy = policy
        self.temperature = temperature
        self._graph_tokens = graph_tokens
        self._graphs: dict[Query, torch.Tensor] = {}
        self._log_pi: dict[Query, torch.Tensor] = {}
        self._tokens = 0

    @property
    def tokens(self) -> int:
        """Distinct tokens scored since the last update."""
        return self._tokens

    def score(self, queries: Sequence[Query]) -> None:
        """Scores all queries, in one pass over those not scored yet."""
        missing = list(dict.fromkeys(q for q in queries if q not in self._log_pi))
        if not missing:
            return
        self._tokens += distinct_tokens(self.policy, missing)
        if self._tokens <= self._graph_tokens:
            graphs = self.policy.forward(missing)
            self._graphs.update(zip(missing, graphs, strict=True))
            scores = [graph.detach().cpu() for graph in graphs]
        else:
            scores = self.policy.log_probs(missing)
        self._log_pi.update(zip(missing, scores, strict=True))

    def log_pi(self, query: Query) -> torch.Tensor:
        """Returns log pi [labels] as the policy gives it, float32 on the CPU, of a query that was
        scored."""
        return self._log_pi[query]

    def probabilities(self, query: Query) -> np.ndarray:
        """Returns the probabilities of play, [labels]: pi ** (1 / temperature), float64, made to
        sum to one."""
        pi_A: np.ndarray = np.exp(self._log_pi[query].double().numpy() / self.temperature)
        pi_A /= pi_A.sum()
        return pi_A

    def graphs(self, queries: Sequence[Query]) -> list[torch.Tensor] | None:
        """Returns log pi with their graphs, good for one backward pass; None unless all were
        kept."""
        if any(query not in self._graphs for query in queries):
            return None
        return [self._graphs[query] for query in queries]

    def drop_graphs(self) -> None:
        """Keeps the scores alone: the graphs were used up."""
        self._graphs = {}

    def forget(self) -> None:
        """Drops everything: the policy has changed."""
        self._graphs, self._log_pi, self._tokens = {}, {}, 0


def distinct_tokens(policy: Policy, queries: Sequence[Query]) -> int:
    """Returns the tokens that a packed pass over the queries computes (a shared prefix counts
    once)."""
    if not queries:
        return 0
    from gamedsl.policies.prefix_tree import pack

    return len(pack([(query.adapter, policy.encode(query)) for query in queries]))
