"""A chat endpoint: messages in, the text of the reply out, over HTTP.

The wire form is that of OpenAI's chat completions, which vLLM, llama.cpp, Ollama and most hosted
models speak as well. What can pass (429, 5xx, time-outs, lost connections) is tried again, later
each time (exponential back-off with jitter, at least what `Retry-After` says); what cannot, such as
a wrong key, ends at once. Every attempt is a call of the budget; the tokens that the server
counts are of another. The key is read from the environment, goes into one header, and is struck out
of all that is quoted from the server.
"""

from __future__ import annotations

import os
import random
import re
import threading
import time
import weakref
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import TYPE_CHECKING

from gamedsl.policies.base import Message
from gamedsl.policies.budget import Budget, BudgetSpent, EndpointError
from gamedsl.policies.endpoint_protocol import (
    Answer,
    Body,
    Constrain,
    ReplyCache,
    answer_of,
    body_of,
    generated,
    tokens_of,
)
from gamedsl.policies.generation import Generated, Request

if TYPE_CHECKING:
    import httpx2

__all__ = ["Budget", "BudgetSpent", "Endpoint", "EndpointError", "EndpointSettings"]

KEY_ENV = "OPENAI_API_KEY"
PASSING = frozenset({408, 409, 425, 429})
"""Statuses below 500 that are worth another attempt."""
LONGEST_WAIT = 60.0
"""The longest back-off, in seconds; a server may ask for more."""


@dataclass(frozen=True)
class EndpointSettings:
    """Settings for calling an endpoint. Times are in seconds."""

    key_env: str | None = None
    """The environment variable that holds the key; None is `OPENAI_API_KEY`, if it is set."""
    concurrency: int = 8
    """Calls under way at a time."""
    timeout: float = 60.0
    """For each attempt."""
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
    kept: int = 4096
    """Replies to requests that are kept, so that the same request is asked once."""


class Endpoint:
    """One model behind one address; may be called from several threads."""

    def __init__(
        self, url: str, model: str, settings: EndpointSettings | None = None,
        budget: Budget | None = None,
    ) -> None:  # fmt: skip
        """`budget` is one that is shared with others; None is one of its own, as the settings say.

        Raises EndpointError for an address or a key that cannot be used, and ImportError without
        httpx2."""
        self.url, self.model = _address(url), model
        self.settings = settings or EndpointSettings()
        self.budget = budget or Budget(
            self.settings.calls, self.settings.tokens, of=self.url,
            more="allow more with --{}, or play fewer games with --games",
        )  # fmt: skip
        self.budget.in_use = True
        self._key = _key(self.settings.key_env)
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        self._client = _client(headers, self.settings)
        weakref.finalize(self, self._client.close)
        self._cache = ReplyCache(self.settings.kept)
        self._failed = threading.Event()
        self._jitter = random.Random(0)

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
        ended a reply leaves it out of the text. Raises as `replies`, and ValueError for requests
        that are given in tokens.
        """
        bodies = [body_of(request, self.model, self.settings.constrain) for request in requests]
        todo: list[Body] = []
        for body in bodies:
            if self._cache.find(body) is None and body not in todo:
                todo.append(body)
        new = list(zip(todo, self._all(todo), strict=True))
        known = [self._cache.find(body) for body in bodies]
        for body, answer in new:
            self._cache.keep(body, answer)
        return [
            found or next(answer for body, answer in new if body == asked)
            for asked, found in zip(bodies, known, strict=True)
        ]

    def replies(self, asked: Sequence[Sequence[Message]]) -> list[str]:
        """The text of one reply to each conversation, as it came; empty where there is none.

        Raises EndpointError where one cannot be had, after all attempts, and `BudgetSpent`.
        """
        return [answer.text for answer in self._all([self._body(one) for one in asked])]

    def _all(self, bodies: Sequence[Body]) -> list[Answer]:
        self._failed.clear()
        with ThreadPoolExecutor(self.settings.concurrency) as pool:
            waiting = [pool.submit(self._ask, body) for body in bodies]
            try:
                return [one.result() for one in waiting]
            except BaseException:
                self._failed.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _body(self, messages: Sequence[Message]) -> Body:
        body: Body = {
            "model": self.model,
            "messages": [{"role": role, "content": text} for role, text in messages],
        }
        if self.settings.temperature is not None:
            body["temperature"] = self.settings.temperature
        if self.settings.max_tokens is not None:
            body["max_tokens"] = self.settings.max_tokens
        return body

    def _ask(self, body: Body) -> Answer:
        for attempt in range(self.settings.retries + 1):
            found = self._attempt(body)
            if isinstance(found, Answer):
                return found
            why, least = found
            if attempt < self.settings.retries and self._failed.wait(self._wait(attempt, least)):
                break
        raise EndpointError(
            f"{self.url} gave no reply in {self.settings.retries + 1} attempts: {why}",
            "see that the server runs and is not overloaded; --timeout, --retries and "
            "--concurrency say how patient to be",
        )

    def _attempt(self, body: Body) -> Answer | tuple[str, float]:
        """The reply; or why there is none this time, and how long to wait at least."""
        import httpx2

        self.budget.call()
        try:
            answer = self._client.post(f"{self.url}/chat/completions", json=body)
        except httpx2.TimeoutException:
            return f"no answer within {self.settings.timeout:g} s", 0.0
        except httpx2.LocalProtocolError:  # its text may quote a header
            raise EndpointError(
                f"{self.url} cannot be asked: the call is no valid HTTP",
                "see that the address and the key are right",
            ) from None
        except httpx2.TransportError as error:
            return f"no connection: {error}", 0.0
        if answer.status_code in PASSING or answer.status_code >= 500:
            return self._error_text(answer), _retry_after(answer)
        if answer.status_code != 200:
            raise EndpointError(
                f"{self.url} refuses: {self._error_text(answer)}", self._remedy(answer)
            )
        return self._parse_answer(answer)

    def _parse_answer(self, answer: httpx2.Response) -> Answer:
        try:
            found = answer.json()
            read = answer_of(found)
        except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
            raise EndpointError(
                f"{self.url} does not answer in the form of chat completions",
                "give the address that ends before `/chat/completions`, such as "
                "http://localhost:8000/v1",
            ) from error
        self.budget.use(tokens_of(found))
        return read

    def _error_text(self, answer: httpx2.Response) -> str:
        """The status and the beginning of what the server says of it, without the key."""
        text = " ".join(answer.text.split())
        if self._key:
            text = text.replace(self._key, "…")
        return f"{answer.status_code} {answer.reason_phrase}" + (f": {text[:200]}" if text else "")

    def _remedy(self, answer: httpx2.Response) -> str:
        if answer.status_code in (401, 403):
            return f"put the key into the variable {self.settings.key_env or KEY_ENV}, or name " \
                "another with --key-env"  # fmt: skip
        if answer.status_code == 404:
            return f"see that the address is right and that the server has a model `{self.model}`"
        return "see what the server accepts"

    def _wait(self, attempt: int, least: float) -> float:
        longest = self.settings.first_wait * float(2**attempt)
        own = min(longest * self._jitter.uniform(0.5, 1.0), LONGEST_WAIT)
        return min(max(own, least), threading.TIMEOUT_MAX)


def _address(url: str) -> str:
    if not re.fullmatch(r"https?://[^/@?#\s]+(/[^@?#\s]*)?", url):
        raise EndpointError(
            f"`{url}` is no address of an endpoint",
            "write it as http://localhost:8000/v1, without a key or a password in it",
        )
    return url.rstrip("/")


def _key(name: str | None) -> str | None:
    key = os.environ.get(name or KEY_ENV, "").strip()
    if name is not None and not key:
        raise EndpointError(f"the environment variable {name} is not set", f"export {name}=…")
    if not (key.isascii() and key.isprintable()):
        raise EndpointError(
            f"the key in {name or KEY_ENV} has characters that no header may hold",
            "put the key there alone, without quotes and on one line",
        )
    return key or None


def _client(headers: dict[str, str], settings: EndpointSettings) -> httpx2.Client:
    try:
        import httpx2
    except ImportError:
        raise ImportError("httpx2 is not installed; fix: pip install 'gamedsl[eval]'") from None
    limits = httpx2.Limits(max_connections=settings.concurrency)
    return httpx2.Client(headers=headers, timeout=settings.timeout, limits=limits)


def _retry_after(answer: httpx2.Response) -> float:
    """Seconds that the server asks to wait, as a number or until a date (RFC 9110, 10.2.3); 0 where
    it says neither."""
    said = answer.headers.get("retry-after", "0")
    try:
        seconds = float(said)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(said).timestamp() - time.time()
        except (ValueError, OverflowError):
            return 0.0
    return max(0.0, seconds) if isfinite(seconds) else 0.0
