"""The player that a training run came to, from the run's folder: see `gamedsl.training.runfolder`.

Of the folder it reads `run.json`, `recipe.yaml`, and `adapters/`, or a checkpoint where a step is
named or the run has not come to its end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gamedsl.players.base import Player, PlayerError, PlayerRequest, PlayerSpec
from gamedsl.players.model import ModelPlayer, load_policy, player_of
from gamedsl.policies.factory import PolicyOptions
from gamedsl.recipe.resolve import read_recipe
from gamedsl.recipe.table import Recipe, Vllm
from gamedsl.runs.errors import RunDamaged
from gamedsl.runs.saved import INFO, RECIPE, SavedRun, number_in, open_saved, wording_of
from gamedsl.storage.reader import expanded

if TYPE_CHECKING:
    from gamedsl.players.model import SpeakingPlayer
    from gamedsl.runtime import Game

_FORM = "write `run:FOLDER`, or `run:FOLDER@STEP` for a checkpoint"


def run_player(
    argument: str, game: Game, open_holder: Callable[[str], Player], *, seed: int,
    vllm: Mapping[str, Any] | None = None,
) -> ModelPlayer | SpeakingPlayer:  # fmt: skip
    """The player of `FOLDER` or `FOLDER@STEP`; `open_holder` opens the players that held roles.
    With `vllm` that writes its replies, by these settings and, where they say nothing, the run's.

    Raises `PlayerError` for what is no run, a run of other rules, and a step without checkpoint.
    """
    folder, step = folder_and_step(argument)
    info = _opened(folder)
    with _as_player_error():
        wording = wording_of(info)
    recipe = recipe_of_run(folder)
    if info["rules_hash"] != game.ir.rules_hash:
        raise PlayerError(
            f"`{folder}` was trained on `{info['game']}` by other rules than those of "
            f"`{game.name}` here, as its {INFO} says",
            "load the game with the params of the run, or train again",
        )
    models = recipe.models(game.ir)
    states = _adapters(folder, step)
    if missing := [name for name in models if name not in states]:
        raise PlayerError(f"`{folder}` has no adapter `{missing[0]}`", "name another run")
    writes = game.ir.written or recipe.replies == "free"
    options = PolicyOptions(
        lora=recipe.lora,
        shapes=recipe.shapes(game.ir),
        finetuning=recipe.finetuning,
        vllm=None if vllm is None or not writes else vllm_of_run(recipe.vllm, vllm),
        dtype=recipe.dtype,
        quantize=recipe.quantize,
    )
    parts = recipe.parts(game.ir)
    return player_of(
        load_policy(models, options, {name: states[name] for name in models}),
        game,
        {part.role: part.adapter for part in parts if part.adapter is not None},
        {part.role: open_holder(part.player) for part in parts if part.player is not None},
        run_seed=recipe.seed,
        temperature=recipe.temperature,
        free=recipe.replies == "free",
        seed=seed,
        wording=wording,
    )


def vllm_of_run(trained: Vllm, given: Mapping[str, Any]) -> Vllm:
    """The settings of vLLM for a player: those of the run, but for those `given`. It never sleeps,
    since nothing is trained."""
    return replace(trained, idle="resident", **given)


def recipe_of_run(folder: Path) -> Recipe:
    """The recipe of a run. Raises `PlayerError` for one that cannot be read, or is not as the run
    wrote it."""
    _opened(folder)
    with _as_player_error():
        run = SavedRun(folder)
        run.require((INFO, RECIPE).__contains__)
        saved = run.settings(("model", "seed", "temperature", "lora", "adapters"))
    try:
        return read_recipe(saved)
    except (ValueError, TypeError, AttributeError) as error:
        raise PlayerError(f"{folder / RECIPE} is damaged: {error}", _FORM) from error


def _opened(folder: Path) -> dict[str, Any]:
    """Returns the content of a folder's `run.json`. Raises PlayerError."""
    try:
        run = open_saved(folder)
    except RunDamaged as error:
        raise PlayerError(f"`{folder}` is not the folder of a run: {error.fact}", _FORM) from error
    with _as_player_error():
        return run.info(("rules_hash", "game"))


@contextmanager
def _as_player_error() -> Iterator[None]:
    """Has what is wrong with a run folder be a `PlayerError`."""
    try:
        yield
    except RunDamaged as error:
        raise PlayerError(error.fact, error.fix) from error


def folder_and_step(argument: str) -> tuple[Path, int | None]:
    """A folder, and the step after an `@`, if there is one."""
    found = re.fullmatch(r"(.+)@(\d+)", argument)
    if found is None or expanded(argument).is_dir():
        return expanded(argument), None
    return expanded(found[1]), int(found[2])


def _adapters(folder: Path, step: int | None) -> Mapping[str, Any]:
    """By name: the folders of a run that is over, else the states in a checkpoint."""
    run = SavedRun(folder)
    with _as_player_error():
        saved = run.adapters()
        if saved and step is None:
            run.require(lambda name: name.startswith("adapters/"))
            return saved
        files = {number_in(path): path for path in run.steps()}
        if not files or (step is not None and step not in files):
            there = ", ".join(map(str, sorted(files))) or "none"
            wanted = (
                "no adapters and no checkpoint" if step is None else f"no checkpoint of step {step}"
            )
            raise PlayerError(f"`{folder}` has {wanted}", f"its checkpoints are of steps {there}")
        path = files[max(files) if step is None else step]
        states: Mapping[str, Any] = run.checkpoint(path)["adapters"]
    return states


def _open_runs(request: PlayerRequest) -> Player:
    named = replace(request, open=request.open_named_in_file)
    open_holder = named.open if request.game.ir.written else named.open_drawing
    return run_player(
        request.argument, request.game, open_holder, seed=request.seed, vllm=request.vllm
    )


PLAYER = PlayerSpec(
    "FOLDER[@STEP]", "what a training run came to, at its end or at a checkpoint",
    "the game that was trained", _open_runs, in_files=True,
)  # fmt: skip
