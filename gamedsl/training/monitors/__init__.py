"""Monitors: what a record adds about a policy beside its play and its earnings, one file each.

Each monitor finds out from the rules whether it applies to a game. Its measurements come from the
games of the step and from the policy's own probabilities, and nothing of them reaches a loss.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from gamedsl.training.monitors.round_rates import RoundMonitor
from gamedsl.training.monitors.signals import SignalMonitor
from gamedsl.training.scoring import Scorer
from gamedsl.training.trajectories import Batch

if TYPE_CHECKING:
    from gamedsl.ir.game import GameIR


class Monitor(Protocol):
    """Measures one thing in every step."""

    field: str
    """Its field of a record."""

    def measure(self, scorer: Scorer, batch: Batch) -> Mapping[str, Any]:
        """Returns what the games of a step show; empty where they show nothing."""


KINDS: tuple[Callable[[GameIR], Monitor | None], ...] = (SignalMonitor.of, RoundMonitor.of)
"""Each returns None for a game that it does not apply to."""


def monitors_of(ir: GameIR) -> tuple[Monitor, ...]:
    """Returns the monitors that apply to a game."""
    return tuple(teller for kind in KINDS if (teller := kind(ir)) is not None)
