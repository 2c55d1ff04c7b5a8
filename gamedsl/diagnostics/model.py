"""Diagnostics, and the list of them that a stage collects.

A stage reports every problem it finds into a `Problems`; the pipeline stops between stages, never
inside one. An exception is a bug, or the edge of the Python interface
(`gamedsl.diagnostics.errors.CompileError`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

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
    `notes` point to further places; `help` is one fix, which can be pasted where possible;
    `witness` is the evidence against a refuted claim (lines of text), printed below.
    """

    code: str
    message: str
    span: Span
    why: str = ""
    notes: tuple[Note, ...] = ()
    help: str = ""
    severity: Severity = "error"
    witness: tuple[str, ...] = ()


class Problems:
    """The diagnostics found so far; all stages share one list."""

    def __init__(self) -> None:
        self.found: list[Diagnostic] = []
        self._seen: set[tuple[str, Span, str]] = set()

    def add(
        self,
        code: str,
        message: str,
        span: Span,
        *,
        why: str = "",
        notes: tuple[Note, ...] = (),
        help: str = "",
        severity: Severity = "error",
        witness: tuple[str, ...] = (),
    ) -> None:
        """Records a problem; the same code at the same place is recorded once."""
        self.extend([Diagnostic(code, message, span, why, notes, help, severity, witness)])

    def extend(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Records problems that were found elsewhere, each once."""
        for diagnostic in diagnostics:
            key = (diagnostic.code, diagnostic.span, diagnostic.message)
            if key not in self._seen:
                self._seen.add(key)
                self.found.append(diagnostic)

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
