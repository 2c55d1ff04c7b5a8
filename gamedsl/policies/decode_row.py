"""A reply under way: what is asked, what was drawn so far, and when it ends."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from gamedsl.policies.constraints import Constraint
from gamedsl.policies.generation import Finish, Generated, Ids, Request
from gamedsl.policies.prefix_tree import common_prefix


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
        reply = tuple(self.reply)
        said = reply[:-1] if reply[-1] in self.ends else reply
        return Generated(self.prompt, reply, tuple(self.log_probs), self.text(said), finish)

    def _stopped(self) -> bool:
        """Whether a stop string is complete: no token is without a byte, so it is in as many."""
        if not self.request.stop:
            return False
        longest = max(len(stop.encode()) for stop in self.request.stop)
        tail = self.text(tuple(self.reply[-longest - 1 :]))
        return any(stop in tail for stop in self.request.stop)
