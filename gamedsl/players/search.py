"""Code that search players share: the games they can search, and a step in one."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from gamedsl.players.base import PlayerError

if TYPE_CHECKING:
    from gamedsl.runtime import Game


def require_open(game: Game, player: str) -> None:
    """Raises `PlayerError` unless everybody sees everything that happens, one move at a time."""
    from gamedsl.runtime.positions import has_perfect_information

    if not has_perfect_information(game.ir):
        raise PlayerError(
            f"`{player}` searches games in which everybody sees everything and moves in turn, "
            f"which in `{game.name}` is not so",
            "take `equilibrium`, or a player that searches nothing",
        )


def total_of(game: Game) -> Fraction | None:
    """Returns the sum of all seats' payoffs if the file claims that it is constant, else None;
    loading the game checked the claim."""
    for claim in game.ir.claims:
        if claim.kind in ("zero_sum", "constant_sum"):
            return Fraction(claim.amount)
    return None


def shared_by_best(values: Sequence[Fraction | float], margin: float = 0.0) -> list[float]:
    """The distribution that is uniform over the largest of some values, within a margin."""
    best = max(values)
    least = best - margin if margin else best
    chosen = [value >= least for value in values]
    return [taken / sum(chosen) for taken in chosen]
