"""Plays games in which replies are written, side by side.

Every game goes at its own pace: no game waits for what another is still writing, or for code that
another runs (`gamedsl.players.model_replies.serve`), and each has random numbers of its own. A
reply's tokens are kept as they were drawn, so that what is trained is what was said.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from gamedsl.calls.registry import lookup
from gamedsl.ir.outcome import rewards_so_far
from gamedsl.ir.program import Call, walk_steps
from gamedsl.players.base import Player, Posed, Speaker, answer
from gamedsl.players.model_replies import Asked, Later, Next, Reply, room_of, serve
from gamedsl.policies.base import Policy
from gamedsl.policies.daemon_threads import DaemonExecutor, result_of
from gamedsl.policies.generation import Writing
from gamedsl.policies.multi_model import mute_model
from gamedsl.prompting.replies import ParseFailure
from gamedsl.recipe.table import Recipe
from gamedsl.runtime.memory import Memory
from gamedsl.training import progress
from gamedsl.training.errors import TrainError
from gamedsl.training.guests import Guest
from gamedsl.training.rollout import Start, generator
from gamedsl.training.seats import Lineup, SeatAssignment
from gamedsl.training.trajectories import Batch, DecisionPoint, Moved, Sample, Trajectory

if TYPE_CHECKING:
    import numpy as np

    from gamedsl.runtime import Action, Decision, Episode
    from gamedsl.runtime.game import Game
    from gamedsl.training.rows import RowSampler


def writer(policy: Policy) -> Writing:
    """Returns the policy as one that writes. Raises TrainError where it only scores labels."""
    if (mute := mute_model(policy)) is not None:
        raise TrainError(
            f"this game is played in words, and `{mute}` only scores labels",
            "take a language model, such as `--model smollm2-135m`, with LoRA adapters",
        )
    return cast("Writing", policy)


def check_calls(game: Game) -> None:
    """Raises TrainError where a function that the game calls cannot run on this machine."""
    for name in sorted(game.ir.functions):
        function = lookup(name)
        missing = None if function is None else function.missing_here()
        if function is not None and missing is not None:
            raise TrainError(f"`{function.name}` cannot run here: {missing}", "see docs/calls.md")


class Lineages:
    """The state of a run that `lasts: run`, from step to step; empty before the first step.

    The games of a group share their chances, and the memory that they begin with. So a run has as
    many lineages as its steps have groups. In each step the first game of a group, in order, that
    was not forfeited leaves its memory to the group of that number in the next; where there is
    none, the memory stays. Nothing else is carried on, so that a run that was killed goes on as it
    would have.
    """

    def __init__(self) -> None:
        self._memories: dict[int, Memory] = {}

    def of(self, group: int) -> Memory:
        """Returns the memory that the games of a group begin with."""
        return self._memories.get(group, {})

    def carry_on(self, trajectories: Sequence[Trajectory]) -> None:
        """Takes the memories that the finished games of a step leave."""
        carried: set[int] = set()
        for one in trajectories:
            if one.group not in carried and not one.episode.failures:
                carried.add(one.group)
                self._memories[one.group] = one.episode.memory

    def state(self) -> dict[str, Any]:
        return {"memories": dict(self._memories)}

    def restore(self, state: dict[str, Any]) -> None:
        self._memories = dict(state["memories"])


class Sessions:
    """An engine of `gamedsl.training.rollout` for written replies. `lineages` hold the state that
    lasts from step to step."""

    bundled = False

    def __init__(self, policy: Writing, lineages: Lineages | None = None) -> None:
        self._policy, self._lineages = policy, lineages or Lineages()

    def memory(self, group: int) -> Memory:
        """Returns the memory of the lineage of a group."""
        return self._lineages.of(group)

    def play(
        self, starts: Sequence[Start], batch: Batch, recipe: Recipe, seating: SeatAssignment,
        rows: RowSampler | None,
    ) -> None:  # fmt: skip
        """Plays all games, one sample for each reply of the policy."""
        points = recipe.credit != "own" or recipe.needs_state
        played = [_Game(start, batch.lineups[start.group], keeps_points=points) for start in starts]
        rng = generator(recipe.seed, batch.step, batch.purpose("words"))
        self._finish(played, rng, batch, recipe, seating)
        batch.trajectories += [
            Trajectory(one.start.group, 1, one.samples, one.episode, one.start.row, one.moves)
            for one in played
        ]

    def go_on(
        self, branches: Sequence[Branch], batch: Batch, recipe: Recipe, seating: SeatAssignment
    ) -> list[Trajectory]:
        """Plays games on from where they branch off; returns them, in order. `batch` is that of the
        games that they branch off from."""
        other = Batch(step=batch.step, lineups=batch.lineups)
        played = [
            _Game(Start(one.episode, one.group, 1), batch.lineups[one.group], script=one.script)
            for one in branches
        ]
        rng = generator(recipe.seed, batch.step, "branches")
        self._finish(played, rng, other, recipe, seating)
        return [Trajectory(one.start.group, 1, one.samples, one.episode) for one in played]

    def _finish(
        self, played: Sequence[_Game], rng: np.random.Generator, batch: Batch, recipe: Recipe,
        seating: SeatAssignment,
    ) -> None:  # fmt: skip
        """Plays all games to their ends."""
        if not played:
            return
        rngs = rng.spawn(len(played))
        ir = played[0].episode.env.ir
        calls = any(isinstance(one, Call) for one in walk_steps(ir.turns))
        with DaemonExecutor(_threads()) if calls else nullcontext() as pool:
            free = recipe.replies == "free"
            games = _Games(
                played, rngs, batch, seating, pool,
                lambda one: room_of(self._policy, one, free=free),
            )  # fmt: skip
            first = [games.ask(number) for number in range(len(played))]
            serve(self._policy, first, games.take, recipe.temperature, free=free)


def _threads() -> int:
    """Returns the number of all cores but one, which writes."""
    return max(1, (os.cpu_count() or 1) - 1)


_Given = tuple["Action | str | ParseFailure", Sample | None]
"""The reply to a decision; one of a player that is no part of the policy has no sample."""


class Branch(NamedTuple):
    """A game to go on with from `episode`, in which the replies of a `script` are given where they
    still can be, and all others anew."""

    episode: Episode
    group: int
    script: Mapping[Moved, Action | str | ParseFailure]


@dataclass
class _Game:
    """A game under way. `given` are the replies to the decisions that it waits for, by seat;
    `moves` all that were given, and `script` those that are to be. With `keeps_points` each sample
    has its decision, from which others can be played."""

    start: Start
    lineup: Lineup
    keeps_points: bool = False
    script: Mapping[Moved, Action | str | ParseFailure] = field(default_factory=dict)
    moves: dict[Moved, Action | str | ParseFailure] = field(default_factory=dict)
    samples: list[Sample] = field(default_factory=list)
    given: dict[str, _Given] = field(default_factory=dict)

    @property
    def episode(self) -> Episode:
        return self.start.episode


class _Games:
    """The games of a step as they are played; each has a number.

    Where rules call functions, games are moved by a `pool` of threads, and the engine goes on
    writing for others meanwhile. Nobody is asked anything outside of the main thread. Players who
    answer for many games at once are asked when several wait for them.
    """

    def __init__(
        self, games: Sequence[_Game], rngs: Sequence[np.random.Generator], batch: Batch,
        seating: SeatAssignment, pool: Executor | None, room: Callable[[Asked], int],
    ) -> None:  # fmt: skip
        """room: the most tokens that a reply may be written with."""
        self._games, self._rngs, self._batch = games, rngs, batch
        self._seating, self._pool, self._room = seating, pool, room
        self._replies = self._ended = 0
        self._posed: dict[int, tuple[Player, list[tuple[int, Posed]]]] = {}
        """By player, the decisions that it is still to be asked, with the numbers of their
        games."""

    def ask(self, number: int) -> Next:
        """Returns the decisions that a game asks of the policy; players that can reply at once
        do."""
        game = self._games[number]
        if game.episode.done:
            self._ended += 1
            return ()
        asked: list[Asked | Later] = []
        waits = False
        for decision in game.episode.decisions:
            seed = int(self._rngs[number].integers(2**31))
            scripted = game.script.get(_key(decision))
            if scripted is not None and _fits(decision, scripted):
                game.given[decision.seat] = scripted, None
                continue
            player = self._seating.holder(decision, game.lineup)
            if isinstance(player, Guest):
                adapter = player.adapter(self._seating.adapter(decision.role))
                asked.append(Asked(decision, adapter, seed, number))
                continue
            if player is None:
                asked.append(Asked(decision, self._seating.adapter(decision.role), seed, number))
                continue
            posed = Posed(decision, game.episode, seed)
            if isinstance(player, Speaker):
                self._posed.setdefault(id(player), (player, []))[1].append((number, posed))
                waits = True
            else:
                game.given[decision.seat] = answer(player, [posed])[0].reply, None
        if waits or not asked:
            asked.append(lambda: self._go_on(number))
        return asked

    def take(self, one: Asked, reply: Reply) -> Next:
        """Takes a reply of the policy."""
        self._replies += 1
        progress.count(self._ended, len(self._games), "played", f"{self._replies:,} replies")
        decision, game = one.decision, self._games[one.number]
        if one.adapter != self._seating.adapter(decision.role):
            game.given[decision.seat] = reply.answer, None
            return self._move(one.number)
        query = action = None
        if reply.choice is not None:
            action = reply.choice.action
            query = self._batch.index(reply.choice.query, decision, game.episode.fork())
        paid = rewards_so_far(game.episode.env.ir, game.episode.paid).get(decision.seat, 0)
        game.given[decision.seat] = reply.answer, Sample(
            query, action, decision.role, decision.seat, decision.step, decision.occurrence,
            paid=paid, adapter=one.adapter, written=reply.written, attempt=len(decision.failed),
            limit=self._room(one) if reply.written is not None else 0,
        )  # fmt: skip
        return self._move(one.number)

    def _go_on(self, number: int) -> Next:
        """Asks the players who have not been, and moves the game if it then can be."""
        for player, posed in self._posed.values():
            replies = answer(player, [one for _, one in posed])
            for (game, one), answered in zip(posed, replies, strict=True):
                self._games[game].given[one.decision.seat] = answered.reply, None
        self._posed.clear()
        return self._move(number)

    def _move(self, number: int) -> Next:
        """Moves a game once all replies that it waits for are there, and asks what it then asks.
        The game waits for nothing while it moves."""
        game = self._games[number]
        given = game.given
        if not given or len(given) < len(game.episode.decisions):
            return ()
        game.given = {}
        if self._pool is None:
            _step(game, given)
            return self.ask(number)
        moved = self._pool.submit(_step, game, given)

        def then() -> Next:
            result_of(moved)
            return self.ask(number)

        return (then,)


def _step(game: _Game, given: Mapping[str, _Given]) -> None:
    """Answers all decisions of a game, and notes what each reply of the policy came to."""
    episode = game.episode
    moves = {_key(one): given[one.seat][0] for one in episode.decisions}
    game.moves |= moves
    point = None
    if game.keeps_points:
        point = DecisionPoint(episode.fork(), {seat: reply for seat, (reply, _) in given.items()})
    seats, known = [one.seat for one in episode.decisions], len(episode.mistakes)
    episode.step({seat: given[seat][0] for seat in seats})
    failed = {m.decision.seat: m.failure for m in episode.mistakes[known:]}
    own: Iterable[Sample | None] = [given[seat][1] for seat in seats]
    game.samples += [
        one._replace(invalid=failed.get(one.seat), point=point) for one in own if one is not None
    ]


def _key(decision: Decision) -> Moved:
    return decision.seat, decision.step, decision.occurrence, len(decision.failed)


def _fits(decision: Decision, reply: Action | str | ParseFailure) -> bool:
    """Whether a reply to another decision may be given to this one. A text may always be: whether
    it is valid, the game says."""
    from gamedsl.runtime import Action

    return not isinstance(reply, Action) or reply.name in decision.legal
