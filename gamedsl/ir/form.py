"""The form in which a closed decision is answered, as a game declares it."""

from __future__ import annotations

from dataclasses import dataclass
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
