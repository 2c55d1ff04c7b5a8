"""Diagnostics, and the list of them that a stage collects.

A stage reports every problem it finds into a `Problems`; the pipeline stops between stages, never
inside one. An exception is a bug, or the edge of the Python interface
(`gamedsl.diagnostics.errors.CompileError`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from gamedsl.diagnostics.fixes import Edit, Help, as_fix
from gamedsl.diagnostics.spans import Span

Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True)
class Note:
    """A second place that a problem refers to, with a text about it."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One problem.

    `message` is a headline that states the fact; `why` is printed under the underlined text;
    `notes` point to further places; `help` is the sentence of one fix, and `edits` carry it out
    (none: the fix is advice). `witness` is the evidence against a refuted claim (lines of text),
    printed below. Problems of one `cause` are one; it is not shown, and empty for most.
    """

    code: str
    message: str
    span: Span
    why: str = ""
    notes: tuple[Note, ...] = ()
    help: str = ""
    severity: Severity = "error"
    witness: tuple[str, ...] = ()
    edits: tuple[Edit, ...] = ()
    cause: str = ""


AGAIN = "and here"
"""The note on a further place of a problem."""

MOST_PLACES = 3
"""Further places of a problem that are noted; its fix mends all."""


class FloodError(Exception):
    """A file has so many errors that it is read no further."""


class Problems:
    """The diagnostics found so far; all stages share one list."""

    def __init__(self, limit: int | None = None) -> None:
        """`limit` is the number of errors at which `FloodError` is raised; None: never."""
        self.found: list[Diagnostic] = []
        self.limit = limit
        self._errors = 0
        self._seen: set[tuple[str, Span, str]] = set()
        self._causes: dict[str, int] = {}

    def add(
        self,
        code: str,
        message: str,
        span: Span,
        *,
        why: str = "",
        notes: tuple[Note, ...] = (),
        help: Help = "",
        severity: Severity = "error",
        witness: tuple[str, ...] = (),
        cause: str = "",
    ) -> None:
        """Records a problem; the same code at the same place is recorded once.

        Problems of one `cause` are one, whatever they say: an unknown name that is read at several
        places is a problem at the first, with notes on the others, and its fix mends all.
        """
        fix = as_fix(help)
        self.extend(
            [
                Diagnostic(
                    code, message, span, why, notes, fix.text, severity, witness, fix.edits, cause
                )
            ]
        )

    def _join(self, at: int, found: Diagnostic) -> None:
        """Adds a further place to the problem of the same cause; the first in its file leads."""
        known = self.found[at]
        if found.span in (known.span, *(note.span for note in known.notes)):
            return
        first, second = known, found
        if found.span.source is known.span.source and found.span.start < known.span.start:
            first, second = found, known
        again = tuple(note for note in known.notes if note.text == AGAIN)
        notes = tuple(note for note in first.notes if note.text != AGAIN)
        if len(again) < MOST_PLACES:
            again = (*again, Note(second.span, AGAIN))
        edits = dict.fromkeys((*known.edits, *found.edits))
        self.found[at] = replace(first, notes=(*notes, *again), edits=tuple(edits))

    def extend(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Records problems that were found elsewhere, each once."""
        for diagnostic in diagnostics:
            if diagnostic.cause in self._causes:
                self._join(self._causes[diagnostic.cause], diagnostic)
                continue
            key = (diagnostic.code, diagnostic.span, diagnostic.message)
            if key not in self._seen:
                self._seen.add(key)
                if diagnostic.cause:
                    self._causes[diagnostic.cause] = len(self.found)
                self.found.append(diagnostic)
                self._errors += diagnostic.severity == "error"
                if self.limit is not None and self._errors >= self.limit:
                    raise FloodError

    @property
    def errors(self) -> bool:
        return any(d.severity == "error" for d in self.found)

    def count_errors(self) -> int:
        """Returns the number of errors so far."""
        return sum(d.severity == "error" for d in self.found)

    def sorted(self) -> list[Diagnostic]:
        """Returns diagnostics in order of file and place, errors before notes at one place."""
        rank = {"error": 0, "warning": 1, "note": 2}
        return sorted(
            self.found,
            key=lambda d: (d.span.source.name, d.span.start, rank[d.severity], d.code, d.message),
        )
