"""Players that somebody writes in Python: loaded from a file by name."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gamedsl.players.base import Player, PlayerError, PlayerRequest, PlayerSpec
from gamedsl.storage.reader import expanded

if TYPE_CHECKING:
    from gamedsl.runtime import Action, Decision, Episode

_FORM = "module:FILE.py:NAME, such as module:players.py:Cautious"


class FunctionPlayer:
    """Plays what a function of a decision and its episode says."""

    def __init__(self, choose: Callable[[Decision, Episode], Action | str]) -> None:
        self._choose = choose

    def act(self, decision: Decision, episode: Episode) -> Action | str:
        return self._choose(decision, episode)


def load_player(argument: str, *, seed: int) -> Player:
    """The player of `FILE.py:NAME`. NAME is a class of players, made with `seed=`, or a function
    that takes a decision and its episode and gives an `Action` or a text.

    The file is executed. Raises `PlayerError` where it cannot be, or has no such name.
    """
    file, _, name = argument.rpartition(":")
    if not file or not name.isidentifier():
        raise PlayerError(f"`{argument}` does not name a player in a file", f"write {_FORM}")
    path = expanded(file)
    if not path.is_file():
        raise PlayerError(f"there is no file `{file}`", f"write {_FORM}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise PlayerError(f"`{file}` is no Python file", f"write {_FORM}")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise PlayerError(f"`{file}` fails: {error!r}", "run it alone to see where") from error
    found: Any = getattr(module, name, None)
    if isinstance(found, type) and hasattr(found, "act"):
        made: Player = found(seed=seed)
        return made
    if not callable(found):
        known = ", ".join(n for n, value in vars(module).items() if callable(value))
        raise PlayerError(f"`{file}` has no player `{name}`", f"it has {known or 'none'}")
    return FunctionPlayer(found)


def _open_python_file(request: PlayerRequest) -> Player:
    if not request.allow_code:
        raise PlayerError(
            f"`module:{request.argument}` would run a Python file, which no file and no recipe may"
            " ask for",
            "name it to `gamedsl eval` or `gamedsl play`; a warm-up can imitate the transcripts"
            " that `eval` writes (`file:`)"
            if request.from_file
            else "name it on the command line, or open it from Python with `allow_code=True`",
        )
    return load_player(request.argument, seed=request.seed)


PLAYER = PlayerSpec(
    "FILE.py:NAME", "a class or function in a Python file; never named in a recipe", "all games",
    _open_python_file, in_files=True,
)  # fmt: skip
