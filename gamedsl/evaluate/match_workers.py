"""Games of an evaluation, played by workers of a Ray cluster.

A pairing's games hang on nothing but the plan and the seed, so they are the same wherever they are
played. A worker opens the players of a pairing when it is first asked for it. What a lost worker
was to play is played by another one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from gamedsl.calls.files import allow_calls, allowed_calls
from gamedsl.evaluate.errors import EvalError
from gamedsl.evaluate.games import Games
from gamedsl.evaluate.matches import Matches, as_eval_error
from gamedsl.evaluate.plan import Plan
from gamedsl.evaluate.results import Options, silent
from gamedsl.evaluate.seating import Holders
from gamedsl.policies.cluster import Workers, WorkQueue

if TYPE_CHECKING:
    from gamedsl.runtime import Game

_Records = Sequence[dict[str, Any]]


class Played(NamedTuple):
    """The games of some seatings, with the transcripts of each, in order; or the fact and the help
    of what went wrong."""

    games: Sequence[Games] = ()
    kept: Sequence[tuple[Holders, _Records]] = ()
    failure: tuple[str, str] | None = None


@dataclass(frozen=True)
class MatchOpening:
    """Opens the matches of a plan in the process of a worker. `calls` are the files of functions
    that the game may call."""

    game: Game
    plan: Plan
    options: Options
    calls: tuple[str, ...]

    @classmethod
    def of(cls, game: Game, plan: Plan, options: Options) -> MatchOpening:
        keep = None if options.keep is None else _nothing
        told = replace(options, tell=silent, keep=keep, report_interrupted=False)
        return cls(game, plan, told, tuple(str(one.path) for one in allowed_calls()))

    def __call__(self) -> Matches:
        for file in self.calls:
            allow_calls(file)
        return Matches(self.game, self.plan, self.options)


class MatchWorker:
    """The part of a worker that knows no Ray."""

    def __init__(self, opening: MatchOpening) -> None:
        self._matches = opening()

    def play(self, wanted: Sequence[Holders], games: int) -> Played:
        """Plays so many games in each seating."""
        kept: list[tuple[Holders, _Records]] = []
        try:
            with as_eval_error():
                found, _ = self._matches.play(
                    wanted, games, keep=lambda holders, records: kept.append((holders, records))
                )
        except EvalError as error:
            return Played(failure=(error.fact, error.help))
        return Played(found, kept)


class MatchQueue:
    """Has workers play seatings, and gives what they played in any order."""

    def __init__(
        self, workers: Workers, wanted: Mapping[int, tuple[Sequence[Holders], int]]
    ) -> None:
        """wanted: seatings that are played together, and the games of each, by number."""
        self._queue = WorkQueue[Played](workers, "play", wanted)

    def played(self, number: int) -> Played:
        """Waits for the seatings of that number. Raises EvalError, and ModelError where workers
        keep ending."""
        found = self._queue.result(number)
        if found.failure is not None:
            raise EvalError(*found.failure)
        return found


def _nothing(holders: Holders, records: _Records) -> None:
    """Stands for the function that is given what workers kept."""
