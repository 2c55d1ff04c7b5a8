"""Exploitability of a policy of which only samples are known, with its interval.

A model that thinks before it chooses plays, at each information set, the mean of its choices over
all thoughts. Of n thoughts the mean of their exact choices estimates that, and the exploitability
of the estimate estimates the policy's. What others gain is the largest of many replies' gains, and
noise raises a largest value: the estimate is too high rather than too low.

The interval is by bootstrap (Efron and Tibshirani 1993): thoughts are drawn anew, with
replacement, at each information set. The draws are too high by the same noise once more. So the
upper end is their 97.5% point, and the lower end the estimate less their distance to that point
(the basic interval): neither end takes the noise for more than it is.

Shape letters: T thoughts at one information set, A its actions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from gamedsl.solve.best_responses import exploitability

if TYPE_CHECKING:
    from gamedsl.solve.tree import Tree

DRAWS = 200

Policy = Mapping[str, Mapping[str, float]]


class SampledExploitability(NamedTuple):
    """NashConv / seats of the mean of the samples, with the ends of its 95% interval."""

    value: float
    low: float
    high: float


def mean_policy(tree: Tree, samples: Mapping[str, np.ndarray]) -> dict[str, dict[str, float]]:
    """Returns the mean of the samples [T, A] at each information set."""
    return {
        info.key: dict(zip(info.actions, samples[info.key].mean(axis=0).tolist(), strict=True))
        for info in tree.info_sets
        if info.key in samples
    }


def sampled_exploitability(
    tree: Tree, samples: Mapping[str, np.ndarray], known: Policy | None = None, *, seed: int = 0,
    utility: Literal["payoffs", "rewards"] = "rewards", draws: int = DRAWS,
) -> SampledExploitability:  # fmt: skip
    """Returns the exploitability of a policy from its samples [T, A] by information set, in the
    order of the tree's actions. `known` has the policy at all others. Equal seeds give equal
    intervals."""
    rest = dict(known or {})

    def worth(chosen: Mapping[str, np.ndarray]) -> float:
        policy = rest | mean_policy(tree, chosen)
        return max(0.0, float(exploitability(tree, policy, utility).per_player))

    rng = np.random.default_rng(seed)
    value = worth(samples)
    found = [
        worth({key: rows[rng.integers(len(rows), size=len(rows))] for key, rows in samples.items()})
        for _ in range(draws)
    ]
    high = max(value, float(np.quantile(found, 0.975)))
    return SampledExploitability(value, max(0.0, 2 * value - high), high)
