"""The players of a plan, and the games between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gamedsl.evaluate.contestants import Contestant, Opener, lasting
from gamedsl.evaluate.errors import EvalError
from gamedsl.evaluate.games import Games
from gamedsl.evaluate.plan import Plan
from gamedsl.evaluate.playing import (
    Answerer,
    Progress,
    Seated,
    answerer,
    play_seatings,
    seeds_of,
)
from gamedsl.evaluate.replies import Keep
from gamedsl.evaluate.results import Options
from gamedsl.evaluate.seating import Holders
from gamedsl.players.base import Player, PlayerError
from gamedsl.players.policy_file import PolicyError
from gamedsl.policies.endpoint import EndpointError

if TYPE_CHECKING:
    from gamedsl.runtime import Game


@contextmanager
def as_eval_error() -> Iterator[None]:
    """Has what players refuse to play be an `EvalError`."""
    try:
        yield
    except PlayerError as error:
        raise EvalError(error.message, error.help) from error
    except PolicyError as error:
        raise EvalError(str(error), "solve the whole game, or sample") from error


class Matches:
    """Opens the players of a plan when they are first asked for, and lets them play."""

    def __init__(self, game: Game, plan: Plan, options: Options) -> None:
        self.env = game.env(run_seed=options.seed)
        self.opener = Opener(game, options.seed, options.endpoints, vllm=options.vllm)
        self._game, self._plan, self._options = game, plan, options
        everybody = (*plan.everybody, *plan.referees.values())
        self._named: dict[str, Contestant] = {one.name: one for one in everybody}
        self._players: dict[str, Player] = {}
        self._answerers: dict[str, Answerer] = {}

    def player(self, name: str) -> Player:
        """Returns a contestant's player. Raises EvalError."""
        if name not in self._players:
            self._players[name] = self.opener.open(self._named[name])
        return self._players[name]

    def play(
        self, wanted: Sequence[Holders], games: int, progress: Progress = lambda done: None,
        keep: Keep | None = None,
    ) -> tuple[list[Games], EndpointError | None]:  # fmt: skip
        """Plays so many games in each seating; returns and raises as `play_seatings`. `keep` is
        given the transcripts, where the options ask for them."""
        keep = None if self._options.keep is None else keep
        seated = [self._table(holders) for holders in wanted]
        return play_seatings(
            self.env, seated, seeds_of(self._options.seed, games), progress, keep,
            report_interrupted=self._options.report_interrupted, carry=self._options.carry,
        )  # fmt: skip

    def _table(self, holders: Holders) -> Seated:
        """Returns the seating, referees included; a contestant in several seats answers for all."""
        who = dict(zip(self.env.seats, holders, strict=True))
        who |= {seat: one.name for seat, one in self._plan.referees.items()}
        answerers = {name: self._answerer(name) for name in set(who.values())}
        return Seated(holders, who, {seat: answerers[name] for seat, name in who.items()})

    def _answerer(self, name: str) -> Answerer:
        """Returns the answerer of a contestant: at one table if it acts by itself, else at all."""
        if name in self._answerers:
            return self._answerers[name]
        player = self.player(name)
        if lasting(player):
            self._answerers[name] = answerer(player, self._game.ir.labels_last)
            return self._answerers[name]
        return answerer(self.opener.open(self._named[name]), self._game.ir.labels_last)
