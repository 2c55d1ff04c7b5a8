"""CFR and its variants: against OpenSpiel, iteration by iteration, and known values."""

import subprocess
import sys

import pytest
from random_trees import random_tree
from small_games import BIASED_ROCK, PENNIES, matrix_tree, public_goods_env, shipped

from gamedsl.extras import install_command
from gamedsl.solve import InfoSet, TreeBuilder, cfr, expected, nash_conv, tabulate

pytest.importorskip("scipy")

GAMES = {"kuhn_poker": "kuhn_poker", "kuhn_poker_n": "kuhn_poker(players=3)",
         "leduc_poker": "leduc_poker"}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "variant", "iterations"),
    [
        ("kuhn_poker", "cfr", (1, 2, 7, 100, 1000)),
        ("kuhn_poker", "cfr+", (1, 2, 7, 100, 1000)),
        ("kuhn_poker_n", "cfr", (1, 2, 7, 30)),
        ("kuhn_poker_n", "cfr+", (1, 2, 7, 30)),
        ("leduc_poker", "cfr", (4,)),
        ("leduc_poker", "cfr+", (8,)),
        pytest.param("leduc_poker", "cfr", (100, 300), marks=pytest.mark.slow),
    ],
)
def test_iterations_are_those_of_open_spiel(name, variant, iterations):
    """However they are added up, and whether averaged or not."""
    pyspiel = pytest.importorskip("pyspiel")
    game = pyspiel.load_game(GAMES[name])
    solver = {"cfr": pyspiel.CFRSolver, "cfr+": pyspiel.CFRPlusSolver}[variant](game)
    done = 0
    for upto in iterations:
        while done < upto:
            solver.evaluate_and_update_policy()
            done += 1
        theirs = pyspiel.nash_conv(game, solver.average_policy())
        last = pyspiel.nash_conv(game, solver.current_policy())
        for sums in ("sequences", "histories"):
            how = {"variant": variant, "sums": sums}
            ours = cfr(shipped(name)[1], upto, **how)
            assert ours.nash_conv == pytest.approx(theirs, abs=1e-9)
            ours = cfr(shipped(name)[1], upto, **how, iterate="last")
            assert ours.nash_conv == pytest.approx(last, abs=1e-9)


@pytest.mark.slow
def test_leduc_iterations_equal_open_spiel():
    """To the last digits where sums are in the same order; else as good, but not the same."""
    pyspiel = pytest.importorskip("pyspiel")
    game = pyspiel.load_game("leduc_poker")
    solver = pyspiel.CFRPlusSolver(game)
    for _ in range(1_000):
        solver.evaluate_and_update_policy()
    theirs = pyspiel.nash_conv(game, solver.average_policy())
    tree = shipped("leduc_poker")[1]
    assert cfr(tree, 1_000, sums="histories").nash_conv == pytest.approx(theirs, abs=1e-12)
    assert cfr(tree, 1_000).nash_conv == pytest.approx(theirs, rel=0.2)


@pytest.mark.parametrize("seats", [1, 2, 3])
@pytest.mark.parametrize("variant", ["cfr", "cfr+", "dcfr"])
def test_both_sums_come_to_the_same(seats, variant):
    for seed in range(4):
        tree = random_tree(seed, seats)
        one, other = (cfr(tree, 12, variant, sums=sums) for sums in ("sequences", "histories"))
        for key, row in one.policy.items():
            assert other.policy[key] == pytest.approx(row, abs=1e-9)


def test_discounted_cfr_is_that_of_open_spiel():
    pyspiel = pytest.importorskip("pyspiel")
    from open_spiel.python.algorithms import discounted_cfr, exploitability

    game = pyspiel.load_game("kuhn_poker")
    solver = discounted_cfr.DCFRSolver(game)
    for done in range(1, 61):
        solver.evaluate_and_update_policy()
        if done in (1, 2, 3, 60):
            theirs = exploitability.nash_conv(game, solver.average_policy())
            ours = cfr(shipped("kuhn_poker")[1], done, "dcfr").nash_conv
            assert ours == pytest.approx(theirs, abs=1e-9)


@pytest.mark.parametrize(
    ("name", "value", "variant", "within"),
    [
        ("kuhn_poker", -1 / 18, "cfr", 2e-3),
        ("kuhn_poker", -1 / 18, "cfr+", 2e-4),
        ("kuhn_poker", -1 / 18, "dcfr", 1e-3),
        ("leduc_poker", -0.0856064, "cfr+", 1e-3),
        ("leduc_poker", -0.0856064, "dcfr", 1e-3),
        ("goofspiel", 0, "cfr+", 1e-3),
    ],
)
def test_known_values(name, value, variant, within):
    solution = cfr(shipped(name)[1], 1_000, variant)
    assert solution.nash_conv < within
    assert next(iter(solution.values.values())) == pytest.approx(value, abs=within)
    assert not solution.exact
    assert not solution.note


def test_more_iterations_are_closer():
    found = [cfr(shipped("leduc_poker")[1], n).nash_conv for n in (10, 100, 1000)]
    assert found[0] > 10 * found[1] > 100 * found[2]


def test_biased_rock_paper_scissors():
    solution = cfr(matrix_tree(*BIASED_ROCK), 3_000)
    assert list(solution.policy["row"].values()) == pytest.approx([3 / 7, 3 / 7, 1 / 7], abs=1e-3)
    assert solution.method == "CFR+, 3,000 iterations"


def test_general_sum_game_of_three_seats():
    """A dominant action is found anywhere; what is not promised is said."""
    tree = tabulate(public_goods_env(3, 2))
    solution = cfr(tree, 200)
    assert all(row["keep"] > 0.99 for row in solution.policy.values())
    assert solution.nash_conv < 0.02
    assert "need not converge" in solution.note


def test_utility_is_what_is_asked_for():
    def team(payoffs):
        return dict.fromkeys(payoffs, sum(payoffs.values()) / 2)

    tree = tabulate(public_goods_env(2, 1.5, split=team))
    assert all(row["give"] > 0.9 for row in cfr(tree, 100, utility="rewards").policy.values())
    assert all(row["keep"] > 0.9 for row in cfr(tree, 100, utility="payoffs").policy.values())


def test_one_seat_and_one_that_never_acts():
    builder = TreeBuilder(["acts", "watches"])
    root = builder.decision(InfoSet("acts", "acts", "acts", "move", ("x", "y")))
    builder.link(root, [builder.terminal([0, 5]), builder.terminal([1, 0])])
    solution = cfr(builder.tree(), 100)
    assert solution.policy["acts"]["y"] > 0.99
    builder = TreeBuilder(["alone"])
    root = builder.decision(InfoSet("alone", "alone", "alone", "move", ("x", "y")))
    builder.link(root, [builder.terminal([0]), builder.terminal([1])])
    assert cfr(builder.tree(), 100).values["alone"] > 0.99


def test_progress_is_told_and_may_be_enough():
    told = []
    tree = shipped("kuhn_poker")[1]
    solution = cfr(tree, 1_000, progress=lambda *what: told.append(what))
    assert [done for done, _ in told] == list(range(50, 1_001, 50))
    assert told[-1][1] == pytest.approx(solution.nash_conv, abs=1e-12)
    assert told[0][1] > told[-1][1]
    first = next(done for done, left in told if left <= 0.001)
    assert 50 < first < 1_000
    assert cfr(tree, 1_000, enough=0.001).method == f"CFR+, {first} iterations"
    assert cfr(tree, 7).method == "CFR+, 7 iterations"


def test_equal_calls_give_equal_policies():
    assert cfr(shipped("kuhn_poker")[1], 50).policy == cfr(shipped("kuhn_poker")[1], 50).policy


def test_the_values_are_those_of_the_policy():
    tree = shipped("kuhn_poker_n")[1]
    solution = cfr(tree, 20)
    assert solution.values == expected(tree, solution.policy, "payoffs")
    regrets = nash_conv(tree, solution.policy)
    for seat, regret in solution.regrets.items():
        gain = regrets.best_responses[seat].value - regrets.values[seat]
        assert gain == pytest.approx(regret, abs=1e-12)


@pytest.mark.parametrize(
    ("what", "says"),
    [
        ({"iterations": 0}, "0 iterations"),
        ({"variant": "cfr++"}, "cfr\\+\\+"),
        ({"iterate": "best"}, "best"),
        ({"sums": "leaves"}, "leaves"),
    ],
)
def test_what_there_is_not_is_refused(what, says):
    with pytest.raises(ValueError, match=says):
        cfr(matrix_tree(*PENNIES), **{"iterations": 10, **what})


def test_solvers_load_numpy_late_with_help():
    code = (
        "import sys, gamedsl.solve as s\n"
        "assert not {'numpy', 'scipy'} & set(sys.modules)\n"
        "builder = s.TreeBuilder(['a']); builder.terminal([0])\n"
        "sys.modules['scipy'] = None\n"
        "s.cfr(builder.tree(), 1)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    said = f"scipy is not installed; fix: {install_command('solve')}"
    assert said in found.stderr
