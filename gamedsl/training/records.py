"""The records of a run, for each kind of reply: what its metrics say at the start and in each step.

Of a closed game the policy itself is measured, by the games of the next step, which it plays right
after its update. Of a game in words only the replies of the step are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from gamedsl.policies.base import Policy
from gamedsl.policies.ray_workers import RayPolicy
from gamedsl.training.estimators import Experience
from gamedsl.training.methods.base import Record
from gamedsl.training.metrics import (
    PolicyMetrics,
    batch_sizes,
    opponent_games,
    reply_metrics,
    role_means,
)
from gamedsl.training.monitors.exploitability_bound import ExploitabilityBounds
from gamedsl.training.monitors.lost_lines import LostLines
from gamedsl.training.monitors.thoughts import ThoughtMonitor
from gamedsl.training.optimizer import trained_parameters
from gamedsl.training.scoring import Scorer
from gamedsl.training.seats import SeatAssignment
from gamedsl.training.trajectories import Batch
from gamedsl.training.warm_start import Fitted


class Records(Protocol):
    """Makes the records of a run, but for what its schedule and its players add."""

    measures_next: bool
    """Whether a step's record needs the games of the next, by the policy that the step made."""

    def opening(self, batch: Batch | None, warm: Fitted | None) -> Record:
        """Returns the record of the start; `batch` as in `step`, `warm` of a warm start."""
        ...

    def resume(self, records: Sequence[Record], level: Any) -> None:
        """Goes on from the records of a run that are there, those of a curriculum's level."""
        ...

    def step(self, experience: Experience, updated: Record, next_batch: Batch | None) -> Record:
        """Returns the record of a step's games, and of the update by them."""
        ...


@dataclass(frozen=True)
class ScoredRecords:
    """Records of a closed game."""

    metrics: PolicyMetrics
    bounds: ExploitabilityBounds
    lines: LostLines
    scorer: Scorer
    measures_next = True

    def opening(self, batch: Batch | None, warm: Fitted | None) -> Record:
        assert batch is not None
        record = self.metrics.opening(self.scorer, batch, self.scorer.policy, warm)
        return record | self.lines.measured(self.scorer, 0)

    def resume(self, records: Sequence[Record], level: Any) -> None:
        self.metrics.recall(records, level)

    def step(self, experience: Experience, updated: Record, next_batch: Batch | None) -> Record:
        assert next_batch is not None
        step, batch = experience.step, experience.batch
        measured = self.metrics.measured(self.scorer, next_batch)
        counts = {"sequences": experience.samples + experience.void, "void": experience.void}
        return {
            **role_means(batch), **measured, **self.metrics.watched(measured), **updated,
            **batch_sizes(batch), **counts, **opponent_games(batch),
            **self.bounds.measured(self.scorer, step), **self.lines.measured(self.scorer, step),
        }  # fmt: skip


@dataclass(frozen=True)
class WrittenRecords:
    """Records of a game in words."""

    policy: Policy
    seating: SeatAssignment
    thoughts: ThoughtMonitor
    measures_next = False

    def opening(self, batch: Batch | None, warm: Fitted | None) -> Record:
        return {
            "event": "start",
            "step": 0,
            "model": self.policy.name,
            "adapters": list(self.policy.adapters),
            "parameters": sum(p.numel() for p in trained_parameters(self.policy, self.seating)),
            **({} if warm is None else {"warm_start": vars(warm)}),
            **self.thoughts.opening(),
        }

    def resume(self, records: Sequence[Record], level: Any) -> None:
        self.thoughts.resume([one for one in records if one.get("level") == level])

    def step(self, experience: Experience, updated: Record, next_batch: Batch | None) -> Record:
        batch = experience.batch
        counts = {"sequences": experience.samples + experience.void, "void": experience.void}
        return {
            **role_means(batch), **opponent_games(batch), **reply_metrics(batch), **updated,
            **counts, **self._lost(), **self.thoughts.measured(experience.step),
            **({} if batch.scores is None else {"lag": batch.lag}),
        }  # fmt: skip

    def _lost(self) -> Record:
        """Returns the field on workers of a cluster, where there are any."""
        workers = self.policy.workers if isinstance(self.policy, RayPolicy) else None
        return {} if workers is None else {"lost_workers": workers.lost}
