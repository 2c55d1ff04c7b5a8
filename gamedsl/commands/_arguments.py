"""Numbers on command lines: each function reads one, or raises what argparse tells people."""

from __future__ import annotations

import argparse


def count(text: str) -> int:
    """A number from 1 up, with separators or not."""
    return _at_least(text, 1)


def whole(text: str) -> int:
    """A number from 0 up."""
    return _at_least(text, 0)


def _at_least(text: str, least: int) -> int:
    try:
        value = int(text.replace(",", "").replace("_", ""))
    except ValueError:
        value = least - 1
    if value < least:
        raise argparse.ArgumentTypeError(f"`{text}` is no number from {least} up")
    return value


def positive(text: str) -> float:
    """A number above 0."""
    value = _number(text)
    if not value > 0:
        raise argparse.ArgumentTypeError(f"`{text}` is no number above 0")
    return value


def from_zero(text: str) -> float:
    """A number from 0 up."""
    value = _number(text)
    if not value >= 0:
        raise argparse.ArgumentTypeError(f"`{text}` is no number from 0 up")
    return value


def _number(text: str) -> float:
    """The number in a text; NaN if it is none."""
    try:
        return float(text)
    except ValueError:
        return float("nan")
