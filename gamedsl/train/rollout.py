"""Plays the games of a training step, all at once, at the cost of the distinct histories alone.

A bundle is an episode and the number of games that have come this way. At a decision the bundle
is split by drawing how many of its games take each joint action, and the episode is forked once
per joint action that was drawn. The joint counts of n independent games are multinomial, so the
result has exactly the distribution of n games played one by one; only the work is less. Ten
thousand games of stag hunt are one bundle, two queries and at most four histories.

Games that share everything but choices (no chance, the same labels) start as one bundle; else
each group of `group_size` games starts as one, from a seed of its own. With `group_by: deal` the
seed stands for the labels alone: chance is drawn for each game, by splitting bundles as choices
do, and a million games of Kuhn poker are thirty histories.

Roles that players hold are played by them (`gamedsl.train.cast`): one whose odds are known splits
bundles as the policy does, any other is asked for each game of a bundle, and equal replies go on as
one. What players do is part of the episode and never a sample.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from gamedsl.ir.outcome import rewards_so_far
from gamedsl.players.replying import query_of
from gamedsl.policies.base import Query
from gamedsl.recipe.table import Recipe
from gamedsl.train.cast import Answers, Cast, Lineup
from gamedsl.train.scoring import Scorer

if TYPE_CHECKING:
    from gamedsl.players.base import Player
    from gamedsl.runtime import Action, Decision, Env, Episode, ParseFailure
    from gamedsl.train.rows import RowSampler

_WHOLE_PRODUCT = 1024
"""Joint actions up to which their counts are drawn directly; above, games are drawn one by
one."""


class Place(NamedTuple):
    """Where in the game a query was asked."""

    information_set: str
    role: str
    seat: str
    step: str
    legal: tuple[str, ...]


class Asked(NamedTuple):
    """A moment of decision: the game as it stood, not to be moved, and what each seat then did."""

    episode: Episode
    moves: Mapping[str, Action | str | ParseFailure]


class Sample(NamedTuple):
    """One decision of one seat: `query` and `action` are indices (into `Batch.queries`,
    labels). Samples of one `deal` have all of chance so far in common, beside their group's;
    `paid` is what the seat had earned already, and `asked` when that was."""

    query: int
    action: int
    role: str
    seat: str
    step: str
    occurrence: int
    deal: int = 0
    paid: int | Fraction = 0
    asked: Asked | None = None


@dataclass(frozen=True)
class History:
    """A finished course of play that `games` games of a group took. `samples` are the decisions
    that the policy answered, in order."""

    group: int
    games: int
    samples: tuple[Sample, ...]
    episode: Episode
    row: int | None = None
    """The number of its row, where rows are drawn by success (`gamedsl.train.rows`)."""


@dataclass
class Batch:
    """The games of one step, whose number keyed their random numbers. `places` is parallel to
    `queries`."""

    queries: list[Query] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    histories: list[History] = field(default_factory=list)
    asked: list[tuple[Decision, Episode]] = field(default_factory=list)
    """Where each query was first asked; parallel to `queries`."""
    step: int = 0
    lineups: list[Lineup] = field(default_factory=list)
    """Against whom each group was played; empty where all were played by the policy alone."""
    tokens: int = 0
    """Distinct tokens that were scored for these games."""
    _index: dict[Query, int] = field(default_factory=dict)

    def lineup(self, history: History) -> Lineup:
        """Against whom a history was played."""
        return self.lineups[history.group] if self.lineups else Lineup()

    def index(self, query: Query, decision: Decision, episode: Episode) -> int:
        """The number of a query, new if it is."""
        if query not in self._index:
            self._index[query] = len(self.queries)
            self.queries.append(query)
            self.places.append(place_of(decision))
            self.asked.append((decision, episode))
        return self._index[query]


@dataclass(frozen=True)
class _Bundle:
    episode: Episode
    group: int
    games: int
    samples: tuple[Sample, ...] = ()
    deal: int = 0
    row: int | None = None


class _Deals:
    """Numbers what chance has brought so far: 0 for nothing."""

    def __init__(self, rng: np.random.Generator, rows: RowSampler | None) -> None:
        self._rng, self._rows = rng, rows
        self._numbers: dict[tuple[int, int], int] = {}

    def split(self, bundle: _Bundle) -> Iterator[_Bundle]:
        """The bundle after chance, where it is chance's turn: parts of it, each further on."""
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


def generator(seed: int, step: int, purpose: str) -> np.random.Generator:
    """A stream of its own for each purpose and step, so that resuming needs no stored state."""
    return np.random.default_rng([seed, step, zlib.crc32(purpose.encode())])


def place_of(decision: Decision) -> Place:
    """A decision as metrics see it."""
    return Place(
        decision.information_set, decision.role, decision.seat, decision.step, decision.legal
    )


def play(
    env: Env,
    scorer: Scorer,
    recipe: Recipe,
    step: int,
    known: Sequence[Query] = (),
    cast: Cast | None = None,
    rows: RowSampler | None = None,
) -> Batch:
    """Play `recipe.games` games with the policy as it is. `step` keys the random numbers.

    `known` are queries to score in the first pass, whether or not a game comes to them. Without a
    `cast` the policy plays all roles, and without `rows` chance draws them.
    """
    scorer.score(known)
    rng, batch = generator(recipe.seed, step, "play"), Batch(step=step)
    cast, deals = cast or Cast(env.ir, recipe), _Deals(rng, rows)
    cast.enter(generator(recipe.seed, step, "players"))
    frontier: list[_Bundle] = []

    def arrive(bundle: _Bundle) -> None:
        for part in deals.split(bundle):
            if part.episode.done:
                batch.histories.append(
                    History(part.group, part.games, part.samples, part.episode, part.row)
                )
            else:
                frontier.append(part)

    for bundle in _first(env, recipe, step, cast, batch, rows):
        arrive(bundle)
    while frontier:
        asked = [(bundle, _asked(bundle, batch, cast)) for bundle in frontier]
        scorer.score([query for _, each in asked for _, query, _ in each if query is not None])
        if cast.pool is not None:
            cast.pool.score((player, d) for _, each in asked for d, _, player in each)
        frontier.clear()
        for bundle, each in asked:
            for part in _moved(rng, batch, scorer, cast, bundle, each):
                arrive(part)
    batch.tokens = scorer.tokens
    return batch


_Asked = tuple["Decision", Query | None, "Player | None"]
"""A decision with what the policy is asked, or with the player who answers."""


def _asked(bundle: _Bundle, batch: Batch, cast: Cast) -> list[_Asked]:
    """All that is asked of a bundle now."""
    lineup, asked = batch.lineups[bundle.group], []
    for decision in bundle.episode.decisions:
        player = cast.holder(decision, lineup)
        query = query_of(decision, cast.adapter(decision.role)) if player is None else None
        asked.append((decision, query, player))
    return asked


def _moved(
    rng: np.random.Generator, batch: Batch, scorer: Scorer, cast: Cast, bundle: _Bundle,
    asked: list[_Asked],
) -> Iterator[_Bundle]:  # fmt: skip
    """The bundle after its decisions: a part for each joint move that was drawn."""
    indices, answers = [], []
    for d, query, player in asked:
        indices.append(None if query is None else batch.index(query, d, bundle.episode))
        if query is not None:
            answers.append(Answers.of(d, scorer.probabilities(query)))
        elif player is not None:
            answers.append(cast.answers(player, d, bundle.episode, bundle.games))
    paid, deal = rewards_so_far(bundle.episode.env.ir, bundle.episode.paid), bundle.deal
    for joint, games in zip(*draw_joint(rng, answers, bundle.games), strict=True):
        episode = bundle.episode.fork()
        taken = zip(asked, answers, joint, strict=True)
        turn = Asked(bundle.episode, {d.seat: answer.options[a] for (d, *_), answer, a in taken})
        episode.step(turn.moves)
        samples = tuple(
            Sample(
                index,
                int(a),
                d.role,
                d.seat,
                d.step,
                d.occurrence,
                deal,
                paid.get(d.seat, 0),
                turn,
            )
            for index, (d, *_), a in zip(indices, asked, joint, strict=True)
            if index is not None
        )
        after = bundle.samples + samples
        yield replace(bundle, episode=episode, games=int(games), samples=after)


def _first(
    env: Env, recipe: Recipe, step: int, cast: Cast, batch: Batch, rows: RowSampler | None
) -> list[_Bundle]:
    """The bundles at the start: one for each line-up, or one for each group."""
    rng = generator(recipe.seed, step, "opponents")
    chance: Literal["drawn", "asked"] = "asked" if recipe.group_by == "deal" else "drawn"
    if env.ir.one_group or (chance == "asked" and env.ir.labels_last):
        before = (step - 1) * -(-recipe.games // recipe.group_size)
        drawn = cast.lineups(rng, recipe.games, recipe.group_size, before)
        batch.lineups = list(drawn)
        return [
            _Bundle(env.reset(seed=recipe.seed, chance=chance), group, games)
            for group, games in enumerate(drawn.values())
        ]
    groups = groups_of(recipe, step, rows if chance == "drawn" else None)
    before = (step - 1) * len(groups)
    batch.lineups = [cast.lineup(rng, before + group) for group in range(len(groups))]
    return [
        _Bundle(
            env.reset(seed=one.seed, chance=chance, given=one.given), group, recipe.group_size,
            row=one.row,
        )
        for group, one in enumerate(groups)
    ]  # fmt: skip


class Group(NamedTuple):
    """What the games of a group share: the seed of chance, and what chance brings whatever the
    seed, which is their row where rows are drawn by success."""

    seed: int
    row: int | None = None
    given: Mapping[str, int] | None = None


def groups_of(recipe: Recipe, step: int, rows: RowSampler | None) -> list[Group]:
    """The groups of a step."""
    many = recipe.games // recipe.group_size
    rng = generator(recipe.seed, step, "groups")
    seeds = [int(seed) for seed in rng.integers(2**31, size=many)]
    if rows is None:
        return [Group(seed) for seed in seeds]
    drawn = rows.drawn(generator(recipe.seed, step, "rows"), many)
    return [Group(seed, row, rows.given(row)) for seed, row in zip(seeds, drawn, strict=True)]


def draw_joint(
    rng: np.random.Generator, answers: Sequence[Answers], games: int
) -> tuple[np.ndarray, np.ndarray]:
    """As `sample_joint`, for seats of which some have replied game by game."""
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
    """Draw the joint actions of `games` independent games in which the seats move independently.

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
