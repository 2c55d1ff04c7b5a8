"""The past of a policy as its opponents: snapshots, the win rate against each, and how they are
drawn.

Plain self-play answers the policy of the moment, and where every answer has an answer it runs in
circles. Against a pool of its past it must do well against all that it was (fictitious self-play;
Heinrich et al. 2015). Prioritised sampling (Vinyals et al. 2019) draws a member in proportion to (1
- w)^p, w being the policy's win rate against it: a game is won where the policy is paid more than
the mean of its opponents, and half won where it is paid the same. Rates are running means, and
begin at one half.

A snapshot lies in the run folder, written whole before a checkpoint names it, and is deleted when
no checkpoint that is left names it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gamedsl.players.base import DrawingPlayer, Player
from gamedsl.players.model_replies import query_of
from gamedsl.policies.base import Policy, Query
from gamedsl.recipe.table import Recipe
from gamedsl.runs.errors import RunDamaged
from gamedsl.runs.saved import number_in
from gamedsl.storage import writer
from gamedsl.storage.writer import write_atomically
from gamedsl.training import checkpoint as checkpoints
from gamedsl.training.checkpoint import Adapters, adapters_of, write_tensors
from gamedsl.training.errors import TrainError
from gamedsl.training.guests import Guest
from gamedsl.training.reference import Reference
from gamedsl.training.runfolder import RunFolder
from gamedsl.training.seats import SeatAssignment
from gamedsl.training.sessions import writer as writing
from gamedsl.training.trajectories import Batch

if TYPE_CHECKING:
    from gamedsl.runtime import Decision, Episode

MEMORY = 0.9
"""What is left of the games against a member, in its win rate, when new ones come in."""


_NO_SNAPSHOT = "put back a copy of it, or start a new run"


class Snapshot(DrawingPlayer):
    """A player with adapters of the past. Where all decisions are `known` they are scored once, in
    one pass; elsewhere those that a step comes to, in that step."""

    def __init__(
        self,
        policy: Policy,
        adapters: Adapters,
        seating: SeatAssignment,
        warmth: float,
        known: Sequence[Query],
    ) -> None:
        super().__init__()
        self.adapters = adapters
        self._policy, self._seating, self._warmth, self._known = policy, seating, warmth, known
        self._rows: dict[Query, list[float]] = {}
        self.forget()
        self.score(known)

    def odds(self, decision: Decision, episode: Episode) -> list[float]:
        query = self.query(decision)
        self.score([query])
        return self._rows[query]

    def query(self, decision: Decision) -> Query:
        """Returns the query of a decision."""
        return query_of(decision, self._seating.adapter(decision.role))

    def score(self, queries: Sequence[Query]) -> None:
        """Scores all queries, in one pass over those not scored yet. No graph of the policy may be
        alive."""
        missing = list(dict.fromkeys(query for query in queries if query not in self._rows))
        if not missing:
            return
        for query, log_pi in zip(missing, self._reference.log_pi(missing), strict=True):
            self._rows[query] = (log_pi.double() / self._warmth).softmax(0).tolist()

    def forget(self) -> None:
        """Drops what was scored, so that the last bits do not depend on where a run was resumed."""
        self._rows, self._reference = {}, Reference(self._policy, self.adapters)


@dataclass
class Member:
    """A snapshot of the policy after `step` steps; `wins` of `games` are the running record of the
    policy against it."""

    step: int
    player: Snapshot | Guest
    wins: float = 0.0
    games: float = 0.0

    @property
    def win_rate(self) -> float:
        """The policy's win rate, from one half where nothing is known."""
        return (self.wins + 1) / (self.games + 2)


class Pool:
    """The snapshots of a run, the oldest first."""

    def __init__(
        self,
        run: RunFolder,
        recipe: Recipe,
        policy: Policy,
        seating: SeatAssignment,
        known: Sequence[Query],
        *,
        written: bool = False,
    ) -> None:
        """`known` are all decisions of a small game; empty for a larger one. `written`: replies
        are."""
        self._writer = writing(policy) if written else None
        self._guests: set[str] = set()
        self.members: list[Member] = []
        self._run, self._policy, self._seating, self._known = run, policy, seating, known
        self._settings, self._warmth = recipe.pool, recipe.temperature
        self._gone: dict[int, int] = {}
        """When members left, by their steps."""

    def draw(self, rng: np.random.Generator) -> Member:
        """Draws a member to meet."""
        if self._settings.sampling == "uniform":
            weights = np.ones(len(self.members))
        else:
            losses = np.array([1 - member.win_rate for member in self.members])
            weights = (losses / losses.max()) ** self._settings.power  # a large power leaves one
        return self.members[rng.choice(len(self.members), p=weights / weights.sum())]

    def after(self, step: int, batch: Batch) -> None:
        """Notes how a step's games went, and takes a snapshot where one is due."""
        won, games = _results(batch)
        for member in self.members:
            if games[member.step]:
                member.wins = MEMORY * member.wins + float(won[member.step])
                member.games = MEMORY * member.games + games[member.step]
        if step % self._settings.every == 0:
            self.take(step)

    def take(self, step: int) -> None:
        """Lets the policy as it is now join; where the pool is full, the oldest leaves."""
        adapters = adapters_of(self._policy)
        write_atomically(self._file(step), lambda new: write_tensors(new, adapters))
        self.members.append(Member(step, self.snapshot(adapters)))
        while len(self.members) > self._settings.size:
            self._gone[self.members.pop(0).step] = step
        self._clear()

    def snapshot(self, adapters: Adapters) -> Snapshot | Guest:
        """Returns a player of adapters."""
        if self._writer is not None:
            taken = {one.player.slot for one in self.members if isinstance(one.player, Guest)}
            slot = next(number for number in count() if number not in taken)
            return Guest(self._writer, adapters, slot, self._guests)
        return Snapshot(self._policy, adapters, self._seating, self._warmth, self._known)

    def last(self, step: int) -> list[Member]:
        """Returns the members and the policy as it is now, each policy once."""
        if self.members and self.members[-1].step == step:
            return self.members
        return [*self.members, Member(step, self.snapshot(adapters_of(self._policy)))]

    def score(self, asked: Iterable[tuple[Player | None, Decision]]) -> None:
        """Lets each snapshot score all that it is asked, in one pass."""
        if self._known:
            return
        queries: dict[Snapshot, list[Query]] = defaultdict(list)
        for player, decision in asked:
            if isinstance(player, Snapshot):
                queries[player].append(player.query(decision))
        for snapshot, each in queries.items():
            snapshot.score(each)

    def forget(self) -> Iterator[Snapshot]:
        """Starts a step; yields the snapshots that forgot what they scored."""
        if not self._known:
            for player in (member.player for member in self.members):
                if isinstance(player, Snapshot):
                    player.forget()
                    yield player

    def record(self) -> dict[str, Any]:
        """Returns the field of a step's record: the policy's win rate against each member, by its
        step."""
        return {"pool": {str(member.step): member.win_rate for member in self.members}}

    def state(self) -> dict[str, Any]:
        """Returns what a checkpoint must hold of it; the snapshots themselves are in the run
        folder."""
        members = [[member.step, member.wins, member.games] for member in self.members]
        return {"members": members, "gone": dict(self._gone)}

    def restore(self, state: dict[str, Any]) -> None:
        """Goes on from what `state` returned. Raises TrainError where a snapshot is missing."""
        self._gone = dict(state["gone"])
        self.members = []
        for step, wins, games in state["members"]:
            self.members.append(Member(step, self.snapshot(self._read(step)), wins, games))

    def _file(self, step: int) -> Path:
        return self._run.path / "pool" / f"step-{step:06d}.pt"

    def _read(self, step: int) -> Adapters:
        file = self._file(step)
        try:
            found = self._run.saved.snapshot(file)
        except RunDamaged as error:
            raise TrainError(f"the pool's snapshot {error.fact}", _NO_SNAPSHOT) from error
        if set(found) != set(self._policy.adapters):
            raise TrainError(f"the pool's snapshot {file} has other adapters", _NO_SNAPSHOT)
        return found

    def _clear(self) -> None:
        """Deletes snapshots that left before the first checkpoint that is kept."""
        kept = checkpoints.steps(self._run)
        for step, left in list(self._gone.items()):
            if kept and left <= number_in(kept[0]):
                writer.unlink(self._file(step))
                del self._gone[step]


def _results(batch: Batch) -> tuple[dict[int, Fraction], dict[int, int]]:
    """Returns per member, by its step, the games that the policy won against it and all that
    counted."""
    won: dict[int, Fraction] = defaultdict(Fraction)
    games: dict[int, int] = defaultdict(int)
    for one in batch.played:
        lineup, payoffs = batch.lineup(one), one.episode.payoffs
        if lineup.member is None or any(payoff is None for payoff in payoffs.values()):
            continue
        own = Fraction(payoffs[str(lineup.learner)] or 0)
        others = sum(Fraction(payoffs[seat] or 0) for seat in lineup.seats) / len(lineup.seats)
        won[lineup.member] += one.games * Fraction(1 + (own > others) - (own < others), 2)
        games[lineup.member] += one.games
    return won, games


def pool_of(
    run: RunFolder, recipe: Recipe, policy: Policy, seating: SeatAssignment,
    known: Sequence[Query], *, written: bool = False,
) -> Pool | None:  # fmt: skip
    """Returns the pool of a run, empty yet, and known to the seat assignment; None where no
    opponent is drawn from it."""
    if not recipe.keeps_pool:
        return None
    seating.pool = Pool(run, recipe, policy, seating, known, written=written)
    return seating.pool
