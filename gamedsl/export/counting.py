"""In which tokens the limits of replies are counted in a loop that is not ours.

A limit such as `max_tokens` counts tokens of the model that answers. Only the loop knows that
model, so it gives its tokenizer; without one words are counted, of which there are fewer.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gamedsl.prompting.tokenizers import TokenCounter, Tokenizers, WordCounter


class Counts:
    """A tokenizer that counts, and says nothing of tool calls: prompts for other loops are texts
    alone, whatever the model's chat template lists."""

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter

    @property
    def fingerprint(self) -> str:
        return self._counter.fingerprint

    def count(self, text: str) -> int:
        return self._counter.count(text)


def counter_of(tokenizer: Any) -> TokenCounter:
    """Returns the counter of a tokenizer: one of transformers, a `TokenCounter`, or the name of a
    model, whose tokenizer is loaded. Raises as `load_counter`."""
    from gamedsl.policies.text_counts import TextCounter, load_counter

    if isinstance(tokenizer, str | Path):
        return Counts(load_counter(str(tokenizer)))
    own = hasattr(tokenizer, "fingerprint") and hasattr(tokenizer, "count")
    return Counts(tokenizer if own else TextCounter(tokenizer))


def counted_for(counter: TokenCounter, held: Iterable[str], others: Iterable[str]) -> TokenCounter:
    """Returns the counter for a table at which the loop's model holds the roles `held`. What the
    players of the `others` write has a limit of its own, in their tokens, and is counted in words.
    """
    roles: dict[str, TokenCounter] = dict.fromkeys(others, WordCounter())
    if not roles:
        return counter
    return Tokenizers((counter,), roles | dict.fromkeys(held, counter))
