"""Default texts of prompts, for slots that the game's author leaves out."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gamedsl.ir.game import GameIR
from gamedsl.ir.program import Choose, Entry
from gamedsl.prompting.expression_text import named
from gamedsl.prompting.labels import LabelBook
from gamedsl.prompting.rules_text import option_form, written_rules

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
    """The ask slot of each decision of a game. `shown_role` is how prompts call each seat."""

    def __init__(self, ir: GameIR, shown_role: Mapping[str, str]) -> None:
        self._ir, self._shown_role = ir, shown_role
        self._steps = {step.id: step for step in ir.steps}

    def closed(self, step: Choose, options: tuple[str, ...]) -> str:
        """Returns the ask slot of a closed decision: whether others choose at the same time, what
        is asked, and the exact texts of the answers.

        Of the wordings tried, this leaves a model least skewed before training: an option a line,
        and the instruction apart from them (`benchmarks/label_skew.py`).
        """
        form = option_form(step) if _names_options(self._ir, step) else ""
        head = f"Options ({form}):" if form else "Options:"
        lines = [self._at_once(step), self._question(step), head, *options]
        return "\n".join(line for line in lines if line)

    def open(self, step: Choose) -> str:
        """Returns the ask slot of an open decision: what is asked."""
        return " ".join(part for part in (self._at_once(step), self._question(step)) if part)

    def _at_once(self, step: Choose) -> str:
        """Returns who decides at the same time, where several do."""
        if not step.joint or len(step.actors) == 1:
            return ""
        if step.said is not None:
            return "All reply at the same time."
        *first, last = (self._shown_role[seat] for seat in step.actors)
        everyone = set(step.actors) == set(self._ir.seats)
        actors = "All" if everyone else f"{', '.join(first)} and {last}"
        return f"{actors} choose at the same time."

    def _question(self, step: Choose) -> str:
        """Returns the question of a step: its `about`, else, where names are shown, its name. The
        steps that a seat cannot tell apart ask what the first of them asks."""
        asked = self._steps[self._ir.asked_as.get(step.id, step.id)]
        if asked.about:
            return asked.about
        if self._ir.labels.kind == "masked":
            return ""
        if self._ir.wording == "brief":
            name = asked.variable.replace("_", " ")
            return "" if step.said is None else f"Now your {name}."
        return _request(step, named(asked.variable))


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
