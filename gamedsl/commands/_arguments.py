"""Arguments of command lines: each function reads one, or raises what argparse tells people.

Every number has an end: one beyond it is a slip, and is refused before anything is made of its
size.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from functools import partial

LARGEST = 10**9
"""Of counts that only take time."""

Whole = Callable[[str], int]


def whole_to(high: int, low: int = 0) -> Whole:
    """Returns a reader of whole numbers in a range."""
    return partial(_in_range, low=low, high=high)


def count_to(high: int) -> Whole:
    """Returns a reader of whole numbers from 1 up to an end."""
    return whole_to(high, 1)


def _in_range(text: str, low: int, high: int) -> int:
    try:
        value = int(text.replace(",", "").replace("_", ""))
    except ValueError:
        value = low - 1
    if value < low:
        raise argparse.ArgumentTypeError(f"`{_cut(text)}` is no number from {low} up")
    if value > high:
        raise argparse.ArgumentTypeError(f"`{_cut(text)}` is too large: at most {high:,}")
    return value


count = count_to(LARGEST)
"""A number from 1 up, with separators or not."""

whole = whole_to(LARGEST)
"""A number from 0 up."""

seed = whole_to(2**32 - 1)
"""A seed, as recipes have it."""


def positive(text: str) -> float:
    """A number above 0."""
    value = _number(text)
    if not 0 < value <= LARGEST:
        raise argparse.ArgumentTypeError(
            f"`{_cut(text)}` is no number above 0 and at most {LARGEST:,}"
        )
    return value


def from_zero(text: str) -> float:
    """A number from 0 up."""
    value = _number(text)
    if not 0 <= value <= LARGEST:
        raise argparse.ArgumentTypeError(f"`{_cut(text)}` is no number from 0 to {LARGEST:,}")
    return value


def cluster(text: str) -> str:
    """A Ray cluster: `ray`, or the address of one that is there."""
    if not re.fullmatch(r"ray(://[\w.:\[\]-]+)?", text):
        raise argparse.ArgumentTypeError(
            f"`{_cut(text)}` is neither `ray` nor of the form ray://HOST:PORT"
        )
    return text


def _number(text: str) -> float:
    """The number in a text; NaN if it is none."""
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _cut(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:39]}…"
