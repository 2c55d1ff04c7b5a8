"""Rollouts that run ahead of the update: games of a step, played by the policy of an earlier one.

With `staleness: N` the games of step t are played by the policy that step t - 1 - N left, or by the
first policy. Workers of a cluster then write replies while earlier steps still update. The losses
weigh these games by truncated ratios (`gamedsl.training.losses`).

Which policy plays which games does not depend on who is fast: a step waits for its games. So they
are never older than N updates, none is dropped, and a run that is stopped and resumed, or loses
workers, has the numbers of one that was not. For that, checkpoints hold the adapters of the last N
policies. Without a cluster the same games are played here, by adapters that are put in and taken
out again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

import torch

from gamedsl.policies.base import Query
from gamedsl.policies.daemon_threads import DaemonExecutor, result_of
from gamedsl.policies.generation import Writing
from gamedsl.policies.handed_on import WritingHandedOn
from gamedsl.policies.ray_workers import RayPolicy, probe
from gamedsl.recipe.table import Recipe
from gamedsl.training.checkpoint import Adapters, adapters_of, put_back
from gamedsl.training.trajectories import Batch

PlayedBy = Callable[[Writing, int], Batch]
"""Plays the games of a step by a policy. Raises BudgetSpent."""


class StaleRollouts:
    """Plays the games of steps by the policies of earlier ones."""

    def __init__(self, recipe: Recipe, policy: Writing, play: PlayedBy) -> None:
        self._staleness, self._steps = recipe.staleness, recipe.steps
        self._policy, self._play = policy, play
        self._step = 0
        self._adapters: dict[int, Adapters] = {}
        """Of the policies that still play, by the steps that left them."""
        self._thread = DaemonExecutor(1)
        self._ahead: dict[int, Future[Batch]] = {}
        """The games that workers play, by step."""

    def see(self, step: int) -> None:
        """Takes the policy as a step left it. Workers begin the games that it plays."""
        self._step = step
        self._adapters[step] = adapters_of(self._policy)
        oldest = self._player(step + 1)
        self._adapters = {at: one for at, one in self._adapters.items() if at >= oldest}
        if isinstance(self._policy, RayPolicy):
            for ahead in range(step + 1, min(step + 1 + self._staleness, self._steps) + 1):
                if ahead not in self._ahead:
                    self._ahead[ahead] = self._begin(ahead, self._policy)

    def batch(self, step: int) -> Batch:
        """Returns the games of a step. Raises BudgetSpent."""
        if step in self._ahead:
            return result_of(self._ahead.pop(step))
        now = self._adapters[self._step]
        put_back(self._policy, self._adapters[self._player(step)])
        try:
            return self._played(self._policy, step)
        finally:
            put_back(self._policy, now)

    def state(self) -> dict[str, Any]:
        return {"adapters": [[step, one] for step, one in self._adapters.items()]}

    def restore(self, state: dict[str, Any]) -> None:
        self._adapters = dict(state["adapters"])

    def close(self) -> None:
        """Plays no more."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _player(self, step: int) -> int:
        """Returns the step that left the policy that plays a step's games."""
        return max(0, step - 1 - self._staleness)

    def _begin(self, step: int, policy: RayPolicy) -> Future[Batch]:
        """Has workers play the games of a step, after those of the steps before."""
        adapters, now = self._adapters[self._player(step)], self._adapters[self._step]
        if adapters is now:
            probes = probe(policy, adapters)
        else:  # of a run that is resumed
            put_back(policy, adapters)
            probes = probe(policy, adapters)
            put_back(policy, now)
        return self._thread.submit(lambda: self._played(policy.at(adapters, probes), step))

    def _played(self, policy: Writing, step: int) -> Batch:
        recording = _Recording(policy)
        batch = self._play(recording, step)
        batch.lag, batch.scores = step - 1 - self._player(step), recording.scores
        return batch


class _Recording(WritingHandedOn):
    """A policy that remembers the scores of options."""

    def __init__(self, own: Writing) -> None:
        super().__init__(own)
        self.scores: dict[Query, torch.Tensor] = {}

    def log_probs(self, queries: Sequence[Query]) -> list[torch.Tensor]:
        found = self.own.log_probs(queries)
        self.scores.update(zip(queries, found, strict=True))
        return found
