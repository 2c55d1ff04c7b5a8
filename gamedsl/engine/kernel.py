"""The interface between the rules of a game and the environment: what a backend provides.

A backend gives a `Kernel`; a kernel starts states; a state is one history, moved by `choose` and
`draw`. The kernel knows nothing of labels, prompts, seeds of a run or replies. It stops at every
decision and every chance node, those with one option included: whether to ask is not its affair.
Always: two backends give the same asks, outcomes, events and amounts for the same history.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from gamedsl.diagnostics.spans import Span
from gamedsl.ir.evaluate import EvaluationError
from gamedsl.ir.expr import Const
from gamedsl.ir.game import GameIR
from gamedsl.ir.types import NONE
from gamedsl.prompting.events import Seen, known

Amounts = Mapping[str, int | Fraction]

Kind = Literal["decide", "chance", "end"]


LONGEST_MOVE = 1_000_000
"""Operations that the rules may take from one decision, chance node or beginning to the next, for
the reference; jumps between functions, which are fewer, for generated code."""


class PlayError(EvaluationError):
    """The rules do not say what happens here. `span` is the place in the file; `witness` are lines
    that say how play got there; `help` is a remedy, if there is one."""

    def __init__(
        self, message: str, span: Span, witness: tuple[str, ...] = (), help: str = ""
    ) -> None:
        super().__init__(message, Const(NONE, span, None))
        self.witness = witness
        self.help = help


class Ask(NamedTuple):
    """One seat that must choose now: `legal` are canonical names, in the order of the step's
    options, and none where it is `open` (but examples, in plays that are only looked at).
    `occurrence` is how often it has chosen at this step before. `key` names what it knows
    here, where the step says that (`occurrence` is then 0); None: all that it has seen."""

    seat: str
    step: str
    occurrence: int
    legal: tuple[str, ...]
    key: str | None = None
    open: bool = False


class Outcome(NamedTuple):
    """A possible outcome of chance, by its canonical name."""

    name: str
    probability: Fraction


class State(Protocol):
    """A history of a game, and what may follow."""

    @property
    def kind(self) -> Kind: ...

    @property
    def asks(self) -> tuple[Ask, ...]:
        """The seats that must choose, each blind to the others. Empty unless `kind` is "decide"."""
        ...

    @property
    def draws(self) -> tuple[str, tuple[str, ...]]:
        """The step at which chance draws and the index it draws for. Only at a chance node."""
        ...

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """The possible outcomes, in a fixed order. Empty unless `kind` is "chance"."""
        ...

    @property
    def outcome_count(self) -> int:
        """The number of `outcomes`, without listing them."""
        ...

    def outcome(self, number: int) -> Outcome:
        """Returns one of `outcomes`, without listing them. Only at a chance node."""
        ...

    def outcome_named(self, name: str) -> int | None:
        """Returns the place of a name among `outcomes`, without listing them; None where no outcome
        has it. Only at a chance node."""
        ...

    @property
    def payoffs(self) -> Amounts:
        """Utility of each seat, exact. Only at the end; may raise `EvaluationError`."""
        ...

    @property
    def rewards(self) -> Amounts:
        """The reward of each seat in training. As `payoffs`."""
        ...

    @property
    def streams(self) -> Mapping[str, Amounts]:
        """The payments so far to each stream, per seat, and at the end the scores. The payments of
        a stage count once it is over."""
        ...

    @property
    def variables(self) -> Mapping[str, Any]:
        """The present value of every variable, declared or bound by a step, by name; an unbound
        variable is missing. Names with `@` in them are the backend's own."""
        ...

    @property
    def asked(self) -> tuple[str, ...]:
        """The seats in `asks`, without working out the rest."""
        ...

    @property
    def counts(self) -> tuple[int, ...]:
        """The number of options of each of them."""
        ...

    def apply(self, number: int, *others: int) -> None:
        """Moves by numbers, the fast way: every seat in `asks` takes the option with its number
        among those that are legal, or chance brings the outcome of this number. Raises as `choose`.
        """
        ...

    def sample(self, random: Callable[[], float]) -> int:
        """The number of an outcome, drawn with a function that gives numbers from 0 to below 1."""
        ...

    def choose(self, names: Sequence[str]) -> None:
        """Every seat in `asks` takes an option, or says something, by its canonical name; parallel
        to `asks`.

        Names are not checked. Raises `EvaluationError`, after which the state is not to be used.
        """
        ...

    def draw(self, outcome: int) -> str:
        """Chance brings the outcome of this number, whose name is returned. Raises as `choose`."""
        ...

    def pick(self, seed: int) -> int:
        """The number of the outcome that a seed draws here."""
        ...

    def seen(self, seat: str) -> Seen:
        """Returns all events that a seat has seen, in order."""
        ...

    def known(self, seat: str) -> str:
        """Returns the events that a seat has seen as text, as `gamedsl.prompting.events.known`
        writes them."""
        ...

    def copy(self) -> State:
        """An independent copy; cheap."""
        ...


class OpenState(State, Protocol):
    """A state of a game with open decisions."""

    def objection(self, seat: str, name: str) -> str | None:
        """Returns None where a reply of a seat that is asked, by its canonical name, is valid by
        the rules, and otherwise what the file says to its author, which may be nothing. Raises
        EvaluationError where the rules do not decide."""
        ...


class Kernel(Protocol):
    """The rules of one game, ready to be played."""

    @property
    def ir(self) -> GameIR: ...

    def start(self) -> State:
        """The history in which nothing has happened. Raises `EvaluationError` as `choose`."""
        ...


class NamedMoves:
    """A mixin for states whose moves are known by name: it adds the moves by number, and the text
    of all that a seat has seen."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def kind(self) -> Kind: ...
        @property
        def asks(self) -> tuple[Ask, ...]: ...
        def choose(self, names: Sequence[str]) -> None: ...
        def draw(self, outcome: int) -> str: ...
        def seen(self, seat: str) -> Seen: ...

    @property
    def asked(self) -> tuple[str, ...]:
        return tuple([ask.seat for ask in self.asks])

    @property
    def counts(self) -> tuple[int, ...]:
        return tuple([len(ask.legal) for ask in self.asks])

    def apply(self, number: int, *others: int) -> None:
        if self.kind == "chance":
            self.draw(number)
        else:
            numbers = number, *others
            self.choose([ask.legal[i] for ask, i in zip(self.asks, numbers, strict=True)])

    def known(self, seat: str) -> str:
        return known(self.seen(seat))
