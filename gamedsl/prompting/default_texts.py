"""Default texts of prompts, for slots that the game's author leaves out."""

from __future__ import annotations

import re

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


def closed_ask_text(
    ir: GameIR, step: Choose, options: tuple[str, ...], shown_role: dict[str, str]
) -> str:
    """Returns the ask slot of a closed decision: whether others choose at the same time, what is
    asked, and the exact texts of the answers.

    Of the wordings tried, this leaves a model least skewed before training: an option a line, and
    the instruction apart from them (`benchmarks/label_skew.py`).
    """
    form = option_form(step) if _names_options(ir, step) else ""
    head = f"Options ({form}):" if form else "Options:"
    lines = [_question(ir, step), head, *options]
    if step.joint and len(step.actors) > 1:
        *first, last = (shown_role[seat] for seat in step.actors)
        actors = "All" if set(step.actors) == set(ir.seats) else f"{', '.join(first)} and {last}"
        lines.insert(0, f"{actors} choose at the same time.")
    return "\n".join(line for line in lines if line)


def _names_options(ir: GameIR, step: Choose) -> bool:
    """Returns whether options are shown by names that show their parts."""
    if ir.wording == "brief" or ir.labels.kind not in ("plain", "partly"):
        return False
    hidden = frozenset(ir.labels.only)
    return not any(choice.name in hidden for options in step.options for choice in options)


def _question(ir: GameIR, step: Choose) -> str:
    """Returns what a closed step asks: its `about`, else, where names are shown, its variable. The
    steps that a seat cannot tell apart ask what the first of them asks."""
    first = ir.asked_as.get(step.id, step.id)
    asked = step if first == step.id else next(one for one in ir.steps if one.id == first)
    if asked.about:
        return asked.about
    hidden = ir.labels.kind == "masked" or ir.wording == "brief"
    return "" if hidden else f"Choose your {named(asked.variable)}."


def open_ask_text(ir: GameIR, step: Choose) -> str:
    """Returns the ask slot of an open decision: what is asked, or its variable, where a masked game
    does not hide it."""
    at_once = "All reply at the same time." if step.joint and len(step.actors) > 1 else ""
    hidden = ir.labels.kind == "masked"
    what = step.about or ("" if hidden else f"Now your {step.variable.replace('_', ' ')}.")
    return " ".join(part for part in (at_once, what) if part)
