"""Credit of single decisions: the rules are asked what else could have been done there.

For each decision that a game came to, every alternative is played out from the same point: the
episode is forked, the other seats that moved at the same time do what they did, and the rest
follows. With Q the mean of what comes out and pi the seat's policy, the advantage of action a is

     A(a) = Q(a) - sum over b of pi(b) Q(b).

- `counterfactual`: Q is what the seat itself earns, and all that follows is played anew by the
  policy as it is. The subtracted mean is the baseline of COMA (Foerster et al. 2018), but taken
  from the game and not from a critic. In expectation it is the policy gradient.
- `difference`: Q is what all seats earn on average, and the later choices of the game stay as they
  were made, where they are still legal. So it is the difference reward of Wolpert and Tumer (2002)
  with the seat's average play in place of a default action (their aristocrat utility). It credits
  what an action did by itself, and not how others would have answered another one.

Where no more courses of play than `replays` are left they are all followed, weighted by their odds,
and Q is exact; else as many are drawn, without bias. Chance that the episode's seed decides stays
as it was. Ends that are void, since somebody forfeited, are left out of Q, and alternatives that
have no other ends are left out of the mean.

A written reply has no list of alternatives. There `replays` other replies are drawn in its place
from the policy (`Redraws`), and with G what comes out the advantage of reply a is

     A(a) = G(a) - mean of G(b) over the replies b that were drawn.

The mean does not depend on a, so in expectation this is the policy gradient of G. With
`counterfactual` all that follows is written anew, and the mean is the state's value by Monte Carlo
(VinePPO; Kazemnejad et al. 2024); with `difference` all others say what they said.

Shape letters: A labels of a query, S seats.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from gamedsl.players.model_replies import query_of
from gamedsl.recipe.table import Recipe
from gamedsl.training import progress
from gamedsl.training.bundles import draw_joint
from gamedsl.training.rollout import generator
from gamedsl.training.scoring import Scorer
from gamedsl.training.seats import Answers, Lineup, SeatAssignment
from gamedsl.training.trajectories import Batch, Sample, Trajectory

if TYPE_CHECKING:
    from gamedsl.policies.base import Query
    from gamedsl.runtime import Decision, Episode
    from gamedsl.training.sessions import Branch, Sessions

Script = dict[tuple[str, str, int], str]
"""What is chosen, by seat, step and occurrence."""


@dataclass
class _Course:
    """An alternative that is followed: the points that it may have come to by now, with weights
    that sum to 1, and the sum of the rewards where it ended."""

    script: Script
    rewards_S: np.ndarray
    lineup: Lineup
    points: list[tuple[Episode, float]] = field(default_factory=list)
    ended: float = 0.0
    """The weight of the ends that are not void."""

    def arrive(self, episode: Episode, weight: float) -> None:
        """Takes where a move led: a point to go on from, or an end, left out where it is void."""
        if not episode.done:
            self.points.append((episode, weight))
            return
        amounts = [amount for amount in episode.rewards.values() if amount is not None]
        if len(amounts) == len(self.rewards_S):
            self.rewards_S += weight * np.array(amounts, dtype=np.float64)
            self.ended += weight

    def mean_S(self) -> np.ndarray:
        """Returns what each seat earns on average; NaN where all ends are void."""
        found: np.ndarray = self.rewards_S / (self.ended or np.nan)
        return found


class Replays:
    """Plays out what else could have been done, with the policy that a scorer scores."""

    def __init__(self, recipe: Recipe, scorer: Scorer, seating: SeatAssignment) -> None:
        self._scorer, self._seating = scorer, seating
        self._seed, self._most = recipe.seed, recipe.replays
        self._is_difference = recipe.credit == "difference"

    def advantages(self, batch: Batch, samples: Sequence[tuple[int, Sample]]) -> list[float]:
        """Returns the advantage of each of the `samples`, which come with the numbers of their
        histories."""
        rng = generator(self._seed, batch.step, "replays")
        courses = self._courses(batch, samples)
        self._follow([course for each in courses.values() for course in each], rng)
        return [
            self._advantage(batch, sample, courses[self._key(number, sample)])
            for number, sample in samples
        ]

    def estimate(self, batch: Batch, most: int) -> tuple[int, float]:
        """Returns how many other choices a batch's decisions have, and about how many seconds it
        takes to play them all out: `most` of them, evenly chosen, are."""
        samples = [(number, one) for number, one in batch.samples if one.point is not None]
        found = [course for each in self._courses(batch, samples).values() for course in each]
        tried = found[:: max(len(found) // most, 1)]
        started = time.perf_counter()
        self._follow(tried, generator(self._seed, batch.step, "replays"))
        seconds = time.perf_counter() - started
        return len(found), seconds * len(found) / max(len(tried), 1)

    def _courses(
        self, batch: Batch, samples: Sequence[tuple[int, Sample]]
    ) -> dict[Any, list[_Course]]:
        """Returns a course for each alternative of the samples' decisions, by their keys."""
        courses: dict[Any, list[_Course]] = {}
        for number, sample in samples:
            key = self._key(number, sample)
            if key not in courses:
                trajectory = batch.trajectories[number]
                script = _script(batch, trajectory) if self._is_difference else {}
                courses[key] = list(_alternatives(batch, sample, script, batch.lineup(trajectory)))
        return courses

    def _key(self, number: int, sample: Sample) -> Any:
        """Returns the key of samples whose alternatives are the same."""
        assert sample.point is not None
        episode, moves = sample.point
        others = tuple((seat, str(move)) for seat, move in moves.items() if seat != sample.seat)
        return (number if self._is_difference else None, id(episode), sample.seat, others)

    def _advantage(self, batch: Batch, sample: Sample, courses: Sequence[_Course]) -> float:
        if self._is_difference:
            q_A = np.array([course.mean_S().mean() for course in courses])
        else:
            own = batch.trajectories[0].episode.env.ir.seats.index(sample.seat)
            q_A = np.array([course.mean_S()[own] for course in courses])
        query, action = sample.scored
        pi_A = self._scorer.probabilities(batch.queries[query])
        void_A = np.isnan(q_A)
        if void_A[action]:
            return 0.0
        if void_A.any():
            pi_A = np.where(void_A, 0.0, pi_A)
            q_A, pi_A = np.nan_to_num(q_A), pi_A / pi_A.sum()
        return float(q_A[action] - pi_A @ q_A)

    def _follow(self, courses: Sequence[_Course], rng: np.random.Generator) -> None:
        """Plays all courses to their ends, decision by decision, all at once."""
        going = [course for course in courses if course.points]
        move = 0
        while going:
            move += 1
            progress.begin_piece(f"move {move}")
            asked = [
                (episode, [self._ask(course, d) for d in episode.decisions])
                for course in going
                for episode, _ in course.points
            ]
            self._scorer.score([q for _, pairs in asked for _, q in pairs if q is not None])
            for done, course in enumerate(going):
                progress.count(done, len(going), "other choices")
                points = course.points
                course.points = []
                for episode, weight in points:
                    for child, share in self._next(course, episode, rng):
                        course.arrive(child, weight * share)
                course.points = _thinned(course.points, self._most, rng)
            going = [course for course in going if course.points]

    def _ask(self, course: _Course, decision: Decision) -> tuple[Decision, Query | None]:
        held = self._seating.holder(decision, course.lineup) is not None
        return decision, None if held else query_of(decision, self._seating.adapter(decision.role))

    def _next(
        self, course: _Course, episode: Episode, rng: np.random.Generator
    ) -> Iterable[tuple[Episode, float]]:
        """Yields what follows a point, with its odds: all of it, or as much as may be followed."""
        if episode.outcome_count:
            odds = np.array([float(outcome.probability) for outcome in episode.chance])
            for (outcome,), share in self._drawn([Answers([], odds)], rng):
                child = episode.fork()
                child.draw(int(outcome))
                yield child, share
            return
        pairs = [self._ask(course, decision) for decision in episode.decisions]
        answers = [self._answers(course, episode, *pair) for pair in pairs]
        for joint, share in self._drawn(answers, rng):
            child = episode.fork()
            taken = zip(pairs, answers, joint, strict=True)
            child.step({d.seat: answer.options[a] for (d, _), answer, a in taken})
            yield child, share

    def _answers(
        self, course: _Course, episode: Episode, decision: Decision, query: Query | None
    ) -> Answers:
        chosen = course.script.get((decision.seat, decision.step, decision.occurrence))
        if chosen in decision.legal:
            return Answers.of(decision, np.array([float(a == chosen) for a in decision.legal]))
        if query is not None:
            return Answers.of(decision, self._scorer.probabilities(query))
        player = self._seating.holder(decision, course.lineup)
        assert player is not None
        found = self._seating.answers(player, decision, episode, 1)
        if found.odds_A is not None:
            return found
        return Answers([found.options[found.replied[0]]], np.ones(1))

    def _drawn(
        self, answers: Sequence[Answers], rng: np.random.Generator
    ) -> Iterable[tuple[np.ndarray, float]]:
        """Yields the joint answers with their odds; `replays` draws of them where they are more."""
        rows = [answer.odds_A for answer in answers if answer.odds_A is not None]
        places = [np.flatnonzero(row) for row in rows]
        if prod(map(len, places)) > self._most:
            for joint, count in zip(*draw_joint(rng, answers, self._most), strict=True):
                yield joint, int(count) / self._most
            return
        for joint in np.stack(np.meshgrid(*places, indexing="ij"), axis=-1).reshape(-1, len(rows)):
            yield joint, float(prod(row[a] for row, a in zip(rows, joint, strict=True)))


class Redraws:
    """Plays out other replies in the place of those that were written, by an engine that branches
    games off."""

    def __init__(self, recipe: Recipe, engine: Sessions, seating: SeatAssignment) -> None:
        self._recipe, self._engine, self._seating = recipe, engine, seating
        self._is_difference = recipe.credit == "difference"

    def advantages(self, batch: Batch, samples: Sequence[tuple[int, Sample]]) -> list[float]:
        """Returns the advantage of each of the `samples`, which come with the numbers of their
        histories; 0 where nothing else that was drawn counts."""
        count = self._recipe.replays
        branches = [
            branch for number, sample in samples
            for branch in [self._branch(batch.trajectories[number], sample)] * count
        ]  # fmt: skip
        fresh = [one._replace(episode=one.episode.fork()) for one in branches]
        played = self._engine.go_on(fresh, batch, self._recipe, self._seating)
        found = []
        for place, (number, sample) in enumerate(samples):
            others = played[place * count : (place + 1) * count]
            worth = [self._worth(one, self._first(one, sample)) for one in others]
            counted = [one for one in worth if one is not None]
            own = self._worth(batch.trajectories[number], sample)
            if own is None or not counted:
                found.append(0.0)
            else:
                found.append(float(own - sum(counted, Fraction(0)) / len(counted)))
        return found

    def _branch(self, trajectory: Trajectory, sample: Sample) -> Branch:
        from gamedsl.training.sessions import Branch

        assert sample.point is not None
        episode, moves = sample.point
        own = (sample.seat, sample.step, sample.occurrence, sample.attempt)
        if self._is_difference:
            later = (sample.step, sample.occurrence)
            again = {key for key in trajectory.moves if key[0] == sample.seat and key[1:3] == later}
            script = {k: v for k, v in trajectory.moves.items() if k not in again | {own}}
        else:
            keys = {one.seat: one for one in episode.decisions}
            script = {
                (seat, keys[seat].step, keys[seat].occurrence, len(keys[seat].failed)): reply
                for seat, reply in moves.items()
                if seat != sample.seat
            }
        return Branch(episode, trajectory.group, script)

    def _first(self, branch: Trajectory, sample: Sample) -> Sample:
        """Returns the reply of a branch that took a sample's place."""
        return next(one for one in branch.samples if one.seat == sample.seat)

    def _worth(self, trajectory: Trajectory, sample: Sample) -> Fraction | None:
        """Returns what a reply brought: the cost of one that was refused, else what its seat
        earned, or all seats on average; None where that is void."""
        episode = trajectory.episode
        if sample.invalid is not None:
            cost = episode.env.cost_of(sample.seat)
            return None if cost is None else Fraction(cost)
        if not self._is_difference or sample.seat not in episode.rewards:
            reward = episode.earnings.get(sample.seat)
            return None if reward is None else Fraction(reward) - sample.paid
        earned = [Fraction(one) for one in episode.rewards.values() if one is not None]
        return sum(earned, Fraction(0)) / len(earned) if earned else None


def _script(batch: Batch, trajectory: Trajectory) -> Script:
    """Returns the policy's choices in a game."""
    chosen = [(sample, *sample.scored) for sample in trajectory.samples]
    return {
        (s.seat, s.step, s.occurrence): batch.places[query].legal[action]
        for s, query, action in chosen
    }


def _alternatives(
    batch: Batch, sample: Sample, script: Script, lineup: Lineup
) -> Iterable[_Course]:
    """Yields a course for each action that could have been taken at a sample's decision, one move
    on."""
    from gamedsl.runtime import Action

    assert sample.point is not None
    before, moves = sample.point
    seats = len(before.env.ir.seats)
    for name in batch.places[sample.scored[0]].legal:
        episode = before.fork()
        episode.step({**moves, sample.seat: Action(name)})
        course = _Course(script, np.zeros(seats), lineup)
        course.arrive(episode, 1.0)
        yield course


def _thinned(
    points: list[tuple[Episode, float]], most: int, rng: np.random.Generator
) -> list[tuple[Episode, float]]:
    """Returns no more than `most` of the points, drawn by their weights, of the same weight in
    all."""
    if len(points) <= most:
        return points
    weights = np.array([weight for _, weight in points])
    counts = rng.multinomial(most, weights / weights.sum())
    share = float(weights.sum()) / most
    return [
        (episode, int(count) * share)
        for (episode, _), count in zip(points, counts, strict=True)
        if count
    ]
