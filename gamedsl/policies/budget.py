"""The budget of endpoints: calls, tokens as the server counts them, and refused answers."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from gamedsl.errors import UserError


class EndpointError(UserError):
    """An endpoint that cannot be used, or does not answer."""


class BudgetSpent(EndpointError):
    """All calls that were allowed have been made, or all tokens used: `most` of `what`."""

    def __init__(self, what: str, most: int, of: str, more: str) -> None:
        super().__init__(f"the budget of {most:,} {what} of {of} is spent", more.format(what))
        self.what, self.most = what, most


class Interrupted(EndpointError):
    """Calls are given up, for the user wants to end."""

    def __init__(self) -> None:
        super().__init__("interrupted", "run the same command again for the rest")


class CallTimes(NamedTuple):
    """The most seconds of an attempt, and of a call with all its attempts and pauses."""

    attempt: float = 60.0
    call: float = 1200.0


class Usage:
    """What was used so far: calls, tokens, and refused answers by the keys of
    `endpoint_protocol.REFUSALS`. Threads may share it."""

    def __init__(self) -> None:
        self._used = {"calls": 0, "tokens": 0}
        self._refused = Counter[str]()
        self._lock = threading.Lock()

    def call(self, most: Mapping[str, int | None]) -> str | None:
        """Counts a call if less than `most` was used; else returns what is used up."""
        with self._lock:
            for what, limit in most.items():
                if limit is not None and self._used[what] >= limit:
                    return what
            self._used["calls"] += 1
            return None

    def use(self, tokens: int) -> None:
        """Counts tokens."""
        with self._lock:
            self._used["tokens"] += tokens

    def refuse(self, why: str) -> None:
        """Counts an answer that is no reply."""
        with self._lock:
            self._refused[why] += 1

    def state(self) -> dict[str, Any]:
        """Returns the counts that a checkpoint stores; `refused` where any answer was."""
        with self._lock:
            refused = {"refused": dict(self._refused)} if self._refused else {}
            return {**self._used, **refused}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Goes on from what `state` returned; what was used since is not forgotten."""
        with self._lock:
            self._used = {what: max(used, state[what]) for what, used in self._used.items()}
            self._refused |= Counter(state.get("refused", {}))


class Budget:
    """Calls and tokens that one endpoint may use, or several together; threads may share it.

    Every attempt is a call. No call is begun once so many tokens have been used: what is under way
    then is still counted, so that they may be a few more. None is any number.
    """

    def __init__(
        self, calls: int | None, tokens: int | None, *, of: str = "endpoints",
        more: str = "allow more with `budget.{}`", addresses: Collection[str] = (),
        times: CallTimes | None = None,
    ) -> None:  # fmt: skip
        """of: who uses it up. more: how to allow more `calls` or `tokens`. addresses: those that a
        file may name, such as a game's `train:`; whoever runs the program may name any. times:
        those of endpoints that have no settings of their own."""
        self.times = times or CallTimes()
        self.addresses = frozenset(address.rstrip("/") for address in addresses)
        self._most = {"calls": calls, "tokens": tokens}
        self._of, self._more = of, more
        self.usage = Usage()
        """What was used; budgets that have the same usage are one, which processes may share."""
        self.in_use = False
        """Whether there is an endpoint that may use it up."""
        self.halted: Callable[[], bool] = lambda: False
        """Whether all calls are to be given up, those under way too."""

    @property
    def calls(self) -> int:
        """Attempts made so far."""
        calls: int = self.usage.state()["calls"]
        return calls

    @property
    def tokens(self) -> int:
        """Tokens of prompts and replies so far."""
        tokens: int = self.usage.state()["tokens"]
        return tokens

    @property
    def refused(self) -> Counter[str]:
        """Answers that were no replies, by the keys of `endpoint_protocol.REFUSALS`."""
        return Counter(self.usage.state().get("refused", {}))

    def call(self) -> None:
        """Counts an attempt that is about to be made. Raises `BudgetSpent` where none is left, and
        Interrupted."""
        if self.halted():
            raise Interrupted
        spent = self.usage.call(self._most)
        if spent is not None:
            raise BudgetSpent(spent, self._most[spent] or 0, self._of, self._more)

    def use(self, tokens: int) -> None:
        """Counts the tokens of an attempt."""
        self.usage.use(tokens)

    def refuse(self, why: str) -> None:
        """Counts an answer that is no reply."""
        self.usage.refuse(why)

    def state(self) -> dict[str, Any]:
        """Returns the counts that a checkpoint stores."""
        return self.usage.state()

    def restore(self, state: Mapping[str, Any]) -> None:
        """Goes on from what `state` returned; what was used since is not forgotten."""
        self.usage.restore(state)
