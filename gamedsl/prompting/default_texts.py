"""Default texts of prompts, for slots that the game's author leaves out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import combinations

from gamedsl.ir.game import GameIR
from gamedsl.ir.program import Choose, Entry
from gamedsl.prompting.expression_text import named
from gamedsl.prompting.labels import LabelBook
from gamedsl.prompting.reply_instructions import form_of
from gamedsl.prompting.rules_text import option_form, written_rules
from gamedsl.prompting.templates import template_for

_MINE = re.compile(r"(\w+)(?:\.me|\[me\])")


def role_names(ir: GameIR) -> dict[str, str]:
    """Returns how prompts call each seat: by name, or `player 1`, `player 2`, … under masked
    labels."""
    if ir.labels.kind == "masked":
        return {seat: f"player {number}" for number, seat in enumerate(ir.everyone, start=1)}
    return {seat: seat for seat in ir.everyone}


LONGEST = 20_000
"""Characters that written rules may have; a game that needs more is told only what it is."""


def default_rules(ir: GameIR, book: LabelBook) -> str:
    """Returns the rules slot: the rules of the game, in the sentences of
    `gamedsl.prompting.rules_text`. In the brief wording, and where these are longer than
    `LONGEST`, it only says what game it is."""
    if ir.wording == "explained":
        rules = written_rules(ir, book, role_names(ir))
        if len(rules) <= LONGEST:
            return rules
    return brief_rules(ir)


def brief_rules(ir: GameIR) -> str:
    """Returns the number of players; with plain labels also the game's name and `about`.

    Without them it has as few words as can be, since each is a word that no action may be called.
    """
    count = len(ir.seats)
    players = f"game for {count} player{'s' if count > 1 else ''}."
    if ir.labels.kind in ("plain", "partly"):
        return f"This is {ir.name}, a {players} {ir.about}".strip()
    return players.capitalize()


def default_title(ir: GameIR, entry: Entry) -> str:
    """Returns the title of a view's entry: its own, or else its expression, in which a part of
    the reader's own is `your …`. A masked game uses one word for all entries, since it says no
    names."""
    if entry.title:
        return entry.title
    return "Now" if ir.labels.kind == "masked" else _MINE.sub(r"your \1", entry.text)


class Questions:
    """The ask slot of each decision of a game. `shown_role` is how prompts call each seat.

    A seat whose prompts leave out what it has seen could be asked the same at two steps. Their
    questions have a name each then; the brief wording has none.
    """

    def __init__(self, ir: GameIR, shown_role: Mapping[str, str]) -> None:
        self._ir, self._shown_role = ir, shown_role
        self._steps = {step.id: step for step in ir.steps}
        self._names: dict[str, str] = {}
        """The names of steps that would be asked with one text, by their ids."""
        if ir.wording != "brief" and ir.limited_seats:
            self._names = self._names_of_alike()

    def closed(self, step: Choose, options: tuple[str, ...]) -> str:
        """Returns the ask slot of a closed decision: whether others choose at the same time, what
        is asked, and the exact texts of the answers.

        Of the wordings tried, this leaves a model least skewed before training: an option a line,
        and the instruction apart from them (`benchmarks/label_skew.py`).
        """
        form = option_form(step) if _names_options(self._ir, step) else ""
        head = f"Options ({form}):" if form else "Options:"
        lines = [self._simultaneous(step), self._question(step), head, *options]
        return "\n".join(line for line in lines if line)

    def open(self, step: Choose) -> str:
        """Returns the ask slot of an open decision: what is asked."""
        return " ".join(part for part in (self._simultaneous(step), self._question(step)) if part)

    def _simultaneous(self, step: Choose) -> str:
        """Returns who decides at the same time, where several do."""
        if not step.joint or len(step.actors) == 1:
            return ""
        verb = "reply" if step.said is not None else "choose"
        if step.asks_some:
            return f"All who are asked {verb} at the same time."
        *first, last = (self._shown_role[seat] for seat in step.actors)
        masked = self._ir.labels.kind == "masked"  # which calls referees players, too
        everyone = set(step.actors) == set(self._ir.everyone if masked else self._ir.seats)
        actors = "All" if everyone else f"{', '.join(first)} and {last}"
        return f"{actors} {verb} at the same time."

    def _question(self, step: Choose) -> str:
        """Returns the question of a step: its `about`, else, where names are shown, its name. The
        steps that a seat cannot tell apart ask what the first of them asks."""
        asked = self._steps[self._ir.asked_as.get(step.id, step.id)]
        name = self._names.get(step.id, "")
        if asked.about:
            return f"{asked.about} ({name})" if name else asked.about
        if name:
            return _request(step, name)
        if self._ir.labels.kind == "masked":
            return ""
        if self._ir.wording == "brief":
            name = asked.variable.replace("_", " ")
            return "" if step.said is None else f"Now your {name}."
        return _request(step, named(asked.variable))

    def _names_of_alike(self) -> dict[str, str]:
        """Returns a name for each step that a seat could take for another one: that of its id; in a
        masked game, which says no name, its number among the decisions."""
        ir, found = self._ir, dict[str, str]()
        limited = [
            step for step in ir.steps
            if step.knows is None and template_for(ir, "ask", step.id, step.variable) is None
        ]  # fmt: skip
        texts = {step.id: self._text_but_options(step) for step in limited}
        for one, other in combinations(limited, 2):
            seats = ir.limited_seats.intersection(one.actors, other.actors)
            if texts[one.id] == texts[other.id] and any(
                _may_offer_the_same(one, other, seat) for seat in seats
            ):
                found |= {step.id: self._name(step) for step in (one, other)}
        return found

    def _text_but_options(self, step: Choose) -> tuple[str, ...]:
        if step.said is None:
            return "closed", self.closed(step, ())
        return form_of(step, step.actors[0], self._ir.seats), self.open(step)

    def _name(self, step: Choose) -> str:
        if self._ir.labels.kind == "masked":
            return f"decision {self._ir.steps.index(step) + 1}"
        return named(step.id)


def _may_offer_the_same(one: Choose, other: Choose, seat: str) -> bool:
    """Returns whether two steps may offer a seat the same options."""
    if one.said is not None:
        return True
    names, others = ({option.name for option in s.options_of(seat)} for s in (one, other))
    return names == others if one.static and other.static else not names.isdisjoint(others)


def _request(step: Choose, name: str) -> str:
    """Returns the request for a choice or a reply of a name, which may be any part of speech."""
    verb, noun = ("Make", "choice") if step.said is None else ("Give", "reply")
    return f"{verb} your {noun}." if name == noun else f"{verb} your {noun} ({name})."


def _names_options(ir: GameIR, step: Choose) -> bool:
    """Returns whether options are shown by names that show their parts."""
    if ir.wording == "brief" or ir.labels.kind not in ("plain", "partly"):
        return False
    hidden = frozenset(ir.labels.only)
    return not any(choice.name in hidden for options in step.options for choice in options)
