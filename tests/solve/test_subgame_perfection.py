"""Backward induction over histories, positions and stages; team optima."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from random import Random

import pytest
from small_games import PRISONERS, kuhn_tree, matrix_tree, ultimatum_env

import gamedsl
from gamedsl.solve import (
    InfoSet,
    TooLarge,
    Tree,
    TreeBuilder,
    backward_induction,
    expected,
    solve_positions,
    solve_stages,
    tabulate,
    team_optimum,
)
from gamedsl.solve import positions as module
from gamedsl.solve.stages import subgames

F = Fraction


def test_the_path_of_the_ultimatum_game():
    found = backward_induction(tabulate(gamedsl.load("ultimatum").env()))
    assert found.path == (("proposer", "low"), ("responder", "accept"))
    assert found.solution.values == {"proposer": 8, "responder": 2}
    assert found.solution.nash_conv == 0
    assert (found.ties, found.outcomes) == (0, ((8, 2),))


def test_ties_are_told_with_all_outcomes():
    found = backward_induction(tabulate(gamedsl.load("ultimatum_n").env()))
    assert found.path == (("proposer", "0"), ("responder", "accept"))
    assert found.ties == 1
    assert found.outcomes == ((10, 0), (9, 1))


def test_hidden_information_is_refused():
    with pytest.raises(ValueError, match="perfect information"):
        backward_induction(kuhn_tree())
    with pytest.raises(ValueError, match="everybody sees everything"):
        solve_positions(gamedsl.load("kuhn_poker"))


def test_tic_tac_toe_has_5478_boards_and_draws():
    found = solve_positions(gamedsl.load("tic_tac_toe"))
    assert (found.positions, found.histories) == (5_478, 549_946)
    assert found.solution.values == found.solution.regrets == {"x": 0, "o": 0}
    assert set(found.openings.values()) == {0}
    assert len(found.path) == 8  # the ninth move is forced


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("ultimatum", {}),
        ("ultimatum_n", {}),
        ("centipede", {}),
        ("nim", {"piles": [2, 2, 1]}),
        ("nim", {"piles": [1, 3], "misere": False}),
        ("tic_tac_toe", {"rows": 2, "columns": 3, "run": 2}),
    ],
)
def test_positions_and_histories_agree(name, params):
    game = gamedsl.load(name, params)
    tree = tabulate(game.env())
    here, there = solve_positions(game), backward_induction(tree)
    assert here.solution.values == there.solution.values
    for key, row in here.solution.policy.items():
        assert there.solution.policy[key].keys() == row.keys()
    whole = {**there.solution.policy, **here.solution.policy}
    assert expected(tree, whole, "payoffs") == here.solution.values


def test_nim_is_won_by_the_sum_of_nim():
    for piles in ([1, 2], [2, 2], [1, 2, 3], [1, 2, 2]):
        found = solve_positions(gamedsl.load("nim", {"piles": piles, "misere": False}))
        total = 0
        for pile in piles:
            total ^= pile
        assert found.solution.values["first"] == (1 if total else -1), piles


MEMORY = """\
game: memory
roles: [ann, bob]
actions: [left, right]
turns:
  - {role: ann, choose: first, from: [left, right]}
  - {role: bob, choose: second, from: [left, right]}
  - {role: ann, choose: third, from: [left, right]}
payoffs:
  ann: 1 if third == first else 0
  bob: 2 if second == left else 0
"""


def test_payoff_reads_separate_positions(tmp_path):
    """ann's first choice is read only when all is over; her last must follow it."""
    path = tmp_path / "memory.yaml"
    path.write_text(MEMORY.replace("actions: [left, right]\n", ""), encoding="utf-8")
    game = gamedsl.load(path)
    found = solve_positions(game)
    assert found.solution.values == {"ann": 1, "bob": 2}
    assert found.positions == 15  # 1 + 2 + 4 + 8: nothing can be merged
    assert found.solution.regrets == {"ann": 0, "bob": 0}


def test_a_policy_that_is_off_is_found_out(monkeypatch):
    right = module._induce

    def wrong(found):
        worth, chosen = right(found)
        flipped = [len(after) - 1 - c for c, after in zip(chosen, found.after, strict=True)]
        return worth, flipped

    monkeypatch.setattr(module, "_induce", wrong)
    assert solve_positions(gamedsl.load("ultimatum")).solution.nash_conv > 0


def test_too_many_positions_are_given_up():
    with pytest.raises(TooLarge):
        solve_positions(gamedsl.load("connect_four"), limit=500)


def test_repeated_dilemma_is_defection_in_every_stage():
    tree = tabulate(gamedsl.load("repeated_prisoners_dilemma", {"rounds": 3}).env())
    found = solve_stages(tree)
    assert (found.stages, found.choices) == (21, 0)
    assert found.solution.nash_conv == 0
    assert found.solution.values == {"row": 3, "column": 3}
    assert all(row.get("defect") == 1 for row in found.solution.policy.values())


def test_repeated_coordination_takes_the_better_equilibrium():
    found = solve_stages(tabulate(gamedsl.load("repeated_stag_hunt", {"rounds": 2}).env()))
    assert found.solution.values == {"hunter_1": 8, "hunter_2": 8}
    assert found.solution.nash_conv == 0
    assert found.choices > 0


def test_goofspiel_stage_value_equals_linear_program():
    found = solve_stages(tabulate(gamedsl.load("goofspiel").env()))
    assert set(found.solution.values.values()) == set(found.solution.regrets.values()) == {0}


def test_a_single_stage_is_none_of_its_business():
    assert solve_stages(matrix_tree(*PRISONERS)) is None
    assert solve_stages(kuhn_tree()) is None


def test_subgames_begin_where_nobody_is_confused():
    tree = tabulate(ultimatum_env())
    assert subgames(tree) == frozenset(range(len(tree)))
    cards = kuhn_tree()
    assert {n for n in subgames(cards) if cards.info[n] != -1} == {0}


def team_tree(random: Random) -> Tree:
    """A card that only the first sees, a word to the second, an action; paid alike."""
    builder = TreeBuilder(["first", "second"])
    root = builder.chance([F(1, 3)] * 3)
    cards = []
    for card in range(3):
        said = builder.decision(InfoSet(f"card {card}", "first", "first", "say", ("a", "b")))
        heard = []
        for word in "ab":
            node = builder.decision(
                InfoSet(f"word {word}", "second", "second", "do", ("x", "y", "z"))
            )
            worth = [random.randint(0, 9) for _ in range(3)]
            builder.link(node, [builder.terminal((w, w)) for w in worth])
            heard.append(node)
        builder.link(said, heard)
        cards.append(said)
    builder.link(root, cards)
    return builder.tree()


def test_team_optima_are_the_best_of_all_profiles():
    random = Random(1)
    for _ in range(15):
        tree = team_tree(random)
        best = max(
            expected(
                tree,
                {i.key: {a: F(1)} for i, a in zip(tree.info_sets, names, strict=True)},
                "payoffs",
            )["first"]
            for names in product(*(info.actions for info in tree.info_sets))
        )
        found = team_optimum(tree)
        assert found.proved
        assert found.bound == best
        assert found.solution.values == {"first": best, "second": best}
        assert found.solution.nash_conv == 0


def test_tiny_hanabi_and_a_search_that_ends_early():
    tree = tabulate(gamedsl.load("tiny_hanabi").env())
    found = team_optimum(tree)
    assert (found.proved, found.solution.values) == (True, {"first": 10, "second": 10})
    random = Random(4)
    early = [team_optimum(team_tree(random), steps=0) for _ in range(8)]
    assert any(not one.proved for one in early)
    for one in early:
        assert one.bound >= one.solution.values["first"]
        assert one.proved == (one.solution.concept == "team optimum")


def test_one_seat_is_solved_by_its_best_reply():
    found = team_optimum(tabulate(gamedsl.load("guess_the_number", {"top": 4, "tries": 2}).env()))
    assert (found.proved, found.solution.concept) == (True, "optimum")
    assert found.solution.values == {"guesser": F(3, 4)}


def test_unequally_paid_seats_are_no_team():
    with pytest.raises(ValueError, match="not paid alike"):
        team_optimum(matrix_tree(*PRISONERS))
