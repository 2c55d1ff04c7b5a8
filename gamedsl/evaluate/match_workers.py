"""Games of an evaluation, played by workers of a Ray cluster.

A pairing's games hang on nothing but the plan and the seed, so they are the same wherever they are
played. A worker opens the players of a pairing when it is first asked for it. What a lost worker
was to play is played by another one. Endpoints are called by workers too, within the budgets that
they have here: what they use up is counted in one place.
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
from gamedsl.policies.budget import EndpointError, Usage
from gamedsl.policies.cluster import Workers, WorkQueue

if TYPE_CHECKING:
    from gamedsl.runtime import Game

_Records = Sequence[dict[str, Any]]


class Played(NamedTuple):
    """The games of some seatings, with the transcripts of each, in order, and what stopped them
    early; or the fact and the help of what went wrong."""

    games: Sequence[Games] = ()
    kept: Sequence[tuple[Holders, _Records]] = ()
    stopped: EndpointError | None = None
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

    def play(self, wanted: Sequence[Holders], games: int, usages: Mapping[str, Usage]) -> Played:
        """Plays so many games in each seating. usages: those of the budgets of endpoints, by the
        names that `Opener.budgets` gives them."""
        kept: list[tuple[Holders, _Records]] = []
        self._matches.opener.share(usages)
        try:
            with as_eval_error():
                found, stopped = self._matches.play(
                    wanted, games, keep=lambda holders, records: kept.append((holders, records))
                )
        except EndpointError as error:
            return Played(stopped=error)
        except EvalError as error:
            return Played(failure=(error.fact, error.help))
        return Played(found, kept, stopped)


class MatchQueue:
    """Has workers play seatings, and gives what they played in any order."""

    def __init__(
        self, workers: Workers, wanted: Mapping[int, tuple[Sequence[Holders], int]],
        usages: Mapping[str, Usage],
    ) -> None:  # fmt: skip
        """wanted: seatings that are played together, and the games of each, by number. usages: as
        for `MatchWorker.play`."""
        given = {number: (*one, usages) for number, one in wanted.items()}
        self._queue = WorkQueue[Played](workers, "play", given)

    def end(self) -> None:
        """Has workers begin no more seatings."""
        self._queue.end()

    def under_way(self, number: int) -> bool:
        """Whether a worker plays these seatings, or has played them."""
        return self._queue.under_way(number)

    def played(self, number: int) -> Played:
        """Waits for the seatings of that number. Raises EvalError, EndpointError where one stopped
        before any game ended, and ModelError where workers keep ending."""
        found = self._queue.result(number)
        if found.failure is not None:
            raise EvalError(*found.failure)
        if found.stopped is not None and not found.games:
            raise found.stopped
        return found


def _nothing(holders: Holders, records: _Records) -> None:
    """Stands for the function that is given what workers kept."""
