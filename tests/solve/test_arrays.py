"""NashConv on arrays against the exact sweeps of `gamedsl.solve.best_responses`."""

import pytest
from random_trees import random_policy, random_tree
from small_games import PRISONERS, STAG_HUNT, kuhn_tree, matrix_tree, public_goods_env, shipped

from gamedsl.solve import TreeBuilder, exploitability, nash_conv, tabulate, uniform

pytest.importorskip("scipy")


def agree(tree, policy, utility="payoffs"):
    found, exact = nash_conv(tree, policy, utility), exploitability(tree, policy, utility)
    assert found.nash_conv == pytest.approx(float(exact.nash_conv), abs=1e-12)
    assert found.per_player == pytest.approx(float(exact.per_player), abs=1e-12)
    for seat, value in exact.values.items():
        assert found.values[seat] == pytest.approx(float(value), abs=1e-12)
        best, reply = exact.best_responses[seat], found.best_responses[seat]
        assert reply.value == pytest.approx(float(best.value), abs=1e-12)
        assert sorted(reply.actions) == sorted(best.actions)
        played = {**policy, **{key: {name: 1} for key, name in reply.actions.items()}}
        assert exploitability(tree, played, utility).values[seat] == best.value


@pytest.mark.parametrize("seats", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", range(8))
def test_random_games_of_any_number_of_seats(seats, seed):
    tree = random_tree(100 * seats + seed, seats)
    agree(tree, random_policy(tree, seed))


@pytest.mark.parametrize("name", ["kuhn_poker", "kuhn_poker_n", "goofspiel", "tiny_hanabi"])
def test_shipped_games(name):
    _, tree = shipped(name)
    agree(tree, random_policy(tree, 1))


def test_leduc():
    _, tree = shipped("leduc_poker")
    assert (len(tree), len(tree.info_sets)) == (9457, 936)
    policy = random_policy(tree, 1)
    exact = exploitability(
        tree, {k: {a: float(p) for a, p in r.items()} for k, r in policy.items()}
    )
    assert nash_conv(tree, policy).nash_conv == pytest.approx(exact.nash_conv, abs=1e-12)
    assert nash_conv(tree, uniform(tree)).nash_conv == pytest.approx(4.747222, abs=1e-6)
    assert nash_conv(tree, uniform(tree)).values["first"] == pytest.approx(-0.078125, abs=1e-12)


def test_rewards_are_not_payoffs():
    def team(payoffs):
        return dict.fromkeys(payoffs, sum(payoffs.values()) / 2)

    tree = tabulate(public_goods_env(2, 1.5, split=team))
    giving = {info.key: {"give": 1} for info in tree.info_sets}
    assert nash_conv(tree, giving, "rewards").nash_conv == 0
    assert nash_conv(tree, giving, "payoffs").nash_conv == pytest.approx(0.5)


def test_idle_seats_and_games_without_decisions():
    builder = TreeBuilder(["acts", "watches"])
    builder.terminal([3, -2])
    tree = builder.tree()
    assert nash_conv(tree, {}).values == {"acts": 3, "watches": -2}
    assert nash_conv(tree, {}).nash_conv == 0


@pytest.mark.parametrize(
    ("row", "error", "says"),
    [
        ({"stag": 0.7}, ValueError, "sum to 1"),
        ({"stag": 1.5, "hare": -0.5}, ValueError, "sum to 1"),
        ({"wolf": 1}, ValueError, "wolf"),
        (None, KeyError, "column"),
    ],
)
def test_what_is_no_policy_is_refused(row, error, says):
    tree = matrix_tree(*STAG_HUNT)
    policy = {"row": {"stag": 1}} | ({} if row is None else {"column": row})
    with pytest.raises(error, match=says):
        nash_conv(tree, policy)


def test_the_first_of_equal_actions_is_the_reply():
    tree = kuhn_tree()
    never = {info.key: {info.actions[0]: 1} for info in tree.info_sets}
    found = nash_conv(tree, never)
    assert {s: r.actions for s, r in found.best_responses.items()} == {
        s: r.actions for s, r in exploitability(tree, never, "payoffs").best_responses.items()
    }
    assert nash_conv(matrix_tree(*PRISONERS), uniform(matrix_tree(*PRISONERS))).nash_conv == 1.5
