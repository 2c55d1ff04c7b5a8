"""The rule for invalid replies."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal


@dataclass(frozen=True)
class OnInvalid:
    """The cost of an invalid reply: after `retry` further tries, `then` happens.

    "forfeit": the episode ends, the offender is paid `pay`, and the others' payoffs are void.
    "void": it ends, and is void for all. "skip": it continues without a choice or text. "play": it
    continues with the option `play` if that is legal, else as with "skip". `pay` is an invalid
    reply's reward in training, too; None: the least payoff of the game.
    """

    retry: int = 0
    then: Literal["forfeit", "void", "skip", "play"] = "forfeit"
    play: str | None = None
    pay: int | Fraction | None = None


FORFEIT = OnInvalid()
VOID = OnInvalid(then="void")
