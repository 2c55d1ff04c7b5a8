"""Views as vectors of floats, of one size for every moment of a game, with a name for each float.

First whose view it is, at which step the seat is asked and how often it was before, then the parts
of the declared state that the seat may ever see, then what steps bind, as it was told last, then
what steps with `knows` show, which is zeros elsewhere, as all else is there. Members
of enums, seats, truth values and options of a choice are one-hot, as are ranges of up to `ONE_HOT`
numbers; longer ranges are scaled to 0..1; a number of no declared range is itself. A list has its
length and as many places as it may have items, filled from the front; a set is a 0 or 1 for each
value, a bag a count, as is a list without a bound or drawn in no order. What is not there, not
bound or hidden is all zeros; of a reply that never came only that it is bound. Text is left out.

A vector shows the present: it is Markov as far as the declared state is. A game that keeps in its
bindings what matters later needs `Episode.information`, which forgets nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import Any, NamedTuple, Protocol, assert_never

from gamedsl.ir.game import GameIR
from gamedsl.ir.statements import State
from gamedsl.ir.types import (
    Bag,
    Bool,
    Enum,
    Grid,
    List,
    Never,
    NoneType,
    Number,
    Option,
    PerSeat,
    PerValue,
    Record,
    Seat,
    Set,
    Text,
    Tuple,
    Type,
    Union,
    domain,
    plain,
)  # fmt: skip
from gamedsl.ir.values import Bag as BagValue
from gamedsl.ir.values import name_of
from gamedsl.prompting.draw_heads import Key
from gamedsl.prompting.events import SILENCE
from gamedsl.prompting.value_text import HIDDEN, Hidden
from gamedsl.prompting.visibility import may_read
from gamedsl.runtime.view_slots import Slot

ONE_HOT = 32
"""Numbers of a range that are one-hot; a longer range is scaled."""

MOST_COUNTED = 4_096
"""Values of which a set or bag is counted one by one; of a larger type there is the total only."""


MOST_FLOATS = 1 << 20
"""Floats of one vector. Types may hold far more values than a play has: a list of a million items
that may each be one of a hundred."""


class VectorTooLarge(ValueError):
    """Raised where a view's vector would have more than `MOST_FLOATS` floats; the text says how
    many."""


class Component(NamedTuple):
    """One float of a vector: its name, and between which values it lies."""

    name: str
    low: float
    high: float


class Code(Protocol):
    """Encodes values of one type as floats."""

    @property
    def width(self) -> int:
        """The number of floats, counted without listing them."""
        ...

    def components(self, name: str) -> Iterable[Component]:
        """Yields as many components as `write` appends floats, under the name of the value."""
        ...

    def write(self, value: Any, out: list[float]) -> None:
        """Appends the floats of a value; None and `Hidden` are zeros."""
        ...


class OneHot:
    def __init__(self, values: Sequence[Any]) -> None:
        self._names = tuple(map(name_of, values))
        self._place = {value: i for i, value in enumerate(values)}
        self.width = len(self._names)

    def components(self, name: str) -> Iterable[Component]:
        return (Component(f"{name}={value}", 0, 1) for value in self._names)

    def write(self, value: Any, out: list[float]) -> None:
        start = len(out)
        out += [0.0] * len(self._names)
        if not isinstance(value, Hidden) and value in self._place:
            out[start + self._place[value]] = 1.0


class Amount:
    """A number, scaled where it has bounds."""

    def __init__(self, low: int | None, high: int | None) -> None:
        self._low, self._high = low, high
        self.width = 1

    def components(self, name: str) -> Iterable[Component]:
        bounded = self._low is not None
        return (Component(name, 0 if bounded else -inf, 1 if bounded else inf),)

    def write(self, value: Any, out: list[float]) -> None:
        if value is None or isinstance(value, Hidden):
            out.append(0.0)
        elif self._low is None or self._high is None:
            out.append(float(value))
        else:
            out.append(float((value - self._low) / (self._high - self._low)))


class Length:
    """The number of items of a list or bag, hidden or not."""

    def __init__(self, most: int | None) -> None:
        self._most = most
        self.width = 1

    def components(self, name: str) -> Iterable[Component]:
        return (Component(f"len({name})", 0, 1 if self._most else inf),)

    def write(self, value: Any, out: list[float]) -> None:
        if isinstance(value, Hidden):
            length = value.length or 0
        elif isinstance(value, BagValue):
            length = value.total
        else:
            length = 0 if value is None else len(value)
        out.append(length / (self._most or 1))


class Parts:
    """The parts of a record, tuple, grid or map, one after the other."""

    def __init__(self, parts: Sequence[tuple[str, Any, Code]]) -> None:
        """Each part has a suffix of the name, a key into the value, and a code."""
        self._parts = tuple(parts)
        self.width = sum(code.width for _, _, code in self._parts)

    def components(self, name: str) -> Iterable[Component]:
        for suffix, _, code in self._parts:
            yield from code.components(f"{name}{suffix}")

    def write(self, value: Any, out: list[float]) -> None:
        for _, key, code in self._parts:
            if value is None or isinstance(value, Hidden):
                code.write(HIDDEN, out)
            else:
                code.write(value.get(key) if isinstance(value, dict) else value[key], out)


class Items:
    """A list of bounded length."""

    def __init__(self, item: Code, most: int, fixed: bool) -> None:
        self._item, self._most = item, most
        self._length = None if fixed else Length(most)
        self.width = most * item.width + (not fixed)

    def components(self, name: str) -> Iterable[Component]:
        if self._length is not None:
            yield from self._length.components(name)
        for place in range(self._most):
            yield from self._item.components(f"{name}[{place}]")

    def write(self, value: Any, out: list[float]) -> None:
        if self._length is not None:
            self._length.write(value, out)
        items = () if value is None or isinstance(value, Hidden) else value
        for place in range(self._most):
            self._item.write(items[place] if place < len(items) else None, out)


class Counts:
    """A 0 or 1 for each value that may be in a set, or how many of it are in a bag or list."""

    def __init__(self, values: Sequence[Any], most: float) -> None:
        self._values, self._most = tuple(values), most
        self.width = len(self._values)

    def components(self, name: str) -> Iterable[Component]:
        return (Component(f"{name}({name_of(v)})", 0, self._most) for v in self._values)

    def write(self, value: Any, out: list[float]) -> None:
        inside = () if value is None or isinstance(value, Hidden) else value
        copies = inside if isinstance(inside, BagValue) else BagValue.of(inside)
        out += [float(copies.get(v, 0)) for v in self._values]


class Maybe:
    """A 0 or 1 that says whether there is a value, before a code that cannot tell.

    `none_too` says that none counts as something: it was bound, or is seen.
    """

    def __init__(self, code: Code, word: str, none_too: bool = False) -> None:
        self._code, self._word, self._none_too = code, word, none_too
        self.width = 1 + code.width

    def components(self, name: str) -> Iterable[Component]:
        yield Component(f"{name} {self._word}", 0, 1)
        yield from self._code.components(name)

    def write(self, value: Any, out: list[float]) -> None:
        there = self._none_too if value is None else not isinstance(value, Hidden)
        out.append(float(there))
        self._code.write(value, out)


NOTHING = Parts(())


class Layout:
    """The vectors of one seat of a game."""

    def __init__(self, ir: GameIR, slots: Iterable[Slot], seat: str) -> None:
        """`slots` are all that steps of the game fill. Raises `VectorTooLarge`."""
        self._seat = seat
        self._seats = ir.seats
        self._steps = tuple(step.id for step in ir.steps if seat in step.actors)
        self._me = OneHot(self._seats)
        self._asked = OneHot(self._steps)
        self._state = [
            (state.name, code) for state in ir.states for code in (self._state_code(state, seat),)
        ]
        self._bound = [
            ((slot.variable, slot.key), self._slot_code(slot))
            for slot in slots
            if any(may_read(r, seat, owner or None) for r, owner in slot.readers)
            or slot.chosen_by(seat)
        ]
        self._known = [
            (step.id, entry.name, Maybe(code_of(entry.value.type, self._seats), "is known", True))
            for step in ir.steps
            if seat in step.actors and ir.asked_as.get(step.id) == step.id
            for entry in step.knows or ()
        ]
        self._refuse_large()
        self.components: tuple[Component, ...] = tuple(self._components())

    def vector(
        self, step: str | None, occurrence: int, state: Mapping[str, Any],
        bound: Mapping[tuple[str, Key], Any], known: Mapping[str, Any],
    ) -> tuple[float, ...]:  # fmt: skip
        """Returns the floats of a view, as many as `components`; the arguments are the view's."""
        out: list[float] = []
        self._me.write(self._seat, out)
        self._asked.write(step, out)
        out.append(float(occurrence))
        for name, code in self._state:
            code.write(state.get(name, HIDDEN), out)
        for place, code in self._bound:
            value = bound.get(place, HIDDEN)
            code.write(None if value == SILENCE else value, out)
        for asking, name, code in self._known:
            code.write(known.get(name, HIDDEN) if asking == step else HIDDEN, out)
        return tuple(out)

    def _refuse_large(self) -> None:
        """Raises `VectorTooLarge` before any component is made; names what has the most floats."""
        named: list[tuple[str, Code]] = [*self._state]
        named += [(name, code) for (name, _), code in self._bound]
        named += [(f"{step} knows {name}", code) for step, name, code in self._known]
        total = sum(code.width for _, code in named)
        if total > MOST_FLOATS:
            name, _ = max(named, key=lambda one: one[1].width)
            raise VectorTooLarge(
                f"the vector of `{self._seat}` would have {total:,} floats, most of them for "
                f"`{name}`, and the most is {MOST_FLOATS:,}: declare it smaller, or read the "
                "view's `data`"
            )

    def _components(self) -> Iterable[Component]:
        yield from self._me.components("me")
        yield from (Component(f"asked:{step}", 0, 1) for step in self._steps)
        yield Component("asked before", 0, inf)
        for name, code in self._state:
            yield from code.components(name)
        for (name, key), code in self._bound:
            yield from code.components(name + "".join(f"[{part}]" for part in key))
        for step, name, code in self._known:
            yield from code.components(f"{step} knows {name}")

    def _state_code(self, state: State, seat: str) -> Code:
        """Returns the code of the part of a declared variable that a seat may ever see."""
        readers, type = state.readers, state.type
        if readers.kind in ("owner", "others") and isinstance(type, PerSeat):
            return Parts([
                (f"[{whose}]", whose, self._part(type.of, state, seat, whose))
                for whose in self._seats
            ])  # fmt: skip
        return self._part(type, state, seat, "")

    def _part(self, type: Type, state: State, seat: str, owner: str) -> Code:
        readers = state.readers
        if not may_read(readers, seat, owner or None):
            return NOTHING if state.size == "hidden" else _lengths(type, self._seats)
        code = code_of(type, self._seats)
        return Maybe(code, "is seen", True) if readers.kind == "test" else code

    def _slot_code(self, slot: Slot) -> Code:
        """Returns the code of a slot; where zeros could be a value, with a float that says whether
        it is bound."""
        if slot.options:
            whole = all(name.lstrip("-").isdigit() for name in slot.options)
            if not whole or len(slot.options) <= ONE_HOT:
                return OneHot(slot.options)
            return Maybe(_Named(slot.options), "is bound")
        drawn = plain(slot.type)
        if slot.unordered and isinstance(drawn, List):
            return Maybe(_counts(drawn.of, self._seats, inf), "is bound")
        code = code_of(slot.type, self._seats)
        certain = isinstance(code, OneHot) and not isinstance(slot.type, Option)
        return code if certain else Maybe(code, "is bound", True)


class _Named(Amount):
    """A number that is known by its name."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(min(map(int, names)), max(map(int, names)))

    def write(self, value: Any, out: list[float]) -> None:
        super().write(int(value) if isinstance(value, str) else value, out)


def code_of(type: Type, seats: tuple[str, ...]) -> Code:
    """Returns the code for values of a type."""
    match type:
        case Number(low=int() as low, high=int() as high) if high - low < ONE_HOT:
            return OneHot(range(low, high + 1))
        case Number(low=low, high=high):
            return Amount(low, high)
        case Bool() | Enum() | Seat() | Union():
            values = domain(type, seats)
            return NOTHING if values is None else OneHot(values)
        case Option(of=inner):
            code = code_of(inner, seats)
            return code if isinstance(code, OneHot) else Maybe(code, "is there")
        case Record(fields=fields):
            named = [(f".{n}", i, code_of(t, seats)) for i, (n, t) in enumerate(fields)]
            return Parts(named)
        case Tuple(of=types):
            return Parts([(f".{i}", i, code_of(t, seats)) for i, t in enumerate(types)])
        case Grid(rows=rows, columns=columns, of=inner):
            code = code_of(inner, seats)
            places = [(r, c) for r in range(rows) for c in range(columns)]
            return Parts([(f"[{r},{c}]", r * columns + c, code) for r, c in places])
        case PerSeat(of=inner):
            code = code_of(inner, seats)
            return Parts([(f"[{seat}]", seat, code) for seat in seats])
        case PerValue(key=key, of=inner):
            code = code_of(inner, seats)
            return Parts([(f"[{name_of(v)}]", v, code) for v in domain(key, seats) or ()])
        case List(of=inner, length=length, at_most=most):
            size = most if length is None else length
            if size is None:
                return _counts(inner, seats, inf)
            return Items(code_of(inner, seats), size, length is not None)
        case Set(of=inner) | Bag(of=inner):
            return _counts(inner, seats, 1 if isinstance(type, Set) else inf)
        case NoneType() | Text() | Never():
            return NOTHING
    assert_never(type)


def _counts(type: Type, seats: tuple[str, ...], most: float) -> Code:
    values = domain(type, seats)
    return Length(None) if values is None or len(values) > MOST_COUNTED else Counts(values, most)


def _lengths(type: Type, seats: tuple[str, ...]) -> Code:
    """Returns the code of what is public of a hidden value: the lengths of lists and bags, as
    `gamedsl.runtime.views.masked` leaves them."""
    match type:
        case List(length=length, at_most=most):
            return Length(most if length is None else length)
        case Bag():
            return Length(None)
        case PerSeat(of=List() | Bag() as inner):
            return Parts([(f"[{seat}]", seat, _lengths(inner, seats)) for seat in seats])
        case PerValue(key=key, of=List() | Bag() as inner):
            code = _lengths(inner, seats)
            return Parts([(f"[{name_of(v)}]", v, code) for v in domain(key, seats) or ()])
        case Bool() | Number() | Enum() | Seat() | NoneType() | Text() | Option() | Never():
            return NOTHING
        case Tuple() | Set() | PerSeat() | Record() | Grid() | PerValue() | Union():
            return NOTHING
    assert_never(type)
