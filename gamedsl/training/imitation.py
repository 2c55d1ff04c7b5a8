"""Supervised warm-up: before the first step, the policy learns to do as a player does.

The loss is the cross-entropy of the policy with the player's odds, the mean over distinct prompts:
each counts once, however many games came to it, so that rare positions are learned like frequent
ones. Mini-batches go through the policy's own backward pass, in its bounded memory. After each pass
over the prompts the fit is measured on games that were held out; the best adapters are kept, and
the fit ends early when these do not improve.

What a policy does wrong leads it where the player never was. So with `warm_up.rounds` it plays the
next games itself, the player says what it would have done at every prompt, and the policy goes on
learning from all that there is now (DAgger: Ross et al. 2011).

Shape letters: A labels of a query.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from gamedsl.policies.base import Policy
from gamedsl.recipe.table import Recipe, file_of
from gamedsl.training.checkpoint import adapters_of, put_back
from gamedsl.training.errors import TrainError
from gamedsl.training.imitation_data import Fit, ImitationDataset, datasets_of
from gamedsl.training.optimizer import clip_gradients
from gamedsl.training.rollout import generator
from gamedsl.training.seats import SeatAssignment

if TYPE_CHECKING:
    from gamedsl.runtime import Env, Game

Record = dict[str, Any]
HELD_OUT = 512
"""Prompts that are held out, at most."""
_BETAS = (0.9, 0.98)
_RISING = 0.05
"""Share of the optimiser steps over which the rate rises to `warm_up.lr`; then it falls to 0 as a
cosine does."""


def imitate(
    game: Game,
    env: Env,
    recipe: Recipe,
    seating: SeatAssignment,
    policy: Policy,
    parameters: Sequence[torch.nn.Parameter],
    *,
    tell: Callable[[Record], None] = lambda record: None,
    asked_to_stop: Callable[[], bool] = lambda: False,
) -> Record | None:
    """Warms a policy up, round by round. Returns its part of the start record: `before` is of the
    first round, `epochs` are those of all, and what is held out grows with each.

    Returns None where it was asked to stop. Raises TrainError.
    """
    learned, held_out = datasets_of(game, env, recipe, seating, policy)
    epochs, whole = list[Record](), Record()
    for number in range(1, rounds_of(recipe) + 1):
        if number > 1:
            more = datasets_of(game, env, recipe, seating, policy, number)
            learned.take(more[0])
            held_out.take(more[1])
        record = warm_up(
            policy, learned, held_out, recipe, parameters,
            tell=tell, asked_to_stop=asked_to_stop, first=len(epochs) + 1,
        )  # fmt: skip
        if record is None:
            return None
        epochs += record["epochs"]
        whole = record | {"before": whole.get("before", record["before"]), "epochs": epochs}
    return whole


def rounds_of(recipe: Recipe) -> int:
    """Returns how often games are played: once for files, which do not say what else their players
    would have done."""
    return 1 if all(file_of(name) for name in recipe.experts) else recipe.warm_up.rounds


def warm_up(
    policy: Policy,
    dataset: ImitationDataset,
    held_out: ImitationDataset,
    recipe: Recipe,
    parameters: Sequence[torch.nn.Parameter],
    *,
    tell: Callable[[Record], None] = lambda record: None,
    asked_to_stop: Callable[[], bool] = lambda: False,
    first: int = 1,
) -> Record | None:
    """Fits the policy to a dataset by its `parameters` that are trained. Returns its part of the
    start record. `tell` hears of each epoch; `first` is the number of the first one.

    Returns None where it was asked to stop. The optimiser is thrown away: training starts with a
    fresh one. Raises TrainError where it diverges.
    """
    plan = recipe.warm_up
    measured = (held_out if len(held_out) else dataset).subset(HELD_OUT)
    optimizer = torch.optim.AdamW(
        parameters, lr=plan.lr, betas=_BETAS, weight_decay=recipe.weight_decay
    )
    batches = math.ceil(len(dataset) / plan.batch)
    best, best_epoch = measured.fit(policy), 0
    before, kept, epochs = best, adapters_of(policy), list[Record]()
    for epoch in range(1, plan.epochs + 1):
        order = (
            generator(recipe.seed, first - 1 + epoch, "warm-up, order")
            .permutation(len(dataset))
            .tolist()
        )
        total = 0.0
        for number in range(batches):
            if asked_to_stop():
                return None
            chosen = order[number * plan.batch : (number + 1) * plan.batch]
            rate = _rate((epoch - 1) * batches + number, plan.epochs * batches)
            for group in optimizer.param_groups:
                group["lr"] = plan.lr * rate
            optimizer.zero_grad()
            total += len(chosen) * dataset.learn(policy, chosen)
            clip_gradients(policy, recipe.max_grad_norm)
            optimizer.step()
        now = measured.fit(policy)
        loss = total / len(dataset)
        epochs.append({"loss": loss, **_fit_fields(now)})
        tell({"event": "warm_up", "epoch": first - 1 + epoch, **epochs[-1]})
        if not math.isfinite(loss):
            raise TrainError(f"the warm-up diverged: its loss is {loss:g}", "lower `warm_up.lr`")
        if now.loss < best.loss:
            best, best_epoch, kept = now, epoch, adapters_of(policy)
        elif epoch - best_epoch >= plan.patience:
            break
    put_back(policy, kept)
    optimizer.zero_grad()
    return {
        "expert": _named(recipe), "games": dataset.games, "prompts": len(dataset),
        "held_out_games": held_out.games, "held_out_prompts": min(len(held_out), HELD_OUT),
        "before": _fit_fields(before), "after": _fit_fields(best), "best_epoch": best_epoch,
        "epochs": epochs,
    }  # fmt: skip


def described(recipe: Recipe) -> str:
    """Returns a description of a warm-up in words."""
    plan, experts = recipe.warm_up, recipe.experts
    if not experts:
        return "none"
    what = _named(recipe)
    if not all(map(file_of, experts)):
        what = f"{plan.games:,} games of {what}"
        what += "" if plan.opponents is None else f" against {plan.opponents}"
        what += f", {plan.explore:.0%} of its moves random" if plan.explore else ""
        what += f"; as many of the policy, {plan.rounds - 1} times" if plan.rounds > 1 else ""
    what += f"; those that earned {plan.reward:g} or more" if plan.reward is not None else ""
    return f"{what}; at most {plan.epochs} epochs"


def _named(recipe: Recipe) -> str:
    """Returns what is imitated: by all roles, and by those that have an expert of their own."""
    usual = [] if recipe.warm_up.expert is None else [recipe.warm_up.expert]
    own = {one.role: one.expert for one in recipe.roles if one.expert is not None}
    own = {role: "nothing" if name == "none" else name for role, name in own.items()}
    return "; ".join([*usual, *(f"{name} as {role}" for role, name in own.items())])


def _fit_fields(fit: Fit) -> Record:
    return {f"held_out_{name}": value for name, value in vars(fit).items()}


def _rate(step: int, steps: int) -> float:
    """Returns the factor of the rate at a step (from 0)."""
    rising = max(round(_RISING * steps), 1)
    if step < rising:
        return (step + 1) / rising
    return (1 + math.cos(math.pi * (step - rising) / max(steps - rising, 1))) / 2
