"""The one shape of a problem, and the list that a stage collects.

A stage reports every problem it finds into a `Problems` and the pipeline stops between stages,
never inside one. An exception is a bug or the edge of the Python interface (`CompileError`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from gamedsl.diagnostics.spans import Span

Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True)
class Note:
    """A second place that a problem refers to, with what stands there."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One problem.

    `message` is a headline that states the fact; `why` stands under the underlined text; `notes`
    show where the other half is; `help` is one remedy, pasteable where it can be; `witness` is the
    evidence of a refuted claim (lines of text), printed below.
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
    """What a stage has found so far; each stage gets the same one."""

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
        """Record a problem; the same code at the same place is recorded once."""
        self.extend([Diagnostic(code, message, span, why, notes, help, severity, witness)])

    def extend(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Record problems that were found elsewhere, each once."""
        for diagnostic in diagnostics:
            key = (diagnostic.code, diagnostic.span, diagnostic.message)
            if key not in self._seen:
                self._seen.add(key)
                self.found.append(diagnostic)

    @property
    def errors(self) -> bool:
        return any(d.severity == "error" for d in self.found)

    def count_errors(self) -> int:
        """How many errors so far: a stage that calls another asks before and after."""
        return sum(d.severity == "error" for d in self.found)

    def sorted(self) -> list[Diagnostic]:
        """In order of file and place, errors before notes at one place."""
        rank = {"error": 0, "warning": 1, "note": 2}
        return sorted(
            self.found,
            key=lambda d: (d.span.source.name, d.span.start, rank[d.severity], d.code, d.message),
        )


class CompileError(Exception):
    """A file that does not compile. `diagnostics` holds every problem of the failing stage."""

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        self.diagnostics = diagnostics
        super().__init__(self._summary())

    def _summary(self) -> str:
        from gamedsl.diagnostics.render import render

        return "\n" + render(self.diagnostics, form="pretty", colour=False)
