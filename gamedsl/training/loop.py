"""The training loop, top to bottom: begin or resume, then play, weigh, update, measure, keep.

One loop trains on scored and on written replies. The kinds differ in three parts that it is made
of: the engine that plays (`gamedsl.training.rollout`), the loss (`gamedsl.training.losses`), and
the records (`gamedsl.training.records`).

Departures from the textbook, where replies are scored: nothing is decoded and no game is played on
its own (see `gamedsl.training.bundles`); the update works on sums per (query, action); and the
games of the next step are played right after the update, because the pass that scores them also
measures the policy that this step made. A step that has ended is one complete line of metrics.

The numbers of a run depend on the game's hash, the recipe and the versions alone, so going on
from a checkpoint gives those of a run that was never stopped.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

import torch

from gamedsl.players.base import Player, PlayerError
from gamedsl.policies.base import Policy
from gamedsl.policies.budget import Budget, BudgetSpent, Interrupted
from gamedsl.policies.data_parallel import is_parallel
from gamedsl.policies.generation import Writing
from gamedsl.prompting.tokenizers import by_role
from gamedsl.recipe.methods import method_spec
from gamedsl.recipe.table import Recipe, Until
from gamedsl.runtime import Env
from gamedsl.runtime.game import Game
from gamedsl.training import checkpoint as checkpoints
from gamedsl.training import progress
from gamedsl.training.advantages import Advantages
from gamedsl.training.bundles import Bundles
from gamedsl.training.checkpoint import Checkpoint, Lasting, adapters_of, put_back, state_of
from gamedsl.training.contributions import contributions, wanted
from gamedsl.training.credit import Redraws, Replays
from gamedsl.training.critic import Critic
from gamedsl.training.errors import TrainError
from gamedsl.training.estimators import Estimator, Experience, estimator_of
from gamedsl.training.imitation import imitate
from gamedsl.training.interrupt import Interrupt
from gamedsl.training.methods import method_of
from gamedsl.training.methods.base import Learner, Method, Record
from gamedsl.training.metrics import PolicyMetrics
from gamedsl.training.monitors.exploitability_bound import ExploitabilityBounds
from gamedsl.training.monitors.lost_lines import LostLines
from gamedsl.training.monitors.thoughts import ThoughtMonitor
from gamedsl.training.optimizer import optimizer_of, trained_parameters
from gamedsl.training.pool import Pool, pool_of
from gamedsl.training.population import Arena, account
from gamedsl.training.records import Records, ScoredRecords, WrittenRecords
from gamedsl.training.reference import Reference, reference_of
from gamedsl.training.rollout import Engine, play
from gamedsl.training.rows import RowSampler, row_sampler
from gamedsl.training.runfolder import RunFolder, write_adapters
from gamedsl.training.schedule import Schedule
from gamedsl.training.scoring import Scorer
from gamedsl.training.seats import SeatAssignment, assign_seats
from gamedsl.training.sessions import Lineages, Sessions, check_calls, writer
from gamedsl.training.stale_rollouts import StaleRollouts
from gamedsl.training.trajectories import Batch, transcripts
from gamedsl.training.warm_start import Fitted, after_thoughts, warm_start


class Observer(Protocol):
    """Hears of every record of a run; the loop knows nothing else about it."""

    def warm_up(self, record: Record) -> None: ...

    def start(self, record: Record) -> None: ...

    def step(self, record: Record) -> None: ...

    def progress(self, record: Record) -> None:
        """Hears how far the step under way is, where it takes long (`gamedsl.training.progress`).
        That is no record of the run."""
        ...

    def end(self, record: Record) -> None: ...


class Levels(Lasting, Protocol):
    """A game that is trained level by level; see `gamedsl.training.curriculum`."""

    @property
    def level(self) -> Any: ...

    def see(self, record: Record) -> Record:
        """Takes a step's record, after which the level may be another; returns what it adds."""
        ...


Conclude = Callable[[RunFolder, Any, Record], Record]
"""Makes the summary of the end record, from the run, the game's `gamedsl.solve.Tree` (None where
there is none), and the record so far."""


@dataclass(frozen=True)
class Outcome:
    """The end of a call of `train`: the last step done, whether all were, and the spent budget
    where endpoints could not be asked any more."""

    step: int
    finished: bool
    spent: BudgetSpent | None = None


def train(
    game: Game, recipe: Recipe, run: RunFolder, policy: Policy, *,
    observers: Sequence[Observer] = (), conclude: Conclude = lambda run, tree, end: {},
    interrupt: Interrupt | None = None, seating: SeatAssignment | None = None,
    levels: Levels | None = None,
) -> Outcome:  # fmt: skip
    """Trains `policy` in `game`, from the run's last checkpoint if it has one. `conclude` adds
    to the end record. It ends early where `levels` go on to another game. Raises TrainError, also
    where another process trains in the folder, RunDamaged, and SeatError where no `seating` is
    given."""
    game = game.of("training")
    notify, stop = partial(_notify, observers), interrupt or Interrupt()
    seating = seating or assign_seats(game, recipe)
    seating.budget.halted = lambda: stop.overdue
    training = Training.of(game, recipe, run, policy, seating, levels)
    with run.locked():
        try:
            if not training.begin(notify, lambda: stop.asked):
                return Outcome(0, finished=False)
        except Interrupted:
            return Outcome(0, finished=False)
        try:
            with progress.telling(notify):
                outcome = _train_steps(training, notify, conclude, stop)
        except (BudgetSpent, Interrupted) as ended:
            step = training.fall_back()
            write_adapters(run, policy)
            spent = ended if isinstance(ended, BudgetSpent) else None
            outcome = Outcome(step, finished=False, spent=spent)
        finally:
            training.close()
        run.note()
    return outcome


def _train_steps(
    at: Training, notify: Callable[[Record], None], conclude: Conclude, stop: Interrupt
) -> Outcome:
    """Takes all steps that are left, and ends the run. Raises BudgetSpent and Interrupted, in a
    state to fall back from."""
    recipe, run, step, level = at.recipe, at.run, at.step, at.level
    at.mark(step)
    progress.begin_step(step + 1)
    batch = at.play(step + 1) if at.records.measures_next else None
    if not run.records():
        run.append(at.opening(batch))
        at.keep(step)
    else:
        at.records.resume(run.records(), level)
    goal = Goal(recipe.until, run.records())
    notify(run.records()[0])

    while step < recipe.steps and not (stop.asked or goal.reached or at.level != level):
        started = time.perf_counter()
        step += 1
        progress.begin_step(step)
        batch = batch or at.play(step)
        progress.begin_part("advantages")
        experience = at.weigh(step, batch)
        progress.begin_part("update")
        if experience.samples:
            updated = at.method.update(experience)
        else:
            updated = at.learner.idle(step)
        seen = at.after(step, batch)
        ahead = at.play(step + 1) if at.records.measures_next else None
        progress.begin_part("measures")
        record = at.record(experience, updated, ahead) | seen
        record["seconds"] = round(time.perf_counter() - started, 4)
        run.append(record)
        goal.see(record)
        if step == recipe.steps or goal.reached or step % recipe.transcripts_every == 0:
            run.write_transcripts(step, transcripts(batch, replies=at.learner.written))
        if step % recipe.checkpoint_every == 0:
            at.keep(step)
        notify(record)
        at.mark(step)
        batch = ahead

    at.keep(step)
    write_adapters(run, at.learner.policy)
    finished = step >= recipe.steps or goal.reached
    if finished:
        try:
            end = at.closing(step, stop)
        except _Stopped:
            return Outcome(step, finished=False)
        end |= conclude(run, at.tree, end)
        run.append(end)
        notify(end)
    return Outcome(step, finished)


def _notify(observers: Sequence[Observer], record: Record) -> None:
    """Has all observers hear of a record, by the name of its event."""
    for observer in observers:
        getattr(observer, record["event"])(record)


class _Stopped(Exception):
    """A signal came while the end was measured. All steps are done and saved."""


class Goal:
    """The condition on which a run ends before its last step: exploitability that stays low. It
    counts the steps, up to the last, at which it was low enough. It follows from the run's records
    alone, so that a resumed run ends where one that was never stopped does."""

    def __init__(self, until: Until, records: Iterable[Record]) -> None:
        self._until = until
        self._low = 0
        for record in records:
            self.see(record)

    def see(self, record: Record) -> None:
        """Takes a record of the run; those of steps count."""
        if record["event"] != "step" or self._until.exploitability is None:
            return
        if record.get("exploitability") is None:
            return  # after thoughts it is estimated now and then
        _, most = record.get("exploitability_interval") or (None, record["exploitability"])
        self._low = self._low + 1 if most <= self._until.exploitability else 0

    @property
    def reached(self) -> bool:
        """Whether it was low enough for as long as was asked for."""
        return self._until.exploitability is not None and self._low >= self._until.over


@dataclass
class Training:
    """The parts of a run. `lasting` are those that checkpoints hold, by name; `metrics` is None
    where replies are written."""

    game: Game
    recipe: Recipe
    run: RunFolder
    seating: SeatAssignment
    env: Env
    metrics: PolicyMetrics | None
    records: Records
    engine: Engine
    lineages: Lineages
    schedule: Schedule
    advantages: Advantages
    estimate: Estimator
    learner: Learner
    levels: Levels | None
    rows: RowSampler | None
    stale: StaleRollouts | None
    lasting: dict[str, Lasting]
    method: Method = field(init=False)
    pool: Pool | None = None
    step: int = 0
    """The steps that were done when training began."""
    warm: Fitted | None = None
    imitated: Record | None = None
    _marked: Checkpoint | None = None
    """The state to fall back to, where there may be need of one."""

    @classmethod
    def of(
        cls, game: Game, recipe: Recipe, run: RunFolder, policy: Policy, seating: SeatAssignment,
        levels: Levels | None,
    ) -> Training:  # fmt: skip
        """Puts a run together. Raises TrainError where it cannot be trained."""
        written = recipe.in_words(game.ir)
        env = env_of(game, recipe, policy, seating)
        lineages, rows = Lineages(), row_sampler(game, recipe)
        if written:
            check_calls(game)
            metrics = None
            scorer = Scorer(policy, temperature=recipe.temperature, keeps_graphs=False)
            engine: Engine = Sessions(writer(policy), lineages)
            thoughts = ThoughtMonitor(env, recipe, seating, writer(policy))
            records: Records = WrittenRecords(policy, seating, thoughts)
        else:
            metrics = PolicyMetrics(env, recipe, seating)
            scorer = scorer_of(policy, recipe, metrics.known)
            engine = Bundles(scorer, metrics.queries)
            bounds = ExploitabilityBounds(
                game, env, recipe, seating, exact=metrics.tree is not None
            )
            records = ScoredRecords(metrics, bounds, LostLines(game, env, recipe, seating), scorer)
        replays: Replays | Redraws = (
            Redraws(recipe, Sessions(writer(policy)), seating)
            if written else Replays(recipe, scorer, seating)
        )  # fmt: skip
        critic = Critic(recipe, policy) if recipe.baseline == "critic" else None
        advantages = Advantages(recipe, replays, written=written, critic=critic)
        schedule = Schedule(game.ir, recipe)
        estimate = estimator_of(env, recipe, metrics, advantages, scorer)
        learner = Learner(
            policy, optimizer_of(policy, seating, recipe), scorer, Reference(policy, {}), recipe,
            metrics.learned if metrics is not None else (), written,
            partial(_open_player, game, seating.budget),
        )  # fmt: skip
        lasting: dict[str, Lasting] = {
            "advantages": advantages, "schedule": schedule, "budget": seating.budget,
            **({"lineages": lineages} if written else {}),
            **({} if levels is None else {"curriculum": levels}),
            **({} if rows is None else {"rows": rows}),
        }  # fmt: skip
        stale = None
        if recipe.staleness:

            def played_by(playing: Writing, step: int) -> Batch:
                learns = schedule.may_learn(step)
                return play(env, Sessions(playing, lineages), recipe, step, seating, learns=learns)

            lasting["rollouts"] = stale = StaleRollouts(recipe, writer(policy), played_by)
        return cls(
            game, recipe, run, seating, env, metrics, records, engine, lineages, schedule,
            advantages, estimate, learner, levels, rows, stale, lasting,
        )  # fmt: skip

    def begin(self, notify: Callable[[Record], None], asked_to_stop: Callable[[], bool]) -> bool:
        """Puts policy and run folder into the state of the last checkpoint, or of step 0, after its
        warm-up. `notify` hears of each epoch of that. Returns False where it was asked to stop, and
        must begin anew. Raises TrainError, and RunDamaged for a folder that is not as the run wrote
        it."""
        policy, found = self.learner.policy, checkpoints.latest(self.run)
        self.run.check_files()
        if found is not None:
            self.run.check_metrics(found.step, found.metrics)
            take_up(self.run, found, policy, self.learner.optimizer)
            self.step, first = found.step, found.reference
            self.learner.forget()
        else:
            self.run.rewind(None)
            if not self._warm_up(notify, asked_to_stop):
                return False
            self.learner.forget()  # as a run that is resumed here
            first = reference_of(policy, self.recipe) if self.recipe.kl else {}
        self.learner = replace(self.learner, reference=Reference(policy, first))
        known = () if self.metrics is None else self.metrics.queries
        self.method = method_of(self.learner)
        self.pool = pool_of(
            self.run, self.recipe, policy, self.seating, known, written=self.learner.written
        )
        self.lasting = {"method": self.method, **self.lasting}
        if self.pool is not None:
            self.lasting["pool"] = self.pool
        self._restore({} if found is None else found.parts)
        if self.pool is not None and not self.pool.members:
            self.pool.take(self.step)
        if self.stale is not None:
            self.stale.see(self.step)
        return True

    def _restore(self, parts: dict[str, dict[str, Any]]) -> None:
        """Lets all that lasts go on. Raises TrainError for what a checkpoint does not hold so."""
        try:
            checkpoints.restore(self.lasting, parts)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise TrainError(
                f"the checkpoint of `{self.run.path}` does not fit the recipe: {error!r}",
                "resume with the recipe that the run was started with",
            ) from error

    def _warm_up(self, notify: Callable[[Record], None], asked_to_stop: Callable[[], bool]) -> bool:
        """Imitates the recipe's expert, and puts the policy where it says, before the first
        step."""
        recipe, policy, metrics = self.recipe, self.learner.policy, self.metrics
        if recipe.experts:
            self.imitated = imitate(
                self.game, self.env, recipe, self.seating, policy,
                trained_parameters(policy, self.seating), tell=notify, asked_to_stop=asked_to_stop,
            )  # fmt: skip
            if self.imitated is None:
                return False
        if recipe.start or recipe.prior == "uniform":
            if metrics is None:
                queries, places = after_thoughts(writer(policy), self.env, recipe, self.seating)
            else:
                queries, places = metrics.queries, metrics.places
            if not queries:
                raise TrainError(
                    "a warm start needs a game whose decisions can be listed; here they are too"
                    " many",
                    "leave `start` and `prior` out, or lower the game's params",
                )
            self.warm = warm_start(policy, recipe, queries, places)
        return True

    @property
    def level(self) -> Any:
        """The level of the curriculum that is due; None without one."""
        return None if self.levels is None else self.levels.level

    @property
    def tree(self) -> Any:
        """The game's tree; None where there is none."""
        return None if self.metrics is None else self.metrics.tree

    def play(self, step: int) -> Batch:
        """Plays the games of a step: by the policy as it is, or as it was where the recipe says so.
        Raises BudgetSpent."""
        if self.stale is not None:
            return self.stale.batch(step)
        progress.begin_part("games")
        learns = self.schedule.may_learn(step)
        return play(self.env, self.engine, self.recipe, step, self.seating, self.rows, learns)

    def weigh(self, step: int, batch: Batch) -> Experience:
        """Returns the advantages of a step's games."""
        if self.schedule.due(step):
            self.schedule.judge(self.contributions(step))
        return self.estimate(batch, self.schedule.learns(step), self.schedule.frozen(step))

    def after(self, step: int, batch: Batch) -> Record:
        """Keeps what the draws of later steps need of a step's games; returns its part of the
        record."""
        if self.learner.written:
            self.lineages.carry_on(batch.trajectories)
        if self.pool is not None:
            self.pool.after(step, batch)
        if self.stale is not None:
            self.stale.see(step)
        if self.metrics is None or not self.metrics.all_learned:
            self.learner.forget()  # so that passes are packed alike wherever a run is resumed
        return {} if self.rows is None else self.rows.see(batch)

    def contributions(self, step: int) -> dict[str, float]:
        """Returns what each role adds to what all earn together."""
        engine = engine_of(self.learner.policy, self.learner.scorer, written=self.learner.written)
        return contributions(self.env, engine, self.recipe, step, self.seating)

    def opening(self, batch: Batch | None) -> Record:
        """Returns the record of the start; `batch` are games of the first policy."""
        record = self.records.opening(batch, self.warm)
        record |= {} if self.imitated is None else {"warm_up": self.imitated}
        return record | ({} if self.levels is None else {"level": self.level})

    def record(self, experience: Experience, updated: Record, ahead: Batch | None) -> Record:
        """Returns the record of a step: of its games, the update by them, and the policy that it
        made, which played the batch `ahead`."""
        record: Record = {"event": "step", "step": experience.step}
        record |= self.records.step(experience, updated, ahead)
        record |= self.advantages.record | self.schedule.record(experience.step)
        record |= self.pool.record() if self.pool is not None else {}
        record |= self.seating.spent()
        return record | (self.levels.see(record) if self.levels is not None else {})

    def closing(self, step: int, stop: Interrupt) -> Record:
        """Returns the record of the end: what each role added, and what came of a pool, whose
        matches may take long. Raises _Stopped before a match where a signal came."""

        def begin(done: int, of: int) -> None:
            progress.count(done, of, "played", "matches of the pool")
            if stop.asked:
                raise _Stopped

        record: Record = {"event": "end", "step": step}
        progress.begin_step(step)
        progress.begin_part("the end")
        known = self.metrics is not None and self.metrics.known
        if wanted(self.env, self.recipe, known, self.seating):
            record["contributions"] = self.contributions(step + 1)
        if self.pool is not None and not self.learner.written:
            members = self.pool.last(step)
            arena = Arena(
                self.env, self.recipe, self.seating, self.learner.scorer, self.tree, members
            )
            record |= account(arena, self.seating, self.recipe, begin)
        return record

    def close(self) -> None:
        """Ends games that are played ahead."""
        if self.stale is not None:
            self.stale.close()

    def keep(self, step: int) -> None:
        """Writes the checkpoint of a step."""
        checkpoints.save(self.run, self._state(step), self.recipe.keep_checkpoints)

    def mark(self, step: int) -> None:
        """Remembers a step to fall back to, where endpoints may run out of calls in the next."""
        if self.seating.budget.in_use:
            state = self._state(step)
            optimizer, parts = deepcopy(state.optimizer), deepcopy(state.parts)
            self._marked = replace(state, optimizer=optimizer, parts=parts)

    def fall_back(self) -> int:
        """Puts the policy back to the step that was remembered, and writes its checkpoint, with
        what endpoints have used up since; returns the step."""
        state = self._marked
        assert state is not None, "only endpoints have a budget, and steps with them are marked"
        state.parts["budget"] = self.seating.budget.state()
        put_back(self.learner.policy, state.adapters)
        checkpoints.save(self.run, state, self.recipe.keep_checkpoints)
        return state.step

    def _state(self, step: int) -> Checkpoint:
        learner = self.learner
        learned = adapters_of(learner.policy), learner.optimizer.state_dict()
        first, parts = learner.reference.adapters, state_of(self.lasting)
        return Checkpoint(step, self.game.hash, *learned, first, parts)


def _open_player(game: Game, budget: Budget, spec: str, seed: int) -> Player:
    """Returns the player of a name. Raises TrainError where there is none."""
    from gamedsl.players.table import open_player

    try:
        return open_player(spec, game, seed=seed, budget=budget, from_file=True)
    except PlayerError as error:
        raise TrainError(error.message, error.help) from error


def env_of(game: Game, recipe: Recipe, policy: Policy, seating: SeatAssignment) -> Env:
    """Returns the environment of a run's games. A written reply is measured by the tokenizer of the
    model that writes it."""
    tokenizer = policy.tokenizer
    if recipe.in_words(game.ir):
        written = writer(policy)
        roles = {role: written.tokenizer_of(name) for role, name in seating.adapters.items()}
        tokenizer = by_role(tokenizer, roles)
    return game.env(run_seed=recipe.seed, tokenizer=tokenizer)


def engine_of(policy: Policy, scorer: Scorer, *, written: bool) -> Engine:
    """Returns a fresh engine, which remembers nothing of other games."""
    return Sessions(writer(policy)) if written else Bundles(scorer)


def scorer_of(policy: Policy, recipe: Recipe, known: bool) -> Scorer:
    """Returns the scorer of a policy. It keeps no graph where another policy is scored during an
    update, by swapping adapters: a graph would not survive that. Nor does it where processes share
    the work: each has the graphs of its share alone. `known`: all decisions are."""
    swaps = method_spec(recipe.method).swaps_adapters
    swapped = recipe.kl or recipe.keeps_pool or (not known and swaps(recipe))
    keeps = not (swapped or is_parallel(policy))
    return Scorer(policy, temperature=recipe.temperature, keeps_graphs=keeps)


def take_up(
    run: RunFolder, found: Checkpoint, policy: Policy, optimizer: torch.optim.Optimizer
) -> None:
    """Puts policy, optimiser and run folder into the state of a checkpoint. Raises TrainError."""
    try:
        put_back(policy, found.adapters)
        optimizer.load_state_dict(found.optimizer)
    except (KeyError, TypeError, ValueError, AttributeError, RuntimeError) as error:
        raise TrainError(
            f"the checkpoint of `{run.path}` does not fit the model: {error}",
            "resume with the model and the adapters that the run was started with",
        ) from error
    run.rewind(found.step, found.metrics)
