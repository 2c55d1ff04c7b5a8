"""Repairs of a file: the safe fixes of its problems, each kept only if it leaves one error fewer.

A fix is tried on the text in memory, which is compiled anew. It is kept if its problem is gone and
no other error came at the same stage of the compiler or an earlier one, nor one that refuses the
shape or the syntax of what a fix of YAML wrote. Nothing is written here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gamedsl.compiler import Result, compile_file
from gamedsl.diagnostics import Diagnostic
from gamedsl.diagnostics.fixes import apply_edits
from gamedsl.diagnostics.safety import is_safe, new_errors, solves, writes_nonsense
from gamedsl.frontend.source.loader import display_name, replacing

MOST_FIXES = 100
"""Fixes of one file; those of another hundred problems come with the next repair."""

MOST_TRIES = 300
"""Texts that are compiled for one file."""

MOST_TRIED = 2_000_000
"""Characters of the texts that are compiled for one file: for a long one, there are fewer."""

_HISTORIES = 0
"""Histories that proofs enumerate while fixes are tried: no safe fix is of a proof."""


@dataclass(frozen=True)
class Repair:
    """A repair of a file: its text before and after, and the problems that were mended, in
    their order. The text is None where the file cannot be read."""

    before: str | None
    after: str | None
    mended: tuple[Diagnostic, ...]

    @property
    def changed(self) -> bool:
        return self.after is not None and self.after != self.before


def repair(path: Path, params: Mapping[str, Any] | None = None) -> Repair:
    """Returns a file's text with its safe fixes applied. Files that it uses stay as they are.

    Line ends become newlines, as the compiler reads them. Of a long file with many problems some
    are left for the next repair. Never raises for a file's content.
    """
    result = compile_file(path, params, _HISTORIES)
    before = text = _text_of(path, result)
    if text is None:
        return Repair(None, None, ())
    mended: list[Diagnostic] = []
    refused: set[tuple[str, str, str]] = set()
    for _ in range(min(MOST_TRIES, 1 + MOST_TRIED // (len(text) + 1))):
        problem = next((d for d in _candidates(path, text, result) if _key(d) not in refused), None)
        if problem is None or len(mended) == MOST_FIXES:
            break
        tried = _applied(text, problem)
        if tried is None:
            refused.add(_key(problem))
            continue
        with replacing({path: tried}):
            after = compile_file(path, params, _HISTORIES)
        found, left = result.diagnostics, after.diagnostics
        brings_errors = new_errors(problem, found, left) or writes_nonsense(problem, left)
        if solves(problem, found, left) and not brings_errors:
            mended.append(problem)
            text, result, refused = tried, after, set()
        else:
            refused.add(_key(problem))
    return Repair(before, text, tuple(mended))


def _candidates(path: Path, text: str, result: Result) -> list[Diagnostic]:
    """Returns the problems with a safe fix of this file alone."""
    name = display_name(path)
    return [
        d
        for d in result.diagnostics
        if is_safe(d)
        and all(e.span.source.name == name and e.span.source.text == text for e in d.edits)
    ]


def _text_of(path: Path, result: Result) -> str | None:
    """Returns the text that the compiler read, from the problems that it found in it."""
    name = display_name(path)
    sources = [e.span.source for d in result.diagnostics for e in d.edits]
    return next((source.text for source in sources if source.name == name), None)


def _applied(text: str, problem: Diagnostic) -> str | None:
    try:
        return apply_edits(text, problem.edits)
    except ValueError:  # two edits overlap
        return None


def _key(found: Diagnostic) -> tuple[str, str, str]:
    return found.code, found.message, str(found.span)
