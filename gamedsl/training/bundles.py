"""Plays games in bundles, at the cost of the distinct histories alone.

A bundle is an episode and the number of games that have come this way. At a decision the bundle
is split by drawing how many of its games take each joint action, and the episode is forked once
per joint action that was drawn. The joint counts of n independent games are multinomial, so the
result has exactly the distribution of n games played one by one; only the work is less. Ten
thousand games of stag hunt are one bundle, two queries and at most four histories, and a million
games of Kuhn poker by deals are thirty.

A player whose odds are known splits bundles as the policy does. Any other is asked for each game
of a bundle, and equal replies go on as one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from gamedsl.ir.outcome import rewards_so_far
from gamedsl.players.model_replies import query_of
from gamedsl.policies.base import Query
from gamedsl.recipe.table import Recipe
from gamedsl.training import progress
from gamedsl.training.rollout import Start, generator
from gamedsl.training.scoring import Scorer
from gamedsl.training.seats import Answers, SeatAssignment
from gamedsl.training.trajectories import Batch, DecisionPoint, Sample, Trajectory

if TYPE_CHECKING:
    from gamedsl.players.base import Player
    from gamedsl.runtime import Decision, Episode
    from gamedsl.training.rows import RowSampler

_WHOLE_PRODUCT = 1024
"""Joint actions up to which their counts are drawn directly; above, games are drawn one by
one."""


@dataclass(frozen=True)
class Bundle:
    """An episode that `games` games of a group have come to, with their samples so far. `deal`
    numbers the outcomes of chance so far, 0 for none."""

    episode: Episode
    games: int
    group: int = 0
    samples: tuple[Sample, ...] = ()
    deal: int = 0
    row: int | None = None

    def moved(
        self, answers: Sequence[Answers], rng: np.random.Generator
    ) -> Iterator[tuple[np.ndarray, DecisionPoint, Bundle]]:
        """Yields a part of the bundle for each joint move that was drawn: the places of the moves
        in the options of `answers` [seats], the decision, and the part after it. `answers` is
        parallel to the episode's decisions."""
        seats = [decision.seat for decision in self.episode.decisions]
        for joint, games in zip(*draw_joint(rng, answers, self.games), strict=True):
            taken = zip(seats, answers, joint, strict=True)
            point = DecisionPoint(self.episode, {s: answer.options[a] for s, answer, a in taken})
            episode = self.episode.fork()
            episode.step(point.moves)
            yield joint, point, self.at(episode, int(games), self.samples)

    def at(self, episode: Episode, games: int, samples: tuple[Sample, ...]) -> Bundle:
        """Returns a part of the bundle after its decisions."""
        return Bundle(episode, games, self.group, samples, self.deal, self.row)


class Chance:
    """Draws chance for bundles, and numbers what it has brought so far."""

    def __init__(self, rng: np.random.Generator, rows: RowSampler | None = None) -> None:
        self._rng, self._rows = rng, rows
        self._numbers: dict[tuple[int, int], int] = {}

    def split(self, bundle: Bundle) -> Iterator[Bundle]:
        """Yields the parts of a bundle after chance; the bundle itself where it is not chance's
        turn."""
        outcomes = bundle.episode.chance
        if not outcomes:
            yield bundle
            return
        rows = self._rows
        if rows is not None and bundle.episode.drawing[0] != rows.step:
            rows = None
        chances = [float(outcome.probability) for outcome in outcomes]
        odds = np.array(chances) if rows is None else rows.odds()
        for (drawn,), games in zip(*sample_joint(self._rng, [odds], bundle.games), strict=True):
            outcome, episode = int(drawn), bundle.episode.fork()
            episode.draw(outcome)
            deal = self._numbers.setdefault((bundle.deal, outcome), 1 + len(self._numbers))
            row = bundle.row if rows is None else outcome
            yield from self.split(
                replace(bundle, episode=episode, games=int(games), deal=deal, row=row)
            )


_Asked = tuple["Decision", Query | None, "Player | None"]
"""A decision with the query that the policy is asked, or with the player who answers."""


class Bundles:
    """An engine of `gamedsl.training.rollout` for scored replies, by the policy of a scorer."""

    bundled = True

    def __init__(self, scorer: Scorer, known: Sequence[Query] = ()) -> None:
        """known: queries to score in the first pass, whether or not a game comes to them."""
        self._scorer, self._known = scorer, known

    def memory(self, group: int) -> None:
        """Returns None: no state lasts from game to game."""

    def play(
        self, starts: Sequence[Start], batch: Batch, recipe: Recipe, seating: SeatAssignment,
        rows: RowSampler | None,
    ) -> None:  # fmt: skip
        """Plays all bundles at once, decision by decision."""
        scorer = self._scorer
        scorer.score(self._known)
        rng = generator(recipe.seed, batch.step, batch.purpose("play"))
        chance, frontier = Chance(rng, rows), list[Bundle]()
        moves, played, games = 0, 0, sum(start.games for start in starts)

        def arrive(bundle: Bundle) -> None:
            nonlocal played
            for part in chance.split(bundle):
                if part.episode.done:
                    played += part.games
                    batch.trajectories.append(
                        Trajectory(part.group, part.games, part.samples, part.episode, part.row)
                    )
                else:
                    frontier.append(part)

        for start in starts:
            arrive(Bundle(start.episode, start.games, start.group, row=start.row))
        while frontier:
            moves += 1
            progress.begin_piece(f"move {moves}")
            asked = [(bundle, _asked(bundle, batch, seating)) for bundle in frontier]
            scorer.score([query for _, each in asked for _, query, _ in each if query is not None])
            if seating.pool is not None:
                seating.pool.score((player, d) for _, each in asked for d, _, player in each)
            frontier.clear()
            for bundle, each in asked:
                for part in self._moved(bundle, each, batch, seating, rng):
                    arrive(part)
                progress.count(played, games, "played")
        batch.tokens = scorer.tokens

    def _moved(
        self, bundle: Bundle, asked: list[_Asked], batch: Batch, seating: SeatAssignment,
        rng: np.random.Generator,
    ) -> Iterator[Bundle]:  # fmt: skip
        """Yields the parts of a bundle after its decisions, with their new samples."""
        indices, answers = [], []
        for d, query, player in asked:
            indices.append(None if query is None else batch.index(query, d, bundle.episode))
            if query is not None:
                answers.append(Answers.of(d, self._scorer.probabilities(query)))
            elif player is not None:
                answers.append(seating.answers(player, d, bundle.episode, bundle.games))
        paid = rewards_so_far(bundle.episode.env.ir, bundle.episode.paid)
        for joint, point, part in bundle.moved(answers, rng):
            samples = tuple(
                Sample(
                    index, int(a), d.role, d.seat, d.step, d.occurrence, bundle.deal,
                    paid.get(d.seat, 0), point, query.adapter,
                )
                for index, (d, query, _), a in zip(indices, asked, joint, strict=True)
                if index is not None and query is not None
            )  # fmt: skip
            yield bundle.at(part.episode, part.games, bundle.samples + samples)


def _asked(bundle: Bundle, batch: Batch, seating: SeatAssignment) -> list[_Asked]:
    """Returns all decisions that a bundle waits for."""
    lineup, asked = batch.lineups[bundle.group], []
    for decision in bundle.episode.decisions:
        player = seating.holder(decision, lineup)
        query = query_of(decision, seating.adapter(decision.role)) if player is None else None
        asked.append((decision, query, player))
    return asked


def draw_joint(
    rng: np.random.Generator, answers: Sequence[Answers], games: int
) -> tuple[np.ndarray, np.ndarray]:
    """Draws as `sample_joint`, for seats of which some have replied game by game."""
    pi = [answer.odds_A for answer in answers if answer.odds_A is not None]
    if len(pi) == len(answers):
        return sample_joint(rng, pi, games)
    each = [
        answer.replied
        if answer.odds_A is None
        else rng.choice(len(answer.odds_A), size=games, p=answer.odds_A)
        for answer in answers
    ]
    return np.unique(np.stack(each, axis=1), axis=0, return_counts=True)


def sample_joint(
    rng: np.random.Generator, pi: Sequence[np.ndarray], games: int
) -> tuple[np.ndarray, np.ndarray]:
    """Draws the joint actions of `games` independent games in which the seats move independently.

    pi: one distribution [actions] per seat. Returns the distinct joint actions [K, seats] that
    were drawn and how many games took each [K], summing to `games`.
    """
    if prod(map(len, pi)) > _WHOLE_PRODUCT:
        each = [rng.choice(len(pi_A), size=games, p=pi_A) for pi_A in pi]
        return np.unique(np.stack(each, axis=1), axis=0, return_counts=True)
    joint = np.ones(1)
    for pi_A in pi:
        joint = np.multiply.outer(joint, pi_A).ravel()
    counts = rng.multinomial(games, joint / joint.sum())
    drawn = np.flatnonzero(counts)
    return np.stack(np.unravel_index(drawn, tuple(map(len, pi))), axis=1), counts[drawn]
