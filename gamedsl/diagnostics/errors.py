"""The exception of a file that does not compile."""

from __future__ import annotations

from gamedsl.diagnostics.model import Diagnostic


class CompileError(Exception):
    """A file does not compile. `diagnostics` holds every problem of the failing stage."""

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        from gamedsl.diagnostics.render import render

        self.diagnostics = diagnostics
        super().__init__("\n" + render(diagnostics, form="pretty", colour=False))
