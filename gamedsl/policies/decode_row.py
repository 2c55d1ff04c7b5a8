"""A reply under way: what is asked, what was drawn so far, and when it ends."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from gamedsl.policies.base import Query
from gamedsl.policies.chat import HFTokenizer
from gamedsl.policies.constraints import Constraint
from gamedsl.policies.errors import ModelError
from gamedsl.policies.generation import Finish, Generated, Ids, Request
from gamedsl.policies.prefix_tree import common_prefix


def room_for(prompt: int, wanted: int, longest: float) -> int:
    """The most tokens of a reply after `prompt` tokens, where prompt and reply are no more than
    `longest`. Raises ModelError where there are none."""
    room = longest - prompt
    if room < 1:
        raise ModelError(
            f"a prompt of {prompt} tokens leaves the model no room for a reply",
            "shorten what prompts show, or choose a model with a longer context",
        )
    return int(min(wanted, room))


def choices_of(tokenizer: HFTokenizer, request: Request) -> tuple[Ids, ...]:
    """Ids of each of a request's choices, as it goes on from the prompt."""
    if not request.choices:
        return ()
    if request.prefix or not all(isinstance(turn, str) for _, turn in request.messages):
        return tokenizer.labels(request.choices)
    messages = tuple((role, str(turn)) for role, turn in request.messages)
    return tokenizer.encode(Query(messages, request.choices, request.adapter)).labels


def reply_of(
    prompt: Ids, reply: Ids, log_probs: tuple[float, ...], ends: frozenset[int],
    text: Callable[[Ids], str], finish: Finish,
) -> Generated:  # fmt: skip
    """A reply whose end token, if it has one, is not in its text."""
    said = reply[:-1] if reply[-1] in ends else reply
    return Generated(prompt, reply, log_probs, text(said), finish)


@dataclass(eq=False)
class Row:
    """A reply under way."""

    index: int
    request: Request
    prompt: Ids
    room: int
    """The most tokens."""
    ends: frozenset[int]
    text: Callable[[Ids], str]
    constraint: Constraint | None
    reach: int
    """The most tokens of a stop string as the model writes it; 0 where there is none."""
    path: list[int] = field(default_factory=list)
    """Slots of the tokens whose keys and values are in the pool."""
    reply: list[int] = field(default_factory=list)
    log_probs: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._random = random.Random(self.request.seed)

    @property
    def ids(self) -> Ids:
        """All tokens so far; the last one has not been read yet."""
        return self.prompt + tuple(self.reply)

    @property
    def last(self) -> int:
        return self.reply[-1] if self.reply else self.prompt[-1]

    def cost(self, before: Row | None) -> int:
        """Slots that the row may come to need, beside those of a row."""
        same = before is not None and before.request.adapter == self.request.adapter
        shared = common_prefix(before.prompt, self.prompt) if before and same else 0
        return len(self.prompt) - shared + self.room

    def uniform(self) -> float:
        return self._random.random()

    def take(self, token: int, log_prob: float) -> Finish | None:
        """Add a token; how the reply ends, if it does."""
        self.reply.append(token)
        self.log_probs.append(log_prob)
        complete = self.constraint is not None and self.constraint.take(token)
        if complete or token in self.ends or self._stopped():
            return "stop"
        return "length" if len(self.reply) == self.room else None

    def result(self, finish: Finish) -> Generated:
        reply, log_probs = tuple(self.reply), tuple(self.log_probs)
        return reply_of(self.prompt, reply, log_probs, self.ends, self.text, finish)

    def _stopped(self) -> bool:
        """Whether a stop string is complete."""
        if not self.request.stop:
            return False
        tail = self.text(tuple(self.reply[-self.reach - 1 :]))
        return any(stop in tail for stop in self.request.stop)
