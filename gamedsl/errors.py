"""The base of errors that a user is meant to read."""

from __future__ import annotations


class UserError(Exception):
    """A request cannot be met. The text states the fact, then the fix."""

    def __init__(self, fact: str, fix: str) -> None:
        super().__init__(f"{fact}\n  fix: {fix}")
        self.fact = fact
        self.fix = fix
