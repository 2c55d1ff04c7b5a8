"""Every way that the games of a step can go, for expectations without noise."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from gamedsl.ir.outcome import rewards_so_far
from gamedsl.players.model_replies import query_of
from gamedsl.runtime import Action
from gamedsl.solve import tabulate
from gamedsl.solve.action_values import action_worth
from gamedsl.training.credit import Replays
from gamedsl.training.seats import SeatAssignment
from gamedsl.training.trajectories import Batch, DecisionPoint, Sample, Trajectory, place_of
from tests.train.conftest import recipe_of, weighed


class Exhaustive:
    """A game under some policy, uneven everywhere; as a `Scorer` it answers for that policy."""

    def __init__(self, game) -> None:
        self.game = game
        found = {d.information_set: d for episode in self._walk() for d in episode.decisions}
        rng = np.random.default_rng(7)
        self.odds = {key: rng.dirichlet(np.full(len(d.legal), 3.0)) for key, d in found.items()}
        self.queries = [query_of(d, "shared") for d in found.values()]
        self.places = [place_of(d) for d in found.values()]
        self._of_query = dict(zip(self.queries, self.odds.values(), strict=True))
        self._number = {key: number for number, key in enumerate(self.odds)}
        self.ways = list(self._histories())

    def score(self, queries) -> None: ...

    def probabilities(self, query) -> np.ndarray:
        return self._of_query[query]

    def gradient(self, way: tuple[int, ...], **settings: Any) -> np.ndarray:
        """Of the sum of advantages times log-probabilities, by all logits, if the games go so."""
        histories = [Trajectory(0, 1, self.ways[w][0], self.ways[w][1]) for w in way]
        batch = Batch(queries=self.queries, places=self.places, trajectories=histories)
        recipe = recipe_of(self.game, **{k: v for k, v in settings.items() if k != "kept"})
        replays = Replays(recipe, self, SeatAssignment(self.game.ir, recipe))
        sums = weighed(batch, alternatives=replays, **settings).sums_A
        parts = [row - row.sum() * pi for row, pi in zip(sums, self.odds.values(), strict=True)]
        return np.concatenate(parts)

    def moments(self, games: int, **settings: Any) -> tuple[np.ndarray, float]:
        """The mean gradient over every way that so many games can go, and the sum of the variances
        of its parts."""
        mean, squares = np.zeros(sum(map(len, self.odds.values()))), 0.0
        for way in product(range(len(self.ways)), repeat=games):
            chance = float(np.prod([self.ways[w][2] for w in way]))
            found = self.gradient(way, **settings)
            mean, squares = mean + chance * found, squares + chance * float(found @ found)
        return mean, squares - float(mean @ mean)

    def mean(self, games: int, **settings: Any) -> np.ndarray:
        return self.moments(games, **settings)[0]

    def reach(self) -> list[float]:
        """How likely a game comes to each information set."""
        return [float(reach) for reach, _ in self._worth()]

    def exact(self, games: int) -> np.ndarray:
        """The mean gradient from the tree: games * reach * pi * (q - v), by logit."""
        parts = []
        for (reach, q), pi in zip(self._worth(), self.odds.values(), strict=True):
            values = np.array(q, dtype=float)
            parts.append(games * float(reach) * pi * (values - pi @ values))
        return np.concatenate(parts)

    def _worth(self):
        named = {
            place.information_set: dict(zip(place.legal, pi, strict=True))
            for place, pi in zip(self.places, self.odds.values(), strict=True)
        }
        worth = action_worth(tabulate(self.game.env()), named, "rewards")
        return [worth[key] for key in self.odds]

    def _walk(self):
        stack = [self.game.env().reset(chance="asked")]
        while stack:
            episode = stack.pop()
            yield episode
            stack += [child for child, _, _ in self._next(episode)]

    def _next(self, episode):
        """What may come next, how likely chance makes it, and the decisions that lead there."""
        for number, outcome in enumerate(episode.chance):
            child = episode.fork()
            child.draw(number)
            yield child, float(outcome.probability), ()
        asked = episode.decisions
        for joint in product(*(range(len(d.legal)) for d in asked)) if asked else ():
            child = episode.fork()
            child.step({d.seat: Action(d.legal[a]) for d, a in zip(asked, joint, strict=True)})
            yield child, 1.0, tuple(zip(asked, joint, strict=True))

    def _histories(self):
        """Every finished course of play: its samples, its end and its probability."""
        stack = [(self.game.env().reset(chance="asked"), 1.0, ())]
        while stack:
            episode, odds, samples = stack.pop()
            if episode.done:
                yield samples, episode, odds
                continue
            paid = rewards_so_far(self.game.ir, episode.paid)
            for child, chance, taken in self._next(episode):
                asked = DecisionPoint(episode, {d.seat: Action(d.legal[a]) for d, a in taken})
                more = tuple(
                    Sample(self._number[d.information_set], a, d.role, d.seat, d.step,
                           d.occurrence, 0, paid.get(d.seat, 0), asked)
                    for d, a in taken
                )  # fmt: skip
                played = np.prod([self.odds[d.information_set][a] for d, a in taken])
                stack.append((child, odds * chance * float(played), samples + more))
