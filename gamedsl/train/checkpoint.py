"""Checkpoints: the state of a run after a step, from which it goes on as if never stopped.

A checkpoint is one file. It is written beside its place and renamed into it, so that a kill at any
moment leaves the previous ones whole. It holds the step, the adapters, the optimiser's state, what
each part of the loop keeps, and, where the objective has a reference policy, the adapters that
training started from. Random numbers are keyed by the step and the learning rate is a function of
it, so neither needs state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import torch

from gamedsl.policies.base import Policy
from gamedsl.train.errors import TrainError
from gamedsl.train.files import write_atomically
from gamedsl.train.runfolder import RunFolder, number_in

FORMAT = 2

Adapters = dict[str, dict[str, torch.Tensor]]


@dataclass(frozen=True)
class Checkpoint:
    """The state after `step` steps. `reference` is empty where the objective needs none, and
    `parts` is what `state_of` gave."""

    step: int
    hash: str
    adapters: Adapters
    optimizer: dict[str, Any]
    reference: Adapters
    parts: dict[str, dict[str, Any]] = field(default_factory=dict)


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
    """Writes a checkpoint, then deletes all but the latest `keep`."""
    run.sync_metrics()
    path = run.checkpoints / f"step-{checkpoint.step:06d}.pt"
    content = {"format": FORMAT, **vars(checkpoint)}
    write_atomically(path, lambda new: torch.save(content, new))
    for old in steps(run)[:-keep]:
        old.unlink(missing_ok=True)
    return path


def steps(run: RunFolder) -> list[Path]:
    """Returns the checkpoints of a run, oldest first."""
    return sorted(run.checkpoints.glob("step-*.pt"), key=number_in)


def latest(run: RunFolder) -> Checkpoint | None:
    """Returns the last checkpoint, or None where a run has none yet. Raises TrainError."""
    found = steps(run)
    if not found:
        return None
    try:
        content = torch.load(found[-1], map_location="cpu", weights_only=True)
    except Exception as error:
        raise TrainError(
            f"{found[-1]} cannot be read: {error}", "delete it to go on from the one before"
        ) from error
    if content.pop("format", None) != FORMAT:
        raise TrainError(
            f"{found[-1]} was written by another version of gamedsl",
            "resume with the version that run.json names",
        )
    return Checkpoint(**content)
