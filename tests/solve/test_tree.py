from dataclasses import fields
from fractions import Fraction

import pytest
from small_games import FakeEnv, kuhn_tree, public_goods_env, ultimatum_env

import gamedsl
from gamedsl.ir.program import Source
from gamedsl.runtime import Env
from gamedsl.runtime.kernels import BACKENDS
from gamedsl.solve import (
    InfoSet,
    TooLarge,
    TreeBuilder,
    expected,
    exploitability,
    one_shot,
    tabulate,
    uniform,
)  # fmt: skip
from gamedsl.solve.tree import CHANCE, ImperfectRecall
from tests.runtime.programs import AB, choose, draw, game, it, kuhn, mine, state


def test_simultaneous_step_has_blind_nodes_per_actor():
    tree = tabulate(public_goods_env(3, Fraction(2)))
    assert [info.seat for info in tree.info_sets] == ["player_1", "player_2", "player_3"]
    assert [len(nodes) for nodes in tree.members] == [1, 2, 4]
    assert (len(tree), len(tree.terminals)) == (15, 8)
    assert tree.roles == ("player", "player", "player")


def test_sequential_game_has_infosets_per_observation():
    tree = tabulate(ultimatum_env())
    assert {info.key for info in tree.info_sets} == {
        "proposer:offer", "responder:answer to low", "responder:answer to fair",
        "responder:answer to high",
    }  # fmt: skip
    assert (len(tree), len(tree.terminals)) == (10, 6)
    assert one_shot(tree) is None


@pytest.mark.parametrize(
    ("name", "nodes", "sets", "stag"), [("stag_hunt", 7, 2, 4), ("stag_hunt_n", 15, 3, 4)]
)
def test_shipped_games(name, nodes, sets, stag):
    tree = tabulate(gamedsl.load(name).env())
    assert (len(tree), len(tree.info_sets)) == (nodes, sets)
    table = one_shot(tree)
    assert table.rewards[("stag",) * sets] == (stag,) * sets
    assert tree.info_sets[0].key == "hunter_1:move"


@pytest.mark.parametrize("name", ["kuhn_poker", "prisoners_dilemma"])
def test_trees_agree_across_kernels(name):
    game = gamedsl.load(name)
    trees = [tabulate(game.env(backend=backend)) for backend in BACKENDS]
    assert len(trees) == 3
    for tree in trees[1:]:
        for part in fields(tree):
            assert getattr(tree, part.name) == getattr(trees[0], part.name)


def test_payoffs_and_rewards_are_exact_and_apart():
    def team(payoffs: dict) -> dict:
        mean = sum(payoffs.values()) / len(payoffs)
        return dict.fromkeys(payoffs, mean)

    table = one_shot(tabulate(public_goods_env(2, Fraction(3, 2), split=team)))
    assert table.payoffs["give", "keep"] == (Fraction(3, 4), Fraction(7, 4))
    assert table.rewards["give", "keep"] == (Fraction(5, 4), Fraction(5, 4))


def test_parents_come_before_children():
    tree = tabulate(ultimatum_env())
    assert all(child > node for node, row in enumerate(tree.children) for child in row)


def test_oversized_tree_is_refused_at_once():
    played = []

    class Counting(FakeEnv):
        def start(self):
            played.append(0)
            return super().start()

    seats = [f"s{i}" for i in range(30)]
    rounds = [lambda past: [(s, ["a", "b"], s) for s in seats]]
    env = Counting(seats, rounds, lambda past: dict.fromkeys(seats, 0))
    with pytest.raises(TooLarge, match="more than 100 nodes"):
        tabulate(env, limit=100)
    assert played == [0]
    assert len(tabulate(ultimatum_env(), limit=10)) == 10
    with pytest.raises(TooLarge):
        tabulate(ultimatum_env(), limit=9)


def test_chance_is_a_node_with_its_odds():
    """Kuhn poker: the counts that OpenSpiel has, and the value -1/18 of its equilibrium."""
    tree = tabulate(Env(kuhn()))
    chance = [node for node, info in enumerate(tree.info) if info == CHANCE]
    assert (len(tree), len(chance), len(tree.terminals)) == (58, 4, 30)
    assert [info.seat for info in tree.info_sets].count("first") == 6
    assert len(tree.info_sets) == 12
    assert tree.odds[0] == (Fraction(1, 3),) * 3
    assert [tree.odds[node] for node in chance[1:]] == [(Fraction(1, 2),) * 2] * 3
    third = {"bet": Fraction(1, 3), "call": Fraction(1, 3)}
    bold = {("first", 1, "answer_2"), ("second", 0, "reply"), ("second", 1, "answer")}
    sure = {("first", 2, "answer_2"), ("second", 2, "reply"), ("second", 2, "answer")}
    policy = {}
    for info in tree.info_sets:
        place = info.seat, int(info.key.split("card=")[1][0]), info.step
        share = third[info.actions[1]] if place in bold else Fraction(place in sure)
        policy[info.key] = dict(zip(info.actions, (1 - share, share), strict=True))
    assert expected(tree, policy) == {"first": Fraction(-1, 18), "second": Fraction(1, 18)}
    assert exploitability(tree, policy).nash_conv == 0
    assert expected(tree, uniform(tree))["first"] == Fraction(1, 8)


def test_forced_nodes_are_included_on_request():
    turns = [draw("sure", {"yes": 1}), choose("x", AB, [1, 2], joint=True, legal=mine("may"))]
    ir = game(AB, turns, {"a": 0}, state=[state("may", {"a": (1, 2), "b": (2,)})])
    assert len(tabulate(Env(ir))) == 3
    tree = tabulate(Env(ir), forced="asked")
    assert [info.actions for info in tree.info_sets] == [("1", "2"), ("2",)]
    assert (len(tree), len(tree.terminals)) == (6, 2)


def test_chance_that_is_too_large_is_not_listed():
    hand = draw("hand", Source("values", values=it(tuple(range(200))), take=it(50)))
    with pytest.raises(TooLarge, match="more than 10 nodes"):
        tabulate(Env(game(AB, [hand, choose("x", AB[:1], [1, 2])], {"a": 0})), limit=10)


def test_imperfect_recall_is_noticed():
    builder = TreeBuilder(["a"])
    root = builder.decision(InfoSet("first", "a", "a", "s", ("x", "y")))
    forgets = InfoSet("second", "a", "a", "s", ("x", "y"))
    seconds = [builder.decision(forgets) for _ in range(2)]
    builder.link(root, seconds)
    for node in seconds:
        builder.link(node, [builder.terminal([0]), builder.terminal([1])])
    with pytest.raises(ImperfectRecall, match="second"):
        builder.tree()


def test_chance_odds_must_sum_to_one():
    with pytest.raises(ValueError, match="5/6"):
        TreeBuilder(["a"]).chance([Fraction(1, 2), Fraction(1, 3)])


def test_kuhn_counts():
    tree = kuhn_tree()
    assert len(tree.info_sets) == 12
    assert len(tree.terminals) == 30
    assert sum(info >= 0 for info in tree.info) == 24
    assert tree.info.count(CHANCE) == 1


def test_reward_span():
    assert tabulate(ultimatum_env()).span("proposer") == (0, 8)
