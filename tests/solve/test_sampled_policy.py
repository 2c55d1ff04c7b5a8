"""Exploitability from samples of a policy: the value, its interval, and what noise does to it."""

from __future__ import annotations

import numpy as np
import pytest

import gamedsl
from gamedsl.solve import Tree, exploitability, tabulate
from gamedsl.solve.sampled_policy import mean_policy, sampled_exploitability


@pytest.fixture(scope="module")
def tree() -> Tree:
    """A game of two seats, whose equilibrium is even odds."""
    return tabulate(gamedsl.load("matching_pennies").env())


def thoughts(tree: Tree, odds: float, noise: float, count: int, seed: int) -> dict[str, np.ndarray]:
    """Choices after thoughts whose first action has these odds on average, so far off."""
    rng = np.random.default_rng(seed)
    found = {}
    for info in tree.info_sets:
        first = odds + noise * rng.choice([-1, 1], size=count)
        found[info.key] = np.stack([first, 1 - first], axis=1)
    return found


def test_certain_samples_have_no_interval(tree: Tree) -> None:
    samples = thoughts(tree, 0.7, 0.0, 4, 0)
    found = sampled_exploitability(tree, samples)
    exact = float(exploitability(tree, mean_policy(tree, samples)).per_player)
    assert exact > 0.3
    assert found == pytest.approx((exact, exact, exact))


def test_interval_holds_the_policy_behind_the_samples(tree: Tree) -> None:
    """Of 40 sets of samples the interval misses the exploitability of the true mean in few."""
    truth = sampled_exploitability(tree, thoughts(tree, 0.6, 0.0, 1, 0)).value
    found = [
        sampled_exploitability(tree, thoughts(tree, 0.6, 0.3, 32, seed), draws=100)
        for seed in range(40)
    ]
    assert sum(one.low <= truth <= one.high for one in found) >= 36
    assert all(0 <= one.low <= one.value <= one.high for one in found)


def test_more_thoughts_narrow_the_interval(tree: Tree) -> None:
    few, many = (
        sampled_exploitability(tree, thoughts(tree, 0.5, 0.4, count, 1), draws=100)
        for count in (8, 512)
    )
    assert many.high - many.low < (few.high - few.low) / 3
    assert many.high < 0.1
