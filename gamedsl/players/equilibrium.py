"""The player of an equilibrium: solves the game, and keeps what it found in the user's cache."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from gamedsl.players.base import Player, PlayerError, PlayerRequest, PlayerSpec
from gamedsl.players.policy_file import PolicyError, SavedPlayer, SavedPolicy, read_policy
from gamedsl.storage.cache import CacheRefused, own_folder
from gamedsl.storage.writer import write_text

if TYPE_CHECKING:
    from gamedsl.runtime import Game


class EquilibriumPlayer(SavedPlayer):
    """Plays what `gamedsl solve` answers for a game. `found` says what that is, what each seat
    earns by it, and how far it is from an equilibrium (`regrets`, 0 where it is exact)."""

    def __init__(self, game: Game, *, seed: int = 0) -> None:
        """`PlayerError` for a game without a policy that the solver finds without sampling."""
        self.found = equilibrium(game)
        super().__init__(self.found.policy, seed=seed)


def equilibrium(game: Game) -> SavedPolicy:
    """The equilibrium of a game in payoffs; solved once for all games of the same rules."""
    try:
        path = own_folder("equilibria") / f"{game.ir.tree_hash}.json"
    except CacheRefused:
        return _solve(game)
    if path.is_file():
        try:
            return read_policy(path, game)
        except PolicyError:
            pass  # written by another version: solved anew
    found = _solve(game)
    with suppress(OSError):
        write_text(path, found.text(), durable=False)
        return read_policy(path, game)
    return found


def _solve(game: Game) -> SavedPolicy:
    from gamedsl.engine.walk import count_histories
    from gamedsl.runtime.positions import has_perfect_information
    from gamedsl.solve.solver import LIMIT, Unfit, solve

    large = count_histories(game.kernel().start(), LIMIT) is None
    command = f"gamedsl solve {game.name} --method mccfr --save FILE"
    sampled = f"`{command}` samples a policy; play it with `policy:FILE`"
    if large and not has_perfect_information(game.ir):
        raise PlayerError(f"`{game.name}` is too large to be solved at once", sampled)
    try:
        report = solve(game, "backward" if large else "auto")
    except Unfit as error:
        raise PlayerError(f"no equilibrium was found: {error}", sampled) from error
    except ImportError as error:
        raise PlayerError(str(error), "install it, or play a policy from a file") from error
    if report.strategies:
        raise PlayerError(
            f"a seat of `{game.name}` forgets its own past: its equilibria are of strategies for "
            "whole plays, which are drawn before the game",
            "take another player",
        )
    if report.solution is None or not report.solution.policy:
        raise PlayerError(f"the solver gives no policy for `{game.name}`", sampled)
    return SavedPolicy.of(report, report.solution)


def _open_equilibrium(request: PlayerRequest) -> Player:
    return EquilibriumPlayer(request.game, seed=request.seed)


PLAYER = PlayerSpec(
    "", "the policy that `gamedsl solve` finds, kept from then on",
    "games that can be solved whole", _open_equilibrium, speaks=False,
)  # fmt: skip
