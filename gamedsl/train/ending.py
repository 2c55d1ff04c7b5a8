"""When a run has learned enough: exploitability that stays low, as `until` says."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gamedsl.recipe.table import Until


class Goal:
    """Counts the steps, up to the last, at which exploitability was low enough. It follows from
    the run's records alone, so that a resumed run ends where one that was never stopped does."""

    def __init__(self, until: Until, records: Iterable[dict[str, Any]]) -> None:
        self._until = until
        self._low = 0
        for record in records:
            self.see(record)

    def see(self, record: dict[str, Any]) -> None:
        """Take a record of the run; those of steps count."""
        if record["event"] == "step" and self._until.exploitability is not None:
            low = record["exploitability"] <= self._until.exploitability
            self._low = self._low + 1 if low else 0

    @property
    def reached(self) -> bool:
        """Whether it was low enough for as long as was asked for."""
        return self._until.exploitability is not None and self._low >= self._until.over
