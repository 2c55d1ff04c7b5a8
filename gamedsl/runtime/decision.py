"""What one seat is asked, and what it may answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gamedsl.backends.events import Seen, information_set
from gamedsl.backends.kernel import Ask, State
from gamedsl.backends.labels import LabelBook
from gamedsl.backends.prompts import NOTHING

if TYPE_CHECKING:
    from gamedsl.runtime.env import Env

Message = tuple[str, str]


def key_of(state: State, ask: Ask) -> str:
    """The information set in which a seat is asked, as `Decision.information_set` has it."""
    if ask.key is not None:
        return ask.key
    return information_set(ask.seat, ask.step, state.known(ask.seat))


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
    _state: State = field(repr=False, compare=False)

    @property
    def view(self) -> dict[str, Any]:
        """All that the seat has seen, as plain data with canonical names; a declared view restricts
        `messages` alone."""
        return {
            "seat": self.seat,
            "role": self.role,
            "step": self.step,
            "legal": list(self.legal),
            "seen": [event._asdict() for event in self.seen],
        }

    @cached_property
    def messages(self) -> tuple[Message, ...]:
        """The prompt, as (chat role, content) pairs. EvaluationError where an expression of the
        seat's declared view has no value here."""
        return self.told(self._book)

    def told(self, book: LabelBook) -> tuple[Message, ...]:
        """The prompt under other labels. As `messages`."""
        env = self._env
        step = env.step_of(self.step)
        restricted = env.ir.told_at(self.seat, self.step) is not None
        variables = self._state.variables if restricted else NOTHING
        return env.prompter.messages(self.seat, step, self.legal, book, self.seen, variables)
