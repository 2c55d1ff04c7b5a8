"""The player that draws from a policy's distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from gamedsl.players.base import DrawingPlayer
from gamedsl.policies.base import Message, Query

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

    def odds(self, decision: Decision, episode: Episode) -> list[float]:
        messages = cast("tuple[Message, ...]", decision.messages)
        query = Query(messages, decision.labels, self._adapter)
        found: list[float] = self._policy.log_probs([query])[0].exp().tolist()
        return found
