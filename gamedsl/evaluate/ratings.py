"""Ratings from results between pairs: Elo by maximum likelihood, and TrueSkill.

Elo is the Bradley-Terry model, P(a beats b) = 1 / (1 + 10^((b - a) / 400)), fitted to all results
at once, so that their order does not matter (Bradley and Terry 1952; Hunter 2004). A game is worth
its points: 1 for a win, ½ for a draw, and where more is at stake than that, as in poker, the pay on
the scale from the least to the most. Each pair that met is credited one draw more, without which
whoever lost every game would have no finite rating. Intervals are of the normal approximation, from
the curvature of the likelihood; points between 0 and 1 vary less than it assumes, so with them they
are too wide, not too narrow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log
from typing import NamedTuple

import numpy as np

from gamedsl.evaluate.intervals import Estimate, Z, exact
from gamedsl.extras import missing

PER_UNIT = 400 / log(10)
"""Elo points to one unit of log-odds."""
ANCHOR = 1000.0
STEPS = 500
"""Newton steps at most; some ten are enough unless results are very lopsided."""
PRIOR = 1.0
"""Draws that each pair is credited."""

LEARNT = 500
"""Games of a pair that TrueSkill learns from; each takes a millisecond."""


class Score(NamedTuple):
    """Games of a pair, of which the first won, drew and lost so many, and the points that it made
    of them; expected numbers where the result is exact."""

    won: float
    drawn: float
    lost: float
    points: float

    @property
    def games(self) -> float:
        return self.won + self.drawn + self.lost

    def turned(self) -> Score:
        """The same for the other."""
        return Score(self.lost, self.drawn, self.won, self.games - self.points)

    def plus(self, more: Score) -> Score:
        return Score(*(a + b for a, b in zip(self, more, strict=True)))


Scores = Mapping[tuple[str, str], Score]
"""The score of each pair, in either order, but once."""


def elo(scores: Scores, anchor: str | None = None) -> dict[str, Estimate]:
    """Ratings with 95% intervals, relative to the anchor's 1000 or, without one, to a mean of 1000.

    Whom no chain of games links to the anchor is left out; without an anchor, all but the largest
    group that games link. KeyError where the anchor has not played.
    """
    names = _linked(scores, anchor)
    if not names:
        return {}
    place = {name: i for i, name in enumerate(names)}
    games_NN, points_N = np.zeros((len(names), len(names))), np.zeros(len(names))
    for (a, b), score in scores.items():
        if a in place and b in place and score.games:
            n = score.games + PRIOR
            games_NN[place[a], place[b]] += n
            games_NN[place[b], place[a]] += n
            points_N[place[a]] += score.points + PRIOR / 2
            points_N[place[b]] += score.games - score.points + PRIOR / 2
    theta_N, information_NN = _fit(games_NN, points_N)
    if anchor is None:
        theta_N = theta_N - theta_N.mean()
        shift = np.trace(information_NN)
        covariance_NN = np.linalg.inv(information_NN + shift) - 1 / (shift * len(names) ** 2)
    else:
        here = place[anchor]
        theta_N = theta_N - theta_N[here]
        rest = [i for i in range(len(names)) if i != here]
        covariance_NN = np.zeros_like(information_NN)
        covariance_NN[np.ix_(rest, rest)] = np.linalg.inv(information_NN[np.ix_(rest, rest)])
    found = {}
    for name, i in place.items():
        value = ANCHOR + PER_UNIT * float(theta_N[i])
        half = PER_UNIT * Z * float(np.sqrt(max(0.0, covariance_NN[i, i])))
        found[name] = (
            exact(value) if name == anchor else Estimate(value, value - half, value + half, "t")
        )
    return found


def _fit(games_NN: np.ndarray, points_N: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The likeliest strengths, in log-odds, of mean 0, and the information at them; Newton's
    method, with steps of at most 1. The likelihood is concave, and the prior makes its maximum
    finite. Strengths that are all shifted alike are as likely, so the information is singular along
    (1, …, 1); what is added to it acts along that direction alone."""
    theta_N = np.zeros(len(points_N))
    for _ in range(STEPS):
        p_NN = 1 / (1 + np.exp(theta_N[None, :] - theta_N[:, None]))
        gradient_N = points_N - (games_NN * p_NN).sum(axis=1)
        weight_NN = games_NN * p_NN * (1 - p_NN)
        information_NN = np.diag(weight_NN.sum(axis=1)) - weight_NN
        step_N = np.linalg.solve(
            information_NN + np.trace(information_NN), gradient_N - gradient_N.mean()
        )
        longest = float(np.abs(step_N).max())
        theta_N = theta_N + step_N / max(1.0, longest)
        if longest < 1e-9:
            break
    return theta_N, information_NN


def _linked(scores: Scores, anchor: str | None) -> list[str]:
    """Whom games link to the anchor, or the largest group, by name."""
    neighbours: dict[str, set[str]] = {}
    for (a, b), score in scores.items():
        if score.games:
            neighbours.setdefault(a, set()).add(b)
            neighbours.setdefault(b, set()).add(a)
    groups: list[set[str]] = []
    for name in sorted(neighbours):
        if any(name in group for group in groups):
            continue
        group, pending = {name}, [name]
        while pending:
            new = neighbours[pending.pop()] - group
            group |= new
            pending += new
        groups.append(group)
    if anchor is not None:
        if anchor not in neighbours:
            raise KeyError(anchor)
        groups = [group for group in groups if anchor in group]
    return max((sorted(group) for group in groups), key=lambda names: len(names), default=[])


def trueskill(scores: Sequence[tuple[str, str, Score]]) -> dict[str, Estimate]:
    """TrueSkill (Herbrich et al. 2006): mean skill, with 95% intervals. It knows wins, draws and
    losses, whatever was at stake. It learns game by game, so
    order matters: pairs are taken as they stand here, the games of one spread evenly, and of more
    than `LEARNT` as many in proportion.

    Raises ImportError without the package `trueskill`.
    """
    try:
        import trueskill as ts
    except ImportError:
        raise missing("trueskill", "trueskill") from None
    counts = [(a, b, _shortened(score)) for a, b, score in scores]
    games = sum(sum(kinds.values()) for *_, kinds in counts)
    drawn = sum(kinds["drawn"] for *_, kinds in counts) / max(games, 1)
    system = ts.TrueSkill(draw_probability=min(max(drawn, 0.001), 0.99))
    skill = {name: system.create_rating() for a, b, _ in counts for name in (a, b)}
    for a, b, kinds in counts:
        for result in _spread(kinds):
            first, second = (b, a) if result == "lost" else (a, b)
            skill[first], skill[second] = ts.rate_1vs1(
                skill[first], skill[second], drawn=result == "drawn", env=system
            )
    return {
        name: Estimate(s.mu, s.mu - Z * s.sigma, s.mu + Z * s.sigma, "t")
        for name, s in skill.items()
    }


def _shortened(score: Score) -> dict[str, int]:
    """Whole games of each kind, in proportion, `LEARNT` or so at most."""
    scale = min(1.0, LEARNT / max(score.games, 1.0))
    kinds = {"won": score.won, "drawn": score.drawn, "lost": score.lost}
    return {kind: round(scale * count) for kind, count in kinds.items()}


def _spread(counts: Mapping[str, int]) -> list[str]:
    """The results of a match in an order in which each kind comes at even distances."""
    total = [
        ((place + 0.5) / count, kind) for kind, count in counts.items() for place in range(count)
    ]
    return [kind for _, kind in sorted(total)]
