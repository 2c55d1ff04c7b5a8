"""The budget of endpoints: calls, and tokens as the server counts them."""

from __future__ import annotations

import threading
from typing import Any


class EndpointError(Exception):
    """An endpoint that cannot be used, or does not answer. The text states the fact, then the
    fix."""

    def __init__(self, fact: str, fix: str) -> None:
        super().__init__(f"{fact}\n  fix: {fix}")
        self.fact = fact
        self.fix = fix


class BudgetSpent(EndpointError):
    """All calls that were allowed have been made, or all tokens used: `most` of `what`."""

    def __init__(self, what: str, most: int, of: str, more: str) -> None:
        super().__init__(f"the budget of {most:,} {what} of {of} is spent", more.format(what))
        self.what, self.most = what, most


class Budget:
    """Calls and tokens that one endpoint may use, or several together; threads may share it.

    Every attempt is a call. No call is begun once so many tokens have been used: what is under way
    then is still counted, so that they may be a few more. None is any number.
    """

    def __init__(
        self, calls: int | None, tokens: int | None, *, of: str = "endpoints",
        more: str = "allow more with `budget.{}`",
    ) -> None:  # fmt: skip
        """of: who uses it up. more: how to allow more `calls` or `tokens`."""
        self._most = {"calls": calls, "tokens": tokens}
        self._used = {"calls": 0, "tokens": 0}
        self._of, self._more = of, more
        self._lock = threading.Lock()
        self.in_use = False
        """Whether there is an endpoint that may use it up."""

    @property
    def calls(self) -> int:
        """Attempts made so far."""
        return self._used["calls"]

    @property
    def tokens(self) -> int:
        """Tokens of prompts and replies so far."""
        return self._used["tokens"]

    def call(self) -> None:
        """Count an attempt that is about to be made. Raises `BudgetSpent` where none is left."""
        with self._lock:
            for what, most in self._most.items():
                if most is not None and self._used[what] >= most:
                    raise BudgetSpent(what, most, self._of, self._more)
            self._used["calls"] += 1

    def use(self, tokens: int) -> None:
        """Count the tokens of an attempt."""
        with self._lock:
            self._used["tokens"] += tokens

    def state(self) -> dict[str, Any]:
        """Returns the counts that a checkpoint stores."""
        return dict(self._used)

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from what `state` returned; what was used since is not forgotten."""
        with self._lock:
            self._used = {what: max(used, state[what]) for what, used in self._used.items()}
