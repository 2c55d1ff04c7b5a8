"""Problems: what they are made of, how they are collected and how they are shown."""

from gamedsl.diagnostics.model import CompileError, Diagnostic, Note, Problems, Severity

__all__ = ["CompileError", "Diagnostic", "Note", "Problems", "Severity"]
