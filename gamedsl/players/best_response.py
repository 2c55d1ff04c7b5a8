"""The player that knows the others: an exact best response to a player whose odds are known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gamedsl.engine.walk import JointNode, walk
from gamedsl.players.base import DrawingPlayer, Player, PlayerError, PlayerRequest, PlayerSpec

if TYPE_CHECKING:
    from gamedsl.runtime import Decision, Env, Episode, Game
    from gamedsl.solve.best_responses import BestResponse
    from gamedsl.solve.tree import Tree

LIMIT = 100_000
"""Nodes of a tree up to which a game is written out."""


class BestResponsePlayer(DrawingPlayer):
    """Earns as much in payoffs, at any seat, as can be earned while all other seats are held by one
    player. Of several best actions it takes the first; where the others never let it come, the
    first of all."""

    def __init__(self, game: Game, against: DrawingPlayer, *, seed: int = 0) -> None:
        """`PlayerError` for a game that is too large for a tree, or in which a seat forgets."""
        super().__init__(seed=seed)
        self._tree = _written_out(game)
        self._policy = policy_of(against, game.env())
        self._found: dict[str, BestResponse] = {}

    def response(self, seat: str) -> BestResponse:
        """Returns a seat's value under the response, and its actions."""
        from gamedsl.solve.best_responses import best_response

        if seat not in self._found:
            self._found[seat] = best_response(self._tree, self._policy, seat, "payoffs")
        return self._found[seat]

    def odds(self, decision: Decision, episode: Episode) -> list[float]:
        best = self.response(decision.seat).actions[decision.information_set]
        return [float(name == best) for name in decision.legal]


def policy_of(player: DrawingPlayer, env: Env) -> dict[str, Mapping[str, float]]:
    """Returns a player's action probabilities at every information set of every seat, by walking
    all histories."""
    found: dict[str, Mapping[str, float]] = {}
    for node in walk(env.reset(chance="asked"), None, "depth"):
        if isinstance(node, JointNode):
            for decision in node.point.decisions:
                if decision.information_set not in found:
                    odds = player.odds(decision, node.point)
                    found[decision.information_set] = dict(zip(decision.legal, odds, strict=True))
    return found


def _written_out(game: Game) -> Tree:
    from gamedsl.solve.tree import ImperfectRecall, TooLarge, tabulate

    try:
        return tabulate(game.env(), limit=LIMIT)
    except TooLarge as error:
        raise PlayerError(
            f"`best_response` needs the whole tree of a game, and that of `{game.name}` has more "
            f"than {error.limit:,} nodes",
            "lower the game's params, or take `minimax` or `mcts:200` where they fit",
        ) from error
    except ImperfectRecall as error:
        raise PlayerError(
            f"a seat of `{game.name}` forgets its own past, at {error}: best responses are not "
            "defined decision by decision",
            "take another player",
        ) from error


def _open_best_response(request: PlayerRequest) -> Player:
    against = request.open_drawing(request.argument)
    return BestResponsePlayer(request.game, against, seed=request.seed)


PLAYER = PlayerSpec(
    "PLAYER", "the best there is while that player holds all other seats",
    "games whose tree is small", _open_best_response, speaks=False,
)  # fmt: skip
