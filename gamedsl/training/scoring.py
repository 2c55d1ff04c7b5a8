"""Scores each distinct query once between two updates, and keeps what was computed.

Sampling, the update and the metrics all need the same log-probabilities of the same policy. The
first to ask pays for the pass. Its graph is kept as long as all that are kept have no more distinct
tokens than one training pass may, so that they need no more memory; for the queries of these the
first inner step of the update runs the backward pass alone. Always true: all scores held belong to
the policy as it is now, because `forget` is called at every update.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

import numpy as np

from gamedsl.policies.base import Policy, Query

if TYPE_CHECKING:
    import torch

    from gamedsl.policies.chunk_scoring import ChunkedPolicy

GRAPH_TOKENS = 2048
"""Distinct tokens whose graph is kept of a policy whose passes have no bound."""


class Scorer:
    """Log-probabilities of queries under the policy as it is now."""

    def __init__(
        self, policy: Policy, *, temperature: float = 1.0, graph_tokens: int | None = None
    ) -> None:
        """`graph_tokens`: the most distinct tokens whose graph is kept; None: as many as a training
        pass may have."""
        self.policy = policy
        self.temperature = temperature
        self.graph_tokens = graph_room(policy) if graph_tokens is None else graph_tokens
        self._graphs: dict[Query, torch.Tensor] = {}
        self._log_pi: dict[Query, torch.Tensor] = {}
        self._tokens = self._kept = 0

    @property
    def tokens(self) -> int:
        """Distinct tokens scored since the last update."""
        return self._tokens

    def score(self, queries: Sequence[Query], *, graphs: bool = True) -> None:
        """Scores all queries, in one pass over those not scored yet, or in two: one over those
        whose graph is kept, and one over the rest. Without `graphs` none is. Raises TrainError
        where a score is no number."""
        missing = list(dict.fromkeys(q for q in queries if q not in self._log_pi))
        if not missing:
            return
        size = distinct_tokens(self.policy, missing)
        self._tokens += size
        fitting = self._fitting(missing, size) if graphs else 0
        if fitting:
            kept, missing = missing[:fitting], missing[fitting:]
            self._kept += distinct_tokens(self.policy, kept) if missing else size
            with ExitStack() as stack:
                for one in _chunked(self.policy):
                    stack.enter_context(one.activations.alive(self._kept))
                found = self.policy.forward(kept)
            _require_numbers(found)
            self._graphs.update(zip(kept, found, strict=True))
            self._log_pi.update(
                (q, graph.detach().cpu()) for q, graph in zip(kept, found, strict=True)
            )
        if missing:
            scores = self.policy.log_probs(missing)
            _require_numbers(scores)
            self._log_pi.update(zip(missing, scores, strict=True))

    def _fitting(self, queries: Sequence[Query], size: int) -> int:
        """Returns how many of the first queries, which have `size` distinct tokens in all, have
        room for their graph."""
        room = self.graph_tokens - self._kept
        if size <= room:
            return len(queries)
        if room <= 0:
            return 0
        return bisect_right(
            range(len(queries)), room, key=lambda n: distinct_tokens(self.policy, queries[: n + 1])
        )

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
        return [self._graphs.get(query) for query in queries]

    def backward(self, queries: Sequence[Query], weights: Sequence[torch.Tensor]) -> None:
        """Adds the gradient of sum(weights * log pi) to the adapters: by the graphs that were kept,
        which are used up, and by a pass over the other queries."""
        import torch

        graphs = self.graphs(queries)
        kept = [at for at, graph in enumerate(graphs) if graph is not None]
        if kept:
            found = [graph for graph in graphs if graph is not None]
            slopes = [weights[at].to(graph) for at, graph in zip(kept, found, strict=True)]
            torch.autograd.backward(found, slopes)
        self.drop_graphs()
        rest = [at for at, graph in enumerate(graphs) if graph is None]
        if rest:
            self.policy.backward([queries[at] for at in rest], [weights[at] for at in rest])

    def drop_graphs(self) -> None:
        """Keeps the scores alone: the graphs were used up."""
        self._graphs, self._kept = {}, 0

    def forget(self) -> None:
        """Drops everything: the policy has changed."""
        self._graphs, self._log_pi, self._tokens, self._kept = {}, {}, 0, 0


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


def graph_room(policy: Policy) -> int:
    """Returns the most distinct tokens whose graph is kept: those of a training pass."""
    passes = (one.activations.pass_tokens for one in _chunked(policy))
    return min(passes, default=GRAPH_TOKENS)


def _chunked(policy: Policy) -> Iterator[ChunkedPolicy]:
    """Yields the models of a policy whose passes have a bound."""
    from gamedsl.policies.chunk_scoring import ChunkedPolicy
    from gamedsl.policies.multi_model import models_of

    for one in models_of(policy):
        if isinstance(one, ChunkedPolicy):
            yield one


def distinct_tokens(policy: Policy, queries: Sequence[Query]) -> int:
    """Returns the tokens that a packed pass over the queries computes (a shared prefix counts
    once)."""
    if not queries:
        return 0
    from gamedsl.policies.prefix_tree import pack

    return len(pack([(query.adapter, policy.encode(query)) for query in queries]))
