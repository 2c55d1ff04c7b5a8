"""What a prompt says where the game's author says nothing: who plays, and what a view shows."""

from __future__ import annotations

import re

from gamedsl.ir.game import GameIR
from gamedsl.ir.program import Entry

_MINE = re.compile(r"(\w+)(?:\.me|\[me\])")


def role_names(ir: GameIR) -> dict[str, str]:
    """How prompts call each seat: by name, or `player 1`, `player 2`, … under masked labels."""
    if ir.labels.kind == "masked":
        return {seat: f"player {number}" for number, seat in enumerate(ir.everyone, start=1)}
    return {seat: seat for seat in ir.everyone}


def default_rules(ir: GameIR) -> str:
    """The rules slot: how many play; with plain labels also the game's name and `about`.

    Without them it has as few words as can be, since each is a word that no action may be called.
    """
    count = len(ir.seats)
    players = f"game for {count} player{'s' if count > 1 else ''}."
    if ir.labels.kind in ("plain", "partly"):
        return f"This is {ir.name}, a {players} {ir.about}".strip()
    return players.capitalize()


def default_title(ir: GameIR, entry: Entry) -> str:
    """What an entry of a view is called: its title, or else its expression, of which a part of the
    reader's own is `your …`; a masked game says no names, and has one word for all."""
    if entry.title:
        return entry.title
    return "Now" if ir.labels.kind == "masked" else _MINE.sub(r"your \1", entry.text)
