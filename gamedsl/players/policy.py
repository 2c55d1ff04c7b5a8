"""The player that draws from a policy's distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from gamedsl.players.base import Dice
from gamedsl.policies.base import Message, Query

if TYPE_CHECKING:
    from gamedsl.policies.base import Policy
    from gamedsl.runtime import Action, Decision


class PolicyPlayer:
    """Plays one adapter of a policy; one seed, one sequence of draws at each seat."""

    def __init__(self, policy: Policy, adapter: str = "shared", *, seed: int = 0) -> None:
        """KeyError if the policy has no such adapter."""
        if adapter not in policy.adapters:
            raise KeyError(f"no adapter `{adapter}`; there are {', '.join(policy.adapters)}")
        self._policy, self._adapter = policy, adapter
        self._dice = Dice(seed)

    def act(self, decision: Decision) -> Action:
        from gamedsl.runtime import Action

        messages = cast("tuple[Message, ...]", decision.messages)
        query = Query(messages, decision.labels, self._adapter)
        probabilities = self._policy.log_probs([query])[0].exp().tolist()
        return Action(self._dice[decision.seat].choices(decision.legal, probabilities)[0])
