"""Records of runs that differ by rounding alone."""

from __future__ import annotations

import math
from typing import Any

NOTHING = 1e-6
"""The rounding of sums that are 0 but for it, such as the loss of a step on the policy's own games.
In the runs of tests it stays below a tenth of this."""


def near(one: Any, other: Any, tolerance: float) -> bool:
    """Returns whether two values of records are equal, and their numbers within a relative
    `tolerance`, or within `NOTHING`."""
    if isinstance(one, float) or isinstance(other, float):
        numbers = isinstance(one, int | float) and isinstance(other, int | float)
        return numbers and math.isclose(one, other, rel_tol=tolerance, abs_tol=NOTHING)
    if isinstance(one, dict) and isinstance(other, dict):
        same = one.keys() == other.keys()
        return same and all(near(one[key], other[key], tolerance) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(near(*pair, tolerance) for pair in pairs)
    return bool(one == other)
