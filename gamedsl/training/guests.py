"""Past policies that write their replies beside the policy that is trained, in the same batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gamedsl.players.base import Player
from gamedsl.policies.generation import Writing
from gamedsl.training.checkpoint import Adapters

if TYPE_CHECKING:
    from gamedsl.prompting.replies import ParseFailure
    from gamedsl.runtime import Action, Decision, Episode


class Guest(Player):
    """A player with adapters of the past that writes its replies beside the policy, in the same
    batch: it is asked as the policy is, by other adapters, and never by itself."""

    def __init__(self, policy: Writing, adapters: Adapters, slot: int, made: set[str]) -> None:
        """slot: of the guests' adapters. made: those that there are, which grows."""
        self.slot = slot
        for name, state in adapters.items():
            guest = self.adapter(name)
            if guest not in made:
                policy.add_guest(guest, name)
                made.add(guest)
            policy.load_adapter_state(guest, state)

    def adapter(self, own: str) -> str:
        """Returns the adapter that answers in the place of one of the policy's."""
        return f"{own}-past-{self.slot}"

    def act(self, decision: Decision, episode: Episode) -> Action | str | ParseFailure:
        raise AssertionError("a guest is asked together with the policy")
