"""The function `search`: which of some texts share the most telling words with a query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from gamedsl.calls.registry import CallError, function
from gamedsl.calls.texts import readable, words
from gamedsl.calls.types import ListOf

MAX_SEARCHED = 500_000
"""Characters of all texts together, which bounds the time of a search."""


@function(
    arguments={"query": "text", "texts": ListOf("text"), "most": "int"},
    result=ListOf("text"),
    pure=True,
    version=1,
    time_limit=1,
    on_timeout=[],
)
def search(query: str, texts: Sequence[str], most: int) -> list[str]:
    """The texts that share words with a query, at most so many of them, the best first: a word
    counts as one divided by the number of texts that have it, and of equals the earlier is better.

    Words are compared as `names` compares them, without plurals. A text in which none of them
    stands is not found.
    """
    if sum(map(len, texts)) > MAX_SEARCHED:
        raise CallError("search", f"texts of more than {MAX_SEARCHED:,} characters")
    wanted = set(words(query)) if readable(query) else set()
    found = [wanted.intersection(words(text)) if readable(text) else set() for text in texts]
    spread = Counter(word for shared in found for word in shared)
    scores = [sum(Fraction(1, spread[word]) for word in shared) for shared in found]
    order = sorted(range(len(texts)), key=lambda at: (-scores[at], at))
    return [texts[at] for at in order if scores[at] > 0][: max(most, 0)]
