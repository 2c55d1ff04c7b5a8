"""A lower bound of exploitability, in games too large to write out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gamedsl.evaluate.games import Utility
from gamedsl.evaluate.intervals import Estimate, Z
from gamedsl.players.base import DrawingPlayer
from gamedsl.players.episode_search import EpisodeSearch
from gamedsl.solve.search_response import searched

if TYPE_CHECKING:
    from gamedsl.runtime import Game
    from gamedsl.solve.search_response import Progress


def lower_bound(
    game: Game, player: DrawingPlayer, *, simulations: int, games: int, seed: int,
    utility: Utility, progress: Progress | None = None,
) -> Estimate:  # fmt: skip
    """Returns a lower bound of a player's exploitability (NashConv / seats): the gain of the
    responses found by search, with its 95% interval. Equal seeds give equal bounds."""
    known: dict[str, Mapping[str, float]] = {}
    searches = [EpisodeSearch(game, player, seat, seed, utility, known) for seat in game.ir.seats]
    found = searched(searches, simulations, games, seed, progress)
    value, half = found.gain / len(searches), Z * found.error / len(searches)
    return Estimate(value, value - half, value + half, "t", games)
