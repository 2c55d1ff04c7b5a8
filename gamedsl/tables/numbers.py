"""Numbers and durations as text, with a true minus sign."""

from __future__ import annotations

import math
from fractions import Fraction

_PLAIN = 1e-4, 1e15
"""Between these sizes numbers are written without an exponent."""


def exact(value: Fraction | int) -> str:
    """An exact number: `−1/3`."""
    return str(value).replace("-", "−")


def number(value: float, percent: bool = False) -> str:
    """Four significant digits, and all digits before the point: `−0.3333`, `12,346`; or whole
    percent: `33%`."""
    if percent:
        text = f"{value:.0%}"
    elif _PLAIN[0] <= abs(value) < _PLAIN[1]:
        places = max(0, 3 - math.floor(math.log10(abs(value))))
        text = f"{value:{',' if abs(value) >= 10_000 else ''}.{places}f}"
        text = text.rstrip("0").rstrip(".") if places else text
    else:
        text = f"{value:.4g}"
    return text.replace("-", "−")


def duration(seconds: float) -> str:
    """A duration, the finer the shorter: `12 ms`, `4.2 s`, `42 s`, `12 min 5 s`, `1 h 40 min`."""
    if seconds < 0.1:
        return f"{seconds * 1000:.0f} ms"
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if whole < 10 else f"{whole} s"
    large, small, units = (whole // 60, whole % 60, ("min", "s"))
    if large >= 60:
        large, small, units = whole // 3600, whole % 3600 // 60, ("h", "min")
    return f"{large} {units[0]}" + (f" {small} {units[1]}" if small else "")
