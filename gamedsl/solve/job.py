"""A game on its way to being solved: what is asked, and what was done so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gamedsl.solve.tree import Tree, Utility

if TYPE_CHECKING:
    from gamedsl.runtime import Game

LIMIT = 50_000
"""Histories up to which a game is written out as a tree."""
SMALL = 2_000
"""Histories up to which a game of perfect information is too."""

Progress = Callable[[str, int, int | None, str], None]
"""Told what is under way, how far it is, of how much (None: not known), and how it stands."""


class Unfit(ValueError):
    """The method that was asked for does not fit the game; the message says why."""


@dataclass
class Job:
    """A game on its way to a report. `tree` is None where the game is too large for one."""

    game: Game
    utility: Utility
    iterations: int | None
    seed: int
    limit: int
    progress: Progress
    tree: Tree | None = None
    strategies: bool = False
    did: list[str] = field(default_factory=list)

    def say(self, line: str) -> None:
        self.did.append(line)

    def whole(self, method: str) -> Tree:
        """The tree, for a method that needs it."""
        if self.tree is None:
            raise Unfit(
                f"`{method}` needs the whole tree, and `{self.game.name}` has more than "
                f"{self.limit:,} histories; raise --limit, or use --method mccfr"
            )
        return self.tree

    @property
    def span(self) -> float:
        assert self.tree is not None
        spans = [self.tree.span(seat, self.utility) for seat in self.tree.seats]
        return max(float(high - low) for low, high in spans) or 1.0
