"""Bounds on the length of prompts that hold in every play, from the form of the game.

What a seat has seen when it is asked is at most the events of the steps that can come before, each
as often as its loops let it, and each event's line is bounded by the names that it may tell. A
view is bounded by the types of its entries, a template by its tree. Nothing is played.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property
from math import prod
from typing import NamedTuple, assert_never

from gamedsl.analysis.template_lengths import (
    Bound,
    Exactly,
    ListOf,
    Parts,
    Text,
    template_length,
)
from gamedsl.analysis.value_lengths import (
    Extent,
    Measure,
    ValueLengths,
    below,
    titled,
)
from gamedsl.bounds.programs import ProgramBounds, UnboundedError
from gamedsl.ir.abstract_values import ANYTHING, AbstractValue
from gamedsl.ir.game import GameIR, Template
from gamedsl.ir.program import Binding, Call, Choose, Draw, Entry, Show, walk_steps
from gamedsl.ir.statements import Readers
from gamedsl.ir.types import Record, Type, plain
from gamedsl.ir.values import name_of
from gamedsl.prompting.declared_views import DeclaredViews
from gamedsl.prompting.default_texts import (
    Questions,
    default_rules,
    default_title,
    role_names,
)
from gamedsl.prompting.history_bounds import most_in_prompts
from gamedsl.prompting.labels import LabelBook
from gamedsl.prompting.reply_instructions import instruction
from gamedsl.prompting.templates import (
    constants,
    event_template,
    template_for,
    variables_before,
)
from gamedsl.prompting.tool_calls import option_tools
from gamedsl.prompting.value_text import NOTHING
from gamedsl.prompting.visibility import may_read

_LONG_COUNT = 7
"""Characters of the number of a pass, or more."""


class Event(NamedTuple):
    """Something that a seat may come to know by a step: who chose it or whom it is for (None where
    that can be several), and the extent of what it is."""

    actor: str | None
    choice: Extent


class PromptBounds:
    """The bounds of the prompts of one game, under labels as long as those of `book`: all of one
    style are alike in that. `measure` gives the units."""

    def __init__(self, ir: GameIR, book: LabelBook, measure: Measure = len) -> None:
        self._ir, self._book, self._measure = ir, book, measure
        self._roles = role_names(ir)
        self._values = ValueLengths(ir.seats, self._roles, book, measure)
        self._viewing = DeclaredViews(ir, self._roles)
        self._questions = Questions(ir, self._roles)
        self._bounds = ProgramBounds(ir)
        self._count = len(ir.seats)
        self._events = cache(self._events_uncached)
        self._lines = cache(self._lines_uncached)
        self._how_many = cache(lambda step, seat: len(self._events(step, seat)))
        self._weights: dict[object, dict[str, int | None]] = {}

    @cached_property
    def most(self) -> int:
        """The most units of any prompt. Raises `UnboundedError` where the game gives no bound."""
        found = (self.prompt(seat, step) for step in self._ir.steps for seat in step.actors)
        return max(found, default=0)

    def prompt(self, seat: str, step: Choose) -> int:
        """Returns a bound on the prompt of a seat at a step: its two messages, and the mark between
        them."""
        tools = option_tools(self._ir, self._ir.role_of[seat])
        system = self._rules(seat) + 1 + self._measure(instruction(self._ir.respond, tools))
        history = self._history(seat, step)
        return system + 1 + history + self._seat_line(seat) + 1 + self._ask(seat, step)

    def _rules(self, seat: str) -> int:
        template = template_for(self._ir, "rules")
        if template is None:
            return self._measure(default_rules(self._ir, self._book))
        return self._filled(template, seat)

    def _seat_line(self, seat: str) -> int:
        template = template_for(self._ir, "who", seat, self._ir.role_of[seat])
        if template is None:
            return self._measure(f"You are {self._roles[seat]}.") if self._count > 1 else 0
        return self._filled(template, seat)

    # what was seen, or what a view shows

    def _history(self, seat: str, step: Choose) -> int:
        """The text before the seat's name, the end of its last line included."""
        entries = self._ir.entries_at(seat, step.id)
        if entries is not None:
            beside = step.knows is None and seat in self._ir.windows
            return self._view(seat, step, entries) + (self._window(seat, step) if beside else 0)
        if seat in self._ir.windows:
            return self._window(seat, step)
        return self._before(step, seat, self._lines)

    def _window(self, seat: str, step: Choose) -> int:
        """The lines of the events that a window keeps."""
        most = most_in_prompts(self._ir, self._bounds, seat, self._lines, self._lines)
        return self._bounded(most[step.id])

    def _view(self, seat: str, step: Choose, entries: tuple[Entry, ...]) -> int:
        texts = [self._entry(entry) for entry in entries]
        template = template_for(self._ir, "view", seat, self._ir.role_of[seat])
        if template is not None and step.knows is None:
            named = {e.name: Text(t.length) for e, t in zip(entries, texts, strict=True)}
            return self._filled(template, seat, view=Parts(named)) + 1
        rows = (
            titled(self._measure(default_title(self._ir, entry)), text)
            for entry, text in zip(entries, texts, strict=True)
        )
        return below(rows).length + 1

    def _entry(self, entry: Entry) -> Extent:
        chosen = self._viewing.chosen(entry.value).values()
        called = self._values.label(chosen or self._viewing.instances.values())
        known = self._bounds.value(entry.value)
        return self._values.view(entry.value.type, known, called, self._viewing.marks)

    def _before(self, step: Choose, seat: str, weigh: Callable[[Binding, str], int]) -> int:
        """Returns the most that the steps before a step weigh together, for a seat."""
        known = self._weights.get((seat, weigh))
        if known is None:
            known = self._weights[seat, weigh] = self._bounds.totals_before(
                lambda s: weigh(s, seat) if isinstance(s, Binding) else 0
            )
        return self._bounded(known[step.id])

    def _bounded(self, total: int | None) -> int:
        if total is None:
            raise UnboundedError("the form of a loop does not tell how often it runs")
        return total

    def _lines_uncached(self, step: Binding, seat: str) -> int:
        """The lines, with their ends, that one run of a step adds to what a seat is told."""
        return sum(self._line(step, seat, event) + 1 for event in self._events(step, seat))

    def _line(self, step: Binding, seat: str, event: Event) -> int:
        template = event_template(self._ir, step, seat)
        actors = self._roles.values() if event.actor is None else (event.actor,)
        if template is not None:
            choice = Text(event.choice.length)
            return max(
                self._filled(template, seat, actor=Exactly(actor), choice=choice)
                for actor in actors
            )
        actor = max(map(self._measure, actors), default=0)
        match step:
            case Choose():
                whose = actor + 1 if self._count > 1 else len("You ")
                return whose + len("chose .") + event.choice.length
            case Show() | Call():
                what = "Shown"
            case Draw():
                what = "Drawn"
            case _:
                assert_never(step)
        if self._ir.labels.kind != "masked":
            what = step.variable
        whom = actor + len(" for ") if actor else 0
        of = len(" of ") if isinstance(step, Draw) and step.per else 0
        return titled(self._measure(what) + of + whom, event.choice).length + len(".")

    def _events_uncached(self, step: Binding, seat: str) -> list[Event]:
        """Returns the events that one run of a step can be for a seat; of several actors that take
        turns, the longest event."""
        match step:
            case Show(value=value, readers=readers):
                owners = self._ir.seats if step.by_seat else ("",)
                whole = self._bounds.value(value)
                known = whole.item if step.by_seat else whole
                lengths = {
                    owner: self._value_length(readers, seat, owner or None, step.type, known, "")
                    for owner in owners
                }
                return [
                    Event(self._roles[owner] if owner else "", found)
                    for owner, found in lengths.items()
                    if found.length
                ]
            case Draw():
                return self._drawn(step, seat)
            case Call():  # no bound is looked for where something is said or called
                return []
            case Choose():
                return self._chosen(step, seat)
            case _:
                assert_never(step)

    def _chosen(self, step: Choose, seat: str) -> list[Event]:
        events = [
            Event(
                self._roles[actor],
                Extent(self._values.label(option.name for option in options))
                if actor == seat or not step.readers.fields
                else self._value_length(step.readers, seat, actor, step.type, ANYTHING, ""),
            )
            for actor, options in zip(step.actors, step.options, strict=True)
            if actor == seat or may_read(step.readers, seat, actor)
        ]
        if step.joint:
            return events
        return sorted(events, key=lambda event: self._line(step, seat, event))[-1:]

    def _drawn(self, step: Draw, seat: str) -> list[Event]:
        known = self._bounds.outcome(step)
        keys: list[tuple[object, ...]] = [()]
        for values in step.per:
            keys = [(*key, value) for key in keys for value in values]
        events = []
        for key in keys:
            head = "".join(f"{name_of(part)}: " for part in key[step.by_seat :])
            owner = str(key[0]) if step.by_seat else None
            found = self._value_length(step.readers, seat, owner, step.type, known, head)
            if found.length:
                events.append(Event(None if owner is None else self._roles[owner], found))
        return events

    def _value_length(
        self,
        readers: Readers,
        seat: str,
        owner: str | None,
        type: Type,
        known: AbstractValue,
        head: str,
    ) -> Extent:
        """Returns a bound on the text of a value as a seat may know it, empty where it may not."""
        start, record = self._values.prompt_name(head) if head else 0, plain(type)
        if readers.fields and isinstance(record, Record):
            shown = [
                self._values.prompt_name(f"{record.fields[place][0]}=") + 1
                + self._values.name(record.fields[place][1])
                for place, inner in readers.fields
                if may_read(inner, seat, owner)
            ]  # fmt: skip
            return Extent(max(sum(shown), len(NOTHING)) if shown else 0)
        if not may_read(readers, seat, owner):
            return Extent(0)
        text = self._values.extent_in_event(type, known, self._viewing.marks)
        return Extent(start + text.length, text.lines)

    # who is asked for what

    def _ask(self, seat: str, step: Choose) -> int:
        labels = sorted(
            (self._book.label(option.name) for option in step.options_of(seat)),
            key=self._measure, reverse=True,
        )  # fmt: skip
        options = tuple(labels[: self._legal(step)])
        template = template_for(self._ir, "ask", step.id, step.variable)
        if template is None:
            return self._measure(self._questions.closed(step, options))
        longest = self._values.label(option.name for option in step.options_of(seat))
        offered = ListOf(Text(longest), len(options))
        if self._ir.entries_at(seat, step.id) is not None:
            return self._filled(template, seat, options=offered)
        return self._filled(template, seat, **self._asked(step, seat), options=offered)

    def _legal(self, step: Choose) -> int | None:
        """The most options that are legal at once; None where it is not told."""
        if not step.moves:
            return None if step.legal is None else self._bounds.size(step.legal)
        count = 0
        for action in step.moves:
            sizes = [self._bounds.size(source) for _, source in action.parameters]
            if None in sizes:
                return None
            count += prod(known for known in sizes if known is not None)
        return count

    def _asked(self, step: Choose, seat: str) -> dict[str, Bound]:
        """Returns bounds on the names for seen events that only the slot `ask` may read."""
        bindings = [s for s in walk_steps(self._ir.turns) if isinstance(s, Binding)]
        longest: dict[str, int] = {}
        for other in bindings:
            for event in self._events(other, seat):
                longest[other.variable] = max(longest.get(other.variable, 0), event.choice.length)
        none = self._measure(str(None))
        values: dict[str, Bound] = {
            name: Text(max(longest.get(name, 0), none)) for name in variables_before(self._ir, step)
        }
        count = self._before(step, seat, self._how_many)
        actor = max(map(self._measure, self._roles.values()))
        variable = max((self._measure(other.variable) for other in bindings), default=0)
        parts: dict[str, Bound] = {
            "actor": Text(actor), "step": Text(variable),
            "choice": Text(max(longest.values(), default=0)),
        }  # fmt: skip
        counts = dict.fromkeys(self._ir.asked_counts.get(step.id, ()), Text(_LONG_COUNT))
        return {**values, **counts, "seen": ListOf(Parts(parts), count)}

    def _filled(self, template: Template, seat: str, **more: Bound) -> int:
        known = constants(self._ir, lambda name: self._book.relabelled(name, self._roles))
        scope: dict[str, Bound] = {name: Exactly(value) for name, value in known.items()}
        scope |= {name: Exactly(role) for name, role in self._roles.items()}
        scope["labels"] = Exactly(dict(self._book.pairs))
        scope["roles"] = Exactly(tuple(self._roles.values()))
        others = tuple(self._roles[other] for other in self._ir.seats if other != seat)
        scope |= {"me": Exactly(self._roles[seat]), "others": Exactly(others)}
        if len(others) == 1:
            scope["other"] = Exactly(others[0])
        return template_length(template.text, {**scope, **more}, self._measure)
