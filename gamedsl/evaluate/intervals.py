"""95% intervals of means and of shares.

Means have t intervals over independent rows; shares have Wilson's, which hold near 0 and 1 too
(Wilson 1927; Brown, Cai and DasGupta 2001). Where only clusters of rows are independent, such as
the games of one seed, their spread is that of the clusters. Exact numbers have no interval.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Literal

import numpy as np

LEVEL = 0.95
Z = 1.959963984540054
"""The 97.5% point of the normal distribution."""

Kind = Literal["exact", "t", "wilson", "bootstrap", "none"]


@dataclass(frozen=True)
class Estimate:
    """A number and its 95% interval; `rows` independent observations are behind it. `none`: there
    is one row, so nothing is known of how sure it is."""

    value: float
    low: float
    high: float
    kind: Kind
    rows: int = 0

    @property
    def half(self) -> float:
        """Half the width of the interval."""
        return (self.high - self.low) / 2


def exact(value: float) -> Estimate:
    return Estimate(value, value, value, "exact")


def mean(rows_N: np.ndarray) -> Estimate | None:
    """The mean of independent rows, NaN left out, with its t interval; None where none is left."""
    kept = rows_N[~np.isnan(rows_N)]
    if not len(kept):
        return None
    value = float(kept.mean())
    if len(kept) == 1:
        return Estimate(value, value, value, "none", 1)
    from scipy.special import stdtrit

    error = float(kept.std(ddof=1)) / sqrt(len(kept))
    half = float(stdtrit(len(kept) - 1, (1 + LEVEL) / 2)) * error
    return Estimate(value, value - half, value + half, "t", len(kept))


def mean_of_clusters(rows_CK: np.ndarray) -> Estimate | None:
    """The mean of all entries, NaN left out, with its t interval over rows, which are independent
    of each other; None where none is left. An entry counts alike in rows of few and of many."""
    there_C = (~np.isnan(rows_CK)).sum(axis=1)
    if not there_C.any():
        return None
    kept_CK = rows_CK[there_C > 0]
    value = float(np.nanmean(kept_CK))
    return mean(value + np.nansum(kept_CK - value, axis=1) / there_C[there_C > 0].mean())


def share(successes: float, trials: int) -> Estimate | None:
    """A share of independent trials, with Wilson's score interval; None without trials."""
    return _wilson(successes / trials, trials, trials) if trials else None


def share_of_clusters(
    successes_C: np.ndarray, trials_C: np.ndarray, *, least_effect: float = 0.0
) -> Estimate | None:
    """A share of trials of which only clusters are independent, with Wilson's score interval; None
    without trials. The effective number of trials is theirs by the design effect (Kish 1965): the
    variance of the share between clusters, as that of a ratio, over the variance of independent
    trials (Franco et al. 2019 compare such intervals). It is no less than `least_effect`: with 1,
    trials never count for more than as many independent ones. Where no cluster differs from
    another, each is one trial."""
    successes, trials = float(successes_C.sum()), float(trials_C.sum())
    if not trials:
        return None
    spread = float(((trials * successes_C - successes * trials_C) ** 2).sum())
    clusters = int(np.count_nonzero(trials_C))
    effect = trials / clusters
    if spread:
        effect = max(spread / (trials * successes * (trials - successes)), least_effect)
    return _wilson(successes / trials, trials / effect, clusters)


def _wilson(p: float, trials: float, rows: int) -> Estimate:
    z2 = Z * Z
    middle = (p + z2 / (2 * trials)) / (1 + z2 / trials)
    half = Z / (1 + z2 / trials) * sqrt(p * (1 - p) / trials + z2 / (4 * trials**2))
    low, high = max(0.0, middle - half), min(1.0, middle + half)
    return Estimate(p, min(low, p), max(high, p), "wilson", rows)
