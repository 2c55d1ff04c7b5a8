"""Means over steps that forget what is long ago."""

from __future__ import annotations

from fractions import Fraction
from typing import Any


class MovingMeans:
    """A mean by key, of what each step brought. The k-th step of a key has weight 1/k at first, so
    that all count alike, and never less than `rate`, so that what was long ago is forgotten."""

    def __init__(self, rate: Fraction) -> None:
        self._rate = rate
        self.means: dict[str, float] = {}
        self._steps: dict[str, int] = {}

    def see(self, key: str, mean: Fraction) -> None:
        """Takes the mean of a step."""
        self._steps[key] = self._steps.get(key, 0) + 1
        share = max(Fraction(1, self._steps[key]), self._rate)
        before = Fraction(self.means.get(key, 0.0))
        self.means[key] = float((1 - share) * before + share * mean)

    def state(self) -> dict[str, Any]:
        """Returns what a checkpoint must hold of it."""
        return {"means": dict(self.means), "steps": dict(self._steps)}

    def restore(self, state: dict[str, Any]) -> None:
        """Goes on from what `state` returned."""
        self.means, self._steps = dict(state["means"]), dict(state["steps"])
