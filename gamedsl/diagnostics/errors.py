"""The exception of a file that does not compile."""

from __future__ import annotations

from gamedsl.diagnostics.model import Diagnostic
from gamedsl.errors import UserError


class CompileError(UserError):
    """A file does not compile. `diagnostics` holds every problem of the failing stage; `fact` and
    `fix` are the message and the help of the first error."""

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        from gamedsl.diagnostics.render import render

        self.diagnostics = diagnostics
        first = next((one for one in diagnostics if one.severity == "error"), None)
        super().__init__(first.message if first else "", first.help if first else "")
        self.args = ("\n" + render(diagnostics, form="pretty", colour=False),)
