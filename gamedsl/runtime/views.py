"""Views: the state of a game as one seat sees it.

Readers of a declared variable see its current value; of a hidden list or bag a seat sees the
length, unless the size is hidden too. A seat knows the bindings of steps from the events that it
has seen, and from nothing else, so that a view is the same in all histories that the seat cannot
tell apart. A view has three forms: plain data, a text for people, and a vector of floats
(`gamedsl.runtime.vectors`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, assert_never

from gamedsl.engine.kernel import State as Play
from gamedsl.ir.evaluate import Scope, evaluate
from gamedsl.ir.game import GameIR
from gamedsl.ir.program import Binding, Call, Choose, Draw, Show, walk_steps
from gamedsl.ir.statements import OWNER, Readers, State
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
    plain,
)  # fmt: skip
from gamedsl.ir.value_names import value_of
from gamedsl.ir.values import name_of
from gamedsl.prompting.draw_heads import DrawHeads, Key
from gamedsl.prompting.events import SILENCE, Event, Seen, known, occurrences
from gamedsl.prompting.replies import open_reply_value
from gamedsl.prompting.value_text import (
    HIDDEN,
    Hidden,
    as_text,
    one_line,
    plain_text,
    titled,
)
from gamedsl.prompting.visibility import is_whole, readings, reads
from gamedsl.runtime.view_slots import Slot, slots_of

if TYPE_CHECKING:
    from gamedsl.runtime.vectors import Layout


@dataclass(frozen=True)
class View:
    """The view of one seat. `step` is the decision it is asked for now, `legal` its options; none
    otherwise.

    `state` are the declared variables that exist, by name, with `Hidden` in them; `bound` are the
    bindings of steps as the seat saw them last, by variable and key.
    """

    seat: str
    role: str
    step: str | None
    legal: tuple[str, ...]
    state: Mapping[str, Any]
    bound: Mapping[tuple[str, Key], Any]
    seen: Seen
    _viewer: Viewer = field(repr=False, compare=False)
    known: Mapping[str, Any] | None = None
    """The values of the entries that the step shows, by name, where it says what is known at it.
    The view then has no state, no bound values and no events."""

    @property
    def occurrence(self) -> int:
        """The number of times the seat has chosen before at the step at which it is asked; else
        0."""
        return occurrences(self.seen, self.step, self.seat) if self.step else 0

    @cached_property
    def data(self) -> dict[str, Any]:
        """The view as plain data with canonical names, ready for JSON. Hidden values are left out,
        and a hidden list is `{"length": n}`. Fractions are texts."""
        types = self._viewer.types
        state = {
            name: data_of(value, types[name])
            for name, value in self.state.items()
            if value is not HIDDEN
        }
        bound: dict[str, Any] = {}
        for (name, key), value in self.bound.items():
            inner = bound
            for part in (name, *key[:-1]) if key else ():
                inner = inner.setdefault(part, {})
            inner[key[-1] if key else name] = data_of(value, self._viewer.slots[name, key].type)
        known = {}
        if self.known is not None and self.step is not None:
            types = {entry.name: entry.value.type for entry in self._viewer.knows[self.step]}
            known["knows"] = {n: data_of(value, types[n]) for n, value in self.known.items()}
        return {
            "seat": self.seat,
            "role": self.role,
            "step": self.step,
            "legal": list(self.legal),
            **known,
            "state": state,
            "bound": bound,
            "seen": [event._asdict() for event in self.seen],
        }

    @cached_property
    def text(self) -> str:
        """The view as text for people: a board is a grid, a hand a list, a hidden list its
        length."""
        return _text_of(self, self._viewer)

    @property
    def situation(self) -> str:
        """The part of the text that is neither the question nor the events: the state as the seat
        sees it, and, in a game without open decisions, the last value of each step."""
        viewer = self._viewer
        lines = _state_lines(self, viewer)
        if not viewer.ir.open:
            lines += _bound_lines(self, viewer)
        return "\n".join(lines)

    @cached_property
    def vector(self) -> tuple[float, ...]:
        """The view as floats, named by `Env.vector_names`. Raises ValueError for a vector of more
        than a million floats."""
        return self._viewer.layout(self.seat).vector(
            self.step, self.occurrence, self.state, self.bound, self.known or {}
        )


class Viewer:
    """Makes the views of one game."""

    def __init__(self, ir: GameIR) -> None:
        steps = tuple(walk_steps(ir.turns))
        self.ir = ir
        self.states: tuple[State, ...] = ir.states
        self.types = {state.name: state.type for state in self.states}
        self._steps = {step.id: step for step in steps if isinstance(step, Binding)}
        self.knows = {step.id: step.knows for step in ir.steps if step.knows is not None}
        self.slots = slots_of(self._steps.values(), self.types, self.ir.seats)
        self.names = {
            (step.variable, option.value): option.name
            for step in ir.steps
            for options in step.options
            for option in options
        }
        """The names of the values of choices, by variable and value."""
        self._layouts: dict[str, Layout] = {}
        self._heads: dict[str, DrawHeads] = {}

    def view(self, seat: str, play: Play, step: str | None, legal: tuple[str, ...]) -> View:
        """Returns the view of a seat at this point of a play, where it must choose at `step` (or
        nowhere).

        Raises ValueError if there is no such seat, EvaluationError if an expression of the
        knowledge declared at the step has no value.
        """
        if seat not in self.ir.role_of:
            raise ValueError(f"there is no seat `{seat}`; there are {', '.join(self.ir.seats)}")
        variables, role = play.variables, self.ir.role_of[seat]
        scope = Scope(self.ir.seats, variables, self.ir.lets_by_name, {}, seat)
        if step in self.knows:
            step = self.ir.asked_as[step]
            told = {entry.name: evaluate(entry.value, scope) for entry in self.knows[step]}
            return View(seat, role, step, legal, {}, {}, (), self, told)
        state, seen = self._visible(seat, variables, scope), play.seen(seat)
        return View(seat, role, step, legal, state, self.bound(seen), seen, self)

    def visible_state(self, seat: str, play: Play) -> dict[str, Any]:
        """Returns the declared variables as a seat sees them: the part of its view that is not a
        function of the events that it has seen."""
        variables = play.variables
        scope = Scope(self.ir.seats, variables, self.ir.lets_by_name, {}, seat)
        return self._visible(seat, variables, scope)

    def _visible(self, seat: str, variables: Mapping[str, Any], scope: Scope) -> dict[str, Any]:
        return {
            state.name: masked(
                variables[state.name], state.type, state.readers, seat, scope,
                sized=state.size is None,
            )
            for state in self.states
            if state.name in variables
        }  # fmt: skip

    def layout(self, seat: str) -> Layout:
        """Returns the layout of a seat's vectors."""
        from gamedsl.runtime.vectors import Layout

        found = self._layouts.get(seat)
        if found is None:
            found = self._layouts[seat] = Layout(self.ir, self.slots.values(), seat)
        return found

    def bound(self, seen: Seen) -> dict[tuple[str, Key], Any]:
        """Returns the last known value of every slot, by variable and key."""
        bound = {}
        for event in seen:
            found = self._filled(event)
            if found is not None:
                slot, value = found
                bound[slot.variable, slot.key] = value
        return bound

    def _filled(self, event: Event) -> tuple[Slot, Any] | None:
        """Returns the slot that an event filled, and its value; None for declared state."""
        step = self._steps[event.step]
        if step.variable in self.types:
            return None
        match step:
            case Choose():
                key: Key = (event.seat,)
                slot = self.slots.get((step.variable, key)) or self.slots[step.variable, ()]
                return slot, self._chosen(step, event.seat, event.name)
            case Show() | Call():
                value = self._named(event.name, step.entry_type, step.readers)
                key = (event.seat,) if event.seat else ()
                return self.slots[step.variable, key], value
            case Draw():
                return self._filled_by_draw(step, event)
        assert_never(step)

    def _chosen(self, step: Choose, seat: str, name: str) -> Any:
        """Returns the name of a choice, or the value of what was said or of what can be seen in
        part."""
        if name == SILENCE:
            return name
        if step.said is None:
            if not step.readers.fields:
                return name
            values = step.values[seat]
            if name in values:
                return values[name]
            return self._named(name, step.type, step.readers)
        if step.readers.fields and not is_whole(name):
            return self._named(name, step.type, step.readers)
        return open_reply_value(name, step.said, step.reply_type(seat), self.ir.seats)

    def _filled_by_draw(self, step: Draw, event: Event) -> tuple[Slot, Any]:
        heads = self._heads.get(step.id)
        if heads is None:
            heads = self._heads[step.id] = DrawHeads(step)
        key, name = heads.key_of(event)
        return self.slots[step.variable, key], self._named(name, step.type, step.readers)

    def _named(self, name: str, type: Type, readers: Readers) -> Any:
        """Returns the value of a name; a record of which only some fields are known has `Hidden` in
        it."""
        if name == "none":  # a variable that is not bound can be shown
            return None
        record = plain(type)
        if not readers.fields or not isinstance(record, Record):
            return value_of(name, type, self.ir.seats)
        return _fields(name, record, self.ir.seats)


def _fields(name: str, record: Record, seats: tuple[str, ...]) -> tuple[Any, ...]:
    """Returns a record from `rank=K,suit=a`, where fields that are not named are hidden."""
    value: list[Any] = [HIDDEN] * len(record.fields)
    rest = name
    for place, (field_name, type) in enumerate(record.fields):
        head = f"{field_name}="
        if not rest.startswith(head):
            continue
        for name_of_field, left in readings(rest[len(head) :], type):
            try:
                value[place] = value_of(name_of_field, type, seats)
            except ValueError:
                continue
            rest = left
            break
    return tuple(value)


def masked(
    value: Any, type: Type, readers: Readers, seat: str, scope: Scope, owner: str | None = None,
    *, sized: bool = True,
) -> Any:  # fmt: skip
    """Returns a value of declared state as a seat sees it: `Hidden` stands for parts that it may
    not see, with their lengths where it is `sized`.

    Of a per-role variable each entry is its own seat's. `scope` is the state now.
    """
    if OWNER in readers.locals and owner is None and isinstance(type, PerSeat):
        return {
            whose: masked(part, type.of, readers, seat, scope, whose, sized=sized)
            for whose, part in value.items()
        }
    if readers.fields and isinstance(plain(type), Record) and value is not None:
        record, shown = plain(type), dict(readers.fields)
        assert isinstance(record, Record)
        return tuple(
            masked(part, inner, shown[place], seat, scope, owner) if place in shown else HIDDEN
            for place, (part, inner) in enumerate(zip(value, record.types, strict=True))
        )
    if reads(readers, seat, owner, scope):
        return value
    return _lengths(value, type) if sized else HIDDEN


def _lengths(value: Any, type: Type) -> Any:
    """Returns what is public of a hidden value: the lengths of lists and bags in it."""
    if value is None:
        return HIDDEN
    match type:
        case List():
            return Hidden(len(value))
        case Bag():
            return Hidden(value.total)
        case PerSeat(of=List() | Bag() as inner) | PerValue(of=List() | Bag() as inner):
            return {key: _lengths(part, inner) for key, part in value.items()}
        case Bool() | Number() | Enum() | Seat() | NoneType() | Text() | Option() | Never():
            return HIDDEN
        case Tuple() | Set() | PerSeat() | Record() | Grid() | PerValue() | Union():
            return HIDDEN
    assert_never(type)


def data_of(value: Any, type: Type) -> Any:
    """Returns a value as plain data: see `View.data`."""
    if isinstance(value, Hidden):
        return None if value.length is None else {"length": value.length}
    if value is None or isinstance(value, bool | int | str):
        return value
    match type:
        case Option(of=inner):
            return data_of(value, inner)
        case Record(fields=fields):
            named = zip(fields, value, strict=True)
            return {n: data_of(part, inner) for (n, inner), part in named if part is not HIDDEN}
        case Tuple(of=types):
            return [data_of(part, inner) for part, inner in zip(value, types, strict=True)]
        case List(of=inner):
            return [data_of(part, inner) for part in value]
        case Grid(columns=columns, of=inner):
            cells = [data_of(part, inner) for part in value]
            return [cells[at : at + columns] for at in range(0, len(cells), columns)]
        case Set(of=inner):
            return [data_of(part, inner) for part in sorted(value, key=_order)]
        case Bag():
            return {name_of(part): value[part] for part in sorted(value, key=_order)}
        case PerSeat(of=inner) | PerValue(of=inner):
            return {name_of(k): data_of(v, inner) for k, v in value.items() if v is not HIDDEN}
        case Number():
            return str(value)
        case Bool() | Enum() | Seat() | NoneType() | Text() | Union() | Never():
            return name_of(value)
    assert_never(type)


def _order(value: Any) -> tuple[bool, Any, str]:
    """Returns the sort key of a value: numbers by size, everything else by name."""
    number = isinstance(value, int | Fraction)
    return not number, value if number else 0, name_of(value)


# text


def _text_of(view: View, viewer: Viewer) -> str:
    """Returns a view as several lines, without a newline at the end."""
    asked = f"chooses {view.step}: {', '.join(view.legal)}" if view.step else "is not asked"
    lines = [f"{view.seat} {asked}", *_state_lines(view, viewer), *_bound_lines(view, viewer)]
    if view.known is not None and view.step is not None:
        for entry in viewer.knows[view.step]:
            lines.append(titled(entry.name, as_text(view.known[entry.name], entry.value.type)))
        return "\n".join((*lines, "knows nothing else"))
    lines.append(f"seen: {known(view.seen) or 'nothing'}")
    return "\n".join(lines)


def _state_lines(view: View, viewer: Viewer) -> list[str]:
    return [
        titled(name, as_text(value, viewer.types[name]))
        for name, value in view.state.items()
        if value is not HIDDEN
    ]


def _bound_lines(view: View, viewer: Viewer) -> list[str]:
    grouped: dict[str, list[str]] = {}
    for (name, key), value in view.bound.items():
        shown = one_line(value, viewer.slots[name, key].type)
        grouped.setdefault(name, []).append(" ".join((*key, shown)))
    return [f"{name}: {', '.join(values)}" for name, values in grouped.items()]


def everything(viewer: Viewer, play: Play) -> str:
    """Returns the declared state and the last value of every slot, as the referee sees them. Not
    for players: nothing is left out."""
    lines: list[str] = []
    variables = play.variables
    for name in dict.fromkeys((*viewer.types, *(variable for variable, _ in viewer.slots))):
        if name not in variables:
            continue
        value = variables[name]
        if name in viewer.types:
            lines.append(titled(name, as_text(value, viewer.types[name])))
        elif isinstance(value, dict):
            parts = (f"{name_of(k)} {_called(name, v, viewer)}" for k, v in value.items())
            lines.append(f"{name}: {', '.join(parts)}")
        else:
            lines.append(f"{name}: {_called(name, value, viewer)}")
    return "\n".join(lines)


def _called(name: str, value: Any, viewer: Viewer) -> str:
    try:
        return viewer.names.get((name, value)) or plain_text(value)
    except TypeError:  # a map, or what holds one, has no name
        return plain_text(value)
