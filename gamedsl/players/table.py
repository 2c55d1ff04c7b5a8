"""The table of players, and the one way from a text such as `mcts:200` to a player.

A text names a row and, after a colon, its argument. Everywhere that a player can be named, in
recipes, on the command line and from Python, it is named like this.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.players.base import Player, PlayerError

if TYPE_CHECKING:
    from gamedsl.runtime import Game


@dataclass(frozen=True)
class Request:
    """What is asked for: the text after the name, the game, the seed, and whether code may run."""

    argument: str
    game: Game
    seed: int
    allow_code: bool


@dataclass(frozen=True)
class Row:
    """One kind of player. `argument` is what stands after the colon; empty: nothing does, and in
    brackets it may be left out. `fits` says which games it can play."""

    name: str
    argument: str
    doc: str
    fits: str
    open: Callable[[Request], Player]

    @property
    def usage(self) -> str:
        """As it is written."""
        if self.argument.startswith("["):
            return f"{self.name}[:{self.argument[1:]}"
        return f"{self.name}:{self.argument}" if self.argument else self.name


def open_player(spec: str, game: Game, *, seed: int, allow_code: bool = False) -> Player:
    """The player that a text names, ready to hold any seats of a game.

    `allow_code` lets `module:` run a Python file: for texts that come from who runs the program,
    never for those of a file that was handed on. Raises `PlayerError`.
    """
    name, _, argument = (part.strip() for part in spec.partition(":"))
    row = PLAYERS.get(name)
    if row is None:
        near = did_you_mean(name, PLAYERS)
        said = f"did you mean `{near}`?" if near else f"there are {', '.join(PLAYERS)}"
        raise PlayerError(f"there is no player `{name}`", said)
    if bool(argument) != bool(row.argument) and not row.argument.startswith("["):
        said = "takes nothing after its name" if argument else f"needs {row.argument}"
        raise PlayerError(f"the player `{name}` {said}", f"write `{row.usage}`")
    return row.open(Request(argument, game, seed, allow_code))


def _random(request: Request) -> Player:
    from gamedsl.players.random import RandomPlayer

    return RandomPlayer(seed=request.seed)


def _fixed(request: Request) -> Player:
    from gamedsl.backends.labels import option_names
    from gamedsl.players.fixed import FixedPlayer

    actions, known = _listed(request.argument), option_names(request.game.ir)
    for action in actions:
        if action not in known:
            near = did_you_mean(action, known)
            said = f"did you mean `{near}`?" if near else f"there are {', '.join(known[:20])}"
            raise PlayerError(f"`{request.game.name}` has no action `{action}`", said)
    return FixedPlayer(actions, seed=request.seed)


def _listed(text: str) -> list[str]:
    """The parts of a list; commas in brackets divide nothing, for actions such as `mark(0,2)`."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def _policy(request: Request) -> Player:
    from gamedsl.players.saved import PolicyError, SavedPlayer

    try:
        return SavedPlayer.of(request.argument, request.game, seed=request.seed)
    except PolicyError as error:
        command = f"gamedsl solve {request.game.name} --save {request.argument}"
        raise PlayerError(str(error), f"make one: {command}") from error


def _module(request: Request) -> Player:
    from gamedsl.players.scripted import load_player

    if not request.allow_code:
        raise PlayerError(
            f"`module:{request.argument}` would run a Python file, which no file may ask for",
            "name it on the command line, or open it from Python with `allow_code=True`",
        )
    return load_player(request.argument, seed=request.seed)


ROWS: tuple[Row, ...] = (
    Row("random", "", "each legal action equally often", "all games", _random),
    Row("fixed", "ACTION", "the first of these actions, with commas between, that is legal",
        "all games", _fixed),
    Row("policy", "FILE", "a policy that `gamedsl solve --save` kept", "the game that was solved",
        _policy),
    Row("module", "FILE.py:NAME", "a class or function in a Python file; never named in a recipe",
        "all games", _module),
)  # fmt: skip
"""All kinds of players."""

PLAYERS: dict[str, Row] = {row.name: row for row in ROWS}
