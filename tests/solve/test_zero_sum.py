"""Equilibria by linear programming: exact values, and what certifies them."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest
from small_games import PENNIES, PRISONERS, kuhn_tree, matrix_tree, zero_sum

import gamedsl
from gamedsl.extras import install_command
from gamedsl.solve import (
    linear_programs,
    rational_simplex,
    sequence_form,
    solve_zero_sum,
    tabulate,
)
from gamedsl.solve.linear_programs import Program, maximise
from gamedsl.solve.rational_algebra import solve_linear
from gamedsl.solve.sequence_form import NoOptimum, constant_sum

ONE = Fraction(1)


@pytest.mark.parametrize(
    ("name", "params", "value"),
    [
        ("kuhn_poker", {}, Fraction(-1, 18)),
        ("goofspiel", {}, Fraction(0)),
        ("matching_pennies", {}, Fraction(0)),
        ("biased_rock_paper_scissors", {}, Fraction(0)),
        ("liars_dice", {"faces": 2}, Fraction(1, 2)),
    ],
)
def test_values_are_rationals_without_regret(name, params, value):
    found = solve_zero_sum(tabulate(gamedsl.load(name, params).env()))
    first, second = found.values
    assert found.exact
    assert (found.values[first], found.values[second]) == (value, -value)
    assert set(found.regrets.values()) == {Fraction(0)}
    assert all(type(p) is Fraction for row in found.policy.values() for p in row.values())


@pytest.mark.slow
def test_leduc_value_matches_known_digits():
    found = solve_zero_sum(tabulate(gamedsl.load("leduc_poker").env()))
    assert abs(found.values["first"] + 0.0856064) < 1e-7
    assert found.exact
    assert found.nash_conv == 0
    assert found.values["first"].denominator > 10**20


def test_rewards_can_be_asked_for():
    tree = matrix_tree([[(3, 1), (1, 3)], [(0, 4), (2, 2)]], ("up", "down"))
    found = solve_zero_sum(tree, "rewards")
    assert constant_sum(tree) == 4
    assert found.values == {"row": Fraction(3, 2), "column": Fraction(5, 2)}


def test_other_games_are_refused():
    with pytest.raises(ValueError, match="constant sum"):
        solve_zero_sum(matrix_tree(*PRISONERS))


def test_float_solutions_are_labelled_floats(monkeypatch):
    monkeypatch.setattr(linear_programs, "MARGINS", ())
    monkeypatch.setattr(rational_simplex, "MANY_TERMS", 0)
    found = solve_zero_sum(kuhn_tree())
    assert not found.exact
    assert "no exact vertex" in found.note
    assert abs(found.values["first"] + 1 / 18) < 1e-9
    assert 0 <= found.nash_conv < 1e-9


def test_a_wrong_answer_shows_in_its_regrets(monkeypatch):
    """Regrets are not the solver's own word: a solver that is off is found out."""
    from gamedsl.solve import sequence_form

    right = sequence_form._behaviour
    monkeypatch.setattr(
        sequence_form,
        "_behaviour",
        lambda plans, plan, exact: {
            key: dict(zip(row, reversed(row.values()), strict=True))
            for key, row in right(plans, plan, exact).items()
        },
    )
    found = solve_zero_sum(matrix_tree(zero_sum([[3, -1], [-1, 0]]), ("up", "down")))
    assert found.nash_conv > Fraction(1, 2)


def test_non_optimal_vertex_is_not_certified(monkeypatch):
    """max x + y with x + 2y <= 4, 3x + y <= 6; the floats claim the vertex (2, 0)."""
    import numpy as np

    program = Program(
        2, {0: ONE, 1: ONE}, [({0: ONE, 1: 2 * ONE}, 4 * ONE), ({0: 3 * ONE, 1: ONE}, 6 * ONE)]
    )
    best = maximise(program)
    assert (best.exact, best.value, list(best.x)) == (
        True,
        Fraction(14, 5),
        [Fraction(8, 5), Fraction(6, 5)],
    )
    assert list(best.prices) == [Fraction(2, 5), Fraction(1, 5)]
    wrong = np.array([2.0, 0.0]), np.array([0.0, 1 / 3]), np.array([]), 2.0
    monkeypatch.setattr(linear_programs, "_floats", lambda _: wrong)
    assert maximise(program).value == Fraction(14, 5)
    monkeypatch.setattr(rational_simplex, "MANY_TERMS", 0)
    assert not maximise(program).exact


def test_slack_row_prices_certify_nothing(monkeypatch):
    """max x with x <= 4 and x <= 2; the floats put a price on the wrong row."""
    import numpy as np

    program = Program(1, {0: ONE}, [({0: ONE}, 4 * ONE), ({0: ONE}, 2 * ONE)])
    assert list(maximise(program).prices) == [0, 1]
    wrong = np.array([2.0]), np.array([1.0, 0.0]), np.array([]), 2.0
    monkeypatch.setattr(linear_programs, "_floats", lambda _: wrong)
    assert list(maximise(program).prices) == [0, 1]
    monkeypatch.setattr(rational_simplex, "MANY_TERMS", 0)
    assert not maximise(program).exact


@pytest.mark.parametrize("big", [10**19, 10**30])
def test_huge_payoffs_are_solved_exactly(big):
    """Next to 1, neither fits into the digits of a float."""
    found = solve_zero_sum(matrix_tree(zero_sum([[big, -1], [-3, 2]]), ("up", "down")))
    assert found.values["row"] == Fraction(2 * big - 3, big + 6)
    assert found.exact
    assert found.nash_conv == 0


def test_rational_simplex_agrees_with_certified_vertices():
    for tree in (kuhn_tree(), tabulate(gamedsl.load("liars_dice", {"faces": 2}).env())):
        program = sequence_form.best_plan(
            sequence_form.Plans(tree, 0), sequence_form.Plans(tree, 1), "payoffs"
        )
        best, prices = rational_simplex.solve_exactly(program)
        assert sum(v * best[c] for c, v in program.objective.items()) == maximise(program).value
        assert sum(p * t for p, (_, t) in zip(prices, program.most, strict=True)) == 0
        assert min(prices) >= 0


def test_a_program_that_nothing_solves_is_named(monkeypatch):
    monkeypatch.setattr(linear_programs, "_floats", lambda _: None)
    monkeypatch.setattr(rational_simplex, "MANY_TERMS", 0)
    with pytest.raises(NoOptimum, match="too large for rationals"):
        solve_zero_sum(kuhn_tree())
    game = gamedsl.load("kuhn_poker")
    with pytest.raises(gamedsl.solve.Unfit, match="try --method cfr"):
        gamedsl.solve.solve(game, "lp")
    report = gamedsl.solve.solve(game)
    assert report.method == "cfr+"
    assert report.solution.nash_conv < 0.01


def test_programs_without_a_solution_have_none():
    assert maximise(Program(1, {0: ONE}, [({0: ONE}, -ONE)])) is None
    with pytest.raises(ValueError, match="no optimum"):
        maximise(Program(1, {0: ONE}))


def test_linear_systems():
    half = Fraction(1, 2)
    rows = [({0: ONE, 1: ONE}, ONE), ({0: ONE, 1: -ONE}, Fraction(0)), ({0: 2 * ONE}, ONE)]
    assert solve_linear(rows, 2) == [half, half]
    assert solve_linear([*rows, ({1: ONE}, ONE)], 2) is None
    assert solve_linear(rows[:1], 2) is None
    assert solve_linear(rows[:1], 2, [0.25, 0.75]) in ([Fraction(1, 4), Fraction(3, 4)],)


def test_missing_scipy_is_reported_with_command(monkeypatch):
    import importlib.util

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=re.escape(install_command("solve"))):
        solve_zero_sum(matrix_tree(*PENNIES))
