"""The training loop, top to bottom: play, weigh, update, measure.

Departures from the textbook: nothing is decoded and no game is played on its own (see `rollout`);
the update works on sums per (query, action) (see `advantages`, `losses`); and the games of the
next step are played right after the update, because the pass that scores them also measures the
policy that this step made. A step that has ended is therefore one complete line of metrics.

The numbers of a run depend on the game's hash, the recipe and the versions alone, so going on
from a checkpoint gives those of a run that was never stopped.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from gamedsl.ir.recipe import Recipe
from gamedsl.policies.base import Policy
from gamedsl.runtime.game import Game
from gamedsl.train import checkpoint as checkpoints
from gamedsl.train.advantages import Advantages
from gamedsl.train.begin import begin
from gamedsl.train.cast import Cast, assemble
from gamedsl.train.checkpoint import Checkpoint, Lasting, state_of
from gamedsl.train.contributions import contributions, wanted
from gamedsl.train.credit import Replays
from gamedsl.train.ending import Goal
from gamedsl.train.estimate import estimator_of
from gamedsl.train.gauge import Gauge, counted, earned, met
from gamedsl.train.interrupt import Interrupt
from gamedsl.train.methods import method_of
from gamedsl.train.methods.base import Learner, Record, idle
from gamedsl.train.pool import pool_of
from gamedsl.train.population import Arena, account
from gamedsl.train.rollout import play
from gamedsl.train.runfolder import RunFolder, write_adapters
from gamedsl.train.schedule import Schedule
from gamedsl.train.scoring import GRAPH_TOKENS, Scorer
from gamedsl.train.telling.bound import Bounds
from gamedsl.train.transcripts import transcripts


class Observer(Protocol):
    """Someone who is told what happens; the loop knows nothing else about it."""

    def warm_up(self, record: Record) -> None: ...

    def start(self, record: Record) -> None: ...

    def step(self, record: Record) -> None: ...

    def end(self, record: Record) -> None: ...


class Levels(Lasting, Protocol):
    """A game that is trained level by level; see `gamedsl.train.curriculum`."""

    @property
    def level(self) -> Any: ...

    def see(self, record: Record) -> Record:
        """Take a step's record, after which the level may be another; returns what it adds."""
        ...


Conclude = Callable[[RunFolder, Any, Record], Record]
"""What the end record says in words, from the run, the game's `gamedsl.solve.Tree` (None where
there is none), and what the record says so far."""


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
    conclude: Conclude = lambda run, tree, end: {},
    interrupt: Interrupt | None = None,
    cast: Cast | None = None,
    levels: Levels | None = None,
) -> Outcome:
    """Train `policy` in `game`, from the run's last checkpoint if it has one. `conclude` adds
    to the end record. It ends early where `levels` go on to another game. Raises TrainError, and
    CastError where no `cast` is given."""
    cast = cast or assemble(game, recipe)
    env = game.env(run_seed=recipe.seed, tokenizer=policy.tokenizer)
    gauge = Gauge(env, recipe, cast)
    bounds = Bounds(game, env, recipe, cast, exact=gauge.tree is not None)
    scorer = scorer_of(policy, recipe, gauge.known)
    advantages = Advantages(recipe, Replays(recipe, scorer, cast))
    schedule = Schedule(game.ir, recipe)
    estimate = estimator_of(game, env, recipe, gauge, advantages)

    def tell(epoch: Record) -> None:
        for observer in observers:
            observer.warm_up(epoch)

    def stopped() -> bool:
        return interrupt is not None and interrupt.asked

    beginning = begin(game, env, run, recipe, policy, gauge, cast, tell=tell, asked_to_stop=stopped)
    if beginning is None:
        return Outcome(0, finished=False)
    step, optimizer, reference = beginning.step, beginning.optimizer, beginning.reference
    method = method_of(Learner(policy, optimizer, scorer, reference, recipe, gauge.learned))
    parts: dict[str, Lasting] = {
        "method": method,
        "advantages": advantages,
        "schedule": schedule,
    }
    pool = pool_of(run, recipe, policy, cast, gauge.queries)
    if pool is not None:
        parts["pool"] = pool
    if levels is not None:
        parts["curriculum"] = levels
    checkpoints.restore(parts, beginning.parts)
    if pool is not None and not pool.members:
        pool.take(step)
    level = levels and levels.level

    def keep() -> None:
        learned = checkpoints.adapters_of(policy), optimizer.state_dict(), reference.adapters
        state = Checkpoint(step, game.hash, *learned, state_of(parts))
        checkpoints.save(run, state, recipe.keep_checkpoints)

    batch = play(env, scorer, recipe, step + 1, known=gauge.queries, cast=cast)
    if not run.records():
        opening = gauge.opening(scorer, batch, policy, beginning.warm) | beginning.told
        run.append(opening | ({} if level is None else {"level": level}))
        keep()
    else:
        gauge.recall(run.records(), level)
    goal = Goal(recipe.until, run.records())
    for observer in observers:
        observer.start(run.records()[0])

    while step < recipe.steps and not (stopped() or goal.reached or left(levels, level)):
        started = time.perf_counter()
        step += 1
        if schedule.due(step):
            schedule.judge(contributions(env, scorer, recipe, step, cast))
        queries, weights = estimate(batch, scorer, schedule.learns(step))
        if weights.samples:
            updated = method.update(queries, weights, step, schedule.held(step))
        else:
            updated = idle(scorer)
        if pool is not None:
            pool.after(step, batch)
        if gauge.learned != gauge.queries or not gauge.known:
            scorer.forget()  # so that passes are packed alike wherever a run is resumed
        ahead = play(env, scorer, recipe, step + 1, known=gauge.queries, cast=cast)
        record = {"event": "step", "step": step, **earned(batch), **gauge.measured(scorer, ahead)}
        record |= {**gauge.watched(record), **updated, **counted(batch, weights), **met(batch)}
        record |= {**bounds.measured(scorer, step), **schedule.told(step)}
        record |= pool.told() if pool is not None else {}
        record |= levels.see(record) if levels is not None else {}
        record["seconds"] = round(time.perf_counter() - started, 4)
        run.append(record)
        goal.see(record)
        if step == recipe.steps or goal.reached or step % recipe.transcripts_every == 0:
            run.write_transcripts(step, transcripts(batch))
        if step % recipe.checkpoint_every == 0:
            keep()
        for observer in observers:
            observer.step(record)
        batch = ahead

    keep()
    write_adapters(run, policy)
    finished = step >= recipe.steps or goal.reached
    if finished:
        end: Record = {"event": "end", "step": step}
        if wanted(env, recipe, gauge.known, cast):
            end["contributions"] = contributions(env, scorer, recipe, step + 1, cast)
        if pool is not None:
            arena = Arena(env, recipe, cast, scorer, gauge.tree, pool.last(step))
            end |= account(arena, cast, recipe)
        end |= conclude(run, gauge.tree, end)
        run.append(end)
        for observer in observers:
            observer.end(end)
    return Outcome(step, finished)


def left(levels: Levels | None, level: Any) -> bool:
    """Whether the level that is trained is no longer the one that is due."""
    return levels is not None and levels.level != level


def scorer_of(policy: Policy, recipe: Recipe, known: bool) -> Scorer:
    """What scores a policy. It keeps no graph where another policy is scored during an update, by
    swapping adapters: a graph would not survive that. `known`: all decisions are."""
    swapped = recipe.kl or recipe.keeps_pool or (recipe.magnet.every is not None and not known)
    graph_tokens = 0 if swapped else GRAPH_TOKENS
    return Scorer(policy, temperature=recipe.temperature, graph_tokens=graph_tokens)
