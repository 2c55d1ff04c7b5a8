"""The budget of endpoints: calls, tokens as the server counts them, and refused answers."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Collection
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
        self._used = {"calls": 0, "tokens": 0}
        self._of, self._more = of, more
        self._lock = threading.Lock()
        self.in_use = False
        """Whether there is an endpoint that may use it up."""
        self.refused: Counter[str] = Counter()
        """Answers that were no replies, by the keys of `endpoint_protocol.REFUSALS`."""
        self.halted: Callable[[], bool] = lambda: False
        """Whether all calls are to be given up, those under way too."""

    @property
    def calls(self) -> int:
        """Attempts made so far."""
        return self._used["calls"]

    @property
    def tokens(self) -> int:
        """Tokens of prompts and replies so far."""
        return self._used["tokens"]

    def call(self) -> None:
        """Count an attempt that is about to be made. Raises `BudgetSpent` where none is left, and
        Interrupted."""
        if self.halted():
            raise Interrupted
        with self._lock:
            for what, most in self._most.items():
                if most is not None and self._used[what] >= most:
                    raise BudgetSpent(what, most, self._of, self._more)
            self._used["calls"] += 1

    def use(self, tokens: int) -> None:
        """Count the tokens of an attempt."""
        with self._lock:
            self._used["tokens"] += tokens

    def refuse(self, why: str) -> None:
        """Counts an answer that is no reply."""
        with self._lock:
            self.refused[why] += 1

    def state(self) -> dict[str, Any]:
        """Returns the counts that a checkpoint stores; `refused` where any answer was."""
        return {**self._used, **({"refused": dict(self.refused)} if self.refused else {})}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from what `state` returned; what was used since is not forgotten."""
        with self._lock:
            self._used = {what: max(used, state[what]) for what, used in self._used.items()}
            self.refused |= Counter(state.get("refused", {}))
