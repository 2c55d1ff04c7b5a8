"""A chat endpoint: messages in, the text of the reply out, over HTTP.

The wire form is that of OpenAI's chat completions, which vLLM, llama.cpp, Ollama and most hosted
models speak as well. Four things can go wrong:

- An attempt gives no answer: 429, 5xx, a time-out, a lost connection. It is made again, later each
  time (exponential back-off with jitter, at least what `Retry-After` says), up to the number of
  `retries` and the time of the call.
- An answer is no reply (`endpoint_protocol.REFUSALS`): that is one refused reply.
- The server takes no tools. It is then asked without them, from there on.
- Nothing can come of it: a wrong key or address. That ends all calls, with a remedy.

Every attempt is a call of the budget; the tokens that the server counts are of another. The key is
read from the environment, goes into one header, and is struck out of all that comes back.
"""

from __future__ import annotations

import json
import os
import random
import re
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from concurrent.futures import ALL_COMPLETED, FIRST_EXCEPTION, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from importlib.util import find_spec
from math import inf, isfinite
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies

from gamedsl.extras import missing
from gamedsl.policies.base import Message
from gamedsl.policies.budget import Budget, BudgetSpent, CallTimes, EndpointError, Interrupted
from gamedsl.policies.daemon_threads import POLL, DaemonExecutor
from gamedsl.policies.endpoint_protocol import (
    ANOTHER_FORM,
    LARGEST_BODY,
    Answer,
    AnswerRefused,
    Body,
    Constrain,
    ReplyCache,
    body_of,
    generated,
    read_answer,
    used_in,
)
from gamedsl.policies.generation import Generated, Request
from gamedsl.policies.secrets import SHORTEST, Secrets
from gamedsl.storage.strict_json import JsonRefused, parse

if TYPE_CHECKING:
    from gamedsl.policies.endpoint_connection import Attempt, Connection, Received

__all__ = [
    "Budget", "BudgetSpent", "Endpoint", "EndpointError", "EndpointSettings", "Interrupted",
]  # fmt: skip

KEY_ENV = "OPENAI_API_KEY"
PASSING = frozenset({408, 409, 425, 429})
"""Statuses below 500 that are worth another attempt."""
LONGEST_WAIT = 60.0
"""The longest back-off, in seconds; a server may ask for more."""
LONGEST_ASKED = 900.0
"""The longest wait, in seconds, that a server may ask for."""


@dataclass(frozen=True)
class EndpointSettings:
    """Settings for calling an endpoint. Times are in seconds."""

    key_env: str | None = None
    """The environment variable that holds the key; None is `OPENAI_API_KEY`, if it is set."""
    concurrency: int = 8
    """Calls under way at a time."""
    timeout: float = CallTimes().attempt
    """For each attempt, from the look-up of the server's name to the last byte."""
    call_timeout: float = CallTimes().call
    """For each call, all attempts and pauses together."""
    retries: int = 5
    """Attempts after the first."""
    first_wait: float = 0.5
    """The first back-off; each further one is twice as long."""
    calls: int = 1000
    """The most attempts in all, where the endpoint has no budget together with others."""
    tokens: int | None = None
    """The most tokens in all, of prompts and replies, as the server counts them: no call is made
    after so many. None: any number."""
    temperature: float | None = None
    """None leaves it to the server."""
    max_tokens: int | None = None
    constrain: Constrain | None = None
    """The form in which the server takes choices and schemas; None sends none."""
    enable_thinking: bool | None = None
    """Whether the chat template has the model think by itself before each reply, as that of Qwen3
    does (`chat_template_kwargs` of vLLM and SGLang). None leaves it to the server."""
    addresses: frozenset[str] = frozenset()
    """The addresses that files may name, such as a game's `train:` or the recipe of a run."""
    tools: bool = True
    """Whether chats that begin with a list of tools are sent as such."""
    kept: int = 4096
    """Replies to requests that are kept, so that the same request is asked once."""


class ToolsRefused(EndpointError):
    """A server that takes no tools."""


class Endpoint:
    """One model behind one address; may be called from several threads."""

    def __init__(
        self, url: str, model: str, settings: EndpointSettings | None = None,
        budget: Budget | None = None,
    ) -> None:  # fmt: skip
        """`budget` is one that is shared with others; None is one of its own, as the settings say.

        Raises EndpointError for an address or a key that cannot be used, and ImportError without
        httpx2."""
        self.url, self.model = address_of(url), model
        self.settings = settings or EndpointSettings()
        self.budget = budget or Budget(
            self.settings.calls, self.settings.tokens, of=self.url,
            more="allow more with --{}, or play fewer games with --games",
        )  # fmt: skip
        self.budget.in_use = True
        key = _key(self.settings.key_env)
        if key is not None and len(key) >= SHORTEST and key in url:
            raise EndpointError("an address of an endpoint has the key in it",
                                "leave the key in the environment alone")  # fmt: skip
        self._secrets = Secrets(key, *_proxy_passwords())
        self._connection = _connection(f"{self.url}/chat/completions", key)
        weakref.finalize(self, self._connection.close).atexit = False
        self._cache = ReplyCache(self.settings.kept)
        self._batches: set[_Batch] = set()
        self._parsing = threading.Lock()
        self._has_answered = False
        """Whether an answer came in the form of chat completions."""
        self.takes_tools = self.settings.tools
        """Whether tools may be sent: no answer has refused them."""
        self._jitter = random.Random(0)

    @property
    def _template(self) -> Body:
        """The part of a body that is for the chat template."""
        think = self.settings.enable_thinking
        return {} if think is None else {"chat_template_kwargs": {"enable_thinking": think}}

    @property
    def calls(self) -> int:
        """Attempts made so far, by all who share its budget."""
        return self.budget.calls

    @property
    def tokens(self) -> int:
        """Tokens of prompts and replies so far, as the server counts them, of the same."""
        return self.budget.tokens

    def generate(self, requests: Sequence[Request]) -> list[Generated]:
        """The same as `answers`, as engines have it: without ids or log-probabilities."""
        return [generated(answer) for answer in self.answers(requests)]

    def answers(self, requests: Sequence[Request]) -> list[Answer]:
        """A reply to each request; the adapter has no say.

        The same request, seed included, is asked once. A server that does not say which stop string
        ended a reply leaves it out of the text. A thought that it gives apart from the reply is put
        back where the request says that one comes first. Raises as `replies`, and ValueError for
        requests that are given in tokens.
        """
        bodies = [
            {**body_of(request, self.model, self.settings.constrain), **self._template}
            for request in requests
        ]
        todo: list[Body] = []
        for body in bodies:
            if self._cache.find(body) is None and body not in todo:
                todo.append(body)
        new = list(zip(todo, self._all(todo), strict=True))
        known = [self._cache.find(body) for body in bodies]
        for body, answer in new:
            if answer.refused is None:
                self._cache.keep(body, answer)
        answers = [
            found or next(answer for body, answer in new if body == asked)
            for asked, found in zip(bodies, known, strict=True)
        ]
        return [
            self._whole(answer) if request.thinks else answer
            for request, answer in zip(requests, answers, strict=True)
        ]

    def _whole(self, answer: Answer) -> Answer:
        """Returns an answer with its thought in the text; refuses one that is then too long."""
        whole = answer.whole()
        if whole.refused is not None and answer.refused is None:
            self.budget.refuse("length")
        return whole

    def answers_plainly(self, asked: Sequence[Sequence[Message]]) -> list[Answer]:
        """An answer to each conversation, asked for without a seed and kept for no other. Raises
        as `replies`."""
        return self._all([self._body(one) for one in asked])

    def replies(self, asked: Sequence[Sequence[Message]]) -> list[str]:
        """The text of one reply to each conversation, as it came; empty where there is none.

        Raises EndpointError where one cannot be had, after all attempts, `BudgetSpent`, and
        Interrupted where the budget halts.
        """
        return [answer.text for answer in self.answers_plainly(asked)]

    def keep_on_disk(self) -> None:
        """Keeps replies in the user's cache, so that no later run pays for the same request again.
        Those without a seed are asked for anew each time."""
        self._cache.keep_on_disk(self.url)

    def stop(self) -> None:
        """Gives up all calls under way; those who wait for them get an EndpointError. Another
        thread may call it."""
        for batch in list(self._batches):
            batch.end()

    def _all(self, bodies: Sequence[Body]) -> list[Answer]:
        """Answers to all, in order. After a failure no other attempt is begun, and those under way
        are waited for, since they are paid for; after an interruption nothing is."""
        batch = _Batch()
        self._batches.add(batch)
        pool = DaemonExecutor(min(self.settings.concurrency, len(bodies)))
        waiting = [pool.submit(self._ask, body, batch) for body in bodies]
        try:
            failed = self._wait_for(waiting, batch, FIRST_EXCEPTION)
            if failed:
                batch.halt.set()
                pool.shutdown(wait=False, cancel_futures=True)
                self._wait_for(waiting, batch, ALL_COMPLETED)
            return [one.result() for one in failed or waiting]
        finally:
            batch.end()
            self._batches.discard(batch)
            pool.shutdown(wait=False, cancel_futures=True)

    def _wait_for(
        self, waiting: Sequence[Future[Answer]], batch: _Batch, until: str
    ) -> list[Future[Answer]]:
        """Returns the calls that failed, once all have ended or, with `FIRST_EXCEPTION`, one has
        failed. Raises Interrupted."""
        pending = set(waiting)
        while pending:
            _, pending = wait(pending, POLL, return_when=until)
            failed = [one for one in waiting if one.done() and _has_failed(one)]
            if failed and until == FIRST_EXCEPTION:
                return failed
            if pending and self.budget.halted():
                raise Interrupted
            batch.cut_late()
        return []

    def _body(self, messages: Sequence[Message]) -> Body:
        body: Body = {
            "model": self.model,
            "messages": [{"role": role, "content": text} for role, text in messages],
            **self._template,
        }
        if self.settings.temperature is not None:
            body["temperature"] = self.settings.temperature
        if self.settings.max_tokens is not None:
            body["max_tokens"] = self.settings.max_tokens
        return body

    def _ask(self, body: Body, batch: _Batch | None = None) -> Answer:
        batch, settings = batch or _Batch(), self.settings
        until = time.monotonic() + settings.call_timeout
        missed = Missed("")
        for attempt in range(settings.retries + 1):
            found = self._attempt(body, until, batch)
            if isinstance(found, Answer):
                return found
            missed = found
            if attempt == settings.retries:
                break
            if missed.least > LONGEST_ASKED:
                raise EndpointError(
                    f"{self.url} asks to wait {missed.least:.10g} s: {missed.why}",
                    f"try again later; at most {LONGEST_ASKED:g} s are waited for",
                )
            pause = self._wait(attempt, missed.least)
            if time.monotonic() + pause >= until:
                raise EndpointError(
                    f"{self.url} gave no reply within {settings.call_timeout:g} s: {missed.why}",
                    "see that the server runs and is not overloaded; --call-timeout, or "
                    "`budget.call_timeout` of a recipe, says how long a call may take",
                )
            if batch.halt.wait(pause):
                break
        raise EndpointError(
            f"{self.url} gave no reply in {settings.retries + 1} attempts: {missed.why}",
            "see that the server runs and is not overloaded; --timeout, --retries and "
            "--concurrency say how patient to be",
        )

    def _attempt(
        self, body: Body, until: float = inf, batch: _Batch | None = None
    ) -> Answer | Missed:
        """The reply, or why there is none this time."""
        from gamedsl.policies.endpoint_connection import Attempt, Failed, InvalidCall, Late

        self.budget.call()
        seconds = min(self.settings.timeout, until - time.monotonic())
        attempt = Attempt(seconds)
        try:
            with (batch or _Batch()).under_way(attempt):
                received = self._connection.post(json.dumps(body).encode("ascii"), attempt)
        except Late:
            return Missed(f"no answer within {seconds:.3g} s")
        except Failed as error:
            return Missed(self._secrets.quote(str(error)))
        except InvalidCall:
            raise EndpointError(
                f"{self.url} cannot be asked: the call is no valid HTTP",
                "see that the address and the key are right",
            ) from None
        if "tools" in body and _refuses_tools(received):
            if self.takes_tools:  # once, of several calls under way
                self.takes_tools = False
                self.budget.refuse("tools")
            raise ToolsRefused(
                f"{self.url} takes no tools: {self._error_text(received)}", "ask without them"
            )
        if received.status in PASSING or received.status >= 500:
            return Missed(self._error_text(received), _retry_after(received))
        if received.status != 200:
            raise EndpointError(
                f"{self.url} refuses: {self._error_text(received)}", self._remedy(received.status)
            )
        return self._read(received, body)

    def _read(self, received: Received, asked: Body) -> Answer | Missed:
        """The reply in an answer with status 200; an answer that is none is refused. Raises
        EndpointError where the server seems to be no chat endpoint."""
        try:
            data = self._data(received)
            self.budget.use(used_in(data))
            if isinstance(data, dict) and "choices" not in data and data.get("error"):
                return Missed(self._secrets.quote(f"an error: {data['error']}"))
            goes_on = bool(asked.get("continue_final_message"))
            answer = read_answer(data, asked.get("stop", ()), goes_on=goes_on)
        except AnswerRefused as error:
            refused = error
        else:
            self._has_answered = True
            strike = self._secrets.strike
            return replace(answer, text=strike(answer.text), thought=strike(answer.thought))
        if refused.why not in ANOTHER_FORM:
            self._has_answered = True
        if not self._has_answered:
            raise EndpointError(
                f"{self.url} does not answer in the form of chat completions: {refused}",
                "give the address that ends before `/chat/completions`, such as "
                "http://localhost:8000/v1",
            )
        self.budget.refuse(refused.why)
        return Answer("", "stop", refused=str(refused))

    def _data(self, received: Received) -> object:
        """The JSON data of an answer, without the key. Raises AnswerRefused."""
        if received.fault is not None:
            raise AnswerRefused(received.fault)
        try:
            with self._parsing:  # one answer at a time fills the memory with its parts
                return self._secrets.strike_data(parse(received.body, limit=LARGEST_BODY))
        except JsonRefused as error:
            kind = error.kind
        raise AnswerRefused(kind)

    def _error_text(self, received: Received) -> str:
        """The status and the beginning of what the server says of it, without the key."""
        reason, text = (self._secrets.quote(part) for part in (received.reason, received.body))
        return f"{received.status} {reason}" + (f": {text}" if text else "")

    def _remedy(self, status: int) -> str:
        if status in (401, 403):
            return f"put the key into the variable {self.settings.key_env or KEY_ENV}, or name " \
                "another with --key-env"  # fmt: skip
        if status == 404:
            return f"see that the address is right and that the server has a model `{self.model}`"
        if 300 <= status < 400:
            return "give the address at which the server itself answers; nobody is sent elsewhere"
        return "see what the server accepts"

    def _wait(self, attempt: int, least: float) -> float:
        longest = self.settings.first_wait * float(2**attempt)
        own = min(longest * self._jitter.uniform(0.5, 1.0), LONGEST_WAIT)
        return min(max(own, least), threading.TIMEOUT_MAX)


def _refuses_tools(received: Received) -> bool:
    """Whether a server may refuse a call for its tools: it finds the call wrong, or speaks of tools
    in whatever error it gives."""
    if received.status in (400, 422):
        return True
    lasting = received.status >= 400 and received.status not in PASSING
    return lasting and b"tool" in received.body.lower()


def _has_failed(future: Future[Answer]) -> bool:
    return future.cancelled() or future.exception() is not None


class Missed(NamedTuple):
    """Why an attempt gave no answer, and how many seconds to wait at least before the next."""

    why: str
    least: float = 0.0


class _Batch:
    """Calls that are waited for together; they are given up together."""

    def __init__(self) -> None:
        self.halt = threading.Event()
        self._attempts: set[Attempt] = set()
        self._lock = threading.Lock()

    @contextmanager
    def under_way(self, attempt: Attempt) -> Iterator[None]:
        with self._lock:
            self._attempts.add(attempt)
        if self.halt.is_set():
            attempt.cut()
        try:
            yield
        finally:
            with self._lock:
                self._attempts.discard(attempt)

    def cut_late(self) -> None:
        """Cuts attempts off that are past their deadline: a server that reads a byte at a time
        lets every write succeed."""
        with self._lock:
            late = [one for one in self._attempts if one.deadline < time.monotonic()]
        for attempt in late:
            attempt.cut()

    def end(self) -> None:
        self.halt.set()
        with self._lock:
            attempts = list(self._attempts)
        for attempt in attempts:
            attempt.cut()


def address_of(url: str) -> str:
    """Returns the address of an endpoint, without a slash at its end. Raises EndpointError, which
    quotes no password, for one that none may have."""
    if not re.fullmatch(r"https?://[^/@?#\s]+(/[^@?#\s]*)?", url):
        shown = re.sub(r"//.*@", "//…@", url, flags=re.DOTALL)
        shown = re.sub(r"[?#].*", "?…", shown, flags=re.DOTALL)
        raise EndpointError(
            f"`{shown}` is no address of an endpoint",
            "write it as http://localhost:8000/v1, without a key or a password in it",
        )
    return url.rstrip("/")


def _key(name: str | None) -> str | None:
    if name is not None and not re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name):
        raise EndpointError(
            "the key is read from an environment variable, and what is given is no name of one",
            "put the key into a variable, and name that: --key-env MY_KEY",
        )
    key = os.environ.get(name or KEY_ENV, "").strip()
    if name is not None and not key:
        raise EndpointError(f"the environment variable {name} is not set", f"export {name}=…")
    if not (key.isascii() and key.isprintable()):
        raise EndpointError(
            f"the key in {name or KEY_ENV} has characters that no header may hold",
            "put the key there alone, without quotes and on one line",
        )
    return key or None


def _proxy_passwords() -> Iterator[str | None]:
    """The passwords of proxies in the environment, as they are written and as they are."""
    for proxy in getproxies().values():
        password = urlsplit(proxy).password
        yield from (password, None if password is None else unquote(password))


def _connection(url: str, key: str | None) -> Connection:
    if find_spec("httpcore2") is None:
        raise missing("httpx2", "eval")
    from gamedsl.policies.endpoint_connection import Connection

    try:
        return Connection(url, key)
    except ValueError:
        raise EndpointError(
            "the host of an endpoint, or a proxy in the environment, is no name of a server",
            "see that the address and the variables such as HTTPS_PROXY are right",
        ) from None


def _retry_after(received: Received) -> float:
    """Seconds that the server asks to wait, as a number or until a date (RFC 9110, 10.2.3); 0 where
    it says neither."""
    said = received.headers.get("retry-after", "0")
    try:
        seconds = float(said)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(said).timestamp() - time.time()
        except (ValueError, OverflowError):
            return 0.0
    return max(0.0, seconds) if isfinite(seconds) else 0.0
