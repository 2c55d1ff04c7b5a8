"""The player that asks a chat endpoint, and takes what it says to the letter.

`endpoint:http://localhost:8000/v1#MODEL` in a text. The seat's prompt is sent, and the reply is
handed on as raw text: the game reads it as it reads any reply, and what is no valid one costs what
the game says. In games in words a seed and the room for the reply go with it. Where a reply is a
tool call, the tools go with it too, as chat interfaces list them; a server that refuses them reads
them in the prompt.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from gamedsl.call_syntax import TAGGED
from gamedsl.players.base import (
    Answered,
    Dice,
    Player,
    PlayerError,
    PlayerRequest,
    PlayerSpec,
    Posed,
)
from gamedsl.players.model_replies import OPENED, closing_of, query_of
from gamedsl.policies.budget import Budget
from gamedsl.policies.endpoint import (
    Endpoint,
    EndpointError,
    EndpointSettings,
    ToolsRefused,
)
from gamedsl.policies.endpoint_protocol import Answer, Constrain
from gamedsl.policies.generation import Request
from gamedsl.prompting.replies import ParseFailure
from gamedsl.thought_syntax import CLOSE

if TYPE_CHECKING:
    from gamedsl.policies.base import Message
    from gamedsl.runtime import Action, Decision, Episode

ANSWER_TOKENS = 48
"""Room for an answer in its form, after a thought."""
GOES_ON: tuple[Constrain, ...] = ("structured_outputs", "guided")
"""Servers that hold a reply to options and go on from what was begun."""


class EndpointPlayer:
    """Plays a model behind an address at any seat."""

    def __init__(self, endpoint: Endpoint, *, seed: int = 0) -> None:
        """`seed` is of the seeds that `act` sends; in closed games it sends none."""
        self.endpoint, self._dice = endpoint, Dice(seed)

    @classmethod
    def of(
        cls,
        argument: str,
        settings: EndpointSettings | None = None,
        budget: Budget | None = None,
        *,
        seed: int = 0,
    ) -> EndpointPlayer:
        """The player of `URL#MODEL`; without settings, with the times of the budget. Raises
        EndpointError and ImportError as `Endpoint` does."""
        if settings is None and budget is not None:
            settings = EndpointSettings(
                timeout=budget.times.attempt, call_timeout=budget.times.call
            )
        url, _, model = argument.partition("#")
        if not model:
            raise EndpointError(f"`{argument}` names no model", f"write `endpoint:{url}#MODEL`")
        return cls(Endpoint(url, model, settings, budget), seed=seed)

    def act(self, decision: Decision, episode: Episode) -> Action | str | ParseFailure:
        seed = self._dice[decision.seat].getrandbits(31)
        return self.answers([Posed(decision, episode, seed)])[0].reply

    def answers(self, posed: Sequence[Posed]) -> list[Answered]:
        """A reply to each, several asked for at a time. Raises as `Endpoint.answers`."""
        if not posed:
            return []
        if not posed[0].episode.env.ir.in_form:
            answers = self.endpoint.answers_plainly(
                [cast("tuple[Message, ...]", one.decision.messages) for one in posed]
            )
            return [
                Answered(one.text if one.refused is None else _refused(one.refused), one.text)
                for one in answers
            ]
        if self.endpoint.takes_tools and any(map(self._calls, posed)):
            with suppress(ToolsRefused):
                return self._written([self._with_tools(one, self._calls(one)) for one in posed])
        return self._written([self._with_tools(one, False) for one in posed])

    def _calls(self, one: Posed) -> bool:
        """Whether a decision is asked for with a list of tools: it is answered by a call, and the
        server is not asked to hold its reply to the options themselves."""
        said = one.decision.said
        if said is not None:
            return said.form == "tool"
        holds = self.endpoint.settings.constrain in GOES_ON
        return one.decision.form.kind == "tool" and not holds

    def _with_tools(self, one: Posed, calls: bool) -> Posed:
        return one._replace(decision=one.decision.calling(TAGGED if calls else None))

    def _written(self, posed: Sequence[Posed]) -> list[Answered]:
        """A reply to each, asked for with a seed. Raises as `Endpoint.answers`; ToolsRefused."""
        thoughts = self._thoughts(posed)
        asked = [
            self._request(one, thought.text)
            for one, thought in zip(posed, thoughts, strict=True)
            if thought.failure is None
        ]
        replies = iter(self.endpoint.answers(asked))
        return [
            _answered(thought, next(replies) if thought.failure is None else None)
            for thought in thoughts
        ]

    def _thoughts(self, posed: Sequence[Posed]) -> list[_Thought]:
        """The thoughts that come before closed decisions.

        They are asked for apart where the server can hold what comes after them to the options; it
        then goes on from its own words. Other servers write thought and answer in one.
        """
        found = [_Thought()] * len(posed)
        if self.endpoint.settings.constrain not in GOES_ON:
            return found
        thinking = {
            place: form
            for place, one in enumerate(posed)
            if one.decision.said is None and (form := one.decision.form).think is not None
        }
        answers = self.endpoint.answers(
            [
                self._request_for(posed[place], form.think or 0, OPENED, stop=(CLOSE,))
                for place, form in thinking.items()
            ]
        )
        for (place, form), answer in zip(thinking.items(), answers, strict=True):
            if answer.refused is not None:
                found[place] = _Thought("", answer.tokens, _refused(answer.refused))
                continue
            closing = closing_of(answer.text, answer.finish, form)
            if isinstance(closing, ParseFailure):
                found[place] = _Thought(closing.text, answer.tokens, closing)
            else:
                found[place] = _Thought(f"{OPENED}{answer.text}{closing}", answer.tokens)
        return found

    def _request(self, one: Posed, thought: str) -> Request:
        """A decision as the server is asked for it, or the answer after a thought; the schema and
        the choices are sent where the settings say in which form."""
        decision = one.decision
        if (said := decision.said) is not None:
            return self._request_for(one, said.max_tokens, schema=decision.schema)
        think = decision.form.think
        choices = query_of(decision, "").labels if think is None or thought else ()
        room = ANSWER_TOKENS + (0 if thought else think or 0)
        thinks = think is not None and not thought
        return self._request_for(one, room, thought, choices=choices, thinks=thinks)

    def _request_for(self, one: Posed, room: int, begun: str = "", **more: Any) -> Request:
        """A request of a seat's prompt, that goes on from what the model has begun to say."""
        settings = self.endpoint.settings
        messages = cast("tuple[Message, ...]", one.decision.messages)
        return Request(
            (*messages, ("assistant", begun)) if begun else messages, "",
            settings.max_tokens or room,
            1.0 if settings.temperature is None else settings.temperature,
            seed=one.seed, **more,
        )  # fmt: skip


class _Thought(NamedTuple):
    """The thought before an answer: its text with the tags, or nothing; the reason if no answer
    follows."""

    text: str = ""
    tokens: int = 0
    failure: ParseFailure | None = None


def _answered(thought: _Thought, answer: Answer | None) -> Answered:
    """A thought and its answer as one reply; one that was cut off is invalid, whatever can be read
    of it."""
    if answer is None:
        assert thought.failure is not None
        return Answered(thought.failure, thought.text, thought.tokens)
    text, tokens = thought.text + answer.text, thought.tokens + answer.tokens
    if answer.refused is not None:
        return Answered(_refused(answer.refused), text, tokens)
    read = ParseFailure("truncated", text) if answer.finish == "length" else text
    return Answered(read, text, tokens)


def _refused(why: str) -> ParseFailure:
    return ParseFailure("endpoint", "", why)


def addresses_in(texts: Iterable[str]) -> frozenset[str]:
    """Returns the addresses of the endpoints that texts name."""
    found = (re.findall(r"\bendpoint:\s*([^#\s]+)#", text) for text in texts)
    return frozenset(address.rstrip("/") for addresses in found for address in addresses)


def check_address(argument: str, budget: Budget | None) -> None:
    """Raises PlayerError where a file names `URL#MODEL` and its address is not among those that
    the budget has: what a game says, and perhaps a key, would be sent to a stranger's server."""
    url = argument.partition("#")[0].rstrip("/")
    if budget is None or url not in budget.addresses:
        raise PlayerError(
            f"a file names an endpoint, {url}, and files may not have others called",
            f"if you trust it, add `--allow-endpoint {url}`; from Python, give a "
            "`Budget` with the address in `addresses`",
        )


def _open_endpoint(request: PlayerRequest) -> Player:
    if request.from_file:
        check_address(request.argument, request.budget)
    try:
        return EndpointPlayer.of(request.argument, budget=request.budget, seed=request.seed)
    except EndpointError as error:
        raise PlayerError(error.fact, error.fix) from error


PLAYER = PlayerSpec(
    "URL#MODEL", "a model that an OpenAI-compatible server serves", "all games", _open_endpoint
)
