"""Minimax: the best moves against an opponent who plays best, for two seats that share a sum.

Without a depth the whole game is worked out, position by position, with exact numbers: every move
that keeps the value of the game is as likely as any other. With a depth each decision is searched
by alpha-beta (Knuth and Moore 1975) with a table of positions, and averages at moves of chance; a
position as deep as the search counts as even. What is played depends on the position alone.
"""

from __future__ import annotations

from collections.abc import Hashable
from math import inf
from typing import TYPE_CHECKING

from gamedsl.engine.walk import mover, take
from gamedsl.players.base import (
    OPEN_GAMES,
    DrawingPlayer,
    Player,
    PlayerError,
    PlayerRequest,
    PlayerSpec,
)
from gamedsl.players.search import require_open, shared_by_best, total_of
from gamedsl.solve.positions import PositionValues
from gamedsl.solve.tree import TooLarge

if TYPE_CHECKING:
    from gamedsl.engine.kernel import Kernel, State
    from gamedsl.runtime import Decision, Episode, Game

LIMIT = 30_000
"""Positions up to which a game is worked out as a whole."""
GAMES = 8
"""Games of which the values are kept in the process."""
TIED = 1e-9
"""Values of searched moves, as floats, that are called equal."""
KEPT = 500_000
"""Entries up to which the table of a search is kept for the next decision."""


class MinimaxPlayer(DrawingPlayer):
    """Takes every best move equally often. `depth` counts the choices that are looked ahead, of
    both sides and the own one included; None: all."""

    def __init__(self, game: Game, depth: int | None = None, *, seed: int = 0) -> None:
        """`PlayerError` for a game that is not for two seats, in which somebody does not see
        everything, whose payoffs have no constant sum (with a depth: none that is claimed), or
        that is too large to be worked out without a depth."""
        super().__init__(seed=seed)
        _require_two(game)
        require_open(game, "minimax")
        self._game, self._depth = game, depth
        self._searches: dict[type, AlphaBeta] = {}
        if depth is None:
            _exact_values(game, game.kernel())
        elif total_of(game) is None:
            raise PlayerError(
                f"`minimax` with a depth needs payoffs with a constant sum, and `{game.name}` "
                "claims none",
                "write `claims: zero_sum` in the game's file if it holds",
            )

    def odds(self, decision: Decision, episode: Episode) -> list[float]:
        state, env = episode.state, episode.env
        if self._depth is None:
            exact, seat = _exact_values(self._game, env.kernel), env.seats.index(decision.seat)
            options = range(len(decision.legal))
            return shared_by_best([exact.worth(take(state, i))[seat] for i in options])
        search = self._searches.setdefault(
            type(env.kernel), AlphaBeta(env.seats, float(total_of(self._game) or 0))
        )
        return search.odds(state, self._depth)


class AlphaBeta:
    """A search of one game. Values are the first seat's payoff less half of the sum that is paid:
    the first seat wants the most, the other the least."""

    def __init__(self, seats: tuple[str, ...], total: float) -> None:
        self._seats, self._even = seats, total / 2
        self._table: dict[tuple[Hashable, int], tuple[float, float]] = {}

    def odds(self, state: State, depth: int) -> list[float]:
        """Uniform over the best options of who moves."""
        if len(self._table) > KEPT:
            self._table.clear()
        sign = self._sign(state)
        best, values = -inf, []
        for option in range(max(state.counts)):
            low = best - TIED  # what is as good as the best is to be known exactly
            window = (low, inf) if sign > 0 else (-inf, -low)
            value = sign * self._alpha_beta(take(state, option), depth - 1, *window)
            best = max(best, value)
            values.append(value)
        return shared_by_best(values, TIED)

    def _sign(self, state: State) -> int:
        """1 where the first seat moves, -1 where the other does."""
        return 1 if state.asked[mover(state)] == self._seats[0] else -1

    def _alpha_beta(self, state: State, depth: int, low: float, high: float) -> float:
        """Returns the value of a state to the first seat, by alpha-beta search: exact between low
        and high, else an upper bound at low or below, or a lower bound at high or above."""
        if state.kind == "end":
            return float(state.payoffs[self._seats[0]]) - self._even
        if state.kind == "chance":
            return sum(
                float(outcome.probability) * self._alpha_beta(take(state, i), depth, -inf, inf)
                for i, outcome in enumerate(state.outcomes)
            )
        count = max(state.counts)
        if count == 1:
            return self._alpha_beta(take(state, 0), depth, low, high)
        if not depth:
            return 0.0
        from gamedsl.runtime.positions import position

        key = position(state), depth
        least, most = self._table.get(key, (-inf, inf))
        if least >= high or least == most:
            return least
        if most <= low:
            return most
        value = self._choose(state, count, depth, max(low, least), min(high, most))
        if value <= low:
            most = min(most, value)
        elif value >= high:
            least = max(least, value)
        else:
            least = most = value
        self._table[key] = least, most
        return value

    def _choose(self, state: State, count: int, depth: int, low: float, high: float) -> float:
        """The best of some options, given up once nothing between low and high is left."""
        sign = self._sign(state)
        best = -inf
        if sign < 0:
            low, high = -high, -low
        for option in range(count):
            window = (low, high) if sign > 0 else (-high, -low)
            best = max(best, sign * self._alpha_beta(take(state, option), depth - 1, *window))
            low = max(low, best)
            if low >= high:
                break
        return sign * best


_EXACT: dict[tuple[str, type], PositionValues] = {}
"""What is worked out is kept, by the rules and the kind of kernel, whose positions are its own."""


def _exact_values(game: Game, kernel: Kernel) -> PositionValues:
    """The whole game, as a kernel plays it."""
    key = game.ir.tree_hash, type(kernel)
    if key not in _EXACT:
        if len(_EXACT) >= GAMES:
            _EXACT.pop(next(iter(_EXACT)))
        _EXACT[key] = _work_out(game, kernel)
    return _EXACT[key]


def _work_out(game: Game, kernel: Kernel) -> PositionValues:
    try:
        values = PositionValues(kernel.start(), game.ir.seats, limit=LIMIT)
    except TooLarge as error:
        raise PlayerError(
            f"`{game.name}` has more than {LIMIT:,} positions, too many for `minimax` to work out",
            "say how many moves to look ahead: `minimax:depth=6`",
        ) from error
    if len({sum(end) for end in values.ends}) > 1:
        raise PlayerError(
            f"`minimax` needs payoffs with a constant sum, which those of `{game.name}` have not",
            "take `equilibrium`",
        )
    return values


def _require_two(game: Game) -> None:
    if len(game.ir.seats) != 2:
        raise PlayerError(
            f"`minimax` is for two seats, and `{game.name}` has {len(game.ir.seats)}",
            "take `mcts:200`",
        )


def _open_minimax(request: PlayerRequest) -> Player:
    depth = None
    if request.argument:
        name, _, number = request.argument.partition("=")
        if name != "depth":
            raise PlayerError(f"`minimax` has no setting `{name}`", "write `minimax:depth=6`")
        depth = request.whole(number, "minimax:depth=6")
    return MinimaxPlayer(request.game, depth, seed=request.seed)


PLAYER = PlayerSpec(
    "[depth=N]",
    "all best moves equally often, of the whole game or as far as it looks ahead",
    f"{OPEN_GAMES}, two seats, constant sum; without a depth up to 30,000 positions",
    _open_minimax,
    speaks=False,
)
