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
from functools import partial
from typing import Any, Protocol

from gamedsl.policies.base import Policy
from gamedsl.policies.budget import BudgetSpent
from gamedsl.recipe.table import Recipe
from gamedsl.runtime.game import Game
from gamedsl.train.cast import Cast, assemble
from gamedsl.train.ending import Goal
from gamedsl.train.interrupt import Interrupt
from gamedsl.train.methods.base import Record, idle
from gamedsl.train.runfolder import RunFolder, write_adapters
from gamedsl.train.training import Levels, Training, prepare
from gamedsl.train.transcripts import transcripts


class Observer(Protocol):
    """Someone who is told what happens; the loop knows nothing else about it."""

    def warm_up(self, record: Record) -> None: ...

    def start(self, record: Record) -> None: ...

    def step(self, record: Record) -> None: ...

    def end(self, record: Record) -> None: ...


Conclude = Callable[[RunFolder, Any, Record], Record]
"""What the end record says in words, from the run, the game's `gamedsl.solve.Tree` (None where
there is none), and what the record says so far."""


@dataclass(frozen=True)
class Outcome:
    """How a call of `train` ended: the last step done, whether all were, and whether that was for
    want of calls to endpoints."""

    step: int
    finished: bool
    spent: BudgetSpent | None = None


def train(
    game: Game, recipe: Recipe, run: RunFolder, policy: Policy, *,
    observers: Sequence[Observer] = (), conclude: Conclude = lambda run, tree, end: {},
    interrupt: Interrupt | None = None, cast: Cast | None = None, levels: Levels | None = None,
) -> Outcome:  # fmt: skip
    """Train `policy` in `game`, from the run's last checkpoint if it has one. `conclude` adds
    to the end record. It ends early where `levels` go on to another game. Raises TrainError, and
    CastError where no `cast` is given."""
    game = game.of("training")
    hear, stop = partial(tell, observers), interrupt or Interrupt()
    cast = cast or assemble(game, recipe)
    at = prepare(game, recipe, run, policy, cast, levels, hear, lambda: stop.asked)
    if at is None:
        return Outcome(0, finished=False)
    try:
        return _steps(at, run, observers, conclude, stop, levels)
    except BudgetSpent as spent:
        step = at.fall_back()
        write_adapters(run, policy)
        return Outcome(step, finished=False, spent=spent)


def _steps(
    at: Training, run: RunFolder, observers: Sequence[Observer], conclude: Conclude,
    stop: Interrupt, levels: Levels | None,
) -> Outcome:  # fmt: skip
    """All steps that are left, and the end. Raises BudgetSpent, in a state to fall back from."""
    recipe, hear = at.recipe, partial(tell, observers)
    step, level = at.beginning.step, levels and levels.level
    at.mark(step)
    batch = at.play(step + 1)
    if not run.records():
        run.append(at.opening(batch))
        at.keep(step)
    else:
        at.gauge.recall(run.records(), level)
    goal = Goal(recipe.until, run.records())
    hear(run.records()[0])

    while step < recipe.steps and not (stop.asked or goal.reached or left(levels, level)):
        started = time.perf_counter()
        step += 1
        if at.schedule.due(step):
            at.schedule.judge(at.contributions(step))
        queries, weights = at.estimate(batch, at.scorer, at.schedule.learns(step))
        if weights.samples:
            updated = at.method.update(queries, weights, step, at.schedule.held(step))
        else:
            updated = idle(at.scorer)
        seen = at.seen(step, batch)
        if at.gauge.learned != at.gauge.queries or not at.gauge.known:
            at.scorer.forget()  # so that passes are packed alike wherever a run is resumed
        ahead = at.play(step + 1)
        record = at.told(step, batch, weights, updated, ahead) | seen
        record["seconds"] = round(time.perf_counter() - started, 4)
        run.append(record)
        goal.see(record)
        if step == recipe.steps or goal.reached or step % recipe.transcripts_every == 0:
            run.write_transcripts(step, transcripts(batch))
        if step % recipe.checkpoint_every == 0:
            at.keep(step)
        hear(record)
        at.mark(step)
        batch = ahead

    at.keep(step)
    write_adapters(run, at.policy)
    finished = step >= recipe.steps or goal.reached
    if finished:
        end = at.closing(step)
        end |= conclude(run, at.gauge.tree, end)
        run.append(end)
        hear(end)
    return Outcome(step, finished)


def tell(observers: Sequence[Observer], record: Record) -> None:
    """Have all observers hear of a record, by the name of its event."""
    for observer in observers:
        getattr(observer, record["event"])(record)


def left(levels: Levels | None, level: Any) -> bool:
    """Whether the level that is trained is no longer the one that is due."""
    return levels is not None and levels.level != level
