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
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from gamedsl.api.game import Game
    from gamedsl.api.picture import Picture
    from gamedsl.api.plays import Plays
    from gamedsl.api.run import Run, TrainingInterrupted
    from gamedsl.api.solution_report import Report
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
    "Picture": "gamedsl.api.picture",
    "Plays": "gamedsl.api.plays",
    "Report": "gamedsl.api.solution_report",
    "Run": "gamedsl.api.run",
    "TrainingInterrupted": "gamedsl.api.run",
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
    "Picture",
    "Plays",
    "Report",
    "Run",
    "TrainingInterrupted",
    "UserError",
    "games",
    "load",
    "train",
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
    from gamedsl.api.game import load_game

    return load_game(path, params, calls)


def train(
    game: str | Path | Game,
    steps: int | None = None,
    *,
    model: str | None = None,
    seed: int | None = None,
    settings: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    out: str | Path | None = None,
    endpoints: Collection[str] = (),
    progress: bool = False,
) -> Run:
    """Train language models to play a game, as `gamedsl train` does, and return the run.

    `game` is a file, the name of a shipped game, or a loaded game. `settings` come on top of the
    game's recipe: `{"lr": 1e-4, "lora.rank": 8}`; `steps`, `model` and `seed` are the common ones.
    `params` are those of the game, and `out` is the run folder, by default the first free one in
    `runs/`. Of the endpoints that the game's file names, those of `endpoints` may be called.
    Nothing is printed, unless with `progress`: a live panel on a terminal, one line a step
    elsewhere.

    Raises `CompileError` for problems of the game or of a setting, and other errors of the kind
    `UserError` for whatever else cannot be met. Ctrl-C ends training after the step under way: it
    raises `TrainingInterrupted`, a KeyboardInterrupt whose `run` goes on with `resume()`.
    """
    from gamedsl.api.run import finished_run
    from gamedsl.api.training import start

    common = {"steps": steps, "model": model, "seed": seed}
    given = {name: value for name, value in common.items() if value is not None}
    merged = {**(settings or {}), **given}
    return finished_run(start(game, merged, params, out, endpoints, progress))


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
