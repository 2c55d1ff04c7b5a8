"""Which games other libraries can have: those in which all that may be chosen can be listed."""

from __future__ import annotations

from gamedsl.ir.game import GameIR


def require_closed(ir: GameIR) -> None:
    """ValueError for a game in which something is said or called, or a referee acts."""
    if ir.open or ir.referees:
        raise ValueError(
            f"`{ir.name}` cannot be exported: something is said or called in it, or a referee "
            "acts, and other libraries have lists of actions and payoffs for all who act; "
            "play it with `gamedsl.load(…).env()`"
        )
