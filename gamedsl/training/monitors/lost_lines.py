"""Lost lines: the lines of play that beat the policy's likeliest moves, among all that others can
do.

See `gamedsl.players.unbeaten`. Nothing is sampled, so that a policy without a lost line cannot be
beaten as long as it takes its likeliest moves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gamedsl.players.base import PlayerError
from gamedsl.players.search import require_open
from gamedsl.players.unbeaten import unbeaten
from gamedsl.recipe.table import Recipe
from gamedsl.training.errors import TrainError
from gamedsl.training.monitors.exploitability_bound import PolicyPlayer
from gamedsl.training.scoring import Scorer
from gamedsl.training.seats import SeatAssignment

if TYPE_CHECKING:
    from gamedsl.runtime import Env, Game


class LostLines:
    """Counts the lines at the start, and in the steps in which a recipe asks for it."""

    def __init__(self, game: Game, env: Env, recipe: Recipe, seating: SeatAssignment) -> None:
        """Raises TrainError where they are wanted of a game in which somebody is not told all."""
        self._every = recipe.lines_every
        self._game, self._env, self._seating = game, env, seating
        role_of = env.ir.role_of
        self._seats = [seat for seat in env.seats if role_of[seat] in seating.learners]
        self._by_position = set(self._seats) <= env.ir.views.keys() - env.ir.windows.keys()
        """Whether prompts hold the position alone, and not how it came about."""
        if self._every is not None:
            try:
                require_open(game, "lines_every")
            except PlayerError as error:
                raise TrainError(error.message, "leave `lines_every` out") from error

    def measured(self, scorer: Scorer, step: int) -> dict[str, Any]:
        """`lines`, when it is time: of each seat that learns how many lines it wins, draws and
        loses, and `losses`, those that all of them lose."""
        if self._every is None or step % self._every:
            return {}
        found = unbeaten(
            self._game, PolicyPlayer(scorer, self._seating), self._seats,
            support="most", by_position=self._by_position, env=self._env,
        )  # fmt: skip
        seats = {
            seat: {"wins": one.wins, "draws": one.draws, "losses": one.losses}
            for seat, one in found.items()
        }
        return {"lines": {"losses": sum(one.losses for one in found.values()), "seats": seats}}
