"""Prompts: the chat that asks a seat for a choice or for a reply.

In a game without open decisions the chat is one system message and one user message, as follows. In
other games each decision adds a user message with the events since the last one, and the seat's
replies stand between, in canonical form: the chat is append-only, except for events that a window
leaves out (`gamedsl.prompting.windows`).

The system message holds the rules and how to answer. It is the same for all, so that prompts share
a long prefix. The user message has the events, then the seat that is asked, then the possible
answers; events are told in the third person, equally to all who saw them, and are shared as well. A
seat that has a declared view reads that view, and below it the events of its window, if it has one.
Invariants: a prompt depends on the game, the labels, the seat, the step and the seat's events, or
its view and the events of its window, and on nothing else; in a masked game the default texts
contain no payoff, no canonical name and no `about` of the game.

Each part is a slot (`rules`, `seen.<variable>` or `view`, `who`, `ask.<variable>`) that the file
may replace by a template; the defaults are plain Python, so that a game without templates never
loads Jinja2.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal, TypeVar, assert_never

from gamedsl.call_syntax import TAGGED, CallSyntax
from gamedsl.ir.game import GameIR, Template
from gamedsl.ir.program import Binding, Call, Choose, Draw, Show, walk_steps
from gamedsl.ir.types import Record, has_text, is_by_role, plain, text_or_record
from gamedsl.prompting.declared_views import DeclaredViews, ViewCode
from gamedsl.prompting.default_texts import (
    Questions,
    default_rules,
    default_title,
    role_names,
)
from gamedsl.prompting.events import SILENCE, Event, Seen, Turn, counts_of
from gamedsl.prompting.implied_choices import ImpliedChoices
from gamedsl.prompting.labels import LabelBook
from gamedsl.prompting.position_swap import exchanged_events, exchanged_names
from gamedsl.prompting.replies import write_choice, write_open_reply
from gamedsl.prompting.reply_instructions import form_of, instruction, tools_again
from gamedsl.prompting.shown_values import ShownValues
from gamedsl.prompting.template_evaluation import RenderingBudget, TemplateFault, compiled
from gamedsl.prompting.template_syntax import locate
from gamedsl.prompting.templates import (
    Fields,
    Items,
    Skipped,
    as_prompt_text,
    constants,
    event_template,
    template_for,
    variables_before,
)
from gamedsl.prompting.tool_calls import option_tools, tools_as_text, tools_for
from gamedsl.prompting.value_text import titled
from gamedsl.prompting.visibility import (
    field_texts,
    is_whole,
    shows_fields,
    whole_field_texts,
)
from gamedsl.prompting.windows import Windows

Messages = tuple[tuple[Literal["tools", "system", "user", "assistant", "tool"], str], ...]
"""Messages by chat role. Where a chat template or an interface has tools, the first message lists
them as JSON, and what came of a call is said by `tool`."""

Counts = tuple[tuple[str, int], ...]
"""Loops around a step by the names of their counts, with the numbers of their passes."""

NOTHING: Mapping[str, Any] = MappingProxyType({})
"""The variables, for a seat whose prompts need none."""

_CACHED_PROMPTS = 65_536
_CACHED_CHARACTERS = 100_000_000
_CACHED_PARTS = 1_024
_CACHED_EVENTS = 16_384

_Place = TypeVar("_Place")
_Made = TypeVar("_Made")


@dataclass(frozen=True, slots=True)
class Part:
    """One slot of one prompt, rendered; `template` is the file's own text, None for a default.
    `event` is what a text of the slot `seen` tells."""

    slot: str
    text: str
    template: Template | None
    event: Event | None = field(default=None, compare=False)


class RenderError(Exception):
    """A template that failed on the values it was given; `span` is the place in it that failed, and
    `fault` says why, and whether it was refused or took too much work."""

    def __init__(self, template: Template, fault: TemplateFault) -> None:
        self.span = template.span
        if fault.end > fault.start:
            self.span = locate(template, fault.start, fault.end)
        super().__init__(f"{self.span}: a template of `{template.slot}` failed: {fault.reason}")
        self.template = template
        self.reason = fault.reason
        self.fault = fault


class Prompter:
    """Renders the prompts of one game. It has no state but a cache; episodes may share it."""

    def __init__(
        self, ir: GameIR, shown: Callable[[], ViewCode] = dict,
        budget: RenderingBudget | None = None, syntax: CallSyntax | None = None,
    ) -> None:  # fmt: skip
        """`shown` as of `DeclaredViews`; `budget` bounds all renderings together. `syntax` is that
        of models whose chat templates list tools."""
        self.ir = ir
        self.syntax = syntax
        self._budget = budget
        self.shown_role = role_names(ir)
        self._steps = {step.id: step for step in walk_steps(ir.turns) if isinstance(step, Binding)}
        self.viewing = DeclaredViews(ir, self.shown_role, shown)
        self._shown_values = ShownValues(ir, self.shown_role, self.viewing.marks)
        self._implied = ImpliedChoices(ir)
        self.windows = Windows(ir)
        self._questions = Questions(ir, self.shown_role)
        self._swaps = dict(ir.swaps)
        self.is_chat = ir.is_chat
        self._cache: dict[tuple[object, ...], Messages] = {}
        self._cached = 0
        """The characters of the prompts in the cache."""
        self._fixed: dict[tuple[object, ...], Part] = {}
        """The parts that are the same for a seat in every prompt with the same labels."""
        self._named: dict[tuple[Event, LabelBook], tuple[str, str, str]] = {}
        """What templates are told of an event: see `_names`."""
        self._closed_forms: dict[str, str] = {}
        """How each role answers closed decisions."""
        self._tool_lists: dict[str, Messages] = {}
        self._written: dict[str, str] = {}
        """The replies that give labels."""
        self._constants: tuple[LabelBook, dict[str, Any]] | None = None
        """The constants of the game in the labels of the last prompt."""

    def messages(
        self,
        seat: str,
        step: Choose,
        legal: tuple[str, ...],
        book: LabelBook,
        seen: Seen,
        variables: Mapping[str, Any] = NOTHING,
        before: tuple[Turn, ...] = (),
    ) -> Messages:
        """The chat that asks a seat for its choice, as (chat role, content) pairs.

        `legal` are the canonical names of its options here; `seen` is every event that the seat has
        seen, in order. Equal arguments give equal text. A seat that has a declared view is told
        what that shows of the `variables`, as `gamedsl.engine.kernel.State` has them, and of what
        it has seen what its window holds; EvaluationError where an expression of it has no value.
        `before` is what it was asked earlier, where the chat goes on.
        """
        if self.is_chat and step.knows is None:
            turns, left_out = self.windows.talk(seat, before)
            counts = self._counts(step, variables)
            return self._chat(seat, step, legal, book, seen, turns, left_out, counts)
        view = self.viewing.texts(seat, step, variables, book)
        told = self._window_events(seat, step, seen, view)
        counts = self._counts(step, variables)
        place = (seat, step.id, legal, book, seen if view is None else (view, told), counts)
        known = self._cache.get(place)
        if known is None:
            rules, form, *rest = self._parts(seat, step, legal, book, seen, view, told, counts)
            between = "\n" if "\n" in rules.text else " "
            system = between.join(part.text for part in (rules, form) if part.text)
            made: Messages = (*self._tools(seat), ("system", system), ("user", _joined(rest)))
            self._remember(place, made, made)
            return made
        return known

    def _chat(
        self, seat: str, step: Choose, legal: tuple[str, ...], book: LabelBook, seen: Seen,
        before: tuple[Turn, ...], left_out: int, counts: Counts,
    ) -> Messages:  # fmt: skip
        """Returns the system message, then for each decision the new events, the question, and the
        reply. Of the `left_out` events before the first decision, only those appear that no window
        leaves out."""
        if not before:
            new = self._first_message(seat, step, legal, book, seen, left_out, counts)
            system = self._rules(seat, book).text
            return (*self._tools(seat), ("system", system), ("user", _joined(new)))
        *earlier, last = before
        told_form = any(turn.step == step.id for turn in before)
        place = (seat, last.step, last.legal, book, seen[: last.told], before, left_out)
        known = self._cache.get(place)
        if known is None:
            asked = self._choice_step(last.step)
            then = seen[: last.told]
            known = self._chat(
                seat, asked, last.legal, book, then, tuple(earlier), left_out, last.counts
            )
            known = (*known, ("assistant", self.reply(asked, seat, last.name, book)))
            self._remember(place, known, known[-2:])
        new = self._new_message(seat, step, legal, book, seen, last.told, counts, told_form)
        called = self._is_call(self._choice_step(last.step)) and last.name != SILENCE
        return (*known, ("tool" if called else "user", _joined(new)))

    def _is_call(self, step: Choose) -> bool:
        """Whether a decision is answered by a call of a tool that the chat template lists."""
        kind = self.ir.respond.kind if step.said is None else step.said.form
        return self.syntax is not None and kind == "tool"

    def _tools(self, seat: str) -> Messages:
        """Returns the list of a seat's tools, where its chat template has a place for one."""
        if self.syntax is None:
            return ()
        role = self.ir.role_of[seat]
        if role not in self._tool_lists:
            tools = tools_for(self.ir, role)
            self._tool_lists[role] = (("tools", tools_as_text(tools)),) if tools else ()
        return self._tool_lists[role]

    def _remember(self, place: tuple[object, ...], known: Messages, new: Messages) -> None:
        """Keeps the messages of a place, of which `new` are in no other entry."""
        size = sum(len(text) for _, text in new)
        if len(self._cache) >= _CACHED_PROMPTS or self._cached + size > _CACHED_CHARACTERS:
            self._cache.clear()
            self._cached = 0
        if size <= _CACHED_CHARACTERS:
            self._cache[place] = known
            self._cached += size

    def _first_message(
        self, seat: str, step: Choose, legal: tuple[str, ...], book: LabelBook, seen: Seen,
        left_out: int, counts: Counts,
    ) -> tuple[Part, ...]:  # fmt: skip
        """Returns the parts of the first message to a seat."""
        kept = self._events(seat, self.windows.outside(seen[:left_out]), book)
        new = self._new_message(seat, step, legal, book, seen, left_out, counts)
        return (self._role(seat, book), *kept, *new)

    def _new_message(
        self, seat: str, step: Choose, legal: tuple[str, ...], book: LabelBook, seen: Seen,
        told: int, counts: Counts, told_form: bool = False,
    ) -> tuple[Part, ...]:  # fmt: skip
        """Returns the parts for the events that a seat has seen since the first `told`, and for the
        decision that it is asked for now; `told_form` says whether an earlier message of the chat
        says how to answer it."""
        heard = tuple(
            event for event in seen[told:]
            if event.seat != seat or not isinstance(self._steps[event.step], Choose)
        )  # fmt: skip
        new = self._events(seat, heard, book)
        asked = self._ask(seat, step, legal, book, seen, counts)
        return (*new, asked, self._form(seat, step, told_form))

    def _counts(self, step: Choose, variables: Mapping[str, Any]) -> Counts:
        """Returns the numbers of passes that the question of a step names."""
        return counts_of(self.ir.asked_counts.get(step.id, ()), variables)

    def _choice_step(self, id: str) -> Choose:
        step = self._steps[id]
        assert isinstance(step, Choose)
        return step

    def reply(self, step: Choose, seat: str, name: str, book: LabelBook) -> str:
        """Returns a reply as its author, a seat, would have written it: the label in the form that
        is asked for, or the text of an open reply."""
        if name == SILENCE:
            return "…"
        if step.said is None:
            return self.write(book.label(name))
        return write_open_reply(name, step.said, step.reply_type(seat), self.ir.seats, self.syntax)

    def write(self, label: str) -> str:
        """Returns the reply to a closed decision that gives a label, without a thought."""
        calls, syntax = self.ir.option_calls, self.syntax or TAGGED
        return _made_once(
            self._written, _CACHED_EVENTS, label,
            lambda: write_choice(label, self.ir.respond, None, calls, syntax),
        )  # fmt: skip

    def parts(
        self,
        seat: str,
        step: Choose,
        legal: tuple[str, ...],
        book: LabelBook,
        seen: Seen,
        variables: Mapping[str, Any] = NOTHING,
        before: tuple[Turn, ...] = (),
    ) -> tuple[Part, ...]:
        """The same prompt slot by slot, in the order in which it is sent: the rules and the form
        of the answer, which make the system message, then the rest; of a chat the rules and what
        its last message says.

        RenderError: a template of the file fails on a value. EvaluationError as `messages`.
        """
        counts = self._counts(step, variables)
        if self.is_chat and step.knows is None:
            turns, left_out = self.windows.talk(seat, before)
            if turns:
                told_form = any(turn.step == step.id for turn in turns)
                new = self._new_message(
                    seat, step, legal, book, seen, turns[-1].told, counts, told_form
                )
            else:
                new = self._first_message(seat, step, legal, book, seen, left_out, counts)
            return (self._rules(seat, book), *new)
        view = self.viewing.texts(seat, step, variables, book)
        told = self._window_events(seat, step, seen, view)
        return self._parts(seat, step, legal, book, seen, view, told, counts)

    def event_texts(self, seat: str, events: Seen, book: LabelBook) -> tuple[str, ...]:
        """Returns the sentences that tell a seat these events, in order; of those that follow from
        another one, none. RenderError: a template of the file fails on a value."""
        return tuple(text for _, text in self.told_events(seat, events, book))

    def told_events(
        self, seat: str, events: Seen, book: LabelBook
    ) -> tuple[tuple[Event, str], ...]:
        """Returns the same sentences, each with its event."""
        parts = self._events(seat, events, book)
        return tuple((part.event, part.text) for part in parts if part.text and part.event)

    def _window_events(
        self, seat: str, step: Choose, seen: Seen, view: tuple[str, ...] | None
    ) -> Seen:
        """Returns the events that one message tells a seat: of one that is shown a view those of
        its window, and none where it knows what the step shows alone."""
        if view is None:
            return self.windows.visible(seat, seen)
        return self.windows.in_window(seat, seen) if step.knows is None else ()

    def _parts(
        self,
        seat: str,
        step: Choose,
        legal: tuple[str, ...],
        book: LabelBook,
        seen: Seen,
        view: tuple[str, ...] | None,
        told: Seen,
        counts: Counts,
    ) -> tuple[Part, ...]:
        return (
            self._rules(seat, book),
            self._form(seat, step),
            *((self._view(seat, step, view, book),) if view is not None else ()),
            *self._events(seat, told, book),
            self._role(seat, book),
            self._ask(seat, step, legal, book, None if view is not None else seen, counts),
        )

    def _form(self, seat: str, step: Choose, again: bool = False) -> Part:
        """Returns the instruction on how to answer. It follows the rules, whoever wrote them, since
        it is the same for all but where nobody says anything to itself. `again` says whether the
        chat has it already: a list of tools is not told twice."""
        native = self._is_call(step)
        if step.said is None:
            text = _made_once(
                self._closed_forms, _CACHED_PARTS, self.ir.role_of[seat],
                lambda: instruction(
                    self.ir.respond, option_tools(self.ir, self.ir.role_of[seat]), native=native
                ),
            )  # fmt: skip
            return Part("form", text, None)
        if again and step.said.form == "tool" and not native:
            return Part("form", tools_again(step), None)
        return Part("form", form_of(step, seat, self.ir.seats, native=native), None)

    def rules(self, seat: str, book: LabelBook) -> str:
        """Returns the rules as the prompts of a seat state them. Raises RenderError."""
        return self._rules(seat, book).text

    def _rules(self, seat: str, book: LabelBook) -> Part:
        template = template_for(self.ir, "rules")
        if template is None:
            place = ("rules", book)
            return _made_once(self._fixed, _CACHED_PARTS, place, lambda: self._written_rules(book))
        return self._fixed_part(template, seat, book)

    def _events(self, seat: str, events: Seen, book: LabelBook) -> tuple[Part, ...]:
        """Returns the parts for events in one message, in the order in which a seat reads them."""
        if seat in self._swaps:
            events = exchanged_events(events, self._swaps[seat])
        return tuple(
            self._event(seat, event, book) for event in self._implied.without_implied(events)
        )

    def _event(self, seat: str, event: Event, book: LabelBook) -> Part:
        step = self._steps[event.step]
        template = event_template(self.ir, step, seat)
        actor, choice = self._actor_and_choice(event, book)
        if template is not None:
            told = self._with_parts(step, event, choice, book, seat)
            return replace(self._fill(template, seat, book, actor=actor, choice=told), event=event)
        match step:
            case Choose():
                text = self._choice_text(seat, step, event, actor, choice)
            case Show() | Call():
                text = self._outcome_text(step, event, "Shown", actor, book)
            case Draw():
                text = self._outcome_text(step, event, "Drawn", actor, book)
            case _:
                assert_never(step)
        return Part("seen", text, None, event)

    def _choice_text(self, seat: str, step: Choose, event: Event, actor: str, choice: str) -> str:
        """Returns the default sentence for a choice, or for what was said: to the seat alone, where
        that is all of a record by role that it sees. Each field has a line of its own where some of
        a record are seen."""
        own = self._fields(step, event) if is_by_role(step.type) else None
        if own is not None and own.keys() == {seat} and seat != event.seat:
            told = own[seat]
            return f"{actor} said {'nothing to you.' if told is None else f'to you: {told}'}"
        whose = "" if not actor else f"{actor} " if len(self.ir.everyone) > 1 else "You "
        if event.name == SILENCE:
            return f"{whose}gave no valid reply."
        if step.said is None:
            return f"{whose}chose {choice}."
        parts = self._fields(step, event) if _in_part(step, event) else None
        if parts is not None:
            owner = f"{actor}'s " if actor else ""
            return "\n".join(
                titled(f"{owner}{field}", str(as_prompt_text(text)))
                for field, text in parts.items()
            )
        return f"{whose}said:\n{choice}" if "\n" in choice else f"{whose}said: {choice}"

    def _outcome_text(
        self, step: Draw | Show | Call, event: Event, verb: str, actor: str, book: LabelBook
    ) -> str:
        """Returns the default sentence for a value that was drawn or shown."""
        masked = self.ir.labels.kind == "masked"
        key, choice = self._shown_values.text(step, event, book, in_a_line=False)
        title = " of ".join((verb if masked else step.variable, *filter(None, (key,))))
        parts = self._fields(step, event, book=book) if has_text(step.type) else None
        if parts is None:
            text = titled(f"{title}{f' for {actor}' if actor else ''}", choice)
            return text if "\n" in text or has_text(step.type) else f"{text}."
        named = len(parts) > 1 and not masked
        return "\n".join(
            titled(f"{title} {name}" if named else title, str(as_prompt_text(text)))
            for name, text in parts.items()
        )

    def _view(self, seat: str, step: Choose, texts: tuple[str, ...], book: LabelBook) -> Part:
        """Returns the part for the entries of a view, or of a step's `knows`, one below the
        other."""
        entries = self.ir.entries_at(seat, step.id) or ()
        template = template_for(self.ir, "view", seat, self.ir.role_of[seat])
        if template is not None and step.knows is None:
            shown = {entry.name: text for entry, text in zip(entries, texts, strict=True)}
            return self._fill(template, seat, book, view=shown)
        lines = (
            titled(default_title(self.ir, entry), text)
            for entry, text in zip(entries, texts, strict=True)
        )
        return Part("view", "\n".join(lines), None)

    def _actor_and_choice(self, event: Event, book: LabelBook) -> tuple[str, str]:
        """Returns the seat that chose or that an outcome is for (empty for nobody), and the choice
        or outcome, both as prompts name them."""
        actor = self.shown_role[event.seat] if event.seat else ""
        step = self._steps[event.step]
        match step:
            case Choose(said=None):
                if event.name == SILENCE:
                    return actor, Skipped("")
                if book.has(event.name):
                    return actor, book.label(event.name)
                return actor, book.relabelled(event.name, self.shown_role)  # some fields of it
            case Choose():
                parts = self._fields(step, event) if _in_part(step, event) else None
                if parts is not None:
                    told = (f"{field}: {as_prompt_text(text)}" for field, text in parts.items())
                    return actor, ", ".join(told)
                said = self.reply(step, event.seat, event.name, book)
                return actor, Skipped(said) if event.name == SILENCE else said
            case Draw() | Show() | Call():
                key, value = self._shown_values.text(step, event, book, in_a_line=True)
                if event.name == "none" and not has_text(step.type):
                    return actor, Skipped(value)
                between = ": " if key[-1:].isdigit() else " " * bool(key)
                return actor, f"{key}{between}{value}"
        assert_never(step)

    def _role(self, seat: str, book: LabelBook) -> Part:
        template = template_for(self.ir, "who", seat, self.ir.role_of[seat])
        if template is None:
            text = f"You are {self.shown_role[seat]}." if len(self.ir.everyone) > 1 else ""
            return Part("who", text, None)
        return self._fixed_part(template, seat, book)

    def _ask(
        self, seat: str, step: Choose, legal: tuple[str, ...], book: LabelBook, seen: Seen | None,
        counts: Counts,
    ) -> Part:  # fmt: skip
        offered = () if step.said is not None else self._offered(seat, step, legal, book)
        options = tuple(map(book.label, offered))
        template = template_for(self.ir, "ask", step.id, step.variable)
        if template is None and step.said is not None:
            return Part("ask", self._questions.open(step), None)
        if template is None:
            return Part("ask", self._questions.closed(step, options), None)
        names = self._ask_names(step, options, book, seen)
        return self._fill(template, seat, book, **names, **dict(counts))

    def _offered(
        self, seat: str, step: Choose, legal: tuple[str, ...], book: LabelBook
    ) -> tuple[str, ...]:
        """Returns the options in the order in which they are shown. A referee that reads two roles
        in each other's places sees the order of the referee before it, with these two swapped."""
        if seat not in self._swaps:
            return book.order(step.id, seat, legal)
        before = self.ir.everyone[self.ir.everyone.index(seat) - 1]
        return exchanged_names(book.order(step.id, before, legal), self._swaps[seat])

    def _ask_names(
        self, step: Choose, options: tuple[str, ...], book: LabelBook, seen: Seen | None
    ) -> dict[str, Any]:
        """Returns the names that only `ask` may use: the variables chosen before, the options and
        the events; the options alone where there is a view (`seen` is None)."""
        if seen is None:
            return {"options": options}
        values: dict[str, Any] = dict.fromkeys(variables_before(self.ir, step))
        events = []
        for event in seen:
            source = self._steps[event.step]
            actor, choice, whole = self._names(event, book)
            events.append({"actor": actor, "choice": choice, "step": source.variable})
            if event.seat and not (isinstance(source, Choose) and not source.joint):
                known = values.get(source.variable) or {}
                values[source.variable] = {**known, event.seat: whole}
            else:
                values[source.variable] = whole
        return {**values, "options": options, "seen": tuple(events)}

    def _names(self, event: Event, book: LabelBook) -> tuple[str, str, str]:
        """Returns who acted, what they chose, and the same with its parts. It is worked out once:
        each later prompt of a play tells it again."""

        def names() -> tuple[str, str, str]:
            actor, choice = self._actor_and_choice(event, book)
            return actor, choice, self._with_parts(self._steps[event.step], event, choice, book)

        return _made_once(self._named, _CACHED_EVENTS, (event, book), names)

    def _with_parts(
        self, step: Binding, event: Event, choice: str, book: LabelBook, reader: str = ""
    ) -> str:
        """Returns what an event tells, with its fields or its items for templates that use them."""
        fields = self._fields(step, event, reader, book)
        if fields is not None:
            return Fields(choice, fields)
        items = None if isinstance(step, Choose) else self._shown_values.items(step, event, book)
        return choice if items is None else Items(choice, items)

    def _fields(
        self, source: Binding, event: Event, reader: str = "", book: LabelBook | None = None
    ) -> dict[str, str | None] | None:
        """Returns the fields that an event shows of a record, for templates that use one of them;
        of a record by role the reader's own as `me` too. With a `book` what was drawn or shown has
        its labels, but for texts."""
        parts = self._event_fields(source, event)
        if parts is not None and book is not None and not isinstance(source, Choose):
            record = plain(source.type if isinstance(source, Draw) else source.entry_type)
            types = dict(record.fields) if isinstance(record, Record) else {}
            parts = {
                name: text
                if text is None or (name in types and has_text(types[name]))
                else book.relabelled(text, self.shown_role)
                for name, text in parts.items()
            }
        if parts is not None and reader and is_by_role(source.type):
            parts |= {"me": parts.get(reader)}
        return parts

    def _event_fields(self, source: Binding, event: Event) -> dict[str, str | None] | None:
        whole = source.type if isinstance(source, Choose | Draw) else source.entry_type
        kinds, type = text_or_record(plain(whole)), plain(whole)
        type = type if kinds is None else kinds.record
        if not isinstance(type, Record):
            return None
        match source:
            case Choose(said=None):
                return None
            case Choose():
                if _in_part(source, event):
                    return field_texts(event.name, type)
                return _reply_fields(event.name) if event.name.startswith("{") else None
            case Draw() | Show() | Call():
                if source.readers.fields:
                    return field_texts(event.name, type)
                return whole_field_texts(event.name, type) if shows_fields(source) else None
        assert_never(source)

    def _fill(self, template: Template, seat: str, book: LabelBook, **more: Any) -> Part:
        try:
            text = compiled(template.text).render(
                {**self._scope(template.slot, seat, book), **more}, self._budget
            )
        except TemplateFault as fault:
            raise RenderError(template, fault) from fault
        return Part(template.slot, text.strip(), template)

    def _fixed_part(self, template: Template, seat: str, book: LabelBook) -> Part:
        """Returns the part of a template that reads nothing of a play."""
        place = (template.slot, template.key, seat, book)
        return _made_once(
            self._fixed, _CACHED_PARTS, place, lambda: self._fill(template, seat, book)
        )

    def _written_rules(self, book: LabelBook) -> Part:
        return Part("rules", default_rules(self.ir, book), None)

    def _scope(self, slot: str, seat: str, book: LabelBook) -> dict[str, Any]:
        if self._constants is None or self._constants[0] != book:
            shown = constants(self.ir, lambda name: book.relabelled(name, self.shown_role))
            self._constants = book, shown
        names = self._constants[1] | self.shown_role
        names |= {"labels": dict(book.pairs), "roles": tuple(self.shown_role.values())}
        if slot != "rules":
            others = tuple(self.shown_role[other] for other in self.ir.seats if other != seat)
            names |= {"me": self.shown_role[seat], "others": others}
            if len(others) == 1:
                names["other"] = others[0]
        return names


def _made_once(
    kept: dict[_Place, _Made], most: int, place: _Place, make: Callable[[], _Made]
) -> _Made:
    """Returns what is kept at a place, and makes it the first time; keeps `most` at once."""
    if place not in kept:
        if len(kept) >= most:
            kept.clear()
        kept[place] = make()
    return kept[place]


def _in_part(step: Choose, event: Event) -> bool:
    """Returns whether an event shows only some fields of a reply: whole, its name is one object."""
    return bool(step.readers.fields) and event.name != SILENCE and not is_whole(event.name)


def _reply_fields(name: str) -> dict[str, str | None]:
    """Returns the fields of a reply, as texts, None for null."""
    found = json.loads(name)
    return {k: v if isinstance(v, str | None) else json.dumps(v) for k, v in found.items()}


def _joined(parts: Iterable[Part]) -> str:
    return "\n".join(part.text for part in parts if part.text)
