"""The path of quantal responses, and fractions read off floats."""

from __future__ import annotations

from fractions import Fraction
from math import exp, log

import pytest
from small_games import BIASED_ROCK, HAWK_DOVE, PENNIES, STAG_HUNT, kuhn_tree, matrix_tree

import gamedsl
from gamedsl.solve import checked, expected, exploitability, qre, qre_path, tabulate
from gamedsl.solve.qre import fits
from gamedsl.solve.solution import rounded

F = Fraction


def test_qre_path_starts_uniform_and_responds():
    """λ (Q(stag) - Q(hare)) is the difference of the logs of the probabilities."""
    found = qre_path(matrix_tree(*STAG_HUNT))
    assert found.points[0].precision == 0
    assert found.points[0].policy["row"] == {"stag": 0.5, "hare": 0.5}
    for point in found.points:
        row, p = point.policy["row"], point.policy["column"]["stag"]
        gain = 4 * p - (3 * p + 2 * (1 - p))
        assert log(row["stag"] / row["hare"]) == pytest.approx(point.precision * gain, abs=1e-6)
    assert [p.precision for p in found.points] == sorted(p.precision for p in found.points)


def test_stag_hunt_qre_limit_is_risk_dominant():
    found = qre_path(matrix_tree(*STAG_HUNT))
    assert found.arrived
    assert found.solution.policy["row"]["hare"] > 0.99
    assert 0 < found.solution.nash_conv < 0.01


@pytest.mark.parametrize(
    ("game", "row"),
    [(PENNIES, (1 / 2, 1 / 2)), (BIASED_ROCK, (3 / 7, 3 / 7, 1 / 7)), (HAWK_DOVE, (1 / 2, 1 / 2))],
)
def test_limits_that_are_mixed(game, row):
    found = qre_path(matrix_tree(*game))
    assert list(found.solution.policy["row"].values()) == pytest.approx(row, abs=5e-3)


def test_known_qre_of_asymmetric_matching_pennies():
    """Row gets 9 for heads against heads: p = 1 / (1 + e^(λ (2 - 12 q))) and
    q = 1 / (1 + e^(λ (4 p - 2)))."""
    tree = matrix_tree([[(9, -1), (-1, 1)], [(-1, 1), (1, -1)]], ("heads", "tails"))
    for point in qre_path(tree).points:
        p, q = point.policy["row"]["heads"], point.policy["column"]["heads"]
        assert p == pytest.approx(1 / (1 + exp(point.precision * (2 - 12 * q))), abs=1e-6)
        assert q == pytest.approx(1 / (1 + exp(point.precision * (4 * p - 2))), abs=1e-6)


def test_kuhn_poker_is_followed_to_its_value(monkeypatch):
    monkeypatch.setattr(qre, "ENOUGH", qre.CLOSE)
    tree = kuhn_tree()
    found = qre_path(tree)
    assert found.arrived
    assert float(found.solution.values["first"]) == pytest.approx(-1 / 18, abs=1e-3)
    last = found.points[-1]
    assert last.nash_conv == pytest.approx(float(exploitability(tree, last.policy).nash_conv))


def test_what_does_not_fit_is_refused(monkeypatch):
    monkeypatch.setattr(qre, "MANY_SLOTS", 3)
    tree = matrix_tree(*STAG_HUNT)
    assert not fits(tree)
    with pytest.raises(ValueError, match="too large"):
        qre_path(tree)


def near(tree, shift):
    third = {"stag": 2 / 3 + shift, "hare": 1 / 3 - shift}
    return checked(tree, {"row": third, "column": third}, concept="", method="by hand")


def test_floats_near_an_equilibrium_are_rounded_to_it():
    tree = matrix_tree(*STAG_HUNT)
    found = rounded(tree, near(tree, 1e-5), "payoffs")
    assert found.policy["row"] == {"stag": F(2, 3), "hare": F(1, 3)}
    assert (found.exact, found.nash_conv) == (True, 0)


def test_distant_floats_stay_unrounded():
    tree = matrix_tree(*STAG_HUNT)
    assert rounded(tree, near(tree, 0.1), "payoffs") is None


def test_advice_is_solved_exactly_by_rounding():
    tree = tabulate(gamedsl.load("advice").env())
    found = gamedsl.solve.solve(gamedsl.load("advice"))
    assert found.solution.nash_conv == 0
    assert found.solution.exact
    assert found.solution.values == expected(tree, found.solution.policy, "payoffs")
    assert any("rounded" in line for line in found.did)
