"""Records of runs that differ by rounding alone."""

from __future__ import annotations

import math
from typing import Any


def near(one: Any, other: Any, tolerance: float) -> bool:
    """Whether two values of records differ by so much at most, relative or absolute. Sentences,
    which round, may be others."""
    if isinstance(one, float) or isinstance(other, float):
        return math.isclose(one, other, rel_tol=tolerance, abs_tol=tolerance)
    if isinstance(one, dict) and isinstance(other, dict):
        same = one.keys() == other.keys()
        return same and all(near(one[key], other[key], tolerance) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(near(*pair, tolerance) for pair in pairs)
    return bool(one == other) or isinstance(one, str)
