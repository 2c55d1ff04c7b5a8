"""The state training starts from: a run's last checkpoint, or its beginning, warm start
included."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from gamedsl.ir.recipe import Recipe
from gamedsl.policies.base import Policy
from gamedsl.train import checkpoint as checkpoints
from gamedsl.train.checkpoint import Adapters, Checkpoint, adapters_of, put_back
from gamedsl.train.errors import TrainError
from gamedsl.train.gauge import Gauge
from gamedsl.train.runfolder import RunFolder
from gamedsl.train.warm_start import Fitted, warm_start


@dataclass(frozen=True)
class Beginning:
    """`step` steps are done; `reference` as `Checkpoint` has it; `warm` says how a warm start
    went."""

    step: int
    reference: Adapters
    warm: Fitted | None = None


def begin(
    run: RunFolder, recipe: Recipe, policy: Policy, optimizer: torch.optim.Optimizer, gauge: Gauge
) -> Beginning:
    """Put policy, optimiser and run folder into the state of the last checkpoint, or of step 0.

    Raises TrainError.
    """
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
    return Beginning(0, adapters_of(policy) if recipe.kl else {}, warm)


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
    return Beginning(found.step, found.reference)
