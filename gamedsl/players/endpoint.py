"""The player that asks a chat endpoint, and takes what it says to the letter.

`endpoint:http://localhost:8000/v1#MODEL` in a text. The seat's prompt is sent, and the reply is
handed on as raw text: the game reads it as it reads any reply, and what is no legal label forfeits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from gamedsl.policies.endpoint import Endpoint, EndpointError, EndpointSettings

if TYPE_CHECKING:
    from gamedsl.policies.base import Message
    from gamedsl.runtime import Decision, Episode


class EndpointPlayer:
    """Plays a model behind an address at any seat; a seed has no say in what it answers."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint

    @classmethod
    def of(cls, argument: str, settings: EndpointSettings | None = None) -> EndpointPlayer:
        """The player of `URL#MODEL`. Raises EndpointError and ImportError as `Endpoint` does."""
        url, _, model = argument.partition("#")
        if not model:
            raise EndpointError(f"`{argument}` names no model", f"write `endpoint:{url}#MODEL`")
        return cls(Endpoint(url, model, settings))

    def act(self, decision: Decision, episode: Episode) -> str:
        return self.answers([decision])[0]

    def answers(self, decisions: Sequence[Decision]) -> list[str]:
        """A reply to each, several asked for at a time; see `Endpoint.replies`."""
        return self.endpoint.replies(
            [cast("tuple[Message, ...]", decision.messages) for decision in decisions]
        )
