"""Requests as chat completions have them: what is sent, and what comes back."""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast, get_args

from gamedsl.call_syntax import TAGGED
from gamedsl.policies.base import Message
from gamedsl.policies.generation import Finish, Generated, Request
from gamedsl.storage.cache import CacheRefused, own_folder, read_entry, write_entry
from gamedsl.thought_syntax import CLOSE, thought_in, with_thought

Body = dict[str, Any]
Constrain = Literal["response_format", "structured_outputs", "guided"]
"""The form in which a server takes schemas and choices: as OpenAI and llama.cpp have it (schemas
alone), as vLLM has it, and as vLLM had it until 0.11."""
CONSTRAIN: tuple[Constrain, ...] = get_args(Constrain)


LARGEST_BODY = 4 * 2**20
"""Bytes of an answer's body, as sent and after decompression."""
MOST_CALLS = 8
"""Calls of tools in one answer."""
LONGEST_TEXT = 200_000
"""Characters of a reply."""
MOST_TOKENS = 10**9
"""Tokens that a server can have counted for one call."""

REFUSALS: dict[str, str] = {
    "syntax": "it is no JSON",
    "encoding": "it is no UTF-8",
    "depth": "it is nested too deep",
    "duplicate": "it has a key twice",
    "number": "it has a number out of range",
    "surrogate": "it has half of a surrogate pair",
    "size": f"it has more than {LARGEST_BODY // 2**20} MiB",
    "compressed": "it is compressed in a way that was not asked for",
    "stream": "it is a stream of events, which was not asked for",
    "form": "it is no chat completion",
    "choices": "it has not exactly one choice",
    "content": "its content is no text",
    "calls": "its tool calls are none",
    "tools": "it takes no tools, which its prompts then tell",
    "length": f"its text has more than {LONGEST_TEXT:,} characters",
}
"""The reasons why an answer with status 200 is no reply, each with a description of the answer.
The first are the kinds of `strict_json.JsonRefused`."""
ANOTHER_FORM = frozenset({"syntax", "encoding", "stream", "form"})
"""Of these, the ones that answers of something else than a chat endpoint have."""


class AnswerRefused(ValueError):
    """An answer that is no reply, with a key of `REFUSALS`. It quotes nothing of the server's."""

    def __init__(self, why: str) -> None:
        super().__init__(REFUSALS[why])
        self.why = why


@dataclass(frozen=True)
class Answer:
    """The text of a reply, how it ended, and how many tokens the server says it has, those of a
    thought included. Where the server's answer is no reply, `refused` says why, and there is no
    text. `thought` is one that the server gives apart from the text."""

    text: str
    finish: Finish
    tokens: int = 0
    refused: str | None = None
    thought: str = ""

    def whole(self) -> Answer:
        """Returns the same with the thought in the text. One that is then too long is refused."""
        text = with_thought(self.thought, self.text)
        if len(text) > LONGEST_TEXT:
            return replace(self, text="", thought="", refused=REFUSALS["length"])
        return replace(self, text=text, thought="")


def body_of(request: Request, model: str, constrain: Constrain | None) -> Body:
    """Returns the body to send for a request. If the last message is the model's own, the reply
    continues it, in vLLM's way. Raises ValueError for a request given in tokens."""
    if request.prefix or not all(isinstance(turn, str) for _, turn in request.messages):
        raise ValueError("an endpoint takes texts, not tokens")
    chat, tools = _with_calls(cast("Sequence[Message]", request.messages))
    body: Body = {
        "model": model,
        "messages": chat,
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "seed": request.seed,
    }
    if request.messages[-1][0] == "assistant":
        body |= {"add_generation_prompt": False, "continue_final_message": True}
    if request.stop:
        body["stop"] = list(request.stop)
    if tools is not None:
        choice = "auto" if request.thinks else "required"
        return {**body, "tools": tools, "tool_choice": choice, "parallel_tool_calls": False}
    return {**body, **_constraint(request, constrain)}


def _with_calls(messages: Sequence[Message]) -> tuple[list[Body], Any]:
    """Returns a chat as it is sent, and the list of tools, if there is one. What came of a call
    names the call by its id."""
    chat: list[Body] = []
    tools = None
    for number, (role, text) in enumerate(messages):
        if role == "tools":
            tools = json.loads(text)
        elif role == "tool":
            call = TAGGED.read(chat[-1]["content"])
            id = f"call_{number}"
            function = {"name": call["name"], "arguments": json.dumps(call["arguments"])}
            calls = [{"id": id, "type": "function", "function": function}]
            chat[-1] = {"role": "assistant", "content": None, "tool_calls": calls}
            chat.append({"role": "tool", "tool_call_id": id, "content": text})
        else:
            chat.append({"role": role, "content": text})
    return chat, tools


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


def read_answer(data: Any, stop: Sequence[str] = (), *, goes_on: bool = False) -> Answer:
    """Returns the reply in an answer, as JSON data. A stop string is put back where the server says
    which of them it was; calls of tools follow the text, in tags. Raises AnswerRefused.

    A thought that stands apart is cut at `LONGEST_TEXT`. In a reply that goes on from what the
    model had begun to say (`goes_on`), who asks knows what is a thought: there it is text.
    """
    choices = data.get("choices") if isinstance(data, dict) else None
    if not isinstance(choices, list):
        raise AnswerRefused("form")
    if len(choices) != 1:
        raise AnswerRefused("choices")
    choice = choices[0]
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(message, dict):
        raise AnswerRefused("form")
    text, calls = message.get("content"), message.get("tool_calls")
    thought = thought_in(message)
    if text is None and (calls or thought):
        text = ""
    if not isinstance(text, str):
        raise AnswerRefused("content")
    if calls:
        text = "\n".join((*([text] if text else []), *_called(calls)))
    if goes_on and thought:
        text, thought = f"{thought}{CLOSE}{text}" if text else thought, ""
    if choice.get("stop_reason") in stop and not text.endswith(choice["stop_reason"]):
        text += choice["stop_reason"]
    if len(text) > LONGEST_TEXT:
        raise AnswerRefused("length")
    cut = choice.get("finish_reason") == "length"
    return Answer(
        text, "length" if cut else "stop", used_in(data, "completion_tokens"),
        thought=thought[:LONGEST_TEXT],
    )  # fmt: skip


def _called(calls: Any) -> list[str]:
    """Returns calls as a reply writes them. Their arguments stand as the model wrote them: the game
    reads them as it reads those of any reply. Raises AnswerRefused."""
    if not isinstance(calls, list) or len(calls) > MOST_CALLS:
        raise AnswerRefused("calls")
    found = []
    for call in calls:
        function = call.get("function") if isinstance(call, dict) else None
        name = function.get("name") if isinstance(function, dict) else None
        arguments = function.get("arguments") if isinstance(function, dict) else None
        if isinstance(arguments, dict):  # Ollama's own form
            arguments = json.dumps(arguments, ensure_ascii=False)
        if not isinstance(name, str) or not isinstance(arguments, str):
            raise AnswerRefused("calls")
        name = json.dumps(name, ensure_ascii=False)
        called = f'{{"name": {name}, "arguments": {arguments.strip() or "{}"}}}'
        found.append(TAGGED.around(called))
    return found


def used_in(data: Any, what: str = "total_tokens") -> int:
    """Tokens of prompt and reply, or of one of them, as the server counts them; 0 where it gives no
    count that can be."""
    usage = data.get("usage") if isinstance(data, dict) else None
    count = usage.get(what) if isinstance(usage, dict) else None
    return count if type(count) is int and 0 < count <= MOST_TOKENS else 0


def generated(answer: Answer) -> Generated:
    """A reply whose tokens are not shown."""
    return Generated((), (), (), answer.text, answer.finish)


class ReplyCache:
    """Answers by what was asked; those not asked for longest go when there are too many. On disk,
    in the user's cache, none goes."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._answers: OrderedDict[str, Answer] = OrderedDict()
        self._folder: Path | None = None

    def keep_on_disk(self, url: str) -> None:
        """Keeps the answers of this address in the user's cache too; not where there is none that
        is the user's alone."""
        with suppress(CacheRefused):
            self._folder = own_folder("replies", hashlib.sha256(url.encode()).hexdigest()[:16])

    def __len__(self) -> int:
        return len(self._answers)

    def find(self, body: Body) -> Answer | None:
        key = _key(body)
        if key not in self._answers and (stored := self._stored(key)) is not None:
            self._keep(key, stored)
        if key in self._answers:
            self._answers.move_to_end(key)
        return self._answers.get(key)

    def keep(self, body: Body, answer: Answer) -> None:
        key = _key(body)
        self._keep(key, answer)
        if self._folder is not None:
            told = [answer.text, answer.finish, answer.tokens, answer.thought]
            write_entry(self._folder / _digest(key), json.dumps(told).encode())

    def _stored(self, key: str) -> Answer | None:
        """Returns the answer on disk, if there is one. Entries without a place for a thought are
        passed over: theirs may have been lost."""
        content = None if self._folder is None else read_entry(self._folder / _digest(key))
        if content is None:
            return None
        text, finish, tokens, *thought = json.loads(content)
        return Answer(text, finish, tokens, thought=thought[0]) if thought else None

    def _keep(self, key: str, answer: Answer) -> None:
        self._answers[key] = answer
        while len(self._answers) > self._limit:
            self._answers.popitem(last=False)


def _key(body: Body) -> str:
    return json.dumps(body, sort_keys=True)


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()
