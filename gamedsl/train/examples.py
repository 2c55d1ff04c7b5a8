"""What the method `expert` imitates: the best of the policy's own games, or a teacher's moves.

Best: of the games that share everything but choices up to a role's first decision, a share
`expert.keep` by what they brought the role, and only those that brought more than the mean; equals
at the border are kept in part. Keeping one's best samples and learning to do as they did is what
rejection sampling and STaR do (Zelikman et al. 2022).

A teacher is asked at every distinct prompt that the policy came to, and each counts once: with a
search player this is expert iteration (Anthony et al. 2017), with any other DAgger (Ross et al.
2011).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gamedsl.recipe.table import Recipe
from gamedsl.train.errors import TrainError
from gamedsl.train.lessons import Odds
from gamedsl.train.methods.expert import ExpertSettings
from gamedsl.train.rollout import Batch, Sample, generator

if TYPE_CHECKING:
    from gamedsl.players.base import Player
    from gamedsl.policies.budget import Budget
    from gamedsl.runtime import Game


class _Played(NamedTuple):
    """What a seat did in `games` equal games, and what each brought it."""

    games: int
    reward: Fraction
    samples: tuple[Sample, ...]


def best(batch: Batch, keep: float, learns: Collection[str]) -> list[np.ndarray]:
    """Per query of a batch, how many of the kept games took each action [labels]; zeros where a
    role does not learn."""
    cells: dict[tuple[int, int, str], list[_Played]] = defaultdict(list)
    for history in batch.histories:
        for seat, reward in history.episode.rewards.items():
            mine = tuple(s for s in history.samples if s.seat == seat and s.role in learns)
            if mine and reward is not None:
                cell = (history.group, mine[0].deal, mine[0].role)
                cells[cell].append(_Played(history.games, Fraction(reward), mine))
    counts = [np.zeros(len(query.labels)) for query in batch.queries]
    for played in cells.values():
        for one, share in zip(played, _shares(played, keep), strict=True):
            for sample in one.samples:
                counts[sample.query][sample.action] += one.games * share
    return counts


def _shares(played: list[_Played], keep: float) -> list[float]:
    """How much of each is kept."""
    total = sum(one.games for one in played)
    mean = sum(one.games * one.reward for one in played) / Fraction(total)
    left, share = keep * total, dict[Fraction, float]()
    for reward in sorted({one.reward for one in played if one.reward > mean}, reverse=True):
        games = sum(one.games for one in played if one.reward == reward)
        share[reward] = min(left / games, 1.0)
        left -= share[reward] * games
    return [share.get(one.reward, 0.0) for one in played]


class Teacher:
    """The player that a recipe names as teacher. One that draws without telling its odds is opened
    anew at each step, so that a run that was stopped goes on with the same answers."""

    def __init__(self, game: Game, recipe: Recipe, budget: Budget) -> None:
        """`budget` is what an endpoint may use up. Raises TrainError where there is no such
        player."""
        self._game, self._recipe, self._budget = game, recipe, budget
        self._player = self._open(recipe.seed)

    def labels(self, batch: Batch, learns: Collection[str]) -> list[np.ndarray]:
        """Per query of a batch, the teacher's odds [labels]; zero where the role does not learn."""
        from gamedsl.players.base import DrawingPlayer

        player, odds = self._player, Odds()
        if not isinstance(player, DrawingPlayer):
            rng = generator(self._recipe.seed, batch.step, "teacher")
            player = self._open(int(rng.integers(2**31)))
        taught = [
            (number, (decision, query, episode))
            for number, (query, (decision, episode)) in enumerate(
                zip(batch.queries, batch.asked, strict=True)
            )
            if decision.role in learns
        ]
        rows = odds.of(player, [one for _, one in taught])
        found = [np.zeros(len(query.labels)) for query in batch.queries]
        for (number, _), pi_A in zip(taught, rows, strict=True):
            found[number] = pi_A
        return found

    def _open(self, seed: int) -> Player:
        from gamedsl.players.base import PlayerError
        from gamedsl.players.table import open_player

        teacher = self._recipe.of(ExpertSettings).teacher
        assert teacher is not None, "the recipe names no teacher"
        try:
            return open_player(teacher, self._game, seed=seed, budget=self._budget)
        except PlayerError as error:
            raise TrainError(error.message, error.help) from error
