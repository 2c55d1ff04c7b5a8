"""What lasts from step to step of a run in state that `lasts: run`.

The games of a group are rivals: they share their chances, and the memory that they begin with. So a
run has as many lineages as its steps have groups. Of each step the first game of a group, in order,
that was not forfeited leaves its memory to the group of that number in the next; where there is
none, the memory stays. Nothing else is carried on, so that a run that was killed goes on as it
would have.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gamedsl.runtime.memory import Memory

if TYPE_CHECKING:
    from gamedsl.train.words.rollout import Trial


class Lineages:
    """The memory of each lineage; empty before the first step. A part of the loop that lasts."""

    def __init__(self) -> None:
        self._memories: dict[int, Memory] = {}

    def of(self, group: int) -> Memory:
        """What the games of a group begin with."""
        return self._memories.get(group, {})

    def carry_on(self, trials: Sequence[Trial]) -> None:
        """Take what the games of a step leave, each over."""
        carried: set[int] = set()
        for trial in trials:
            if trial.group not in carried and not trial.episode.failures:
                carried.add(trial.group)
                self._memories[trial.group] = trial.episode.memory

    def state(self) -> dict[str, Any]:
        return {"memories": dict(self._memories)}

    def restore(self, state: dict[str, Any]) -> None:
        self._memories = dict(state["memories"])
