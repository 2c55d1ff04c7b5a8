"""Who answers for each role: an adapter of the policy that is trained, or a player.

A player takes the model's place in its seat. Where the odds of its moves are known it costs what
the policy costs, one row of odds for each information set, asked once and kept; any other is asked
once for each game, and opened anew at each step, so that a run that goes on is one that never
stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from gamedsl.ir.game import GameIR
from gamedsl.ir.recipe import Recipe
from gamedsl.players.base import DrawingPlayer, Player, PlayerError

if TYPE_CHECKING:
    from gamedsl.runtime import Action, Decision, Episode, ParseFailure
    from gamedsl.runtime.game import Game

MANY_ROWS = 100_000
"""Rows of odds that are kept of a player."""


@dataclass(frozen=True)
class Answers:
    """What a seat does in the games of a bundle: the odds of its options, or where they are not
    known the option that each game's reply is."""

    options: Sequence[Action | str | ParseFailure]
    odds_A: np.ndarray | None
    replied: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """[games], into `options`."""

    @classmethod
    def of(cls, decision: Decision, odds_A: np.ndarray) -> Answers:
        """The legal actions with their odds."""
        from gamedsl.runtime import Action

        return cls([Action(name) for name in decision.legal], odds_A)


class Cast:
    """Who holds the roles of a game under one recipe.

    `learners` are the roles that are trained; `players` who holds a role in the model's place.
    """

    def __init__(
        self,
        ir: GameIR,
        recipe: Recipe,
        players: Mapping[str, Player] | None = None,
        reopen: Callable[[str, int], Player] | None = None,
    ) -> None:
        """`reopen` gives a role's player anew, for a seed; without it the same goes on."""
        self.learners = frozenset(role.name for role in ir.roles if recipe.part(role.name).learns)
        self.players = dict(players or {})
        self._reopen = reopen
        self._recipe = recipe
        self._rows: dict[str, dict[tuple[str, tuple[str, ...]], np.ndarray]] = {}

    def adapter(self, role: str) -> str:
        """The adapter that answers for a role that no player holds."""
        return self._recipe.part(role).adapter or "shared"

    def enter(self, rng: np.random.Generator) -> None:
        """Start a step: players whose odds are not known begin anew, from seeds of `rng`."""
        for role, player in self.players.items():
            if self._reopen is not None and not isinstance(player, DrawingPlayer):
                self.players[role] = self._reopen(role, int(rng.integers(2**31)))

    def answers(self, decision: Decision, episode: Episode, games: int) -> Answers:
        """What the player of the decision's role does in so many games."""
        player = self.players[decision.role]
        odds_A = self.odds(decision, episode)
        if odds_A is not None:
            return Answers.of(decision, odds_A)
        replies = [player.act(decision, episode) for _ in range(games)]
        options = {reply: number for number, reply in enumerate(dict.fromkeys(replies))}
        return Answers(list(options), None, np.array([options[reply] for reply in replies]))

    def odds(self, decision: Decision, episode: Episode) -> np.ndarray | None:
        """How likely the player of the decision's role takes each legal action, [A] of float64;
        None where it cannot tell."""
        player = self.players[decision.role]
        key = (decision.information_set, decision.labels)
        if not isinstance(player, DrawingPlayer):
            return None
        rows = self._rows.setdefault(decision.role, {})
        if key not in rows:
            if len(rows) >= MANY_ROWS:
                rows.clear()
            odds_A = np.array(player.odds(decision, episode), dtype=np.float64)
            rows[key] = odds_A / odds_A.sum()
        return rows[key]


class CastError(PlayerError):
    """A player that a setting asks for cannot be had."""

    def __init__(self, setting: str, error: PlayerError) -> None:
        super().__init__(error.message, error.help)
        self.setting = setting


def assemble(game: Game, recipe: Recipe) -> Cast:
    """The cast of a run, with its players opened. Raises CastError."""
    from gamedsl.players.table import open_player

    specs = {part.role: part.player for part in recipe.roles if part.player is not None}

    def opened(role: str, seed: int) -> Player:
        try:
            return open_player(specs[role], game, seed=seed)
        except PlayerError as error:
            raise CastError(f"roles.{role}.player", error) from error

    players = {role: opened(role, recipe.seed) for role in specs}
    return Cast(game.ir, recipe, players, opened)
