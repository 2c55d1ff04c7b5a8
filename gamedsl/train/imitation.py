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
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch

from gamedsl.policies.base import Policy, Query
from gamedsl.recipe.table import Recipe, WarmUp
from gamedsl.train.cast import Cast
from gamedsl.train.checkpoint import adapters_of, put_back
from gamedsl.train.errors import TrainError
from gamedsl.train.lessons import Lessons, gather, read_lessons
from gamedsl.train.methods.base import clip
from gamedsl.train.rollout import generator

if TYPE_CHECKING:
    from gamedsl.players.base import Player
    from gamedsl.runtime import Env, Game

Record = dict[str, Any]
FILE = "file:"
HELD_OUT = 512
"""Prompts that are held out, at most."""
_BETAS = (0.9, 0.98)
_RISING = 0.05
"""Share of the optimiser steps over which the rate rises to `warm_up.lr`; then it falls to 0 as a
cosine does."""


class Fit(Protocol):
    """How near a policy is to what a player does; all fields are told."""

    @property
    def loss(self) -> float:
        """Cross-entropy, in nats; the warm-up ends when this no longer falls."""
        ...


class Taught(Protocol):
    """What a player does, as it is learned: prompts, or chats, by number."""

    @property
    def games(self) -> int: ...

    def __len__(self) -> int: ...

    def few(self, most: int) -> Taught:
        """At most so many of them, without preference."""
        ...

    def learn(self, policy: Policy, chosen: Sequence[int]) -> float:
        """Add the gradient of the loss on some of them to the adapters; returns the loss."""
        ...

    def fit(self, policy: Policy) -> Fit:
        """How near a policy is to them."""
        ...


def imitate(
    game: Game,
    env: Env,
    recipe: Recipe,
    cast: Cast,
    policy: Policy,
    parameters: Sequence[torch.nn.Parameter],
    *,
    tell: Callable[[Record], None] = lambda record: None,
    asked_to_stop: Callable[[], bool] = lambda: False,
) -> Record | None:
    """A whole warm-up, round by round; what the start record says of it: `before` is of the first
    round, `epochs` are those of all, and what is held out grows with each.

    None where it was asked to stop. Raises TrainError.
    """
    learnt, held_out = lessons_of(game, env, recipe, cast)
    epochs, told = list[Record](), Record()
    for number in range(1, rounds_of(recipe.warm_up) + 1):
        if number > 1:
            more = lessons_of(game, env, recipe, cast, number, policy)
            learnt.take(more[0])
            held_out.take(more[1])
        record = warm_up(
            policy, learnt, held_out, recipe, parameters,
            tell=tell, asked_to_stop=asked_to_stop, first=len(epochs) + 1,
        )  # fmt: skip
        if record is None:
            return None
        epochs += record["epochs"]
        told = record | {"before": told.get("before", record["before"]), "epochs": epochs}
    return told


def rounds_of(plan: WarmUp) -> int:
    """How often games are played; of games in a file nobody says what else would have been done."""
    return 1 if (plan.expert or "").startswith(FILE) else plan.rounds


def lessons_of(
    game: Game, env: Env, recipe: Recipe, cast: Cast, number: int = 1, policy: Policy | None = None
) -> tuple[Lessons, Lessons]:
    """What the roles that are trained learn in a round, and what is held out: games of the recipe's
    expert, or those of a file; or of the `policy`, in the expert's place.

    Raises TrainError.
    """
    plan = recipe.warm_up
    assert plan.expert is not None, "there is no warm-up"
    if plan.expert.startswith(FILE):
        file = Path(plan.expert.removeprefix(FILE)).expanduser()
        learnt, kept = read_lessons(file, game, env, cast, plan.held_out)
        return learnt, kept
    holders, taught = holders_of(game, recipe, cast)
    held = round(plan.games * plan.held_out)
    student = None if policy is None else partial(_played, policy, recipe.temperature)
    found = [
        gather(
            env, holders, taught, cast.adapter,
            generator(recipe.seed, number - 1, f"warm-up, {purpose}"),
            games=games, explore=plan.explore, student=student,
        )
        for purpose, games in (("learned", plan.games - held), ("held out", held))
    ]  # fmt: skip
    return found[0], found[1]


def warm_up(
    policy: Policy,
    lessons: Taught,
    held_out: Taught,
    recipe: Recipe,
    parameters: Sequence[torch.nn.Parameter],
    *,
    tell: Callable[[Record], None] = lambda record: None,
    asked_to_stop: Callable[[], bool] = lambda: False,
    first: int = 1,
) -> Record | None:
    """Fit the policy to lessons by its `parameters` that are trained; what the start record says of
    it. `tell` hears of each epoch; `first` is the number of the first one.

    None where it was asked to stop. The optimiser is thrown away: training starts with a fresh one.
    """
    plan = recipe.warm_up
    measured = (held_out if len(held_out) else lessons).few(HELD_OUT)
    optimizer = torch.optim.AdamW(
        parameters, lr=plan.lr, betas=_BETAS, weight_decay=recipe.weight_decay
    )
    batches = math.ceil(len(lessons) / plan.batch)
    best, best_epoch = measured.fit(policy), 0
    before, kept, epochs = best, adapters_of(policy), list[Record]()
    for epoch in range(1, plan.epochs + 1):
        order = (
            generator(recipe.seed, first - 1 + epoch, "warm-up, order")
            .permutation(len(lessons))
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
            total += len(chosen) * lessons.learn(policy, chosen)
            clip(policy, recipe.max_grad_norm)
            optimizer.step()
        now = measured.fit(policy)
        loss = total / len(lessons)
        epochs.append({"loss": loss, **_held_out(now)})
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
        "expert": plan.expert, "games": lessons.games, "prompts": len(lessons),
        "held_out_games": held_out.games, "held_out_prompts": min(len(held_out), HELD_OUT),
        "before": _held_out(before), "after": _held_out(best), "best_epoch": best_epoch,
        "epochs": epochs,
    }  # fmt: skip


def _played(policy: Policy, temperature: float, queries: Sequence[Query]) -> list[np.ndarray]:
    """The probabilities [labels] with which a policy's moves are drawn, float64."""
    scores = policy.log_probs(queries)
    return [(log_pi.double() / temperature).softmax(0).cpu().numpy() for log_pi in scores]


def described(plan: WarmUp) -> str:
    """A warm-up that is to be, in words."""
    if plan.expert is None:
        return "none"
    if plan.expert.startswith(FILE):
        what = f"the games of {plan.expert.removeprefix(FILE)}"
    else:
        against = "" if plan.opponents is None else f" against {plan.opponents}"
        what = f"{plan.games:,} games of {plan.expert}{against}"
        what += f", {plan.explore:.0%} of its moves random" if plan.explore else ""
        what += f"; as many of the policy, {plan.rounds - 1} times" if plan.rounds > 1 else ""
    return f"{what}; at most {plan.epochs} epochs"


def holders_of(
    game: Game, recipe: Recipe, cast: Cast
) -> tuple[list[dict[str, Player]], list[frozenset[str]]]:
    """Who holds the seats, and whose moves are lessons: the expert in every seat that has no player
    of its own; or, where it has opponents, in one seat after another."""
    from gamedsl.players.base import PlayerError
    from gamedsl.players.table import open_player

    plan, role_of = recipe.warm_up, game.ir.role_of
    assert plan.expert is not None, "there is no warm-up"
    taught = [seat for seat in game.ir.seats if role_of[seat] in cast.learners]
    try:
        expert = open_player(plan.expert, game, seed=recipe.seed, budget=cast.budget)
        if plan.opponents is None:
            return [_seated(game, cast, expert)], [frozenset(taught)]
        other = open_player(plan.opponents, game, seed=recipe.seed + 1, budget=cast.budget)
    except PlayerError as error:
        raise TrainError(error.message, error.help) from error
    holders = [_seated(game, cast, other) | {seat: expert} for seat in taught]
    return holders, [frozenset({seat}) for seat in taught]


def _seated(game: Game, cast: Cast, player: Player) -> dict[str, Player]:
    """A player in all seats that have none of their own, those of referees too."""
    role_of = game.ir.role_of
    return {seat: cast.players.get(role_of[seat], player) for seat in game.ir.everyone}


def _held_out(fit: Fit) -> Record:
    return {f"held_out_{name}": value for name, value in vars(fit).items()}


def _rate(step: int, steps: int) -> float:
    """What the rate is multiplied by at a step (from 0)."""
    rising = max(round(_RISING * steps), 1)
    if step < rising:
        return (step + 1) / rising
    return (1 + math.cos(math.pi * (step - rising) / max(steps - rising, 1))) / 2
