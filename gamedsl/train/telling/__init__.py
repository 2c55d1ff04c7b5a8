"""What a record says of a policy beside how it plays and what it earns: one file for each kind.

Each kind finds out from the rules whether it has anything to say of a game. What it measures it
takes from the games of the step and from the policy's own probabilities, and nothing of it reaches
a loss.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from gamedsl.train.scoring import Scorer
from gamedsl.train.telling.after import After
from gamedsl.train.telling.mapping import Mappings
from gamedsl.train.trajectories import Batch

if TYPE_CHECKING:
    from gamedsl.ir.game import GameIR


class Teller(Protocol):
    """Says one thing of every step."""

    field: str
    """What a record calls it."""

    def tell(self, scorer: Scorer, batch: Batch) -> Mapping[str, Any]:
        """What the games of a step show; empty where they show nothing."""


KINDS: tuple[Callable[[GameIR], Teller | None], ...] = (Mappings.of, After.of)
"""Each gives None for a game of which it has nothing to say."""


def tellers(ir: GameIR) -> tuple[Teller, ...]:
    """Those that have something to say of a game."""
    return tuple(teller for kind in KINDS if (teller := kind(ir)) is not None)
