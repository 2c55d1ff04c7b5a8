"""The form of replies to closed decisions, and the rule for invalid ones."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal


@dataclass(frozen=True)
class Form:
    """The form of replies to a closed decision: a label alone, in a tag, or in a tool call.

    `think` is the number of tokens that a thought before the answer may have, its end included;
    None if no thought is asked for. `at_limit` is the rule for a thought that its author has not
    ended, by then or before the reply ends: it is closed, and the answer follows it, or the reply
    is invalid.
    """

    kind: Literal["label", "tag", "tool"] = "label"
    think: int | None = None
    at_limit: Literal["invalid", "close"] = "invalid"


LABEL = Form()


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
