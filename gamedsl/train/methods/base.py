"""What all methods are given, what they are asked for, and the steps that two of them share."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import nn

from gamedsl.policies.base import Policy, Query
from gamedsl.policies.multi_model import models_of
from gamedsl.recipe.table import Recipe
from gamedsl.train.advantages import Weights
from gamedsl.train.errors import TrainError
from gamedsl.train.losses import Loss, backward
from gamedsl.train.reference import Reference
from gamedsl.train.scoring import Scorer

Record = dict[str, Any]

SHORTENED, SHORTER = 8, 0.95
"""How often a step that changed log-odds too much is shortened, and the margin that is left."""


SHARE = "share"
"""What a group of an optimiser's parameters calls its learning rate over that of the run."""


@dataclass(frozen=True)
class Learner:
    """A policy and what it takes to change it. `known` are all decisions of a small game, and
    empty for a larger one. A method never sees the game, nor anything that was solved for it."""

    policy: Policy
    optimizer: torch.optim.Optimizer
    scorer: Scorer
    reference: Reference
    recipe: Recipe
    known: Sequence[Query] = ()

    def set_lr(self, lr: float) -> None:
        set_lr(self.optimizer, lr)

    def scores(self, queries: Sequence[Query]) -> list[torch.Tensor]:
        """log pi [labels] of each as the policy gives it, scored now if need be; on the CPU."""
        self.scorer.score(queries)
        return [self.scorer.log_pi(query) for query in queries]

    def hold(self, held: Collection[str]) -> None:
        """Have the optimiser's next step leave these adapters as they are."""
        for name in held:
            for parameter in self.policy.parameters(name):
                parameter.grad = None

    def played(self, log_pi: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """Scores of the policy as log-probabilities of what is played."""
        warmth = self.recipe.temperature
        return list(log_pi) if warmth == 1 else [(one / warmth).log_softmax(0) for one in log_pi]


class Method(Protocol):
    """A way to learn. Its numbers follow from the recipe, the step and `state` alone."""

    def update(
        self, queries: Sequence[Query], weights: Weights, step: int, held: Collection[str] = ()
    ) -> Record:
        """Change the policy by one step's games; `weights` is parallel to `queries`, which the
        scorer has scored. The adapters `held` stay as they are. Returns what the step's record says
        of it. The scorer then holds nothing but scores of the new policy. Raises TrainError where
        numbers are none."""
        ...

    def state(self) -> dict[str, Any]:
        """What a checkpoint must hold of it: numbers and tensors."""
        ...

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from what `state` returned."""
        ...


def learning_rate(recipe: Recipe, step: int) -> float:
    """The rate of a step (from 1): `lr` at the first, and near zero at the last unless
    constant."""
    done = (step - 1) / recipe.steps
    match recipe.lr_schedule:
        case "linear":
            return recipe.lr * (1 - done)
        case "cosine":
            return recipe.lr * (1 + math.cos(math.pi * done)) / 2
    return recipe.lr


def set_lr(optimizer: torch.optim.Optimizer, lr: float) -> None:
    """Have the next steps go at a rate, and those of roles with a rate of their own at as much more
    or less as they always do."""
    for group in optimizer.param_groups:
        group["lr"] = lr * group.get(SHARE, 1.0)


def between(ends: tuple[float, float], step: int, steps: int) -> float:
    """The number of a step (from 1) on the straight line from the first step's to the last's."""
    first, last = ends
    return first + (last - first) * (step - 1) / max(steps - 1, 1)


def finite(loss: float, norm: float) -> None:
    """Raises TrainError unless both are numbers."""
    if not math.isfinite(loss + norm):
        raise TrainError(
            f"training diverged: the loss is {loss:g} and its gradient {norm:g}",
            "resume from the last checkpoint's folder with a new run at a lower `lr`",
        )


def clip(policy: Policy, most: float) -> float:
    """Scale the gradient of each model down to a norm of at most `most`, so that none is smaller
    for what another has to learn. Returns the norm of all as it was."""
    norms = [nn.utils.clip_grad_norm_(one.parameters(), most) for one in models_of(policy)]
    return math.hypot(*map(float, norms))


def idle(scorer: Scorer) -> Record:
    """A step in which no game counted: nothing is changed."""
    scorer.forget()
    return {"loss": 0.0, "grad_norm": 0.0}


def descend(
    learner: Learner, queries: Sequence[Query], loss: Loss, step: int, held: Collection[str] = ()
) -> Record:
    """`inner_steps` optimiser steps on a loss, the adapters `held` left as they are; returns the
    last one's loss and gradient norm (before clipping), and the rate."""
    recipe, policy, optimizer = learner.recipe, learner.policy, learner.optimizer
    lr = learning_rate(recipe, step)
    learner.set_lr(lr)
    old_A = [learner.scorer.log_pi(query) for query in queries]
    graphs = learner.scorer.graphs(queries)
    value = norm = 0.0
    for inner in range(recipe.inner_steps):
        optimizer.zero_grad()
        if inner == 0 and graphs is not None:
            total = loss(graphs)
            torch.autograd.backward(total)
            value = float(total.detach())
        else:
            value = backward(policy, queries, loss, old_A if inner == 0 else None)
        learner.hold(held)
        norm = clip(policy, recipe.max_grad_norm)
        finite(value, norm)
        if recipe.max_change is None:
            optimizer.step()
        else:
            short_step(learner, queries, recipe.max_change)
    learner.scorer.forget()
    return {"loss": value, "grad_norm": norm, "lr": lr}


def short_step(learner: Learner, queries: Sequence[Query], most: float) -> None:
    """The optimiser's step, shortened until the log-odds of no two actions at any of `queries` have
    changed by more than `most`. The scorer then holds scores of the new policy."""
    before = [parameter.detach().clone() for parameter in learner.policy.parameters()]
    was = [log_pi.double() for log_pi in learner.played(learner.scores(queries))]
    learner.optimizer.step()
    for _ in range(SHORTENED):
        learner.scorer.forget()
        now = learner.played(learner.scores(queries))
        moves = [log_pi.double() - then for log_pi, then in zip(now, was, strict=True)]
        widest = max(float(move.max() - move.min()) for move in moves)
        if widest <= most:
            return
        with torch.no_grad():
            for parameter, then in zip(learner.policy.parameters(), before, strict=True):
                parameter.lerp_(then, 1 - SHORTER * most / widest)
    learner.scorer.forget()
