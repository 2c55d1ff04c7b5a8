"""Checkpoints: the state of a run after a step, from which it goes on as if never stopped.

A checkpoint is one file. It is written beside its place and renamed into it, so that a kill at any
moment leaves the previous ones whole. It holds the step, the adapters, the optimiser's state, what
each part of the loop keeps, and, where the objective has a reference policy, the adapters that
training started from. Random numbers are keyed by the step and the learning rate is a function of
it, so neither needs state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import torch

from gamedsl.policies.base import Policy
from gamedsl.runs.errors import FileDamaged
from gamedsl.runs.saved import SavedRun
from gamedsl.storage import writer
from gamedsl.storage.checksums import Beginning
from gamedsl.storage.writer import write_atomically
from gamedsl.training.runfolder import RunFolder

FORMAT = 3
_READ = (2, 3)
"""Formats that are read: 2 does not say what metrics there were."""

Adapters = dict[str, dict[str, torch.Tensor]]


@dataclass(frozen=True)
class Checkpoint:
    """The state after `step` steps. `reference` is empty where the objective needs none, and
    `parts` is what `state_of` gave. `metrics` are the size and checksum of the metrics so far, once
    it is saved."""

    step: int
    hash: str
    adapters: Adapters
    optimizer: dict[str, Any]
    reference: Adapters
    parts: dict[str, dict[str, Any]] = field(default_factory=dict)
    metrics: Beginning | None = None


class Lasting(Protocol):
    """A part of the loop that keeps state from step to step."""

    def state(self) -> dict[str, Any]:
        """Returns what a checkpoint must hold of it: numbers, texts and tensors, in lists and
        maps."""
        ...

    def restore(self, state: dict[str, Any]) -> None:
        """Goes on from what `state` returned."""
        ...


def state_of(parts: Mapping[str, Lasting]) -> dict[str, dict[str, Any]]:
    """Returns the states of all parts, by name."""
    return {name: part.state() for name, part in parts.items()}


def restore(parts: Mapping[str, Lasting], kept: Mapping[str, dict[str, Any]]) -> None:
    """Lets all parts go on; `kept` is empty at the beginning of a run."""
    for name, state in kept.items():
        parts[name].restore(state)


def adapters_of(policy: Policy) -> Adapters:
    """Returns a copy of all adapters' tensors."""
    return {name: policy.adapter_state(name) for name in policy.adapters}


def put_back(policy: Policy, adapters: Adapters) -> None:
    """Gives a policy the adapters that were copied. Raises ValueError where they do not fit."""
    for name, state in adapters.items():
        policy.load_adapter_state(name, state)


def save(run: RunFolder, checkpoint: Checkpoint, keep: int) -> Path:
    """Writes a checkpoint, notes all that was written so far, then deletes all but the latest
    `keep`."""
    begun = run.begun_metrics()
    path = run.checkpoints / f"step-{checkpoint.step:06d}.pt"
    content = {"format": FORMAT, **vars(checkpoint), "metrics": vars(begun)}
    write_atomically(path, lambda new: write_tensors(new, content))
    run.note()
    for old in steps(run)[:-keep]:
        writer.unlink(old)
    return path


def write_tensors(path: Path, content: Any) -> None:
    """Writes tensors, in lists and maps, into a new file. Raises OSError."""
    try:
        with path.open("wb") as stream:
            torch.save(content, stream)
    except RuntimeError as error:
        if isinstance(error.__context__, OSError):  # torch says something else of a full disk
            raise error.__context__ from error
        raise


def steps(run: RunFolder) -> list[Path]:
    """Returns the checkpoints of a run, oldest first."""
    return run.saved.steps()


def latest(run: RunFolder) -> Checkpoint | None:
    """Returns the last checkpoint, or None where a run has none yet. Raises RunDamaged."""
    found = steps(run)
    return read(run.saved, found[-1]) if found else None


def read(run: SavedRun, file: Path) -> Checkpoint:
    """Returns a checkpoint of a run. Raises RunDamaged."""
    content = run.checkpoint(file)
    if content.pop("format", None) not in _READ:
        raise FileDamaged(
            file, "it was written by another version of gamedsl",
            "resume with the version that run.json names",
        )  # fmt: skip
    try:
        begun = content.pop("metrics", None)
        found = Checkpoint(**content)
        return found if begun is None else replace(found, metrics=Beginning(**begun))
    except TypeError as error:
        raise FileDamaged(file, f"it is no checkpoint: {error}") from error
