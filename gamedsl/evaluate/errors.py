"""The exception of this package that a user is meant to read."""

from __future__ import annotations


class EvalError(Exception):
    """The request cannot be evaluated. The text states the fact, then what helps."""

    def __init__(self, fact: str, help: str) -> None:
        super().__init__(f"{fact}\n  help: {help}")
        self.fact = fact
        self.help = help
