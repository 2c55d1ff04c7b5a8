"""Content hashes of IR values: equal meaning, equal hash, in every process and Python version.

Spans (fields that take no part in comparison) are left out: moving a line does not change a hash.
"""

from __future__ import annotations

import dataclasses
import hashlib
from fractions import Fraction
from typing import Any


def digest(*values: Any) -> str:
    """SHA-256, in hex, of the canonical text of the values."""
    return hashlib.sha256(canonical(values).encode()).hexdigest()


def canonical(value: Any) -> str:
    """One text per value: type and content, with sets sorted and spans left out."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return repr(value)
    if isinstance(value, int | Fraction):
        return str(Fraction(value))
    if isinstance(value, list | tuple):
        return "(" + ",".join(map(canonical, value)) + ")"
    if isinstance(value, set | frozenset):
        return "{" + ",".join(sorted(map(canonical, value))) + "}"
    if isinstance(value, dict):
        return "{" + ",".join(f"{canonical(k)}:{canonical(v)}" for k, v in value.items()) + "}"
    if dataclasses.is_dataclass(value):
        fields = (f for f in dataclasses.fields(value) if f.compare)
        return (
            type(value).__name__
            + "("
            + ",".join(canonical(getattr(value, f.name)) for f in fields)
            + ")"
        )
    raise TypeError(f"no canonical text for {type(value).__name__}")
