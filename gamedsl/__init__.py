"""gamedsl: YAML games in, environments that language models learn out.

>>> game = gamedsl.load("games/stag_hunt.yaml")
>>> episode = game.env().reset(seed=7)
>>> while not episode.done:
...     episode.step({d.seat: gamedsl.Action(d.legal[0]) for d in episode.decisions})
>>> episode.payoffs
{'hunter_1': 4, 'hunter_2': 4}

The names below are the public interface; they are imported when first used, so that
`import gamedsl` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from gamedsl.api.game import Game
    from gamedsl.diagnostics import CompileError, Diagnostic
    from gamedsl.errors import UserError
    from gamedsl.ir.evaluate import EvaluationError
    from gamedsl.prompting.replies import ParseFailure
    from gamedsl.runtime import Action, Decision, Env, Episode

__version__ = "0.1.0"

_HOMES = {
    "Action": "gamedsl.runtime",
    "CompileError": "gamedsl.diagnostics",
    "Decision": "gamedsl.runtime",
    "Diagnostic": "gamedsl.diagnostics",
    "Env": "gamedsl.runtime",
    "Episode": "gamedsl.runtime",
    "EvaluationError": "gamedsl.ir.evaluate",
    "Game": "gamedsl.api.game",
    "ParseFailure": "gamedsl.prompting.replies",
    "UserError": "gamedsl.errors",
}

__all__ = [
    "Action",
    "CompileError",
    "Decision",
    "Diagnostic",
    "Env",
    "Episode",
    "EvaluationError",
    "Game",
    "ParseFailure",
    "UserError",
    "games",
    "load",
]


def load(
    path: str | Path,
    params: Mapping[str, Any] | None = None,
    calls: Sequence[str | Path] = (),
) -> Game:
    """Compile a game file, or a shipped game by its name.

    `params` override the file's defaults: numbers, truth values, lists, or expressions as text.
    `calls` are Python files, which are executed: the game may call the functions that they register
    (docs/calls.md). `gamedsl.calls.files.CallFileError` says why one cannot be used.
    Raises `CompileError`, whose `diagnostics` hold every problem found, with places and fixes.
    """
    from gamedsl.api.game import Game
    from gamedsl.compiler import compile_game

    for file in calls:
        from gamedsl.calls.files import allow_calls

        allow_calls(file)
    ir, document = compile_game(path, params)
    return Game(ir, document.files)


def games() -> dict[str, str]:
    """Return the shipped games: the name that `load` takes, and what the game says it is about."""
    from gamedsl.sema.library import abouts_of_games

    return abouts_of_games()


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'gamedsl' has no attribute '{name}'")
