"""Problems of files: their data, their collection and their rendering."""

from gamedsl.diagnostics.errors import CompileError
from gamedsl.diagnostics.fixes import Edit, Fix, Help
from gamedsl.diagnostics.model import Diagnostic, FloodError, Note, Problems, Severity

__all__ = [
    "CompileError",
    "Diagnostic",
    "Edit",
    "Fix",
    "FloodError",
    "Help",
    "Note",
    "Problems",
    "Severity",
]
