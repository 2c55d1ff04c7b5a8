"""Default texts of prompts, for slots that the game's author leaves out."""

from __future__ import annotations

import re

from gamedsl.ir.game import GameIR
from gamedsl.ir.program import Choose, Entry

_MINE = re.compile(r"(\w+)(?:\.me|\[me\])")


def role_names(ir: GameIR) -> dict[str, str]:
    """Returns how prompts call each seat: by name, or `player 1`, `player 2`, … under masked
    labels."""
    if ir.labels.kind == "masked":
        return {seat: f"player {number}" for number, seat in enumerate(ir.everyone, start=1)}
    return {seat: seat for seat in ir.everyone}


def default_rules(ir: GameIR) -> str:
    """Returns the rules slot: the number of players; with plain labels also the game's name and
    `about`.

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
    """Returns the ask slot of a closed decision: whether others choose at the same time, and the
    exact texts of the answers.

    Of the wordings tried, this leaves a model least skewed before training: an option a line, and
    the instruction apart from them (`benchmarks/label_skew.py`).
    """
    listed = "\n".join(("Options:", *options))
    if not step.joint or len(step.actors) == 1:
        return listed
    *first, last = (shown_role[seat] for seat in step.actors)
    actors = "All" if set(step.actors) == set(ir.seats) else f"{', '.join(first)} and {last}"
    return f"{actors} choose at the same time.\n{listed}"


def open_ask_text(ir: GameIR, step: Choose) -> str:
    """Returns the ask slot of an open decision: its variable, where a masked game does not hide
    it."""
    at_once = "All reply at the same time." if step.joint and len(step.actors) > 1 else ""
    what = "" if ir.labels.kind == "masked" else f"Now your {step.variable.replace('_', ' ')}."
    return " ".join(part for part in (at_once, what) if part)
