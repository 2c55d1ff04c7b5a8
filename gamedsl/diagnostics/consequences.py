"""Errors that follow from another one: they are gone once that one is mended, and are not shown.

A misspelt name is mended in memory, as its fix proposes, and the file is read anew. An error that
is there no more was a consequence of the name, and its message would lead its reader away from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice

from gamedsl.diagnostics.fixes import Edit, apply_edits
from gamedsl.diagnostics.model import Diagnostic
from gamedsl.diagnostics.safety import is_safe, new_errors, solves
from gamedsl.diagnostics.spans import Source, Span

MOST_TRIES = 4
"""Errors of a file that are mended in turn, to see which others go with them."""

MOST_CHARACTERS = 100_000
"""The longest text that is read anew."""

Read = Callable[[str], list[Diagnostic]]
"""Reads a file with another text, and returns all that is found wrong with it."""


def without_consequences(found: list[Diagnostic], source: Source, read: Read) -> list[Diagnostic]:
    """Returns the problems of a file, `source`, without the errors that follow from others.

    An error goes only if its cause stays, and if mending that cause brings no other error.
    """
    kept = list(found)
    names = (d for d in found if is_safe(d) and all(_of(source, e.span) for e in d.edits))
    for cause in islice(names, MOST_TRIES):
        errors = [d for d in kept if d.severity == "error"]
        if len(errors) < 2 or len(source.text) > MOST_CHARACTERS:
            break
        if cause not in kept:
            continue
        try:
            left = read(apply_edits(source.text, cause.edits))
        except ValueError:  # two edits overlap
            continue
        if solves(cause, found, left) and not new_errors(cause, found, left):
            there = {(d.code, d.span.source.name, d.span.start) for d in left}
            gone = [d for d in errors if _place(d, source, cause.edits) not in there]
            kept = [d for d in kept if d is cause or d not in gone]
    return kept


def _place(found: Diagnostic, source: Source, edits: Iterable[Edit]) -> tuple[str, str, int]:
    """Returns the code and place of a problem, as it is found once the edits are made."""
    start = found.span.start
    if _of(source, found.span):
        before = (e for e in edits if e.span.end <= found.span.start)
        start += sum(len(e.text) - (e.span.end - e.span.start) for e in before)
    return found.code, found.span.source.name, start


def _of(source: Source, span: Span) -> bool:
    return span.source.name == source.name and span.source.text == source.text
