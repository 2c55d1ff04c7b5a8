"""What a run is made of, put together for the loop, and what its records say."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from gamedsl.policies.base import Policy
from gamedsl.recipe.methods import method_spec
from gamedsl.recipe.table import Recipe
from gamedsl.runtime import Env
from gamedsl.runtime.game import Game
from gamedsl.train import checkpoint as checkpoints
from gamedsl.train.advantages import Advantages, Weights
from gamedsl.train.begin import Beginning, begin
from gamedsl.train.cast import Cast
from gamedsl.train.checkpoint import Checkpoint, Lasting, state_of
from gamedsl.train.contributions import contributions, wanted
from gamedsl.train.credit import Replays
from gamedsl.train.estimate import Estimator, estimator_of
from gamedsl.train.gauge import Gauge, counted, earned, met
from gamedsl.train.methods import method_of
from gamedsl.train.methods.base import Learner, Method, Record
from gamedsl.train.pool import Pool, pool_of
from gamedsl.train.population import Arena, account
from gamedsl.train.rollout import Batch, play
from gamedsl.train.rows import RowSampler, row_sampler
from gamedsl.train.runfolder import RunFolder
from gamedsl.train.schedule import Schedule
from gamedsl.train.scoring import GRAPH_TOKENS, Scorer
from gamedsl.train.telling.bound import Bounds
from gamedsl.train.telling.lines import Lines


class Levels(Lasting, Protocol):
    """A game that is trained level by level; see `gamedsl.train.curriculum`."""

    @property
    def level(self) -> Any: ...

    def see(self, record: Record) -> Record:
        """Take a step's record, after which the level may be another; returns what it adds."""
        ...


@dataclass(frozen=True)
class Training:
    """The parts of a run. `lasting` are those that checkpoints hold, by name."""

    game: Game
    recipe: Recipe
    run: RunFolder
    policy: Policy
    cast: Cast
    env: Env
    gauge: Gauge
    bounds: Bounds
    lines: Lines
    scorer: Scorer
    schedule: Schedule
    estimate: Estimator
    beginning: Beginning
    method: Method
    pool: Pool | None
    levels: Levels | None
    rows: RowSampler | None
    lasting: dict[str, Lasting]
    marked: list[Checkpoint] = field(default_factory=list)
    """The state to fall back to, where there may be need of one."""

    def play(self, step: int) -> Batch:
        """The games of a step, by the policy as it is; in a small game all decisions are scored."""
        known = self.gauge.queries
        return play(self.env, self.scorer, self.recipe, step, known, self.cast, self.rows)

    def seen(self, step: int, batch: Batch) -> Record:
        """What is kept of a step's games for the draws of the next; what its record says of it."""
        if self.pool is not None:
            self.pool.after(step, batch)
        return {} if self.rows is None else self.rows.see(batch)

    def contributions(self, step: int) -> dict[str, float]:
        """What each role adds to what all earn together."""
        return contributions(self.env, self.scorer, self.recipe, step, self.cast)

    def keep(self, step: int) -> None:
        """Write the checkpoint of a step."""
        checkpoints.save(self.run, self._state(step), self.recipe.keep_checkpoints)

    def mark(self, step: int) -> None:
        """Remember a step to fall back to, where endpoints may run out of calls in the next."""
        if self.cast.budget.in_use:
            state = self._state(step)
            optimizer, parts = deepcopy(state.optimizer), deepcopy(state.parts)
            self.marked[:] = [replace(state, optimizer=optimizer, parts=parts)]

    def fall_back(self) -> int:
        """Put the policy back to the step that was remembered, and write its checkpoint, with what
        endpoints have used up since; returns the step."""
        (state,) = self.marked
        state.parts["budget"] = self.cast.budget.state()
        checkpoints.put_back(self.policy, state.adapters)
        checkpoints.save(self.run, state, self.recipe.keep_checkpoints)
        return state.step

    def _state(self, step: int) -> Checkpoint:
        learned = checkpoints.adapters_of(self.policy), self.beginning.optimizer.state_dict()
        first, parts = self.beginning.reference.adapters, state_of(self.lasting)
        return Checkpoint(step, self.game.hash, *learned, first, parts)

    def opening(self, batch: Batch) -> Record:
        """The record of the start, of the policy that played a batch."""
        record = self.gauge.opening(self.scorer, batch, self.policy, self.beginning.warm)
        record |= {**self.beginning.told, **self.lines.measured(self.scorer, 0)}
        return record | ({} if self.levels is None else {"level": self.levels.level})

    def told(
        self, step: int, batch: Batch, weights: Weights, updated: Record, ahead: Batch
    ) -> Record:
        """The record of a step: what its games earned, how the update by their `weights` went, and
        what the policy is that it made, which played the batch `ahead`."""
        measured = self.gauge.measured(self.scorer, ahead)
        record: Record = {"event": "step", "step": step, **earned(batch), **measured}
        record |= {**self.gauge.watched(record), **updated, **counted(batch, weights), **met(batch)}
        record |= {**self.bounds.measured(self.scorer, step), **self.schedule.told(step)}
        record |= self.lines.measured(self.scorer, step)
        record |= self.pool.told() if self.pool is not None else {}
        record |= self.cast.spent()
        return record | (self.levels.see(record) if self.levels is not None else {})

    def closing(self, step: int) -> Record:
        """The record of the end: what each role added, and what came of a pool."""
        record: Record = {"event": "end", "step": step}
        if wanted(self.env, self.recipe, self.gauge.known, self.cast):
            record["contributions"] = self.contributions(step + 1)
        if self.pool is not None:
            members, tree = self.pool.last(step), self.gauge.tree
            arena = Arena(self.env, self.recipe, self.cast, self.scorer, tree, members)
            record |= account(arena, self.cast, self.recipe)
        return record


def prepare(
    game: Game, recipe: Recipe, run: RunFolder, policy: Policy, cast: Cast, levels: Levels | None,
    tell: Callable[[Record], None], asked_to_stop: Callable[[], bool],
) -> Training | None:  # fmt: skip
    """Put a run together, in the state of its last checkpoint or at its beginning. `tell` hears of
    a warm-up; None where that was asked to stop. Raises TrainError."""
    env = game.env(run_seed=recipe.seed, tokenizer=policy.tokenizer)
    gauge = Gauge(env, recipe, cast)
    bounds = Bounds(game, env, recipe, cast, exact=gauge.tree is not None)
    lines = Lines(game, env, recipe, cast)
    scorer = scorer_of(policy, recipe, gauge.known)
    advantages = Advantages(recipe, Replays(recipe, scorer, cast))
    schedule = Schedule(game.ir, recipe)
    estimate = estimator_of(game, env, recipe, gauge, advantages, cast)
    beginning = begin(
        game, env, run, recipe, policy, gauge, cast, tell=tell, asked_to_stop=asked_to_stop
    )
    if beginning is None:
        return None
    learner = Learner(
        policy, beginning.optimizer, scorer, beginning.reference, recipe, gauge.learned
    )
    method, pool = method_of(learner), pool_of(run, recipe, policy, cast, gauge.queries)
    rows = row_sampler(game, recipe)
    lasting: dict[str, Lasting] = {
        "method": method, "advantages": advantages, "schedule": schedule, "budget": cast.budget,
        **({} if pool is None else {"pool": pool}),
        **({} if levels is None else {"curriculum": levels}),
        **({} if rows is None else {"rows": rows}),
    }  # fmt: skip
    checkpoints.restore(lasting, beginning.parts)
    if pool is not None and not pool.members:
        pool.take(beginning.step)
    return Training(
        game, recipe, run, policy, cast, env, gauge, bounds, lines, scorer, schedule, estimate,
        beginning, method, pool, levels, rows, lasting,
    )  # fmt: skip


def scorer_of(policy: Policy, recipe: Recipe, known: bool) -> Scorer:
    """What scores a policy. It keeps no graph where another policy is scored during an update, by
    swapping adapters: a graph would not survive that. `known`: all decisions are."""
    swaps = method_spec(recipe.method).swaps_adapters
    swapped = recipe.kl or recipe.keeps_pool or (not known and swaps(recipe))
    graph_tokens = 0 if swapped else GRAPH_TOKENS
    return Scorer(policy, temperature=recipe.temperature, graph_tokens=graph_tokens)
