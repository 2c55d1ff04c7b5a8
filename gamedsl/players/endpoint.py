"""The player that asks a chat endpoint, and takes what it says to the letter.

`endpoint:http://localhost:8000/v1#MODEL` in a text. The seat's prompt is sent, and the reply is
handed on as raw text: the game reads it as it reads any reply, and what is no valid one costs what
the game says. In games in words a seed and the room for the reply go with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from gamedsl.backends.replies import ParseFailure
from gamedsl.players.base import Answered, Dice, Posed
from gamedsl.players.replying import query_of
from gamedsl.policies.endpoint import Endpoint, EndpointError, EndpointSettings
from gamedsl.policies.endpoint_wire import Answer
from gamedsl.policies.generation import Request

if TYPE_CHECKING:
    from gamedsl.policies.base import Message
    from gamedsl.runtime import Action, Decision, Episode

ANSWER_TOKENS = 48
"""Room for an answer in its form, after a thought."""


class EndpointPlayer:
    """Plays a model behind an address at any seat."""

    def __init__(self, endpoint: Endpoint, *, seed: int = 0) -> None:
        """`seed` is of the seeds that `act` sends; in closed games it sends none."""
        self.endpoint, self._dice = endpoint, Dice(seed)

    @classmethod
    def of(cls, argument: str, settings: EndpointSettings | None = None) -> EndpointPlayer:
        """The player of `URL#MODEL`. Raises EndpointError and ImportError as `Endpoint` does."""
        url, _, model = argument.partition("#")
        if not model:
            raise EndpointError(f"`{argument}` names no model", f"write `endpoint:{url}#MODEL`")
        return cls(Endpoint(url, model, settings))

    def act(self, decision: Decision, episode: Episode) -> Action | str | ParseFailure:
        seed = self._dice[decision.seat].getrandbits(31)
        return self.answers([Posed(decision, episode, seed)])[0].reply

    def answers(self, posed: Sequence[Posed]) -> list[Answered]:
        """A reply to each, several asked for at a time. Raises as `Endpoint.answers`."""
        if not posed:
            return []
        if not posed[0].episode.env.ir.in_form:
            return [Answered(text, text) for text in self.endpoint.replies(
                [cast("tuple[Message, ...]", one.decision.messages) for one in posed]
            )]  # fmt: skip
        answers = self.endpoint.answers([self._request(one) for one in posed])
        return [Answered(_read(answer), answer.text, answer.tokens) for answer in answers]

    def _request(self, one: Posed) -> Request:
        """A decision as the server is asked for it; the schema and the choices are sent where the
        settings say in which form."""
        decision, settings = one.decision, self.endpoint.settings
        said, think = decision.said, decision.form.think
        choices = query_of(decision, "").labels if said is None and think is None else ()
        room = ANSWER_TOKENS + (think or 0) if said is None else said.max_tokens
        return Request(
            cast("tuple[Message, ...]", decision.messages), "",
            settings.max_tokens or room,
            1.0 if settings.temperature is None else settings.temperature,
            schema=decision.schema, choices=choices, seed=one.seed,
        )  # fmt: skip


def _read(answer: Answer) -> str | ParseFailure:
    """The text of a reply; one that was cut off is invalid, whatever can be read of it."""
    return ParseFailure("truncated", answer.text) if answer.finish == "length" else answer.text
