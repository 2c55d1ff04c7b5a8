"""Histories to show prompts with, before anybody has played.

Passes and the `prompts` command render every prompt, and a prompt needs a past. These pasts are
fixed and few, and together they contain every option of every step once.
"""

from __future__ import annotations

from gamedsl.backends.events import Event, Seen
from gamedsl.ir.game import GameIR
from gamedsl.ir.program import Choose

MOST = 16
"""Histories per step; a step with more options than this is not covered wholly."""


def history_before(ir: GameIR, step: Choose, variant: int = 0) -> Seen:
    """What all have seen when a step begins, if everybody always took option number `variant`.

    Numbers go round, so that every variant is a history of the game.
    """
    return tuple(
        Event(earlier.id, 0, seat, options[variant % len(options)].name)
        for earlier in ir.steps[: ir.steps.index(step)]
        for seat, options in zip(earlier.actors, earlier.options, strict=True)
        if options
    )


def variants(ir: GameIR, step: Choose) -> int:
    """How many histories it takes to see every earlier option once, at most `MOST`."""
    earlier = ir.steps[: ir.steps.index(step)]
    most = max((len(options) for other in earlier for options in other.options), default=1)
    return min(most, MOST)
