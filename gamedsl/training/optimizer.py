"""The optimiser of a run: its parameters, its learning rate, and the size of its gradient."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn

from gamedsl.collector import collector_paused
from gamedsl.policies.base import Policy
from gamedsl.policies.multi_model import models_of
from gamedsl.recipe.table import Recipe
from gamedsl.training.errors import TrainError
from gamedsl.training.seats import SeatAssignment

SHARE = "share"
"""The key of a parameter group's learning rate, as a share of the run's."""


def trained_parameters(policy: Policy, seating: SeatAssignment) -> list[nn.Parameter]:
    """Returns the parameters of the adapters that are trained: no optimiser has the others."""
    adapters = _trained_adapters(policy, seating)
    if len(adapters) == len(policy.adapters):
        return policy.parameters()
    return [parameter for name in adapters for parameter in policy.parameters(name)]


def optimizer_of(policy: Policy, seating: SeatAssignment, recipe: Recipe) -> torch.optim.AdamW:
    """Returns a fresh optimiser, with a group of parameters for each learning rate."""
    adapters = _trained_adapters(policy, seating)
    shares = {name: seating.rates.get(name, 1.0) for name in adapters}
    groups: list[dict[str, Any]] = [{"params": trained_parameters(policy, seating), SHARE: 1.0}]
    if set(shares.values()) != {1.0}:
        groups = [
            {"params": [p for name in adapters if shares[name] == share
                        for p in policy.parameters(name)], SHARE: share}
            for share in dict.fromkeys(shares.values())
        ]  # fmt: skip
    with collector_paused():  # the first optimizer of a process imports torch._dynamo
        optimizer = torch.optim.AdamW(
            groups, lr=recipe.lr, betas=recipe.betas, weight_decay=recipe.weight_decay
        )
    set_lr(optimizer, recipe.lr)
    return optimizer


def set_lr(optimizer: torch.optim.Optimizer, lr: float) -> None:
    """Sets the run's learning rate; roles with a rate of their own keep their share of it."""
    for group in optimizer.param_groups:
        group["lr"] = lr * group.get(SHARE, 1.0)


def learning_rate(recipe: Recipe, step: int) -> float:
    """Returns the rate of a step (from 1): it rises in `lr_warm_up` steps, is `lr` at the next, and
    near zero at the last unless constant."""
    rising = recipe.lr_warm_up
    if step <= rising:
        return recipe.lr * step / (rising + 1)
    done = (step - 1 - rising) / (recipe.steps - rising)
    match recipe.lr_schedule:
        case "linear":
            return recipe.lr * (1 - done)
        case "cosine":
            return recipe.lr * (1 + math.cos(math.pi * done)) / 2
        case "constant":
            return recipe.lr


def between(ends: tuple[float, float], step: int, steps: int) -> float:
    """Returns the number of a step (from 1) on the straight line from the first step's to the
    last's."""
    first, last = ends
    return first + (last - first) * (step - 1) / max(steps - 1, 1)


def require_finite(loss: float, norm: float) -> None:
    """Raises TrainError unless both are numbers."""
    if not math.isfinite(loss + norm):
        raise diverged(f"the loss is {loss:g} and its gradient {norm:g}")


def diverged(what: str) -> TrainError:
    """Returns the error of a training whose numbers are none any more."""
    return TrainError(
        f"training diverged: {what}",
        "resume from the last checkpoint's folder with a new run at a lower `lr`",
    )


def clip_gradients(policy: Policy, most: float) -> float:
    """Scales the gradient of each model down to a norm of at most `most`, so that none is smaller
    for what another has to learn. Returns the norm of all as it was."""
    norms = [nn.utils.clip_grad_norm_(one.parameters(), most) for one in models_of(policy)]
    return math.hypot(*map(float, norms))


def _trained_adapters(policy: Policy, seating: SeatAssignment) -> list[str]:
    trained = {seating.adapter(role) for role in seating.learners}
    return [name for name in policy.adapters if name in trained]
