"""The fallback of generated games: a history that the interpreter plays on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gamedsl.engine.kernel import Amounts, Ask, Kind, NamedMoves, Outcome
from gamedsl.prompting.events import Seen

if TYPE_CHECKING:
    from gamedsl.engine.interpreter import History


class InterpreterFallback(NamedMoves):
    """A mixin for generated classes: a history that the interpreter plays on, because the generated
    code does not know how."""

    __slots__ = ()

    if TYPE_CHECKING:
        _reference: History

    def copy(self) -> InterpreterFallback:
        twin = type(self).__new__(type(self))
        object.__setattr__(twin, "_reference", self._reference.copy())
        return twin

    def choose(self, names: Sequence[str]) -> None:
        self._reference.choose(names)

    def draw(self, outcome: int) -> str:
        return self._reference.draw(outcome)

    @property
    def kind(self) -> Kind:
        return self._reference.kind

    @property
    def asks(self) -> tuple[Ask, ...]:
        return self._reference.asks

    @property
    def legal(self) -> tuple[tuple[str, ...], ...]:
        return tuple(ask.legal for ask in self.asks)

    @property
    def draws(self) -> tuple[str, tuple[str, ...]]:
        return self._reference.draws

    @property
    def outcome_count(self) -> int:
        return self._reference.outcome_count

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        return self._reference.outcomes

    def outcome(self, number: int) -> Outcome:
        return self._reference.outcome(number)

    def outcome_named(self, name: str) -> int | None:
        return self._reference.outcome_named(name)

    def pick(self, seed: int) -> int:
        return self._reference.pick(seed)

    def sample(self, random: Callable[[], float]) -> int:
        return self._reference.sample(random)

    def seen(self, seat: str) -> Seen:
        return self._reference.seen(seat)

    @property
    def payoffs(self) -> Amounts:
        return self._reference.payoffs

    @property
    def rewards(self) -> Amounts:
        return self._reference.rewards

    @property
    def streams(self) -> Mapping[str, Amounts]:
        return self._reference.streams

    @property
    def variables(self) -> Mapping[str, Any]:
        return self._reference.variables
