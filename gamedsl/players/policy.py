"""The player that draws from a policy's distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gamedsl.players.base import DrawingPlayer
from gamedsl.players.replying import query_of

if TYPE_CHECKING:
    from gamedsl.policies.base import Policy
    from gamedsl.runtime import Decision, Episode


class PolicyPlayer(DrawingPlayer):
    """Plays one adapter of a policy."""

    def __init__(self, policy: Policy, adapter: str = "shared", *, seed: int = 0) -> None:
        """KeyError if the policy has no such adapter."""
        if adapter not in policy.adapters:
            raise KeyError(f"no adapter `{adapter}`; there are {', '.join(policy.adapters)}")
        super().__init__(seed=seed)
        self._policy, self._adapter = policy, adapter

    def odds(self, decision: Decision, episode: Episode) -> Sequence[float]:
        return self.all_odds([(decision, episode)])[0]

    def all_odds(self, asked: Sequence[tuple[Decision, Episode]]) -> list[Sequence[float]]:
        queries = [query_of(decision, self._adapter) for decision, _ in asked]
        distinct = list(dict.fromkeys(queries))
        scores = self._policy.log_probs(distinct)
        rows = {query: score.exp().tolist() for query, score in zip(distinct, scores, strict=True)}
        return [rows[query] for query in queries]
