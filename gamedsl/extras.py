"""What is said where a package that only an extra of this one brings is not installed."""

from __future__ import annotations


def missing(library: str, extra: str) -> ImportError:
    """What to raise where a library of an extra is not there."""
    return ImportError(f"{library} is not installed; fix: pip install 'gamedsl[{extra}]'")
