"""The registry of players, and the one way from a text such as `mcts:200` to a player.

A text names a row and, after a colon, its argument. Everywhere that a player can be named, in
recipes, on the command line and from Python, it is named like this. A player is one file, which
declares it as `PLAYER`, and one row of `PLAYERS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.players.base import Player, PlayerError, PlayerRequest, PlayerSpec

if TYPE_CHECKING:
    from gamedsl.policies.budget import Budget
    from gamedsl.runtime import Game

PLAYERS = {
    "random": "gamedsl.players.random",
    "fixed": "gamedsl.players.fixed_actions",
    "tit_for_tat": "gamedsl.players.tit_for_tat",
    "minimax": "gamedsl.players.minimax",
    "mcts": "gamedsl.players.mcts",
    "equilibrium": "gamedsl.players.equilibrium",
    "best_response": "gamedsl.players.best_response",
    "mix": "gamedsl.players.mix",
    "hanabi_convention": "gamedsl.players.hanabi",
    "policy": "gamedsl.players.policy_file",
    "run": "gamedsl.players.runs",
    "model": "gamedsl.players.model",
    "endpoint": "gamedsl.players.endpoint",
    "module": "gamedsl.players.python_file",
    "human": "gamedsl.players.human",
}
"""The module of each kind of player."""


@cache
def player_spec(name: str) -> PlayerSpec:
    """The declaration of a kind of player."""
    spec: PlayerSpec = import_module(PLAYERS[name]).PLAYER
    return spec


def open_player(
    spec: str, game: Game, *, seed: int, allow_code: bool = False,
    vllm: Mapping[str, Any] | None = None, budget: Budget | None = None, from_file: bool = False,
) -> Player:  # fmt: skip
    """The player that a text names, ready to hold any seats of a game.

    `allow_code` lets `module:` run a Python file: for texts that come from who runs the program.
    `from_file` says that the text comes from a file, such as a game's `train:` or the recipe of a
    run, which may have been handed on: it runs no code, and calls those endpoints alone whose
    addresses the `budget` has. So do the players that a run's recipe names, whoever names the run.
    With `vllm`, settings of vLLM, that writes what models reply; a `budget` is what endpoints may
    use up together. Raises `PlayerError`.
    """
    name, _, argument = (part.strip() for part in spec.partition(":"))
    if name not in PLAYERS:
        near = did_you_mean(name, PLAYERS)
        help = f"did you mean `{near}`?" if near else f"there are {', '.join(PLAYERS)}"
        raise PlayerError(f"there is no player `{name}`", help)
    kind = player_spec(name)
    if bool(argument) != bool(kind.argument) and not kind.argument.startswith("["):
        fault = "takes nothing after its name" if argument else f"needs {kind.argument}"
        raise PlayerError(f"the player `{name}` {fault}", f"write `{kind.usage(name)}`")
    if not kind.speaks and any(step.said is not None for step in game.ir.steps):
        raise PlayerError(
            f"the player `{name}` chooses among options, and something is said in {game.name}",
            "write `random`, which says something at random",
        )

    code = allow_code and not from_file
    open_other = partial(
        open_player, game=game, seed=seed, allow_code=code, vllm=vllm, budget=budget,
        from_file=from_file,
    )  # fmt: skip
    open_named = partial(open_other, allow_code=False, from_file=True)
    return kind.open(
        PlayerRequest(argument, game, seed, code, vllm, budget, from_file, open_other, open_named)
    )
