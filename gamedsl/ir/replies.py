"""What becomes of a reply that is invalid."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal


@dataclass(frozen=True)
class OnInvalid:
    """What an invalid reply costs: after `retry` further tries, `then` happens.

    "forfeit": the episode ends, who failed is paid `pay`, the others' payoffs are void. "void": it
    ends, and is void for all. "skip": it goes on, and nothing was chosen or said. "play": it goes
    on with the option `play`, where that is legal, else as with "skip". `pay` is what an invalid
    reply earns in training, too; None: the least payoff that the game has.
    """

    retry: int = 0
    then: Literal["forfeit", "void", "skip", "play"] = "forfeit"
    play: str | None = None
    pay: int | Fraction | None = None


FORFEIT = OnInvalid()
VOID = OnInvalid(then="void")
