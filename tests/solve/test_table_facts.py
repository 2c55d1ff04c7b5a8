"""What a table says besides its equilibria: dominance, welfare, security, correlation, basins."""

from __future__ import annotations

from fractions import Fraction

import pytest
from small_games import (
    BIASED_ROCK,
    HAWK_DOVE,
    PENNIES,
    PRISONERS,
    STAG_HUNT,
    matrix_tree,
    public_goods_env,
    zero_sum,
)

from gamedsl.solve import one_shot, study, tabulate
from gamedsl.solve.basins import basins
from gamedsl.solve.dominance import eliminate
from gamedsl.solve.outcomes import correlated, pareto_set, security, welfare

F = Fraction


def table(rows, actions, columns=None):
    return one_shot(matrix_tree(rows, actions, columns))


def gone(found):
    return [(r.round, r.seat, r.action) for r in found.removed]


def test_iterated_elimination_goes_round_by_round():
    """Right goes first, then down, then centre."""
    rows = [[(1, 0), (1, 2), (0, 1)], [(0, 3), (0, 1), (2, 0)]]
    found = eliminate(table(rows, ("up", "down"), ("left", "centre", "right")), "strictly")
    assert gone(found) == [(1, "column", "right"), (2, "row", "down"), (3, "column", "left")]
    assert found.solved
    assert found.left == {"row": ("up",), "column": ("centre",)}


def test_an_action_that_only_a_mixture_beats():
    rows = [[(3, 0), (0, 0)], [(0, 0), (3, 0)], [(1, 0), (1, 0)]]
    found = eliminate(table(rows, ("up", "down", "safe"), ("left", "right")), "strictly")
    (only,) = found.removed
    assert only.action == "safe"
    assert sum(only.by.values()) == 1
    assert all(3 * only.by[name] > 1 for name in ("up", "down"))


def test_equal_mixture_does_not_dominate():
    rows = [[(2, 0), (0, 0)], [(0, 0), (2, 0)], [(1, 0), (1, 0)]]
    this = table(rows, ("up", "down", "safe"), ("left", "right"))
    assert gone(eliminate(this, "strictly")) == gone(eliminate(this, "weakly")) == []


def test_weak_dominance_takes_more_and_may_lose_equilibria():
    rows = [[(1, 1), (0, 0)], [(0, 0), (0, 0)]]
    this = table(rows, ("good", "bad"))
    assert gone(eliminate(this, "strictly")) == []
    assert gone(eliminate(this, "weakly")) == [(1, "row", "bad"), (1, "column", "bad")]
    assert len(study(matrix_tree(rows, ("good", "bad"))).found) == 2


def test_weak_dominance_by_a_mixture_alone():
    rows = [[(2, 0), (0, 0), (1, 0)], [(0, 0), (2, 0), (1, 0)], [(1, 0), (1, 0), (0, 0)]]
    this = table(rows, ("up", "down", "safe"), ("left", "right", "third"))
    assert gone(eliminate(this, "strictly")) == []
    (only,) = eliminate(this, "weakly").removed
    assert (only.action, only.by) == ("safe", {"up": F(1, 2), "down": F(1, 2)})


def test_dominance_of_many_seats():
    found = eliminate(one_shot(tabulate(public_goods_env(3, F(2)))), "strictly")
    assert gone(found) == [(1, f"player_{i}", "give") for i in (1, 2, 3)]


def test_pareto_set_and_welfare_of_the_dilemma():
    this = table(*PRISONERS)
    assert set(pareto_set(this)) == {
        ("cooperate", "cooperate"), ("cooperate", "defect"), ("defect", "cooperate")
    }  # fmt: skip
    found = welfare(this, [{"row": F(1), "column": F(1)}])
    assert (found.best, found.best_profiles) == (6, (("cooperate", "cooperate"),))
    assert found.price_of_anarchy == found.price_of_stability == 3


def test_prices_need_welfare_above_zero():
    found = welfare(table(*PENNIES), [{"row": F(0), "column": F(0)}])
    assert (found.price_of_anarchy, found.price_of_stability) == (None, None)
    assert welfare(table(*PENNIES), []) is None


def test_security_level_equals_zero_sum_value():
    this = table(zero_sum([[3, -1], [-2, 1]]), ("up", "down"))
    row, column = security(this, 0), security(this, 1)
    assert (row.value, column.value) == (F(1, 7), F(-1, 7))
    assert row.mixture == {"up": F(3, 7), "down": F(4, 7)}
    assert row.exact


def test_stag_hunt_security_is_hare():
    found = security(table(*STAG_HUNT), 0)
    assert (found.value, found.mixture) == (2, {"stag": 0, "hare": 1})


AUMANN = [[(6, 6), (2, 7)], [(7, 2), (0, 0)]]


def test_correlated_equilibrium_of_chicken():
    """Aumann (1974): 1/2, 1/4, 1/4 has the most welfare, 10 1/2, and no pure profile does so well
    but the one that is not stable."""
    found = correlated(table(AUMANN, ("dare not", "dare")))
    assert found.exact
    assert found.regret == 0
    assert found.distribution == {
        ("dare not", "dare not"): F(1, 2), ("dare not", "dare"): F(1, 4),
        ("dare", "dare not"): F(1, 4),
    }  # fmt: skip
    assert found.values == {"row": F(21, 4), "column": F(21, 4)}
    assert found.ranges == {"row": (2, 7), "column": (2, 7)}


def test_a_dominant_action_leaves_one_correlated_equilibrium():
    found = correlated(table(*PRISONERS))
    assert found.distribution == {("defect", "defect"): 1}
    assert found.ranges["row"] == (1, 1)


def test_zero_sum_correlated_equilibria_pay_the_value():
    assert correlated(table(*BIASED_ROCK)).ranges == {"row": (0, 0), "column": (0, 0)}


def test_basins():
    hunt, dilemma, pennies, dove = (
        basins(matrix_tree(*game)) for game in (STAG_HUNT, PRISONERS, PENNIES, HAWK_DOVE)
    )
    for way in ("replicator", "gradient"):
        shares = getattr(hunt, way)
        assert set(shares) == {("stag", "stag"), ("hare", "hare")}
        assert sum(shares.values()) > 0.99
        assert 0.2 < shares["stag", "stag"] < 0.35  # both at 2/3 or more: 1/9, and what leads there
        assert getattr(dilemma, way) == {("defect", "defect"): 1.0}
        assert getattr(pennies, way) == {}
        assert getattr(dove, way)["dove", "hawk"] == pytest.approx(0.5, abs=0.02)
    assert hunt.gradient["stag", "stag"] != hunt.replicator["stag", "stag"]
    assert basins(matrix_tree(*BIASED_ROCK)) is None


def test_policy_gradient_flow_reaches_the_prediction():
    """The same starting points under `gamedsl.solve.gradient_flow`, which walks the tree."""
    import numpy as np

    from gamedsl.solve.gradient_flow import GradientFlow

    tree = matrix_tree(*STAG_HUNT)
    axis = (np.arange(12) + 0.5) / 12
    x, y = (grid.ravel() for grid in np.meshgrid(axis, axis, indexing="ij"))
    ends = GradientFlow(tree, np.eye(2)).run(np.stack([x, 1 - x, y, 1 - y], axis=1)).probs_BL
    share = float((ends[:, [0, 2]] > 0.9).all(axis=1).mean())
    assert share == pytest.approx(basins(tree).gradient["stag", "stag"], abs=0.03)


def test_without_scipy_all_else_is_there(monkeypatch):
    import importlib.util

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    found = study(matrix_tree(*STAG_HUNT))
    assert len(found.found) == 3
    assert found.security is found.correlated is None
    assert "pip install" in found.missing
    assert found.strict.mixtures
