"""The training loop of games with open decisions: play, weigh, update, measure.

It is `gamedsl.train.loop` for words: nothing can be listed or scored at once, so a step's games are
played one by one, side by side, and what is measured is what was met. Its numbers depend on the
game's hash, the recipe and the versions alone, and a run that was killed goes on to the same ones.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, cast

import torch

from gamedsl.calls.registry import lookup
from gamedsl.ir.program import Call, walk_steps
from gamedsl.players.replying import text_of
from gamedsl.policies.base import Policy
from gamedsl.policies.budget import BudgetSpent
from gamedsl.policies.generation import Writing
from gamedsl.policies.multi_model import mute_model
from gamedsl.recipe.table import Recipe
from gamedsl.runtime.env import Env
from gamedsl.runtime.game import Game
from gamedsl.train import checkpoint as checkpoints
from gamedsl.train.begin import learning, optimizer_of, take_up
from gamedsl.train.cast import Cast, assemble
from gamedsl.train.checkpoint import Checkpoint, Lasting, adapters_of
from gamedsl.train.errors import TrainError
from gamedsl.train.gauge import earned, met
from gamedsl.train.imitation import warm_up
from gamedsl.train.interrupt import Interrupt
from gamedsl.train.loop import Conclude, Observer, Outcome, tell
from gamedsl.train.methods.base import Record
from gamedsl.train.rows import row_sampler
from gamedsl.train.runfolder import RunFolder, write_adapters
from gamedsl.train.transcripts import transcripts
from gamedsl.train.words.lineages import Lineages
from gamedsl.train.words.rollout import Trial, batch_of, env_of, play
from gamedsl.train.words.update import learn
from gamedsl.train.words.warm_up import chats_of
from gamedsl.train.words.weigh import advantages


def train_words(
    game: Game,
    recipe: Recipe,
    run: RunFolder,
    policy: Writing,
    *,
    observers: Sequence[Observer] = (),
    conclude: Conclude = lambda run, tree, end: {},
    interrupt: Interrupt | None = None,
    cast: Cast | None = None,
) -> Outcome:
    """Train `policy` in `game`, from the run's last checkpoint if it has one. `conclude` adds to
    the end record. Raises TrainError, and CastError where no `cast` is given."""
    game = game.of("training")
    calls_run_here(game)
    cast = cast or assemble(game, recipe)
    at = _Learner(game, recipe, policy, cast)
    step, spent = at.begin(run), None

    def stopped() -> bool:
        return interrupt is not None and interrupt.asked

    if not run.records():
        warmed = _warmed_up(at.env, policy, recipe, cast, game, partial(tell, observers), stopped)
        if warmed is None:
            return Outcome(0, finished=False)
        run.append(_opening(policy, cast) | warmed)
        at.keep(run, step)
    tell(observers, run.records()[0])

    while step < recipe.steps and not stopped():
        try:
            record, trials = at.step(step + 1)
        except BudgetSpent as error:  # nothing was learned yet
            spent = error
            break
        step += 1
        run.append(record)
        if step == recipe.steps or step % recipe.transcripts_every == 0:
            run.write_transcripts(step, _told(trials))
        if step % recipe.checkpoint_every == 0:
            at.keep(run, step)
        tell(observers, record)

    at.keep(run, step)
    write_adapters(run, policy)
    finished = step >= recipe.steps
    if finished:
        end: Record = {"event": "end", "step": step}
        end |= conclude(run, None, end)
        run.append(end)
        tell(observers, end)
    return Outcome(step, finished, spent)


class _Learner:
    """What is trained, how, and all that lasts from step to step."""

    def __init__(self, game: Game, recipe: Recipe, policy: Writing, cast: Cast) -> None:
        self.env = env_of(game, recipe, policy, cast)
        self._game, self._recipe, self._policy, self._cast = game, recipe, policy, cast
        self._optimizer = optimizer_of(policy, cast, recipe)
        self._lineages, self._rows = Lineages(), row_sampler(game, recipe)
        self._lasting: dict[str, Lasting] = {"lineages": self._lineages, "budget": cast.budget}
        if self._rows is not None:
            self._lasting["rows"] = self._rows

    def begin(self, run: RunFolder) -> int:
        """Put policy and run folder into the state of the last checkpoint, or of step 0; which step
        that is."""
        found = checkpoints.latest(run)
        if found is None:
            run.rewind(None)
            return 0
        take_up(run, found, self._policy, self._optimizer)
        checkpoints.restore(self._lasting, found.parts)
        self._policy.forget()
        return found.step

    def keep(self, run: RunFolder, step: int) -> None:
        """Write a checkpoint."""
        parts, weights = checkpoints.state_of(self._lasting), adapters_of(self._policy)
        moments = self._optimizer.state_dict()
        state = Checkpoint(step, self._game.hash, weights, moments, {}, parts)
        checkpoints.save(run, state, self._recipe.keep_checkpoints)

    def step(self, step: int) -> tuple[Record, list[Trial]]:
        """Play and learn; what there is to tell of it, and the games. Raises BudgetSpent before
        anything is learned."""
        started, recipe, cast = time.perf_counter(), self._recipe, self._cast
        trials = play(self.env, self._policy, recipe, step, cast, self._lineages, self._rows)
        self._lineages.carry_on(trials)
        record: Record = {"event": "step", "step": step}
        record |= {} if self._rows is None else self._rows.see(batch_of(trials))
        record |= _learnt(trials, self._policy, self._optimizer, recipe, cast, step)
        record |= cast.spent()
        record["seconds"] = round(time.perf_counter() - started, 4)
        return record, trials


def calls_run_here(game: Game) -> None:
    """Raises TrainError where a function that the game calls cannot run on this machine."""
    for call in walk_steps(game.ir.turns):
        function = lookup(call.function) if isinstance(call, Call) else None
        missing = None if function is None else function.missing_here()
        if function is not None and missing is not None:
            raise TrainError(f"`{function.name}` cannot run here: {missing}", "see docs/calls.md")


def _warmed_up(
    env: Env, policy: Writing, recipe: Recipe, cast: Cast, game: Game,
    tell: Callable[[Record], None], asked_to_stop: Callable[[], bool],
) -> Record | None:  # fmt: skip
    """Teach the policy what the recipe's expert says, where there is one; what there is to tell of
    it. None where it was asked to stop."""
    if recipe.warm_up.expert is None:
        return {}
    lessons = chats_of(game, env, recipe, cast, policy)
    told = warm_up(
        policy, *lessons, recipe, learning(policy, cast), tell=tell, asked_to_stop=asked_to_stop
    )
    return None if told is None else {"warm_up": told}


def _learnt(
    trials: Sequence[Trial], policy: Writing, optimizer: torch.optim.Optimizer, recipe: Recipe,
    cast: Cast, step: int,
) -> Record:  # fmt: skip
    """Update the policy by a step's games; what they earned, what was said, and how it learnt."""
    batch = batch_of(trials)
    worth, void = advantages(trials, recipe, cast.learners)
    record: Record = {**earned(batch), **met(batch), **said_in(trials)}
    record |= learn(policy, optimizer, worth, recipe, step)
    policy.forget()  # what is kept of earlier prompts would differ where a run is resumed
    return record | {"sequences": len(worth) + void, "void": void}


def _opening(policy: Writing, cast: Cast) -> Record:
    return {
        "event": "start",
        "step": 0,
        "model": policy.name,
        "adapters": list(policy.adapters),
        "parameters": sum(p.numel() for p in learning(policy, cast)),
    }


def said_in(trials: Sequence[Trial]) -> Record:
    """What was said in a step: how many replies of each role were valid, how long they were, how
    the labels that were scored were spread, and how many games ended as the game says."""
    said = [one for trial in trials for one in trial.utterances]
    ir = trials[0].episode.env.ir
    valid: dict[str, float] = {}
    length: dict[str, float] = {}
    for role in (*ir.roles, *ir.referees):
        own = [one for one in said if one.role == role.name]
        written = [len(one.written.reply_ids) for one in own if one.written is not None]
        if own:
            valid[role.name] = sum(one.invalid is None for one in own) / len(own)
        if written:
            length[role.name] = sum(written) / len(written)
    return {
        "valid": valid,
        "reply_tokens": length,
        "invalid": _reasons(trials),
        "own_end": sum(not trial.episode.failures for trial in trials) / len(trials),
        "games": len(trials),
        "tokens": sum(len(one.written.reply_ids) for one in said if one.written is not None),
    }


def _reasons(trials: Sequence[Trial]) -> dict[str, int]:
    """How often a reply was invalid, by reason."""
    found: dict[str, int] = defaultdict(int)
    for trial in trials:
        for mistake in trial.episode.mistakes:
            found[mistake.failure.reason] += 1
    return dict(found)


def _told(trials: Sequence[Trial]) -> Iterator[dict[str, Any]]:
    """The transcripts of a step's games, with all replies of the model, as they were written."""
    for trial, told in zip(trials, transcripts(batch_of(trials)), strict=True):
        replies = [
            {"seat": one.seat, "step": one.step, "text": text_of(one.written, one.choice)}
            for one in trial.utterances
        ]
        yield told | {"replies": replies}


def writer(policy: Policy) -> Writing:
    """The policy, as one that writes. Raises TrainError where it only scores labels."""
    if (mute := mute_model(policy)) is not None:
        raise TrainError(
            f"this game is played in words, and `{mute}` only scores labels",
            "take a language model, such as `--model smollm2-135m`, with LoRA adapters",
        )
    return cast("Writing", policy)
