"""The player that a training run came to, from the run's folder: see `gamedsl.train.runfolder`.

Of the folder it reads `run.json`, `recipe.yaml`, and `adapters/`, or a checkpoint where a step is
named or the run has not come to its end.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from gamedsl.players.base import Player, PlayerError, PlayerRequest, PlayerSpec
from gamedsl.players.model import ModelPlayer, load_policy, player_of
from gamedsl.policies.factory import PolicyOptions
from gamedsl.recipe.resolve import read_recipe
from gamedsl.recipe.table import Recipe, Vllm

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
    info = _read_file(folder / "run.json", json.loads, ("rules_hash", "game"))
    recipe = recipe_of_run(folder)
    if info["rules_hash"] != game.ir.rules_hash:
        raise PlayerError(
            f"`{folder}` was trained on `{info['game']}` by other rules than those of "
            f"`{game.name}` here",
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
    )


def vllm_of_run(trained: Vllm, given: Mapping[str, Any]) -> Vllm:
    """The settings of vLLM for a player: those of the run, but for those `given`. It never sleeps,
    since nothing is trained."""
    return replace(trained, idle="resident", **given)


def recipe_of_run(folder: Path) -> Recipe:
    """The recipe of a run. Raises `PlayerError` for one that cannot be read."""
    file = folder / "recipe.yaml"
    saved = _read_file(file, yaml.safe_load, ("model", "seed", "temperature", "lora", "adapters"))
    try:
        return read_recipe(saved)
    except ValueError as error:
        raise PlayerError(f"{file} is damaged: {error}", _FORM) from error


def _read_file(file: Path, read: Callable[[str], Any], needed: Sequence[str]) -> dict[str, Any]:
    """A file of a run. Raises PlayerError for one that cannot be read, or lacks something."""
    try:
        found = read(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise PlayerError(
            f"`{file.parent}` is not the folder of a run: {file.name}: {error}", _FORM
        ) from error
    missing = [key for key in needed if not isinstance(found, dict) or key not in found]
    if missing:
        raise PlayerError(f"{file} is damaged: it has no `{missing[0]}`", _FORM)
    return dict(found)


def folder_and_step(argument: str) -> tuple[Path, int | None]:
    """A folder, and the step after an `@`, if there is one."""
    found = re.fullmatch(r"(.+)@(\d+)", argument)
    if found is None or Path(argument).expanduser().is_dir():
        return Path(argument).expanduser(), None
    return Path(found[1]).expanduser(), int(found[2])


def _adapters(folder: Path, step: int | None) -> Mapping[str, Any]:
    """By name: the folders of a run that is over, else the states in a checkpoint."""
    saved = sorted(path for path in (folder / "adapters").glob("*") if path.is_dir())
    if saved and step is None:
        return {path.name: path for path in saved}
    files = {_number(path): path for path in (folder / "checkpoints").glob("step-*.pt")}
    if not files or (step is not None and step not in files):
        there = ", ".join(map(str, sorted(files))) or "none"
        wanted = (
            "no adapters and no checkpoint" if step is None else f"no checkpoint of step {step}"
        )
        raise PlayerError(f"`{folder}` has {wanted}", f"its checkpoints are of steps {there}")
    import torch

    path = files[max(files) if step is None else step]
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
        adapters: Mapping[str, Any] = content["adapters"]
    except Exception as error:
        raise PlayerError(f"{path} cannot be read: {error}", "take another step") from error
    return adapters


def _number(path: Path) -> int:
    found = re.search(r"\d+", path.stem)
    return int(found[0]) if found else -1


def _open_runs(request: PlayerRequest) -> Player:
    open_holder = request.open if request.game.ir.written else request.open_drawing
    return run_player(
        request.argument, request.game, open_holder, seed=request.seed, vllm=request.vllm
    )


PLAYER = PlayerSpec(
    "FOLDER[@STEP]", "what a training run came to, at its end or at a checkpoint",
    "the game that was trained", _open_runs, in_files=True,
)  # fmt: skip
