"""Problems of files: their data, their collection and their rendering."""

from gamedsl.diagnostics.errors import CompileError
from gamedsl.diagnostics.model import Diagnostic, Note, Problems, Severity

__all__ = ["CompileError", "Diagnostic", "Note", "Problems", "Severity"]
