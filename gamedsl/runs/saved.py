"""The files of a run folder, read: each within bounds, and none outside of the folder.

A folder may have been handed on, or be damaged: whatever is wrong with a file is a `RunDamaged`
that names it, says why, and what to do. `misfits` compares the files with what the run wrote
(`gamedsl.storage.checksums`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from gamedsl.ir.game import Wording
from gamedsl.runs.errors import FileDamaged, RunDamaged
from gamedsl.runs.record_fields import shape_of
from gamedsl.runs.tensors import load_tensors
from gamedsl.storage.checksums import NAME as CHECKSUMS
from gamedsl.storage.checksums import Checksums, ChecksumsDamaged
from gamedsl.storage.reader import FileRefused, read_bytes, read_text, resolve
from gamedsl.storage.shapes import (
    ANY,
    NUMBER,
    TEXT,
    WHOLE,
    ArrayOf,
    Fields,
    MapOf,
    Restricted,
    misfit_of,
    optional,
)
from gamedsl.storage.strict_json import JsonRefused, parse, parse_lines

INFO, RECIPE, LABELS, METRICS = "run.json", "recipe.yaml", "labels.json", "metrics.jsonl"

MANY_BYTES = 1 << 22
"""Bytes of each file that describes a run."""

MANY_RECORDS = 1 << 30
"""Bytes of metrics, or of one file of transcripts."""

MANY_TENSORS = 1 << 36
"""Bytes of a file of tensors."""

_MANY_SETTINGS = 20_000
_DEEP = 24

_INFO = Fields(optional={
    "format": WHOLE, "game": TEXT, "file": optional(TEXT), "params": MapOf("param", ANY),
    "hash": TEXT, "rules_hash": TEXT, "rendering_hash": TEXT, "rows": TEXT, "model": TEXT,
    "models": MapOf("adapter", TEXT), "seed": WHOLE, "tokenizer": TEXT, "threads": WHOLE,
    "kv_cache": MapOf("model", NUMBER),
    "versions": MapOf("package", TEXT), "started": TEXT, "wording": TEXT,
    "calls": ArrayOf(Fields({"file": TEXT, "sha256": TEXT})),
    "imitated": ArrayOf(Fields({"file": TEXT, "sha256": TEXT})),
    "forced": ArrayOf(Fields({"step": optional(WHOLE), "files": MapOf("file", TEXT)})),
})  # fmt: skip
"""The entries of `run.json`."""

_LABELS = Fields({"kind": TEXT, "labels": MapOf("action", TEXT)}, {"order": TEXT})
"""The entries of `labels.json`."""

_TRANSCRIPT = Fields(
    {
        "steps": ArrayOf(Fields(optional={
            "choices": MapOf("seat", TEXT), "chance": MapOf("draw", TEXT),
        })),
        "failures": MapOf("seat", Fields({"reason": TEXT})),
        "rewards": MapOf("seat", ANY),
    },
    {"games": Restricted(WHOLE, lambda games: games >= 1, "is below 1"), "labels": _LABELS},
)  # fmt: skip
"""The entries of a transcript that reports read."""

_PASSING = ("pool", "transcripts")
"""Folders whose files a run, or its owner, may delete."""

_COPY = "put back a copy of it"
_ONE_BEFORE = "delete it, and the run goes on from the checkpoint before; or put back a copy of it"

_EVENTS = ("start", "step", "end")


def wording_of(info: Mapping[str, Any]) -> Wording:
    """Returns the default texts of the prompts that a run was trained on, by its `run.json`: runs
    of version 0.1.0 name none. Raises RunDamaged for one that no version has."""
    found = info.get("wording", "brief")
    if found == "brief":
        return "brief"
    if found == "explained":
        return "explained"
    raise RunDamaged(
        f"its {INFO} names the wording `{found}` of prompts",
        "read it with the version of gamedsl that wrote it",
    )


class TranscriptLine(NamedTuple):
    """A line of a file of transcripts, as it stands there."""

    number: int
    text: str

    @property
    def games(self) -> int:
        """The number of games that the play stands for."""
        found = _GAMES.match(self.text)
        return int(found[1]) if found else 1

    @property
    def refused(self) -> bool:
        """Whether a reply was refused in the play."""
        return _REFUSED.search(self.text) is not None


_GAMES = re.compile(r'\{"games": ?(\d{1,18})[,}]')
_REFUSED = re.compile(r'"(?:mistakes": ?\[ ?|failures": ?\{ ?"[^"\\]*": ?)\{')


class SavedRun:
    """A run folder on disk. Nothing is read before it is asked for, and each time anew."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def metrics(self) -> Path:
        return self.path / METRICS

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    def info(self, needed: Sequence[str] = ()) -> dict[str, Any]:
        """Returns the content of `run.json`, which has the entries that are `needed`. Raises
        RunDamaged."""
        file = self.path / INFO
        found = self._json(file)
        for key in needed:
            if key not in found:
                raise FileDamaged(file, f"it has no `{key}`")
        if fault := misfit_of(found, _INFO):
            raise FileDamaged(file, str(fault))
        return found

    def settings(self, needed: Sequence[str] = ()) -> dict[str, Any]:
        """Returns the content of `recipe.yaml`: nested maps of plain values. Raises RunDamaged."""
        file = self.path / RECIPE
        text = self._text(file, MANY_BYTES)
        try:
            found = settings_in(text)
        except ValueError as error:
            raise FileDamaged(file, str(error)) from error
        if not isinstance(found, dict):
            raise FileDamaged(file, "it is not a map of settings")
        if next(islice(_parts(file, found, 0), _MANY_SETTINGS, None), None) is not None:
            raise FileDamaged(file, "it has more settings than a run has")
        for key in needed:
            if key not in found:
                raise FileDamaged(file, f"it has no `{key}`")
        return found

    def label_book(self) -> dict[str, Any]:
        """Returns the content of `labels.json`; empty where labels do not last for the run. Raises
        RunDamaged."""
        file = self.path / LABELS
        if not _exists(file):
            return {}
        found = self._json(file)
        if fault := misfit_of(found, _LABELS):
            raise FileDamaged(file, str(fault))
        return found

    def records(self, path: Path | None = None) -> list[dict[str, Any]]:
        """Returns the whole lines of the metrics, their fields of the shapes in `record_fields`; a
        last line that was cut off is left out. Raises RunDamaged."""
        file = path or self.metrics
        if not _exists(file):
            return []
        found = []
        for number, record in self._lines(file):
            if record.get("event") not in _EVENTS or not _whole(record.get("step")):
                raise FileDamaged(file, f"line {number} is no record of a step")
            if fault := misfit_of(record, shape_of(record["event"])):
                raise FileDamaged(file, f"line {number}: {fault}")
            found.append(record)
        return found

    def transcripts(self) -> list[Path]:
        """Returns the files of transcripts, oldest first."""
        found = sorted((self.path / "transcripts").glob("step-*.jsonl"), key=number_in)
        return [path for path in found if number_in(path) >= 0]

    def transcript_lines(self, file: Path) -> list[TranscriptLine]:
        """Returns the lines of a file of transcripts, none of them parsed. Raises RunDamaged."""
        lines = self._whole_lines(file).split("\n")
        return [TranscriptLine(n, text) for n, text in enumerate(lines, start=1) if text.strip()]

    def transcript(self, file: Path, lines: Iterable[TranscriptLine]) -> list[dict[str, Any]]:
        """Returns the records of lines of a file of transcripts, all of one game. Raises
        RunDamaged."""
        found: list[dict[str, Any]] = []
        for number, text in lines:
            try:
                record = parse(text)
            except JsonRefused as error:
                error.line = number
                raise FileDamaged(file, str(error)) from error
            if not isinstance(record, dict):
                raise FileDamaged(file, f"line {number} is not a JSON object")
            if fault := misfit_of(record, _TRANSCRIPT):
                raise FileDamaged(file, f"line {number}: {fault}")
            if found and record["rewards"].keys() != found[0]["rewards"].keys():
                raise FileDamaged(file, f"line {number}: its `rewards` are of other seats")
            found.append(record)
        return found

    def steps(self) -> list[Path]:
        """Returns the checkpoints, oldest first."""
        found = sorted(self.checkpoints.glob("step-*.pt"), key=number_in)
        return [path for path in found if number_in(path) >= 0]

    def tensors(self, file: Path) -> Any:
        """Returns the content of a file of tensors in the folder. Raises RunDamaged."""
        fix = _ONE_BEFORE if file.parent == self.checkpoints else _COPY
        return load_tensors(file, self.path, fix)

    def snapshot(self, file: Path) -> dict[str, dict[str, Any]]:
        """Returns a snapshot of the policy: tensors by name, by adapter. Raises RunDamaged."""
        found = self.tensors(file)
        if not _are_tensors(found):
            raise FileDamaged(file, "it is no snapshot of adapters")
        return dict(found)

    def checkpoint(self, file: Path) -> dict[str, Any]:
        """Returns the content of a checkpoint: its `step` is that of the file, and `adapters` are
        tensors by name, by adapter. Raises RunDamaged."""
        found = self.tensors(file)
        if not isinstance(found, dict) or not _are_tensors(found.get("adapters")):
            raise FileDamaged(file, "it is no checkpoint", _ONE_BEFORE)
        if found.get("step") != number_in(file):
            reason = f"it is the checkpoint of step {found.get('step')!r}"
            raise FileDamaged(file, reason, _ONE_BEFORE)
        return found

    def adapters(self) -> dict[str, Path]:
        """Returns the folders of the trained adapters by name; none while a run goes on. Raises
        RunDamaged for one that leads elsewhere."""
        folders = sorted(path for path in (self.path / "adapters").glob("*") if path.is_dir())
        for folder in folders:
            for path in [folder, *folder.rglob("*")]:
                self._check_inside(path)
        return {folder.name: folder for folder in folders}

    def files(self, *paths: Path) -> Iterator[tuple[str, bytes]]:
        """Yields names in the folder, and the contents of files. Raises RunDamaged."""
        for path in paths:
            try:
                content = read_bytes(path, limit=MANY_TENSORS, below=self.path)
            except FileRefused as error:
                raise FileDamaged(path, error.reason) from error
            yield path.relative_to(self.path).as_posix(), content

    def game_file(self, info: Mapping[str, Any]) -> Path | None:
        """Returns the folder's copy of the game; None where there is none. Raises RunDamaged for
        one that leads elsewhere."""
        found = sorted((self.path / "game").glob("*.yaml"))
        for path in (self.path / "game").rglob("*"):
            self._check_inside(path)
        names = [Path(info["file"]).name if info.get("file") else "", f"{info.get('game')}.yaml"]
        named = (path for name in names for path in found if path.name == name)
        return next(named, found[0] if found else None)

    @cached_property
    def checksums(self) -> Checksums | None:
        """The checksums that the run noted; None of a run that noted none, as older ones. Raises
        RunDamaged."""
        file = self.path / CHECKSUMS
        try:
            return Checksums.read(self.path)
        except ChecksumsDamaged as error:
            raise FileDamaged(file, str(error), _as_it_is(self.path)) from error

    def misfits(self, chosen: Callable[[str], bool] = lambda name: True) -> dict[str, str]:
        """Returns the files that are not as the run wrote them, each with what is wrong; nothing
        for a run that noted no checksums. Raises RunDamaged."""
        if self.checksums is None:
            return {}

        def kept(name: str) -> bool:
            passing = name.partition("/")[0] in _PASSING and not _exists(self.path / name)
            return chosen(name) and not passing

        return self.checksums.misfits(kept)

    def require(self, chosen: Callable[[str], bool] = lambda name: True) -> None:
        """Raises RunDamaged where a file is not as the run wrote it."""
        if found := self.misfits(chosen):
            raise misfit(self.path, found)

    def text_of(self, name: str) -> str | None:
        """Returns the text of a file that describes the run; None where it cannot be read."""
        try:
            return self._text(self.path / name, MANY_BYTES)
        except FileDamaged:
            return None

    def _json(self, file: Path) -> dict[str, Any]:
        try:
            found = parse(read_bytes(file, limit=MANY_BYTES, below=self.path))
        except FileRefused as error:
            raise FileDamaged(file, error.reason) from error
        except JsonRefused as error:
            raise FileDamaged(file, str(error)) from error
        if not isinstance(found, dict):
            raise FileDamaged(file, "it is not a JSON object")
        return found

    def _lines(self, file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
        try:
            for number, record in parse_lines(self._whole_lines(file), limit=MANY_RECORDS):
                if not isinstance(record, dict):
                    raise FileDamaged(file, f"line {number} is not a JSON object")
                yield number, record
        except JsonRefused as error:
            raise FileDamaged(file, str(error)) from error

    def _whole_lines(self, file: Path) -> str:
        """Returns a text without a last line that was cut off."""
        text = self._text(file, MANY_RECORDS)
        return text[: text.rfind("\n") + 1]

    def _text(self, file: Path, limit: int) -> str:
        try:
            return read_text(file, limit=limit, below=self.path)
        except FileRefused as error:
            raise FileDamaged(file, error.reason) from error

    def check_links(self) -> None:
        """Raises RunDamaged where a part of the folder is a link that leads elsewhere: a resumed
        run writes and deletes in its parts."""
        for part in sorted(self.path.iterdir()):
            if part.is_symlink():
                self._check_inside(part)

    def _check_inside(self, path: Path) -> None:
        """Raises RunDamaged for a path that leads out of the folder, or to no file or folder."""
        try:
            real = resolve(path, self.path)
        except FileRefused as error:
            raise FileDamaged(path, error.reason) from error
        if not real.is_file() and not real.is_dir():
            raise FileDamaged(path, "it is not a regular file")


def open_saved(path: Path) -> SavedRun:
    """Returns a run folder. Raises RunDamaged if it is none."""
    run = SavedRun(path)
    lacking = [name for name in (INFO, RECIPE) if not _exists(path / name)]
    if len(lacking) == 2:
        raise RunDamaged(
            f"`{path}` is not a run folder: it has no {INFO} and {RECIPE}",
            "give the folder that `gamedsl train` printed, such as runs/stag_hunt-smollm2-135m-0-1",
        )
    if lacking:
        raise RunDamaged(
            f"`{path}` is not a whole run folder: it has no {lacking[0]}",
            "put back a copy of it; or, if the run was stopped as it began, delete the folder and "
            "train again",
        )
    return run


def misfit(path: Path, found: Mapping[str, str]) -> RunDamaged:
    """Returns the exception for files that are not as the run wrote them."""
    several = [f"{path / name} {fault}" for name, fault in sorted(found.items())]
    more = f"; so are {len(several) - 3} more" if len(several) > 3 else ""
    return RunDamaged("; ".join(several[:3]) + more, f"put back a copy, or {_as_it_is(path)}")


def settings_in(text: str | bytes) -> Any:
    """Returns the value of a YAML text of plain values. Raises ValueError, with the reason."""
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError, LookupError) as error:
        raise ValueError(_yaml_fault(error)) from error


def number_in(path: Path) -> int:
    """Returns the step in a file's name, `step-000020.pt`; -1 where there is none."""
    found = re.search(r"step-(\d{1,18})(?!\d)", path.name)
    return int(found.group(1)) if found else -1


def _as_it_is(path: Path) -> str:
    return f"go on with it as it is: gamedsl train --resume {path} --force"


def _exists(file: Path) -> bool:
    """Whether there is anything by this name, a broken link too."""
    return file.exists() or file.is_symlink()


def _are_tensors(adapters: Any) -> bool:
    """Whether a value is tensors by name, by adapter."""
    import torch

    return isinstance(adapters, dict) and all(
        isinstance(state, dict) and all(isinstance(x, torch.Tensor) for x in state.values())
        for state in adapters.values()
    )


def _whole(number: object) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and number >= 0


def _yaml_fault(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    said = getattr(error, "problem", None) or str(error) or type(error).__name__
    place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark is not None else ""
    return place + str(said).splitlines()[0][:200]


def _parts(file: Path, value: Any, depth: int) -> Iterator[int]:
    """Yields the depth of each value in a value. Raises FileDamaged for what no recipe holds."""
    yield depth
    if depth > _DEEP:
        raise FileDamaged(file, "its settings are nested too deep")
    if isinstance(value, dict):
        for key, part in value.items():
            if not isinstance(key, str):
                raise FileDamaged(file, f"the setting {json.dumps(str(key))} is not a name")
            yield from _parts(file, part, depth + 1)
    elif isinstance(value, list):
        for part in value:
            yield from _parts(file, part, depth + 1)
    elif not isinstance(value, str | int | float | bool | None):
        raise FileDamaged(file, f"it holds a {type(value).__name__}, which no setting is")
