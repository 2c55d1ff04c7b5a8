"""Every line of play against a player: can it be beaten, and how?

All that the others, and chance, may do is tried, against all that the player may do: what it does
with a probability above some least, or what it does most. Lines are counted, so that nothing is
estimated; a loss comes with the line that led to it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Literal

from gamedsl.engine.walk import after, moves
from gamedsl.players.base import DrawingPlayer
from gamedsl.players.search import require_open

if TYPE_CHECKING:
    from gamedsl.runtime import Env, Episode, Game

LEAST = 1e-6
LIMIT = 500_000

Support = Literal["likely", "most"]


@dataclass(frozen=True)
class Lines:
    """Counts of lines that a seat wins, draws and loses: it is paid more than the average, as
    much, or less. `loss` has the moves of a lost line, as (seat, action) pairs; chance has the
    seat `chance`."""

    wins: int
    draws: int
    losses: int
    loss: tuple[tuple[str, str], ...] | None

    @property
    def unbeaten(self) -> bool:
        return not self.losses


def unbeaten(
    game: Game,
    player: DrawingPlayer,
    seats: Iterable[str] | None = None,
    *,
    support: Support = "likely",
    least: float = LEAST,
    by_position: bool = False,
    env: Env | None = None,
) -> dict[str, Lines]:
    """The lines of a player at each of some seats in turn (None: at all), the others doing whatever
    they can.

    `support` is what the player may do: what is more probable than `least`, or what is `most`
    probable (all of it, where several are). `by_position` goes on from each position once, which is
    right, and much faster, for a player that minds the position alone. `env` is one of the game, by
    default a new one: labels are drawn there. `PlayerError` for a game in which somebody does not
    see everything; ValueError for more than 500,000 histories.
    """
    require_open(game, "unbeaten")
    env = env or game.env()
    return {
        seat: _Search(env, player, seat, support, least, by_position).lines()
        for seat in (env.seats if seats is None else seats)
    }


class _Search:
    """All histories of one seat's lines, move by move; each with the number of lines it is on."""

    def __init__(
        self, env: Env, player: DrawingPlayer, seat: str, support: Support, least: float,
        by_position: bool,
    ) -> None:  # fmt: skip
        self._player, self._seat = player, seat
        self._support, self._least, self._by_position = support, least, by_position
        self._level: dict[Hashable, tuple[Episode, int]] = {}
        self._counts = {1: 0, 0: 0, -1: 0}
        self._loss: Episode | None = None
        self._met = 0
        self._arrive(env.reset(chance="asked"), 1)

    def lines(self) -> Lines:
        while self._level:
            here, self._level = list(self._level.values()), {}
            own = [(e, d) for e, _ in here for d in e.decisions if d.seat == self._seat]
            rows = self._player.all_odds([(d, e) for e, d in own])
            allowed = {id(e): self._allowed(row) for (e, _), row in zip(own, rows, strict=True)}
            for episode, count in here:
                for following in _next(episode, self._seat, allowed.get(id(episode), ())):
                    self._arrive(following, count)
        loss = None if self._loss is None else tuple(_moves(self._loss))
        return Lines(self._counts[1], self._counts[0], self._counts[-1], loss)

    def _allowed(self, odds: Sequence[float]) -> list[int]:
        """Returns the numbers of the player's possible actions."""
        bar = max(odds) if self._support == "most" else min(self._least, max(odds))
        return [number for number, p in enumerate(odds) if p >= bar]

    def _arrive(self, episode: Episode, count: int) -> None:
        if episode.done:
            result = _result(episode, self._seat)
            self._counts[result] += count
            if result < 0 and self._loss is None:
                self._loss = episode
            return
        from gamedsl.runtime.positions import position

        self._met += 1
        if self._met > LIMIT:
            raise ValueError(f"there are more than {LIMIT:,} histories to go through")
        key = position(episode.state) if self._by_position else self._met
        known, before = self._level.get(key, (episode, 0))
        self._level[key] = known, before + count


def _next(episode: Episode, seat: str, own: Sequence[int]) -> Iterable[Episode]:
    """Returns the histories that may follow; the seat takes one of its `own` actions."""
    if episode.outcome_count:
        return (after(episode, move) for move in moves(episode))
    options = [own if d.seat == seat else range(len(d.legal)) for d in episode.decisions]
    return (after(episode, move) for move in product(*options))


def _result(episode: Episode, seat: str) -> int:
    """1, 0 or -1: paid more than all are on average, as much, or less."""
    paid = [episode.payoffs[s] or 0 for s in episode.payoffs]
    own, even = (episode.payoffs[seat] or 0) * len(paid), sum(paid)
    return (own > even) - (own < even)


def _moves(episode: Episode) -> Iterable[tuple[str, str]]:
    for step in episode.transcript["steps"]:
        if "chance" in step:
            yield from (("chance", name) for name in step["chance"].values())
        else:
            yield from step["choices"].items()
