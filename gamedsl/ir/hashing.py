"""Content hashes of IR values: equal meaning, equal hash, in every process and Python version.

Spans (fields that take no part in comparison) are left out: moving a line does not change a hash.
"""

from __future__ import annotations

import dataclasses
import hashlib
from fractions import Fraction
from typing import Any

LONG = 64
"""Items of a list from which on its text is kept while a hash is worked out."""

_FIELDS: dict[Any, tuple[tuple[str, bool], ...]] = {}
"""The fields of each class that are hashed, and whether they are where they are None: those that
take part in comparison, but for what is no rule."""


def digest(*values: Any) -> str:
    """SHA-256, in hex, of the canonical text of the values."""
    return hashlib.sha256(canonical(values).encode()).hexdigest()


def canonical(value: Any) -> str:
    """One text per value: type and content, with sets and maps sorted and spans left out."""
    return _canonical(value, {})


def _canonical(value: Any, long: dict[int, str]) -> str:
    """The text of a value; `long` keeps those of long lists, which seats share, by identity."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return repr(value)
    if isinstance(value, int | Fraction):
        return str(value)
    if isinstance(value, list | tuple):
        if id(value) in long:
            return long[id(value)]
        text = "(" + ",".join([_canonical(item, long) for item in value]) + ")"
        if len(value) >= LONG:
            long[id(value)] = text
        return text
    if isinstance(value, set | frozenset):
        return "{" + ",".join(sorted(_canonical(item, long) for item in value)) + "}"
    if isinstance(value, dict):
        pairs = sorted(f"{_canonical(k, long)}:{_canonical(v, long)}" for k, v in value.items())
        return "{" + ",".join(pairs) + "}"
    if dataclasses.is_dataclass(value):
        kind: type[Any] = type(value)
        names = _FIELDS.get(kind)
        if names is None:
            names = tuple(
                (field.name, "hashed" not in field.metadata)
                for field in dataclasses.fields(kind)
                if field.compare and field.metadata.get("hashed") != "never"
            )
            _FIELDS[kind] = names
        held = ((getattr(value, name), always) for name, always in names)
        parts = [_canonical(part, long) for part, always in held if always or part is not None]
        return f"{kind.__name__}({','.join(parts)})"
    raise TypeError(f"no canonical text for {type(value).__name__}")
