"""Suggestions for misspelt words: the nearest known word."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import islice

MOST_CANDIDATES = 500
"""Candidates that are compared; a file may have many more names, and mistakes."""


def did_you_mean(word: str, candidates: Iterable[str]) -> str | None:
    """Returns the candidate nearest to a word, or None where none is near.

    Near means: equal but for case, `-`, `_` and a plural in `-ys` for `-ies`; or at most a third
    of the letters inserted, deleted, changed or swapped with a neighbour (one in three). Ties go to
    the candidate that begins in the same case, then to the one that shares the longer beginning,
    then to the first. Only the first `MOST_CANDIDATES` are compared. A word that is among them is
    not misspelt: then it is None, too.
    """
    best: tuple[int, bool, int] | None = None
    found: str | None = None
    folded, letters = _fold(word)
    for candidate in islice(candidates, MOST_CANDIDATES):
        if candidate == word:
            return None
        other, its_letters = _fold(candidate)
        longest = max(len(folded), len(other))
        most = 0 if longest < 3 else max(1, longest // 3)
        if abs(len(folded) - len(other)) > most:
            continue
        if (letters ^ its_letters).bit_count() > 2 * most:
            continue  # an edit adds a letter, removes one, or does both
        distance = _distance(folded, other, most)
        if distance > most or distance >= longest:
            continue
        differs = candidate[:1].isupper() != word[:1].isupper()
        rank = (distance, differs, -_common_prefix(folded, other))
        if best is None or rank < best:
            best, found = rank, candidate
    return found


@lru_cache(maxsize=4 * MOST_CANDIDATES)
def _fold(word: str) -> tuple[str, int]:
    """Returns how a word is compared, and the set of its letters as bits."""
    folded = word[:80].casefold().replace("-", "_").replace(" ", "_")
    folded = f"{folded[:-3]}ys" if folded.endswith("ies") else folded
    letters = 0
    for letter in folded:
        letters |= 1 << (ord(letter) & 63)
    return folded, letters


def _common_prefix(a: str, b: str) -> int:
    count = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        count += 1
    return count


def _distance(a: str, b: str, most: int) -> int:
    """Returns the optimal string alignment distance, or any number over `most` if it is larger."""
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        previous, row = row, [i]
        for j, y in enumerate(b, 1):
            cost = min(previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
        before = previous
    return row[-1]
