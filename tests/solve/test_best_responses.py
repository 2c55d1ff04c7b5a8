from fractions import Fraction

import pytest
from small_games import (
    BIASED_ROCK,
    PENNIES,
    PRISONERS,
    ROCK,
    STAG_HUNT,
    kuhn_tree,
    matrix_tree,
    public_goods_env,
    ultimatum_env,
)

from gamedsl.solve import (
    best_response,
    expected,
    exploitability,
    play,
    tabulate,
    uniform,
)


def test_prisoners_dilemma_uniform():
    tree = matrix_tree(*PRISONERS)
    result = exploitability(tree, uniform(tree))
    assert result.values == {"row": Fraction(9, 4), "column": Fraction(9, 4)}
    assert result.best_responses["row"].value == 3
    assert result.best_responses["row"].actions == {"row": "defect"}
    assert result.nash_conv == Fraction(3, 2)
    assert result.per_player == Fraction(3, 4)


def test_rock_paper_scissors_uniform_is_unexploitable():
    tree = matrix_tree(*ROCK)
    assert exploitability(tree, uniform(tree)).nash_conv == 0


def test_biased_rock_paper_scissors():
    tree = matrix_tree(*BIASED_ROCK)
    third, seventh = Fraction(1, 3), Fraction(1, 7)
    assert exploitability(tree, uniform(tree)).nash_conv == 4 * third
    right = {"rock": 3 * seventh, "paper": 3 * seventh, "scissors": seventh}
    assert exploitability(tree, {"row": right, "column": right}).nash_conv == 0


def test_matching_pennies_pure_profile():
    tree = matrix_tree(*PENNIES)
    result = exploitability(tree, {"row": {"heads": 1}, "column": {"tails": 1}})
    assert (result.nash_conv, result.per_player) == (2, 1)


def test_ultimatum_best_responses_use_the_subgames():
    tree = tabulate(ultimatum_env())
    policy = uniform(tree)
    assert expected(tree, policy) == {"proposer": Fraction(5, 2), "responder": Fraction(5, 2)}
    responder = best_response(tree, policy, "responder")
    assert responder.value == 5
    assert set(responder.actions.values()) == {"accept"}
    assert best_response(tree, policy, "proposer").actions == {"proposer:offer": "low"}
    stubborn = {**policy, "responder:answer to low": {"reject": 1}}
    proposer = best_response(tree, stubborn, "proposer")
    assert (proposer.actions, proposer.value) == ({"proposer:offer": "fair"}, Fraction(5, 2))


def test_public_goods_of_four():
    tree = tabulate(public_goods_env(4, Fraction(2)))
    giving = {info.key: {"give": 1} for info in tree.info_sets}
    result = exploitability(tree, giving)
    assert result.values["player_3"] == 2
    assert result.best_responses["player_3"].value == Fraction(5, 2)
    assert (result.nash_conv, result.per_player) == (2, Fraction(1, 2))


def test_payoffs_or_rewards_on_request():
    tree = tabulate(
        public_goods_env(2, Fraction(3, 2), split=lambda p: dict.fromkeys(p, sum(p.values()) / 2))
    )
    giving = {info.key: {"give": 1} for info in tree.info_sets}
    assert exploitability(tree, giving).nash_conv == 0
    assert exploitability(tree, giving, "payoffs").nash_conv == Fraction(1, 2)


def test_kuhn_uniform_matches_published_figures():
    tree = kuhn_tree()
    result = exploitability(tree, uniform(tree))
    assert result.values["first"] == Fraction(1, 8)
    assert result.nash_conv == Fraction(11, 12)


def test_kuhn_equilibrium_has_value_minus_one_eighteenth():
    tree = kuhn_tree()
    third = Fraction(1, 3)
    often = {
        "first J ": ("bet", third), "first Q ": ("bet", 0), "first K ": ("bet", 1),
        "first J check bet": ("call", 0), "first Q check bet": ("call", 2 * third),
        "first K check bet": ("call", 1), "second J check": ("bet", third),
        "second Q check": ("bet", 0), "second K check": ("bet", 1), "second J bet": ("call", 0),
        "second Q bet": ("call", third), "second K bet": ("call", 1),
    }  # fmt: skip
    policy = {
        info.key: {a: often[info.key][1] if a == often[info.key][0] else 1 - often[info.key][1]
                   for a in info.actions}
        for info in tree.info_sets
    }  # fmt: skip
    result = exploitability(tree, policy)
    assert result.nash_conv == 0
    assert result.values == {"first": Fraction(-1, 18), "second": Fraction(1, 18)}


def test_best_response_ignores_own_policy():
    """Not even where that seat's own policy never lets a decision be reached."""
    tree = kuhn_tree()
    policy = uniform(tree)
    never = {info.key: {info.actions[1]: 1} for info in tree.info_sets if info.seat == "first"}
    assert best_response(tree, policy | never, "first") == best_response(tree, policy, "first")


def test_floats_agree_with_fractions():
    tree = kuhn_tree()
    floats = {k: {a: float(p) for a, p in row.items()} for k, row in uniform(tree).items()}
    result = exploitability(tree, floats)
    assert isinstance(result.nash_conv, float)
    assert result.nash_conv == pytest.approx(11 / 12, abs=1e-12)


def test_how_often_information_sets_are_reached():
    tree = tabulate(ultimatum_env())
    policy = {**uniform(tree), "proposer:offer": {"low": Fraction(1, 4), "high": Fraction(3, 4)}}
    reached = play(tree, policy)
    assert reached["responder:answer to high"] == Fraction(3, 4)
    assert reached["responder:answer to fair"] == 0


@pytest.mark.parametrize(
    ("row", "says"),
    [({"stag": 0.7}, "sum to 1"), ({"stag": 1.5, "hare": -0.5}, "sum to 1"), ({"wolf": 1}, "wolf")],
)
def test_what_is_no_policy_is_refused(row, says):
    tree = matrix_tree(*STAG_HUNT)
    with pytest.raises(ValueError, match=says):
        exploitability(tree, {"row": {"stag": 1}, "column": row})


def test_a_missing_information_set_is_refused_not_guessed():
    tree = matrix_tree(*STAG_HUNT)
    with pytest.raises(KeyError, match="column"):
        exploitability(tree, {"row": {"stag": 1}})
