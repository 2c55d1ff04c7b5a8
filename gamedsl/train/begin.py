"""The state training starts from: a run's last checkpoint, or its beginning, warm start
and warm-up included."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from gamedsl.policies.base import Policy
from gamedsl.recipe.table import Recipe
from gamedsl.train import checkpoint as checkpoints
from gamedsl.train.cast import Cast
from gamedsl.train.checkpoint import Checkpoint, adapters_of, put_back
from gamedsl.train.errors import TrainError
from gamedsl.train.gauge import Gauge
from gamedsl.train.imitation import imitate
from gamedsl.train.methods.base import SHARE, set_lr
from gamedsl.train.reference import Reference
from gamedsl.train.runfolder import RunFolder
from gamedsl.train.warm_start import Fitted, warm_start

if TYPE_CHECKING:
    from gamedsl.runtime import Env, Game


@dataclass(frozen=True)
class Beginning:
    """`step` steps are done; `warm` says how a warm start went, `imitated` how a warm-up did."""

    step: int
    optimizer: torch.optim.Optimizer
    reference: Reference
    """The policy that training started from."""
    warm: Fitted | None = None
    imitated: dict[str, Any] | None = None
    parts: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What the parts of the loop kept; empty at the beginning."""

    @property
    def told(self) -> dict[str, Any]:
        """What the start record says of a warm-up; nothing where there was none."""
        return {} if self.imitated is None else {"warm_up": self.imitated}


def begin(
    game: Game,
    env: Env,
    run: RunFolder,
    recipe: Recipe,
    policy: Policy,
    gauge: Gauge,
    cast: Cast,
    *,
    tell: Callable[[dict[str, Any]], None],
    asked_to_stop: Callable[[], bool],
) -> Beginning | None:
    """Put policy and run folder into the state of the last checkpoint, or of step 0.

    `tell` hears of each epoch of a warm-up; None where that was asked to stop, and must begin anew.
    Raises TrainError.
    """
    optimizer = optimizer_of(policy, cast, recipe)
    found = checkpoints.latest(run)
    if found is not None:
        take_up(run, found, policy, optimizer)
        reference = Reference(policy, found.reference)
        return Beginning(found.step, optimizer, reference, parts=found.parts)
    run.rewind(None)
    warm = imitated = None
    if recipe.warm_up.expert is not None:
        imitated = imitate(
            game, env, recipe, cast, policy, learning(policy, cast),
            tell=tell, asked_to_stop=asked_to_stop,
        )  # fmt: skip
        if imitated is None:
            return None
    if recipe.start or recipe.prior == "uniform":
        if not gauge.known:
            raise TrainError(
                "a warm start needs a game whose decisions can be listed; here they are too many",
                "leave `start` and `prior` out, or lower the game's params",
            )
        warm = warm_start(policy, recipe, gauge.queries, gauge.places)
    reference = Reference(policy, adapters_of(policy) if recipe.kl else {})
    return Beginning(0, optimizer, reference, warm, imitated)


def learning(policy: Policy, cast: Cast) -> list[torch.nn.Parameter]:
    """The parameters of the adapters that are trained: no optimiser has the others."""
    adapters = _learning(policy, cast)
    if len(adapters) == len(policy.adapters):
        return policy.parameters()
    return [parameter for name in adapters for parameter in policy.parameters(name)]


def _learning(policy: Policy, cast: Cast) -> list[str]:
    trained = {cast.adapter(role) for role in cast.learners}
    return [name for name in policy.adapters if name in trained]


def optimizer_of(policy: Policy, cast: Cast, recipe: Recipe) -> torch.optim.AdamW:
    """The optimiser of a run, fresh: a group of parameters for each learning rate, `SHARE` of the
    run's."""
    adapters = _learning(policy, cast)
    shares = {name: cast.rates.get(name, 1.0) for name in adapters}
    groups: list[dict[str, Any]] = [{"params": learning(policy, cast), SHARE: 1.0}]
    if set(shares.values()) != {1.0}:
        groups = [
            {"params": [p for name in adapters if shares[name] == share
                        for p in policy.parameters(name)], SHARE: share}
            for share in dict.fromkeys(shares.values())
        ]  # fmt: skip
    optimizer = torch.optim.AdamW(
        groups, lr=recipe.lr, betas=recipe.betas, weight_decay=recipe.weight_decay
    )
    set_lr(optimizer, recipe.lr)
    return optimizer


def take_up(
    run: RunFolder, found: Checkpoint, policy: Policy, optimizer: torch.optim.Optimizer
) -> None:
    """Put policy, optimiser and run folder into the state of a checkpoint. Raises TrainError."""
    try:
        put_back(policy, found.adapters)
        optimizer.load_state_dict(found.optimizer)
    except (KeyError, ValueError) as error:
        raise TrainError(
            f"the checkpoint of `{run.path}` does not fit the model: {error}",
            "resume with the model and the adapters that the run was started with",
        ) from error
    run.rewind(found.step)
