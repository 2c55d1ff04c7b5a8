"""What a seat is told when it must choose: one system message and one user message.

The system message holds the rules and is the same for all seats, so that prompts share a long prefix;
the user message says what has been seen, then who is asked, then what may be answered. What has been
seen is told in the third person, the same to all who saw it, so that prefix is shared as well. Always:
a prompt depends on the game, the labels, the seat, the step and what the seat has seen, on nothing
else; in a masked game the default texts say no payoff, no canonical name and no `about`.

Each part is a slot (`rules`, `who`, `ask.<variable>`, `seen.<variable>`) that the file may replace by
a template; the defaults are plain Python, so that a game without templates never loads Jinja2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gamedsl.backends.events import Event, Seen
from gamedsl.backends.labels import LabelBook
from gamedsl.backends.templating import compiled, template_for, variables_before
from gamedsl.ir.game import Choose, GameIR, Template

Messages = tuple[tuple[str, str], ...]

_CACHED_PROMPTS = 65_536
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


class Prompter:
    """Renders the prompts of one game. Stateless but for a cache; safe to share between episodes."""

    def __init__(self, ir: GameIR) -> None:
        self.ir = ir
        self.shown_role = role_names(ir)
        self._steps = {step.id: step for step in ir.steps}
        self._cache: dict[tuple[object, ...], Messages] = {}

    def messages(
        self, seat: str, step: Choose, legal: tuple[str, ...], book: LabelBook, seen: Seen
    ) -> Messages:
        """The chat that asks a seat for its choice, as (chat role, content) pairs.

        `legal` are the canonical names of its options here; `seen` is every event that the seat has
        seen, in order. Equal arguments give equal text.
        """
        place = (seat, step.id, legal, book.key, book.pairs, seen)
        known = self._cache.get(place)
        if known is None:
            if len(self._cache) >= _CACHED_PROMPTS:
                self._cache.clear()
            known = self._cache[place] = self._render(seat, step, legal, book, seen)
        return known

    def slots(
        self, seat: str, step: Choose, legal: tuple[str, ...], book: LabelBook, seen: Seen
    ) -> tuple[tuple[str, str], ...]:
        """The parts of a prompt as (slot, text), in the order in which they are sent."""
        parts = [("rules", self._rules(seat, book))]
        parts += [("seen", self._event(seat, event, book)) for event in seen]
        parts += [("who", self._who(seat, book)), ("ask", self._ask(seat, step, legal, book, seen))]
        return tuple((slot, text.strip()) for slot, text in parts)

    def _render(
        self, seat: str, step: Choose, legal: tuple[str, ...], book: LabelBook, seen: Seen
    ) -> Messages:
        rules, *rest = self.slots(seat, step, legal, book, seen)
        user = ("user", "\n".join(text for _, text in rest if text))
        return (("system", rules[1]), user) if rules[1] else (user,)

    def _rules(self, seat: str, book: LabelBook) -> str:
        template = template_for(self.ir, "rules")
        return default_rules(self.ir) if template is None else self._fill(template, seat, book)

    def _who(self, seat: str, book: LabelBook) -> str:
        template = template_for(self.ir, "who", seat, self.ir.role_of[seat])
        if template is None:
            return f"You are {self.shown_role[seat]}." if len(self.ir.seats) > 1 else ""
        return self._fill(template, seat, book)

    def _event(self, seat: str, event: Event, book: LabelBook) -> str:
        step = self._steps[event.step]
        template = template_for(self.ir, "seen", step.id, step.variable)
        actor, choice = self.shown_role[event.seat], book.label(event.name)
        if template is None:
            return f"{actor} chose {choice}." if len(self.ir.seats) > 1 else f"You chose {choice}."
        return self._fill(template, seat, book, actor=actor, choice=choice)

    def _ask(
        self, seat: str, step: Choose, legal: tuple[str, ...], book: LabelBook, seen: Seen
    ) -> str:
        options = tuple(book.label(name) for name in book.order(step.id, seat, legal))
        template = template_for(self.ir, "ask", step.id, step.variable)
        if template is None:
            return default_ask(self.ir, step, options, self.shown_role)
        return self._fill(template, seat, book, **self._asked(step, options, book, seen))

    def _asked(
        self, step: Choose, options: tuple[str, ...], book: LabelBook, seen: Seen
    ) -> dict[str, Any]:
        """What only `ask` may name: the options, the events, and the variables chosen before."""
        events = tuple(
            {
                "actor": self.shown_role[event.seat],
                "choice": book.label(event.name),
                "step": self._steps[event.step].variable,
            }
            for event in seen
        )
        values: dict[str, Any] = dict.fromkeys(variables_before(self.ir, step))
        for event in seen:
            source = self._steps[event.step]
            if source.variable not in values:
                continue
            if source.joint:
                latest = dict(values[source.variable] or {})
                values[source.variable] = {**latest, event.seat: book.label(event.name)}
            else:
                values[source.variable] = book.label(event.name)
        return {**values, "options": options, "seen": events}

    def _fill(self, template: Template, seat: str, book: LabelBook, **more: Any) -> str:
        return compiled(template.text).render({**self._scope(template.slot, seat, book), **more})

    def _scope(self, slot: str, seat: str, book: LabelBook) -> dict[str, Any]:
        seats = self.ir.seats
        names: dict[str, Any] = {param.name: param.value for param in self.ir.params}
        names |= self.shown_role
        names |= {"labels": dict(book.pairs), "roles": tuple(self.shown_role.values())}
        if slot != "rules":
            others = tuple(self.shown_role[other] for other in seats if other != seat)
            names |= {"me": self.shown_role[seat], "others": others}
            if len(others) == 1:
                names["other"] = others[0]
        return names


def role_names(ir: GameIR) -> dict[str, str]:
    """How prompts call each seat: by name, or `player 1`, `player 2`, … under masked labels."""
    if ir.labels.kind == "masked":
        return {seat: f"player {number}" for number, seat in enumerate(ir.seats, start=1)}
    return {seat: seat for seat in ir.seats}


def default_rules(ir: GameIR) -> str:
    """The rules slot: how many play; with plain labels also the game's name and what it is about."""
    players = len(ir.seats)
    number = _NUMBERS[players] if players < len(_NUMBERS) else str(players)
    if ir.labels.kind != "plain":
        return f"This is a game for {number} player{'s' if players > 1 else ''}."
    about = f" {ir.about}" if ir.about else ""
    return f"This is {ir.name}, a game for {number} player{'s' if players > 1 else ''}.{about}"


def default_ask(
    ir: GameIR, step: Choose, options: tuple[str, ...], shown_role: dict[str, str]
) -> str:
    """The ask slot: whether others choose too, and the exact texts that are answers."""
    together = ""
    if len(step.actors) > 1:
        actors = "All" if set(step.actors) == set(ir.seats) else _list(step.actors, shown_role.get)
        together = f"{actors} choose at the same time. "
    return f"{together}Reply with exactly one of: {', '.join(options)}"


def _list(names: tuple[str, ...], show: Callable[[str], str | None]) -> str:
    *first, last = (show(name) or name for name in names)
    return f"{', '.join(first)} and {last}"
