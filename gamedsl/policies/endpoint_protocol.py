"""Requests as chat completions have them: what is sent, and what comes back."""

from __future__ import annotations

import json
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Literal, get_args

from gamedsl.policies.generation import Finish, Generated, Request

Body = dict[str, Any]
Constrain = Literal["response_format", "structured_outputs", "guided"]
"""The form in which a server takes schemas and choices: as OpenAI and llama.cpp have it (schemas
alone), as vLLM has it, and as vLLM had it until 0.11."""
CONSTRAIN: tuple[Constrain, ...] = get_args(Constrain)


@dataclass(frozen=True)
class Answer:
    """The text of a reply, how it ended, and how many tokens the server says it has."""

    text: str
    finish: Finish
    tokens: int = 0


def body_of(request: Request, model: str, constrain: Constrain | None) -> Body:
    """Returns the body to send for a request. If the last message is the model's own, the reply
    continues it, in vLLM's way. Raises ValueError for a request given in tokens."""
    if request.prefix or not all(isinstance(turn, str) for _, turn in request.messages):
        raise ValueError("an endpoint takes texts, not tokens")
    body: Body = {
        "model": model,
        "messages": [{"role": role, "content": text} for role, text in request.messages],
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "seed": request.seed,
    }
    if request.messages[-1][0] == "assistant":
        body |= {"add_generation_prompt": False, "continue_final_message": True}
    if request.stop:
        body["stop"] = list(request.stop)
    return {**body, **_constraint(request, constrain)}


def _constraint(request: Request, constrain: Constrain | None) -> Body:
    schema, choices = request.schema, list(request.choices)
    if schema is not None and constrain == "response_format":
        wanted = {"name": "reply", "strict": True, "schema": schema}
        return {"response_format": {"type": "json_schema", "json_schema": wanted}}
    if schema is not None and constrain is not None:
        return {"guided_json": schema} if constrain == "guided" else \
            {"structured_outputs": {"json": schema}}  # fmt: skip
    if choices and constrain in ("structured_outputs", "guided"):
        return {"guided_choice": choices} if constrain == "guided" else \
            {"structured_outputs": {"choice": choices}}  # fmt: skip
    return {}


def answer_of(found: Body) -> Answer:
    """Raises KeyError, IndexError, TypeError or AttributeError for another form of answer.

    A stop string is put back where the server says which one it was.
    """
    choice = found["choices"][0]
    content = choice["message"].get("content")
    text = content if isinstance(content, str) else ""
    if isinstance(stop := choice.get("stop_reason"), str) and not text.endswith(stop):
        text += stop
    cut = choice.get("finish_reason") == "length"
    return Answer(text, "length" if cut else "stop", _used(found, "completion_tokens"))


def tokens_of(found: Body) -> int:
    """Tokens of prompt and reply, as the server counts them; 0 where it does not."""
    return _used(found, "total_tokens")


def _used(found: Body, what: str) -> int:
    usage = found.get("usage")
    count = usage.get(what) if isinstance(usage, dict) else None
    return count if isinstance(count, int) and count > 0 else 0


def generated(answer: Answer) -> Generated:
    """A reply whose tokens are not shown."""
    return Generated((), (), (), answer.text, answer.finish)


class ReplyCache:
    """Answers by what was asked; those not asked for longest go when there are too many."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._answers: OrderedDict[str, Answer] = OrderedDict()

    def __len__(self) -> int:
        return len(self._answers)

    def find(self, body: Body) -> Answer | None:
        key = _key(body)
        if key in self._answers:
            self._answers.move_to_end(key)
        return self._answers.get(key)

    def keep(self, body: Body, answer: Answer) -> None:
        self._answers[_key(body)] = answer
        while len(self._answers) > self._limit:
            self._answers.popitem(last=False)


def _key(body: Body) -> str:
    return json.dumps(body, sort_keys=True)
