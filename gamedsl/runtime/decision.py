"""What one seat is asked, and what it may answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gamedsl.backends.events import Seen
from gamedsl.backends.labels import LabelBook

if TYPE_CHECKING:
    from gamedsl.runtime.env import Env

Message = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Action:
    """A move, by its canonical name."""

    name: str


@dataclass(frozen=True)
class Decision:
    """What one seat is asked.

    `information_set` names all that the seat knows here in canonical names, and never in labels, so
    that policies, metrics and solvers agree on it. `occurrence` is how often the seat has chosen at
    this step before. `legal` are canonical names, in the order of the step's options; `labels` are
    parallel to them; the prompt shows them in an order of its own.
    """

    seat: str
    role: str
    step: str
    occurrence: int
    information_set: str
    legal: tuple[str, ...]
    labels: tuple[str, ...]
    seen: Seen = field(repr=False)
    _env: Env = field(repr=False, compare=False)
    _book: LabelBook = field(repr=False, compare=False)

    @property
    def view(self) -> dict[str, Any]:
        """What the seat sees, as plain data with canonical names."""
        return {
            "seat": self.seat,
            "role": self.role,
            "step": self.step,
            "legal": list(self.legal),
            "seen": [event._asdict() for event in self.seen],
        }

    @cached_property
    def messages(self) -> tuple[Message, ...]:
        """The prompt, as (chat role, content) pairs."""
        step = self._env.step_of(self.step)
        return self._env.prompter.messages(self.seat, step, self.legal, self._book, self.seen)
