"""Which fixes a program may carry out unasked, and whether one has mended its problem.

A safe fix changes how a file is written and leaves to the author what the game means. It respells
a name, or mends YAML or the syntax of an expression, and drops no word. A fix that says who sees
what, or that adds a rule or a number, is not safe: its author decides.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from gamedsl.diagnostics.fixes import Edit
from gamedsl.diagnostics.model import Diagnostic
from gamedsl.diagnostics.suggest import did_you_mean

_WRITING = ("GD00", "GD02")
"""Bands of codes about YAML and the syntax of expressions."""

_AUTHORS = ("GD044", "GD0508", "GD0106")
"""Codes about who learns what, and about names where they are declared, which others read."""

_GUESSES = frozenset({"GD0014", "GD0206"})
"""Codes of those bands whose fix puts in a value that nobody wrote."""

_WORD = re.compile(r"\w+")
_NAME = re.compile(r"[A-Za-z_][\w-]*")


class Kind(NamedTuple):
    """A kind of problem: its code and message, wherever it is."""

    code: str
    message: str

    @classmethod
    def of(cls, found: Diagnostic) -> Kind:
        return cls(found.code, found.message)


def is_safe(found: Diagnostic) -> bool:
    """Returns whether the edits of a problem may be applied without asking its author."""
    if not found.edits or found.severity != "error" or found.code.startswith(_AUTHORS):
        return False
    if all(map(_respells, found.edits)):
        return True
    writing = found.code.startswith(_WRITING) and found.code not in _GUESSES
    return writing and not _drops_words(found.edits)


def _respells(edit: Edit) -> bool:
    """Returns whether an edit puts a name in the place of one that is nearly the same."""
    old, new = edit.span.text, edit.text
    both_names = _NAME.fullmatch(old) and _NAME.fullmatch(new)
    return bool(both_names) and did_you_mean(old, [new]) == new


def _drops_words(edits: Iterable[Edit]) -> bool:
    """Returns whether some word of the text that is replaced does not stand in the new text."""
    old: Counter[str] = Counter()
    new: Counter[str] = Counter()
    for edit in edits:
        old.update(_WORD.findall(edit.span.text))
        new.update(_WORD.findall(edit.text))
    return bool(old - new)


def stage(found: Diagnostic) -> int:
    """Returns when a problem is found: YAML, then which file it is and what it extends, then its
    shape, then the rest. A file with errors of one stage is not looked at by the next."""
    code, span = found.code, found.span
    if code == "GD0110" and not span.source.line(span.line).startswith("extends"):
        return 2  # a protocol, a game or a reward that is used
    if code in ("GD0105", "GD0110", "GD0111", "GD0112"):
        return 1
    return {"00": 0, "01": 2}.get(code[2:4], 3)


def solves(problem: Diagnostic, found: list[Diagnostic], left: list[Diagnostic]) -> bool:
    """Returns whether one more of a kind of problem was found before a change than after it."""
    before, after = (sum(Kind.of(d) == Kind.of(problem) for d in each) for each in (found, left))
    return after < before


def new_errors(
    problem: Diagnostic, found: list[Diagnostic], left: list[Diagnostic]
) -> list[Diagnostic]:
    """Returns the errors that the change for a problem brings, at its stage or before."""
    new = _errors(left) - _errors(found)
    return [
        d
        for d in left
        if Kind.of(d) in new and stage(d) <= stage(problem) and not _uncovered(d, problem)
    ]


def writes_nonsense(problem: Diagnostic, left: list[Diagnostic]) -> bool:
    """Returns whether the change for a problem of YAML wrote a text that is then refused for its
    shape or its syntax, by an error that no safe fix mends."""
    refusals = (d for d in left if d.code.startswith(("GD01", "GD02")) and not is_safe(d))
    return stage(problem) == 0 and any(_is_written(d, problem) for d in refusals)


def _is_written(new: Diagnostic, problem: Diagnostic) -> bool:
    """Returns whether a problem found after a change is of the text that the change wrote."""
    moved = 0
    for edit in sorted(problem.edits, key=lambda edit: edit.span.start):
        start = edit.span.start + moved
        end = start + len(edit.text)
        moved += len(edit.text) - (edit.span.end - edit.span.start)
        same = new.span.source.name == edit.span.source.name
        if same and new.span.start < end and start < new.span.end:
            return True
    return False


def _uncovered(new: Diagnostic, problem: Diagnostic) -> bool:
    """Returns whether a name of a file was looked for only once a problem of shape was gone."""
    return new.code == "GD0110" and problem.code != "GD0110" and stage(problem) == 2


def _errors(found: list[Diagnostic]) -> Counter[Kind]:
    return Counter(Kind.of(d) for d in found if d.severity == "error")
