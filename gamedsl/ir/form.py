"""The form in which a closed decision is answered, as a game declares it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Form:
    """How a closed decision is answered: by a label alone, in a tag, or in a tool call.

    `think` is how many tokens a thought before the answer may have, None where none is asked for.
    A reply that ends within its thought is invalid.
    """

    kind: Literal["label", "tag", "tool"] = "label"
    think: int | None = None


LABEL = Form()
