"""The state training starts from: a run's last checkpoint, or its beginning, warm start
included."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch

from gamedsl.ir.recipe import Recipe
from gamedsl.policies.base import Policy
from gamedsl.train import checkpoint as checkpoints
from gamedsl.train.cast import Cast
from gamedsl.train.checkpoint import Checkpoint, adapters_of, put_back
from gamedsl.train.errors import TrainError
from gamedsl.train.gauge import Gauge
from gamedsl.train.reference import Reference
from gamedsl.train.runfolder import RunFolder
from gamedsl.train.warm_start import Fitted, warm_start


@dataclass(frozen=True)
class Beginning:
    """`step` steps are done; `warm` says how a warm start went."""

    step: int
    optimizer: torch.optim.Optimizer
    reference: Reference
    """The policy that training started from."""
    warm: Fitted | None = None
    parts: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What the parts of the loop kept; empty at the beginning."""


def begin(run: RunFolder, recipe: Recipe, policy: Policy, gauge: Gauge, cast: Cast) -> Beginning:
    """Put policy and run folder into the state of the last checkpoint, or of step 0.

    Raises TrainError.
    """
    optimizer = torch.optim.AdamW(
        learning(policy, cast), lr=recipe.lr, betas=recipe.betas, weight_decay=recipe.weight_decay
    )
    found = checkpoints.latest(run)
    if found is not None:
        return _go_on(run, found, policy, optimizer)
    run.rewind(None)
    warm = None
    if recipe.start or recipe.prior == "uniform":
        if not gauge.known:
            raise TrainError(
                "a warm start needs a game whose decisions can be listed; here they are too many",
                "leave `start` and `prior` out, or lower the game's params",
            )
        warm = warm_start(policy, recipe, gauge.queries, gauge.places)
    reference = Reference(policy, adapters_of(policy) if recipe.kl else {})
    return Beginning(0, optimizer, reference, warm)


def learning(policy: Policy, cast: Cast) -> list[torch.nn.Parameter]:
    """The parameters of the adapters that are trained: no optimiser has the others."""
    adapters = {cast.adapter(role) for role in cast.learners}
    if adapters == set(policy.adapters):
        return policy.parameters()
    names = [name for name in policy.adapters if name in adapters]
    return [parameter for name in names for parameter in policy.parameters(name)]


def _go_on(
    run: RunFolder, found: Checkpoint, policy: Policy, optimizer: torch.optim.Optimizer
) -> Beginning:
    try:
        put_back(policy, found.adapters)
        optimizer.load_state_dict(found.optimizer)
    except (KeyError, ValueError) as error:
        raise TrainError(
            f"the checkpoint of `{run.path}` does not fit the model: {error}",
            "resume with the model and the adapters that the run was started with",
        ) from error
    run.rewind(found.step)
    reference = Reference(policy, found.reference)
    return Beginning(found.step, optimizer, reference, parts=found.parts)
