"""The error for a library that only an extra of this package installs."""

from __future__ import annotations


def missing(library: str, extra: str) -> ImportError:
    """Returns the error to raise when a library of an extra is not installed."""
    return ImportError(f"{library} is not installed; fix: pip install 'gamedsl[{extra}]'")
