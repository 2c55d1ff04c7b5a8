"""The base of errors that a user is meant to read."""

from __future__ import annotations

from typing import Any


class UserError(Exception):
    """A request cannot be met. The text states the fact, then the fix."""

    def __init__(self, fact: str, fix: str) -> None:
        super().__init__(f"{fact}\n  fix: {fix}")
        self.fact = fact
        self.fix = fix

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles an error as it is, whatever its class is made of: workers send them."""
        return _rebuilt, (type(self), self.args, self.__dict__)


def _rebuilt(kind: type[UserError], args: tuple[Any, ...], state: dict[str, Any]) -> UserError:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(state)
    return error
