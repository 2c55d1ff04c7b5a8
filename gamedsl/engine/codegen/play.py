"""The state of a generated game: the base class of all of them.

A generated module adds a slot for each variable of its game and a function for each operation of
`gamedsl.engine.flow`. Such a function takes the state, and returns the function to go on with, or
None at a decision, at a chance node and at the end. What happened is kept in two chains that copies
share: `_moves`, to play it again, and `_log`, what whom was told.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gamedsl.engine.chance import Lottery, Single, list_outcomes, outcome_at, pick_outcome
from gamedsl.engine.declared_infoset import key_of_names
from gamedsl.engine.kernel import LONGEST_MOVE, Amounts, Ask, Kind, Outcome
from gamedsl.ir.outcome import Settlement
from gamedsl.prompting.events import SILENCE, Seen, appended, occurrences

if TYPE_CHECKING:
    from gamedsl.engine.generated import Generated
    from gamedsl.engine.interpreter import History


Told = tuple[Any, Any, str, str, str]
"""An entry of the log: the entry before it; the observers (None: everyone; a tuple of seats; a map
of seat to the name that it sees); the step, the seat and the name of the event."""


UNASKED: tuple[Any, tuple[Ask, ...]] = ((), ())
NOTHING: Lottery = Single((), ())
"""The lottery before the first draw."""


_STEPS = range(LONGEST_MOVE)
"""The functions that one move may run. The loops over them stand where moves begin: a call more
would cost what a step of a small game does."""


class Play(ABC):
    """A history of a generated game. A `gamedsl.engine.kernel.State`."""

    __slots__ = (
        "_asks",
        "_drawn",
        "_known",
        "_knows",
        "_log",
        "_lottery",
        "_moves",
        "_places",
        "_reference",
        "_result",
        "_seen",
        "_site",
        "asked",
        "counts",
        "kind",
        "me",
    )  # fmt: skip

    kernel: Generated
    """Set in the class that each kernel makes of it."""
    _unknown: Any = {}
    """The value of `_known` at the start."""

    kind: Kind
    me: str | None
    """The acting seat."""
    asked: tuple[str, ...]
    counts: tuple[int, ...]
    _places: tuple[Sequence[int], ...]
    """The places of what each who is asked may choose, among the options of the step."""
    _knows: tuple[tuple[str, ...], ...]
    """The names of what each who is asked knows, where the step says that; else as it was."""
    _asks: tuple[Any, tuple[Ask, ...]]
    """After which move `asks` was asked for last, and what it was."""
    _site: Any
    _drawn: tuple[Any, ...]
    """The outcomes of the draw under way, index by index."""
    _lottery: Lottery
    _log: Told | None
    _moves: tuple[Any, Any] | None
    """The last move, a tuple of places or the number of an outcome, and all before it."""
    _known: Any
    """For each seat, what was asked for before: up to which entry of the log, and its text. Where
    everybody is told everything, that of all."""
    _seen: Mapping[str, tuple[Any, Seen]]
    _result: Settlement | None
    _reference: History
    """The history that plays on in this state's stead; absent until then."""

    def __init__(self) -> None:
        self.kind = "end"
        self.me = None
        self.asked = self.counts = self._places = self._drawn = self._knows = ()
        self._log = self._moves = self._result = self._site = None
        self._lottery = NOTHING
        self._known = self._unknown
        self._seen = {}
        self._asks = UNASKED
        try:
            go = self._begin()
            if go is not None and (go := go(self)) is not None:
                self._go_on(go)
        except Exception:
            self._replay()

    # what a generated class has of its own

    @abstractmethod
    def _begin(self) -> Go:
        """Sets all variables to their values at the start. Returns the first function to go on
        with."""

    @abstractmethod
    def copy(self) -> Play: ...

    @abstractmethod
    def _settle(self) -> Settlement:
        """Returns the payoffs and rewards at the end."""

    @abstractmethod
    def _paid(self) -> Mapping[str, Amounts]:
        """Returns the payments so far to each stream."""

    @property
    @abstractmethod
    def variables(self) -> Mapping[str, Any]: ...

    # moving

    def choose(self, names: Sequence[str]) -> None:
        if SILENCE in names:  # no option, and the generated code knows options alone
            self._replay()
            self.choose(names)
            return
        place = self._site.place
        places = tuple([place(s, name) for s, name in zip(self.asked, names, strict=True)])
        self._move(places, places)

    def draw(self, outcome: int) -> str:
        value, name = self._lottery.value(outcome), self._site.name
        self._move(outcome, value)
        return str(name(value))

    def _move(self, move: int | tuple[int, ...], given: Any) -> None:
        """Makes a move, which `_moves` keeps; `given` is what its site takes."""
        self._moves = move, self._moves
        try:
            go = self._site.take(self, given)
            if go is not None and (go := go(self)) is not None:
                self._go_on(go)
        except Exception:
            self._replay()

    def _go_on(self, go: Go) -> None:
        """Runs functions until one stops. Raises OverflowError after `LONGEST_MOVE`."""
        for _ in _STEPS:
            go = go(self)
            if go is None:
                return
        raise OverflowError

    def apply(self, number: int, *others: int) -> None:
        move: int | tuple[int, ...]
        if self.kind == "chance":
            move, given = number, self._lottery.value(number)
        elif others:
            numbers = number, *others
            given = move = tuple([p[i] for p, i in zip(self._places, numbers, strict=True)])
        else:
            given = move = (self._places[0][number],)
        self._moves = move, self._moves
        try:  # as `_move`, of which a call would take as long as a step
            go = self._site.take(self, given)
            if go is not None and (go := go(self)) is not None:
                self._go_on(go)
        except Exception:
            self._replay()

    def _replay(self) -> None:
        """Lets the reference play the same moves: it raises the error, with its place in the file,
        or else goes on in this state's stead."""
        moves, chain = [], self._moves
        while chain is not None:
            move, chain = chain
            moves.append(move)
        history = self.kernel.reference.start()
        for move in reversed(moves):
            if isinstance(move, int):
                history.draw(move)
            else:
                asks = history.asks
                step = self.kernel.steps[asks[0].step]
                history.choose(
                    [step.options_of(a.seat)[i].name for a, i in zip(asks, move, strict=True)]
                )
        self._reference = history
        self.__class__ = self.kernel.fallback

    # decisions

    @property
    def asks(self) -> tuple[Ask, ...]:
        if self.kind != "decide":
            return ()
        if self._asks[0] is not self._moves:
            step, ir = self._site.step, self.kernel.ir
            if step in ir.asked_as:
                rule = self.kernel.steps[step]
                asks = [
                    Ask(seat, step, 0, legal, key_of_names(ir, rule, seat, names))
                    for seat, legal, names in zip(self.asked, self.legal, self._knows, strict=True)
                ]
            else:
                asks = [
                    Ask(seat, step, occurrences(self.seen(seat), step, seat), legal)
                    for seat, legal in zip(self.asked, self.legal, strict=True)
                ]
            self._asks = self._moves, tuple(asks)
        return self._asks[1]

    @property
    def legal(self) -> tuple[tuple[str, ...], ...]:
        if self.kind != "decide":
            return ()
        names = self._site.names
        return tuple(
            [
                tuple([names[seat][place] for place in places])
                for seat, places in zip(self.asked, self._places, strict=True)
            ]
        )

    # chance

    @property
    def draws(self) -> tuple[str, tuple[str, ...]]:
        site = self._site
        return site.step, site.indices[len(self._drawn)]

    @property
    def outcome_count(self) -> int:
        return self._lottery.size if self.kind == "chance" else 0

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        return list_outcomes(self._lottery) if self.kind == "chance" else ()

    def outcome(self, number: int) -> Outcome:
        return outcome_at(self._lottery, number)

    def outcome_named(self, name: str) -> int | None:
        return self._lottery.named(name)

    def pick(self, seed: int) -> int:
        step, index = self.draws
        return pick_outcome(self._lottery, seed, step, self._site.passes(self), index)

    def sample(self, random: Callable[[], float]) -> int:
        lottery = self._lottery
        return lottery.outcome(int(random() * lottery.total))

    # what is seen

    def seen(self, seat: str) -> Seen:
        last, seen = self._seen.get(seat, (None, ()))
        if last is not self._log:
            for step, whom, name in self._news(seat, last):
                seen = appended(seen, step, whom, name)
            self._seen = {**self._seen, seat: (self._log, seen)}
        return seen

    def known(self, seat: str) -> str:
        entry = self._log
        last: Told | None
        text: str
        last, text = self._known.get(seat, (None, ""))
        if entry is last:
            return text
        news = []
        while entry is not None and entry is not last:
            entry, told, step, whom, name = entry
            if told is not None:
                if seat not in told:
                    continue
                if told.__class__ is dict:
                    name = told[seat]
            news.append(f"{whom}.{step}={name}" if whom else f"{step}={name}")
        if text:
            news.append(text)
        news.reverse()
        text = ", ".join(news)
        self._known = {**self._known, seat: (self._log, text)}
        return text

    def _known_to_all(self, seat: str) -> str:
        """Returns `known` in a game in which every seat sees every event."""
        entry = self._log
        last: Told | None
        text: str
        last, text = self._known
        if entry is last or entry is None:
            return text
        before, _, step, whom, name = entry
        if text and before is last:  # the most common case
            text = f"{text}, {whom}.{step}={name}" if whom else f"{text}, {step}={name}"
            self._known = entry, text
            return text
        news = []
        while entry is not None and entry is not last:
            entry, _, step, whom, name = entry
            news.append(f"{whom}.{step}={name}" if whom else f"{step}={name}")
        if text:
            news.append(text)
        news.reverse()
        text = ", ".join(news)
        self._known = self._log, text
        return text

    def _news(self, seat: str, last: Told | None) -> list[tuple[str, str, str]]:
        """Returns the events of a seat after an entry of the log: step, seat and name of each."""
        news = []
        entry = self._log
        while entry is not last and entry is not None:
            before, told, step, whom, name = entry
            if told is None:
                news.append((step, whom, name))
            elif seat in told:
                shown = told[seat] if isinstance(told, dict) else name
                news.append((step, whom, shown))
            entry = before
        news.reverse()
        return news

    # amounts

    @property
    def payoffs(self) -> Amounts:
        return self._settled().payoffs

    @property
    def rewards(self) -> Amounts:
        return self._settled().rewards

    @property
    def streams(self) -> Mapping[str, Amounts]:
        if self.kind == "end":
            return self._settled().streams
        unpaid = self._site.unpaid
        return {**self._paid(), "payoffs": getattr(self, unpaid)} if unpaid else self._paid()

    def _settled(self) -> Settlement:
        if self._result is None:
            try:
                self._result = self._settle()
            except Exception:
                self._replay()
                self._result = self._reference._settled()
        return self._result


Go = Any
"""The function to go on with, or None; its own type cannot be written down."""


class Asks:
    """A decision: its number among the stops of the program, the step, the function that carries
    out a choice, each seat's options, and the slot with the payments before the stage around it
    (empty: there is none)."""

    __slots__ = ("_places", "names", "number", "step", "take", "unpaid")

    def __init__(
        self, number: int, step: str, take: Callable[[Any, Sequence[int]], Go],
        names: dict[str, list[str]], unpaid: str,
    ) -> None:  # fmt: skip
        self.number = number
        self.step = step
        self.take = take
        self.names = names
        self.unpaid = unpaid
        self._places: dict[str, dict[str, int]] = {}

    def place(self, seat: str, name: str) -> int:
        """Returns the place of an option among all of a seat."""
        if seat not in self._places:
            self._places[seat] = {name: i for i, name in enumerate(self.names[seat])}
        return self._places[seat][name]


class Draws:
    """A chance node: its number and step as in `Asks`, the names of each index, the function that
    carries out an outcome, the passes of the loops around it, the name of an outcome, and the slot
    as in `Asks`."""

    __slots__ = ("indices", "name", "number", "passes", "step", "take", "unpaid")

    def __init__(
        self, number: int, step: str, indices: tuple[tuple[str, ...], ...],
        take: Callable[[Any, Any], Go], passes: Callable[[Any], tuple[int, ...]],
        name: Callable[[Any], str], unpaid: str,
    ) -> None:  # fmt: skip
        self.number = number
        self.step = step
        self.indices = indices
        self.take = take
        self.passes = passes
        self.name = name
        self.unpaid = unpaid
