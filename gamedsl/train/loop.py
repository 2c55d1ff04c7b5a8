"""The training loop, top to bottom: play, weigh, update, measure.

Departures from the textbook: nothing is decoded and no game is played on its own (see `rollout`);
the update works on sums per (query, action) (see `advantages`, `losses`); and the games of the
next step are played right after the update, because the pass that scores them also measures the
policy that this step made. A step that has ended is therefore one complete line of metrics.

The numbers of a run depend on the game's hash, the recipe and the versions alone, so going on
from a checkpoint gives those of a run that was never stopped.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from gamedsl.ir.recipe import Recipe
from gamedsl.policies.base import Policy
from gamedsl.runtime.game import Game
from gamedsl.train import checkpoint as checkpoints
from gamedsl.train.advantages import Weights, weigh
from gamedsl.train.begin import begin
from gamedsl.train.checkpoint import Checkpoint
from gamedsl.train.errors import TrainError
from gamedsl.train.gauge import Gauge, counted, earned
from gamedsl.train.interrupt import Interrupt
from gamedsl.train.losses import backward, objective
from gamedsl.train.reference import Reference
from gamedsl.train.rollout import Batch, play
from gamedsl.train.runfolder import RunFolder, write_adapters
from gamedsl.train.scoring import GRAPH_TOKENS, Scorer
from gamedsl.train.transcripts import transcripts

Record = dict[str, Any]


class Observer(Protocol):
    """Someone who is told what happens; the loop knows nothing else about it."""

    def start(self, record: Record) -> None: ...

    def step(self, record: Record) -> None: ...

    def end(self, record: Record) -> None: ...


@dataclass(frozen=True)
class Outcome:
    """How a call of `train` ended: the last step done, and whether all were."""

    step: int
    finished: bool


def train(
    game: Game,
    recipe: Recipe,
    run: RunFolder,
    policy: Policy,
    *,
    observers: Sequence[Observer] = (),
    conclude: Callable[[RunFolder, Any], Record] = lambda run, tree: {},
    interrupt: Interrupt | None = None,
) -> Outcome:
    """Train `policy` in `game`, from the run's last checkpoint if it has one. `conclude` gives what
    the end record says beside the step; its second argument is the game's `gamedsl.solve.Tree`, or
    None where there is none. Raises TrainError."""
    env = game.env(run_seed=recipe.seed, tokenizer=policy.tokenizer)
    gauge = Gauge(env, recipe)
    scorer = scorer_of(policy, recipe)
    beginning = begin(run, recipe, policy, gauge)
    step, optimizer, reference = beginning.step, beginning.optimizer, beginning.reference

    def keep() -> None:
        state = checkpoints.adapters_of(policy), optimizer.state_dict(), reference.adapters
        checkpoints.save(run, Checkpoint(step, game.hash, *state), recipe.keep_checkpoints)

    batch = play(env, scorer, recipe, step + 1, known=gauge.queries)
    if not run.records():
        run.append(gauge.opening(scorer, batch, policy, beginning.warm))
        keep()
    for observer in observers:
        observer.start(run.records()[0])

    while step < recipe.steps and not (interrupt and interrupt.asked):
        started = time.perf_counter()
        step += 1
        weights = weigh(batch, baseline=recipe.baseline, scale=recipe.scale)
        lr = learning_rate(recipe, step)
        updated = update(policy, optimizer, scorer, reference, recipe, batch, weights, lr)
        scorer.forget()
        ahead = play(env, scorer, recipe, step + 1, known=gauge.queries)
        record = {"event": "step", "step": step, **earned(batch), **gauge.measured(scorer, ahead)}
        record |= {**updated, **counted(batch, weights)}
        record["seconds"] = round(time.perf_counter() - started, 4)
        run.append(record)
        if step == recipe.steps or step % recipe.transcripts_every == 0:
            run.write_transcripts(step, transcripts(batch))
        if step % recipe.checkpoint_every == 0:
            keep()
        for observer in observers:
            observer.step(record)
        batch = ahead

    keep()
    write_adapters(run, policy)
    finished = step >= recipe.steps
    if finished:
        end = {"event": "end", "step": step, **conclude(run, gauge.tree)}
        run.append(end)
        for observer in observers:
            observer.end(end)
    return Outcome(step, finished)


def scorer_of(policy: Policy, recipe: Recipe) -> Scorer:
    """What scores a policy. It keeps no graph where there is a reference policy: that is scored by
    swapping adapters, which a graph would not survive."""
    graph_tokens = 0 if recipe.kl else GRAPH_TOKENS
    return Scorer(policy, temperature=recipe.temperature, graph_tokens=graph_tokens)


def update(
    policy: Policy,
    optimizer: torch.optim.Optimizer,
    scorer: Scorer,
    reference: Reference,
    recipe: Recipe,
    batch: Batch,
    weights: Weights,
    lr: float,
) -> Record:
    """`recipe.inner_steps` optimiser steps on one batch; returns the last one's loss and gradient
    norm (before clipping), and the rate. Raises TrainError where they are no numbers."""
    for group in optimizer.param_groups:
        group["lr"] = lr
    queries = batch.queries
    old_A = [scorer.log_pi(query) for query in queries]
    loss = objective(
        old_A,
        weights,
        temperature=recipe.temperature,
        clip=recipe.clip,
        kl=recipe.kl,
        entropy=recipe.entropy,
        reference_A=reference.log_pi(queries) if recipe.kl else None,
    )
    graphs = scorer.graphs(queries)
    value = norm = 0.0
    for inner in range(recipe.inner_steps):
        optimizer.zero_grad()
        if inner == 0 and graphs is not None:
            total = loss(graphs)
            torch.autograd.backward(total)
            value = float(total.detach())
        else:
            value = backward(policy, queries, loss, old_A if inner == 0 else None)
        norm = float(torch.nn.utils.clip_grad_norm_(policy.parameters(), recipe.max_grad_norm))
        if not math.isfinite(value + norm):
            raise TrainError(
                f"training diverged: the loss is {value:g} and its gradient {norm:g}",
                "resume from the last checkpoint's folder with a new run at a lower `lr`",
            )
        optimizer.step()
    return {"loss": value, "grad_norm": norm, "lr": lr}


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
