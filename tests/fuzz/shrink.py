"""Smaller inputs that fail in the same way: delta debugging over files, lines and characters
(Zeller and Hildebrandt 2002, ddmin)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from tests.fuzz import Case, Outcome
from tests.fuzz.guard import same_failure

Files = Mapping[str, bytes]
Part = TypeVar("Part")

SHORT = 600
"""Bytes of a file up to which single characters are deleted too."""


def smallest(
    files: Files, outcome: Outcome, case_of: Callable[[Files], Case], seconds: float
) -> Files:
    """Returns the smallest input found within some seconds that fails as `outcome` says."""
    ends = time.monotonic() + seconds

    def fails(candidate: Files) -> bool:
        if time.monotonic() >= ends:
            return False
        try:
            case = case_of(candidate)
        except (ValueError, KeyError, TypeError):  # it is no input any more
            return False
        return same_failure(case, outcome)

    for name in sorted(files, key=lambda name: -len(files[name])):
        rest = {other: content for other, content in files.items() if other != name}
        if rest and fails(rest):
            files = rest
    for name in list(files):
        files = _smaller_file(files, name, b"\n", fails)
        files = _smaller_file(files, name, b" ", fails)
        if len(files[name]) <= SHORT:
            files = _smaller_file(files, name, b"", fails)
    return files


def _smaller_file(files: Files, name: str, between: bytes, fails: Callable[[Files], bool]) -> Files:
    content = files[name]
    parts = content.split(between) if between else [content[i : i + 1] for i in range(len(content))]

    def with_parts(some: Sequence[bytes]) -> Files:
        return {**files, name: between.join(some)}

    return with_parts(_ddmin(parts, lambda some: fails(with_parts(some))))


def _ddmin(parts: Sequence[Part], fails: Callable[[Sequence[Part]], bool]) -> Sequence[Part]:
    """Returns a subsequence that fails, of which no part of the last tried size can be deleted."""
    size = max(1, len(parts) // 2)
    while parts:
        at = 0
        while at < len(parts):
            rest = [*parts[:at], *parts[at + size :]]
            if fails(rest):
                parts = rest
            else:
                at += size
        if size == 1:
            break
        size //= 2
    return parts
