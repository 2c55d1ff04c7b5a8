"""Numbers as text, with a true minus sign."""

from __future__ import annotations

from fractions import Fraction


def exact(value: Fraction | int) -> str:
    """An exact number: `−1/3`."""
    return str(value).replace("-", "−")


def number(value: float, percent: bool = False) -> str:
    """Four significant digits: `−0.3333`; or whole percent: `33%`."""
    return f"{value:.0%}" if percent else f"{value:.4g}".replace("-", "−")
