"""What exploitability is at least, in games too large for the exact one: a seat's reply to the
others' policy is searched for, and what it gains is seen in fresh games.

See `gamedsl.solve.search_response` for what such a bound proves, and what it does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gamedsl.players.base import DrawingPlayer
from gamedsl.players.episode_search import EpisodeSearch
from gamedsl.players.replying import query_of
from gamedsl.recipe.table import Recipe
from gamedsl.train.cast import Cast
from gamedsl.train.rollout import generator
from gamedsl.train.scoring import Scorer

if TYPE_CHECKING:
    from gamedsl.runtime import Decision, Env, Episode, Game

SIMULATIONS = 1_000
"""Games played to find a seat's reply."""
GAMES = 600
"""Games played to see what it gains."""


class Learned(DrawingPlayer):
    """The policy as it is, with those whom the recipe names in the seats of other roles."""

    def __init__(self, scorer: Scorer, cast: Cast) -> None:
        super().__init__()
        self._scorer = Scorer(scorer.policy, temperature=scorer.temperature, graph_tokens=0)
        self._cast = cast

    def odds(self, decision: Decision, episode: Episode) -> Sequence[float]:
        if decision.role in self._cast.players:
            held = self._cast.odds(self._cast.players[decision.role], decision, episode)
            assert held is not None
            return [float(p) for p in held]
        query = query_of(decision, self._cast.adapter(decision.role))
        self._scorer.score([query])
        return [float(p) for p in self._scorer.probabilities(query)]

    def all_odds(self, asked: Sequence[tuple[Decision, Episode]]) -> list[Sequence[float]]:
        mine = [d for d, _ in asked if d.role not in self._cast.players]
        self._scorer.score([query_of(d, self._cast.adapter(d.role)) for d in mine])
        return super().all_odds(asked)


class Bounds:
    """Measures the bound in the steps in which a recipe asks for it, where exploitability is not
    known exactly and the odds of all players are."""

    def __init__(self, game: Game, env: Env, recipe: Recipe, cast: Cast, *, exact: bool) -> None:
        told = all(isinstance(player, DrawingPlayer) for player in cast.players.values())
        self._every = recipe.bound_every if told and not exact else None
        self._game, self._env, self._cast, self._seed = game, env, cast, recipe.seed

    def measured(self, scorer: Scorer, step: int) -> dict[str, Any]:
        """`exploitability_bound`, when it is time. NashConv / seats is at least its `at_least`,
        with 97.5% confidence; `gain` is what the replies that were found gain, by the same
        measure, and `error` its standard error."""
        if self._every is None or step % self._every:
            return {}
        from gamedsl.solve.search_response import searched

        number = int(generator(self._seed, step, "bound").integers(2**31))
        player, known = Learned(scorer, self._cast), dict[str, Any]()
        seats = self._env.seats
        found = searched(
            [
                EpisodeSearch(self._game, player, seat, number, "rewards", known, self._env)
                for seat in seats
            ],
            SIMULATIONS, GAMES, number,
        )  # fmt: skip
        parts = {"at_least": found.at_least, "gain": found.gain, "error": found.error}
        return {"exploitability_bound": {k: v / len(seats) for k, v in parts.items()}}
