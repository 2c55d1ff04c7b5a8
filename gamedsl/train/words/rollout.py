"""Plays the games of a training step in which something is written.

Every game goes at its own pace: no game waits for what another is still writing, or for code that
another runs (`gamedsl.players.replying.serve`), and each has random numbers of its own. A reply's
tokens are kept as they were drawn, so that what is trained is what was said.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from gamedsl.ir.program import Call, walk_steps
from gamedsl.players.base import Player, Posed, Speaker, answer
from gamedsl.players.replying import Asked, Choice, Later, Next, Reply, serve
from gamedsl.policies.generation import Generated, Writing
from gamedsl.prompting.replies import ParseFailure
from gamedsl.prompting.tokenizers import by_role
from gamedsl.recipe.table import Recipe
from gamedsl.train.cast import Cast, Lineup
from gamedsl.train.rollout import Batch, History, generator, groups_of
from gamedsl.train.words.lineages import Lineages

if TYPE_CHECKING:
    import numpy as np

    from gamedsl.runtime import Action, Env, Episode
    from gamedsl.runtime.game import Game
    from gamedsl.train.rows import RowSampler


class Utterance(NamedTuple):
    """One reply of one seat: `written` with its tokens, or the `choice` of an option. `invalid`
    says why it was no valid reply, which is then all that it earns."""

    seat: str
    role: str
    step: str
    occurrence: int
    attempt: int
    adapter: str
    written: Generated | None
    choice: Choice | None
    invalid: ParseFailure | None = None


_Said = tuple["Action | str | ParseFailure", Utterance | None]
"""What was replied to a decision; who is no part of the policy has no utterance."""


@dataclass
class Trial:
    """One game of a group, and what the policy said in it, in order."""

    group: int
    episode: Episode
    lineup: Lineup
    utterances: list[Utterance] = field(default_factory=list)
    row: int | None = None
    """The number of its row, where rows are drawn by success."""


def batch_of(trials: Sequence[Trial]) -> Batch:
    """The games as those of any step, for what is measured of both; in the order of `trials`."""
    lineups = {trial.group: trial.lineup for trial in trials}
    histories = [History(trial.group, 1, (), trial.episode, trial.row) for trial in trials]
    return Batch(histories=histories, lineups=[lineups[group] for group in sorted(lineups)])


def env_of(game: Game, recipe: Recipe, policy: Writing, cast: Cast) -> Env:
    """Where the games are played: what a role says is measured by the model that says it."""
    roles = {role: policy.tokenizer_of(name) for role, name in cast.adapters.items()}
    return game.env(run_seed=recipe.seed, tokenizer=by_role(policy.tokenizer, roles))


def play(
    env: Env, policy: Writing, recipe: Recipe, step: int, cast: Cast,
    lineages: Lineages | None = None, rows: RowSampler | None = None,
) -> list[Trial]:  # fmt: skip
    """Play `recipe.games` games with the policy as it is; `step` keys the random numbers. The
    games of a group share what chance brings, and the memory that they begin with: what earlier
    steps left to `lineages`. Without `rows` chance draws them."""
    cast.enter(generator(recipe.seed, step, "players"))
    trials = list(_trials(env, recipe, step, cast, lineages or Lineages(), rows))
    rngs = generator(recipe.seed, step, "words").spawn(len(trials))
    calls = any(isinstance(one, Call) for one in walk_steps(env.ir.turns))
    with ThreadPoolExecutor(_threads()) if calls else nullcontext() as pool:
        games = _Games(trials, rngs, cast, pool)
        free = recipe.replies == "free"
        first = [games.ask(number) for number in range(len(trials))]
        serve(policy, first, games.hear, recipe.temperature, free=free)
    return trials


def _threads() -> int:
    """All cores but one, which writes."""
    return max(1, (os.cpu_count() or 1) - 1)


def _trials(
    env: Env, recipe: Recipe, step: int, cast: Cast, lineages: Lineages, rows: RowSampler | None
) -> Iterable[Trial]:
    groups = groups_of(recipe, step, rows)
    rng = generator(recipe.seed, step, "opponents")
    for group, one in enumerate(groups):
        lineup = cast.lineup(rng, (step - 1) * len(groups) + group)
        for _ in range(recipe.group_size):
            episode = env.reset(seed=one.seed, memory=lineages.of(group), given=one.given)
            yield Trial(group, episode, lineup, row=one.row)


class _Games:
    """The games of a step as they are played; each has a number.

    Where rules call functions, games are moved by a `pool` of threads, and the engine goes on
    writing for others meanwhile. Nobody is asked anything outside of the main thread. Players who
    answer for many games at once are asked when several wait for them.
    """

    def __init__(
        self, trials: Sequence[Trial], rngs: Sequence[np.random.Generator], cast: Cast,
        pool: Executor | None,
    ) -> None:  # fmt: skip
        self._trials, self._rngs, self._cast, self._pool = trials, rngs, cast, pool
        self._said: list[dict[str, _Said]] = [{} for _ in trials]
        """By game, what was replied to the decisions that it waits for, by seat."""
        self._posed: dict[int, tuple[Player, list[tuple[int, Posed]]]] = {}
        """By player, what it is still to be asked, and in which game."""

    def ask(self, number: int) -> Next:
        """What is asked in a game; whoever can reply at once does."""
        trial = self._trials[number]
        if trial.episode.done:
            return ()
        asked: list[Asked | Later] = []
        waits = False
        for decision in trial.episode.decisions:
            seed = int(self._rngs[number].integers(2**31))
            player = self._cast.holder(decision, trial.lineup)
            if player is None:
                asked.append(Asked(decision, self._cast.adapter(decision.role), seed, number))
                continue
            posed = Posed(decision, trial.episode, seed)
            if isinstance(player, Speaker):
                self._posed.setdefault(id(player), (player, []))[1].append((number, posed))
                waits = True
            else:
                self._said[number][decision.seat] = answer(player, [posed])[0].reply, None
        if waits or not asked:
            asked.append(lambda: self._go_on(number))
        return asked

    def hear(self, one: Asked, reply: Reply) -> Next:
        """Take a reply of the policy."""
        decision, number = one.decision, one.number
        self._said[number][decision.seat] = reply.answer, Utterance(
            decision.seat, decision.role, decision.step, decision.occurrence,
            len(decision.failed), one.adapter, reply.written, reply.choice,
        )  # fmt: skip
        return self._move(number)

    def _go_on(self, number: int) -> Next:
        """Ask the players who have not been, and move the game if it then can be."""
        for player, posed in self._posed.values():
            for (game, one), answered in zip(
                posed, answer(player, [one for _, one in posed]), strict=True
            ):
                self._said[game][one.decision.seat] = answered.reply, None
        self._posed.clear()
        return self._move(number)

    def _move(self, number: int) -> Next:
        """Move a game once all that it waits for are there, and ask what it then asks; it waits
        for nothing while it moves."""
        trial, said = self._trials[number], self._said[number]
        if not said or len(said) < len(trial.episode.decisions):
            return ()
        self._said[number] = {}
        if self._pool is None:
            _step(trial, said)
            return self.ask(number)
        moved = self._pool.submit(_step, trial, said)

        def then() -> Next:
            moved.result()
            return self.ask(number)

        return (then,)


def _step(trial: Trial, said: Mapping[str, _Said]) -> None:
    """Answer all decisions of a game, and note what each reply of the policy came to."""
    episode = trial.episode
    seats, known = [one.seat for one in episode.decisions], len(episode.mistakes)
    episode.step({seat: said[seat][0] for seat in seats})
    failed = {m.decision.seat: m.failure for m in episode.mistakes[known:]}
    own = [said[seat][1] for seat in seats]
    trial.utterances += [
        one._replace(invalid=failed.get(one.seat)) for one in own if one is not None
    ]
