"""The assignment of seats: an adapter of the policy that is trained, or a player, for each.

A player takes the model's place in its role, or sits against the policy in some groups of games.
Where the odds of its moves are known it costs what the policy costs, one row of odds for each
information set, asked once and kept; any other is asked once for each game, and opened anew at each
step, so that a run that goes on is one that never stopped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from gamedsl.ir.game import GameIR
from gamedsl.players.base import DrawingPlayer, Player, PlayerError, Posed, Speaker, answer
from gamedsl.policies.budget import Budget, CallTimes
from gamedsl.recipe.table import SHARED, Recipe

if TYPE_CHECKING:
    from gamedsl.runtime import Action, Decision, Episode, ParseFailure
    from gamedsl.runtime.game import Game
    from gamedsl.training.pool import Pool

Rows = dict[tuple[str, tuple[str, ...]], np.ndarray]
"""Odds by information set and labels."""

MANY_ROWS = 100_000
"""Rows of odds that are kept of a player."""


@dataclass(frozen=True)
class Answers:
    """The moves of a seat in the games of a bundle: the odds of its options, or where they are not
    known the option that each game's reply is."""

    options: Sequence[Action | str | ParseFailure]
    odds_A: np.ndarray | None
    replied: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """[games], into `options`."""

    @classmethod
    def of(cls, decision: Decision, odds_A: np.ndarray) -> Answers:
        """Returns the legal actions with their odds."""
        from gamedsl.runtime import Action

        return cls([Action(name) for name in decision.legal], odds_A)


@dataclass(frozen=True)
class Lineup:
    """The opponents of a group of games: the `opponent` as the recipe names it, the step of the
    pool's `member`, the seat that the policy then has, and the players of the other seats."""

    opponent: str = "self"
    member: int | None = None
    learner: str | None = None
    seats: Mapping[str, Player] = field(default_factory=dict, compare=False)


class SeatAssignment:
    """The holders of the seats of a game under one recipe.

    `learners` are the roles and referees that are trained; `players` hold a role in the model's
    place, and `opponents` meet the policy, by their names in the recipe. `pool` is its past, which
    it meets once it has one.
    """

    def __init__(
        self,
        ir: GameIR,
        recipe: Recipe,
        players: Mapping[str, Player] | None = None,
        reopen: Callable[[str, int], Player] | None = None,
        opponents: Mapping[str, Player] | None = None,
        budget: Budget | None = None,
    ) -> None:
        """`reopen` gives the player of a setting anew, for a seed; without it the same goes on.
        `budget` is what endpoints among the players may use up; None is the recipe's, untouched."""
        parts = recipe.parts(ir)
        self.learners = frozenset(recipe.learners(ir))
        self._adapters = {part.role: part.adapter for part in parts if part.adapter is not None}
        self.rates = recipe.rates(ir)
        """The learning rate of each adapter, as a share of the run's."""
        self.players, self.opponents = dict(players or {}), dict(opponents or {})
        self.pool: Pool | None = None
        self.budget = budget or budget_of(recipe)
        self._role_of = ir.role_of
        self.sides = _sides(ir, [role.name for role in ir.roles if role.name in self.learners])
        self._held = self.sides
        self._met = [name for name, _ in recipe.opponents]
        self._shares = np.array([share for _, share in recipe.opponents], dtype=np.float64)
        self._only: Lineup | None = None
        self._reopen = reopen
        self._seeds = count()
        """Those of the answers of language models that are players."""
        self._rows: WeakKeyDictionary[Player, Rows] = WeakKeyDictionary()

    @property
    def adapters(self) -> Mapping[str, str]:
        """The adapters of the roles and referees that no player holds."""
        return self._adapters

    def spent(self) -> dict[str, Any]:
        """Returns the field of a record on endpoints: what they have used up so far; nothing
        without any."""
        return {"endpoints": self.budget.state()} if self.budget.in_use else {}

    def adapter(self, role: str) -> str:
        """Returns the adapter that answers for a role, or a referee; `shared` where a player
        does."""
        return self._adapters.get(role, SHARED)

    def only(self, lineup: Lineup) -> SeatAssignment:
        """Returns the same assignment, in one line-up."""
        seating = copy(self)
        seating._only = lineup
        return seating

    def enter(self, rng: np.random.Generator, learns: Collection[str] = ()) -> None:
        """Starts a step: players whose odds are not known begin anew, from seeds of `rng`, and
        against opponents the policy holds seats of the roles in `learns`, if there are any.
        Language models draw their answers from seeds of their own in each step."""
        learning = [side for side in self.sides if self._role_of[side[0]] in learns]
        self._held = learning or self.sides
        if self.pool is not None:
            for snapshot in self.pool.forget():
                self._rows.pop(snapshot, None)
        if any(
            isinstance(one, Speaker) for one in (*self.players.values(), *self.opponents.values())
        ):
            self._seeds = count(int(rng.integers(2**30)))
        if self._reopen is None:
            return
        for held, setting in ((self.players, "roles.{}.player"), (self.opponents, "opponents.{}")):
            for name, player in held.items():
                if not isinstance(player, DrawingPlayer | Speaker):
                    held[name] = self._reopen(setting.format(name), int(rng.integers(2**31)))

    def lineup(self, rng: np.random.Generator, number: int) -> Lineup:
        """Returns the line-up of the group of a number: opponents are drawn, the policy's seat
        rotates."""
        if self._only is not None or not self._met:
            return self._only or Lineup()
        name = self._met[rng.choice(len(self._met), p=self._shares / self._shares.sum())]
        if name == "self" or (name == "pool" and self.pool is None):
            return Lineup()
        found = self.pool.draw(rng) if name == "pool" and self.pool is not None else None
        player = self.opponents[name] if found is None else found.player
        side = self._held[number % len(self._held)]
        learner = side[number // len(self._held) % len(side)]
        seats = [seat for one in self.sides for seat in one if seat != learner]
        member = None if found is None else found.step
        return Lineup(name, member, learner, dict.fromkeys(seats, player))

    def lineups(
        self, rng: np.random.Generator, games: int, size: int, first: int = 0
    ) -> dict[Lineup, int]:
        """Returns how many of a step's games are played in each line-up, drawn for `size` at a
        time. `first` is the number of the first group."""
        if self._only is not None or not self._met:
            return {self.lineup(rng, 0): games}
        drawn: Counter[Lineup] = Counter()
        for number, done in enumerate(range(0, games, size), first):
            drawn[self.lineup(rng, number)] += min(size, games - done)
        return drawn

    def holder(self, decision: Decision, lineup: Lineup) -> Player | None:
        """Returns the player that answers a decision; None where the policy does."""
        return lineup.seats.get(decision.seat) or self.players.get(decision.role)

    def answers(self, player: Player, decision: Decision, episode: Episode, games: int) -> Answers:
        """Returns the moves of a player in so many games."""
        odds_A = self.odds(player, decision, episode)
        if odds_A is not None:
            return Answers.of(decision, odds_A)
        posed = [Posed(decision, episode, next(self._seeds)) for _ in range(games)]
        replies = [one.reply for one in answer(player, posed)]
        options = {reply: number for number, reply in enumerate(dict.fromkeys(replies))}
        return Answers(list(options), None, np.array([options[reply] for reply in replies]))

    def odds(self, player: Player, decision: Decision, episode: Episode) -> np.ndarray | None:
        """Returns the odds of a player's legal actions, [A] of float64; None where they are not
        known."""
        if not isinstance(player, DrawingPlayer):
            return None
        rows, key = self._rows.setdefault(player, {}), (decision.information_set, decision.labels)
        if key not in rows:
            if len(rows) >= MANY_ROWS:
                rows.clear()
            odds_A = np.array(player.odds(decision, episode), dtype=np.float64)
            rows[key] = odds_A / odds_A.sum()
        return rows[key]


def _sides(ir: GameIR, learners: Sequence[str]) -> list[list[str]]:
    """Returns the seats of each role that is trained; where there is but one, each of its seats."""
    seats = [[seat for seat in ir.seats if ir.role_of[seat] == role] for role in learners]
    return [[seat] for seat in seats[0]] if len(seats) == 1 else seats


class SeatError(PlayerError):
    """The error of a player that a setting names and that cannot be opened."""

    def __init__(self, setting: str, error: PlayerError) -> None:
        super().__init__(error.message, error.help)
        self.setting = setting


def budget_of(recipe: Recipe, addresses: Collection[str] = ()) -> Budget:
    """Returns the budget of a run's endpoints together, all of it. A recipe may come from a file
    that was handed on: of the endpoints that it names, those of `addresses` alone are called."""
    spending = recipe.budget
    times = CallTimes(spending.timeout, spending.call_timeout)
    return Budget(spending.calls, spending.tokens, addresses=addresses, times=times)


def assign_seats(game: Game, recipe: Recipe, budget: Budget | None = None) -> SeatAssignment:
    """Returns the seat assignment of a run, with its players opened; `budget` is what a run under
    way has left for its endpoints. Raises SeatError."""
    from gamedsl.players.table import open_player

    budget = budget or budget_of(recipe)
    roles = {part.role: part.player for part in recipe.roles if part.player is not None}
    met = [name for name, _ in recipe.opponents if name not in ("self", "pool")]
    specs = {f"roles.{role}.player": spec for role, spec in roles.items()}
    specs |= {f"opponents.{spec}": spec for spec in met}

    def opened(setting: str, seed: int) -> Player:
        try:
            return open_player(specs[setting], game, seed=seed, budget=budget, from_file=True)
        except PlayerError as error:
            raise SeatError(setting, error) from error

    players = {role: opened(f"roles.{role}.player", recipe.seed) for role in roles}
    opponents = {spec: opened(f"opponents.{spec}", recipe.seed) for spec in met}
    return SeatAssignment(game.ir, recipe, players, opened, opponents, budget)
