"""Plays the games of a training step, all at once, at the cost of the distinct histories alone.

A bundle is an episode and the number of games that have come this way. At a decision the bundle
is split by drawing how many of its games take each joint action, and the episode is forked once
per joint action that was drawn. The joint counts of n independent games are multinomial, so the
result has exactly the distribution of n games played one by one; only the work is less. Ten
thousand games of stag hunt are one bundle, two queries and at most four histories.

Games that share everything but choices (no chance, the same labels) start as one bundle; else
each group of `group_size` games starts as one, from a seed of its own.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from gamedsl.ir.recipe import Recipe
from gamedsl.policies.base import Message, Query
from gamedsl.train.scoring import Scorer

if TYPE_CHECKING:
    from gamedsl.runtime import Decision, Env, Episode

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


class Sample(NamedTuple):
    """One decision of one seat: `query` and `action` are indices (into `Batch.queries`,
    labels)."""

    query: int
    action: int
    role: str
    seat: str
    step: str
    occurrence: int


@dataclass(frozen=True)
class History:
    """A finished course of play that `games` games of a group took."""

    group: int
    games: int
    samples: tuple[Sample, ...]
    episode: Episode


@dataclass
class Batch:
    """The games of one step. `places` is parallel to `queries`."""

    queries: list[Query] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    histories: list[History] = field(default_factory=list)
    tokens: int = 0
    """Distinct tokens that were scored for these games."""
    _index: dict[Query, int] = field(default_factory=dict)

    def index(self, query: Query, decision: Decision) -> int:
        """The number of a query, new if it is."""
        if query not in self._index:
            self._index[query] = len(self.queries)
            self.queries.append(query)
            self.places.append(place_of(decision))
        return self._index[query]


@dataclass(frozen=True)
class _Bundle:
    episode: Episode
    group: int
    games: int
    samples: tuple[Sample, ...] = ()


def generator(seed: int, step: int, purpose: str) -> np.random.Generator:
    """A stream of its own for each purpose and step, so that resuming needs no stored state."""
    return np.random.default_rng([seed, step, zlib.crc32(purpose.encode())])


def adapter_of(recipe: Recipe) -> Callable[[str], str]:
    """Which adapter answers for a role."""
    return (lambda role: role) if recipe.adapters == "per_role" else (lambda role: "shared")


def query_of(decision: Decision, adapter: str) -> Query:
    """A decision as the policy sees it."""
    return Query(cast("tuple[Message, ...]", decision.messages), decision.labels, adapter)


def place_of(decision: Decision) -> Place:
    """A decision as metrics see it."""
    return Place(
        decision.information_set, decision.role, decision.seat, decision.step, decision.legal
    )


def play(env: Env, scorer: Scorer, recipe: Recipe, step: int, known: Sequence[Query] = ()) -> Batch:
    """Play `recipe.games` games with the policy as it is. `step` keys the random numbers.

    `known` are queries to score in the first pass, whether or not a game comes to them.
    """
    from gamedsl.runtime import Action

    scorer.score(known)
    rng, batch = generator(recipe.seed, step, "play"), Batch()
    adapter = adapter_of(recipe)
    frontier = _first(env, recipe, step)
    while frontier:
        asked = [
            (bundle, [(d, query_of(d, adapter(d.role))) for d in bundle.episode.decisions])
            for bundle in frontier
        ]
        scorer.score([query for _, pairs in asked for _, query in pairs])
        frontier = []
        for bundle, pairs in asked:
            indices = [batch.index(query, decision) for decision, query in pairs]
            pi = [scorer.probabilities(query) for _, query in pairs]
            for joint, games in zip(*sample_joint(rng, pi, bundle.games), strict=True):
                episode = bundle.episode.fork()
                episode.step(
                    {d.seat: Action(d.legal[a]) for (d, _), a in zip(pairs, joint, strict=True)}
                )
                samples = tuple(
                    Sample(index, int(a), d.role, d.seat, d.step, d.occurrence)
                    for index, (d, _), a in zip(indices, pairs, joint, strict=True)
                )
                after = _Bundle(episode, bundle.group, int(games), bundle.samples + samples)
                if episode.done:
                    batch.histories.append(
                        History(after.group, after.games, after.samples, episode)
                    )
                else:
                    frontier.append(after)
    batch.tokens = scorer.tokens
    return batch


def _first(env: Env, recipe: Recipe, step: int) -> list[_Bundle]:
    """The bundles at the start: one, or one for each group."""
    if env.ir.one_group:
        return [_Bundle(env.reset(seed=recipe.seed), 0, recipe.games)]
    seeds = generator(recipe.seed, step, "groups").integers(
        2**31, size=recipe.games // recipe.group_size
    )
    return [
        _Bundle(env.reset(seed=int(seed)), group, recipe.group_size)
        for group, seed in enumerate(seeds)
    ]


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
