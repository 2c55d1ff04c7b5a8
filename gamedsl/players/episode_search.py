"""The search for a reply, driven through episodes, so that it meets a player where a game would.

`gamedsl.solve.response_search` knows of histories alone; a player is asked with its prompt, and
with the episode, which those that search themselves need.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from gamedsl.players.base import DrawingPlayer
from gamedsl.runtime import Action
from gamedsl.solve.response_search import Pick, Search

if TYPE_CHECKING:
    from gamedsl.runtime import Decision, Env, Episode, Game
    from gamedsl.solve.tree import Utility


class EpisodeSearch(Search):
    """The search for one seat's reply to a player that holds all others."""

    def __init__(
        self, game: Game, player: DrawingPlayer, seat: str, seed: int, utility: Utility,
        known: dict[str, Mapping[str, float]], env: Env | None = None,
    ) -> None:  # fmt: skip
        """`known` are the player's distributions so far, shared between searches; `env` is the
        environment whose labels it learnt, by default one of this seed."""
        super().__init__(game, self._odds, seat, seed, utility)
        self._env = env or game.env(run_seed=seed)
        self._player, self._rewards, self._known = player, utility == "rewards", known
        self._lasting = game.ir.labels_last
        self._here: tuple[Decision, Episode] | None = None

    def play(self, pick: Pick, random: Callable[[], float]) -> float:
        episode = self._env.reset(seed=int(random() * 2**31))
        while not episode.done:
            episode.step(
                {d.seat: self._answer(d, episode, pick, random) for d in episode.decisions}
            )
        amount = (episode.rewards if self._rewards else episode.payoffs)[self.seat]
        return float(amount or 0)

    def _answer(
        self, decision: Decision, episode: Episode, pick: Pick, random: Callable[[], float]
    ) -> Action:
        self._here = decision, episode
        key, legal = decision.information_set, decision.legal
        mine = decision.seat == self.seat
        return Action(legal[pick(key, legal) if mine else self.by_policy(key, legal, random)])

    def _odds(self, key: str, legal: Sequence[str]) -> Mapping[str, float]:
        assert self._here is not None
        found = self._known.get(key)
        if found is None:
            found = dict(zip(legal, map(float, self._player.odds(*self._here)), strict=True))
            if self._lasting:
                self._known[key] = found
        return found
