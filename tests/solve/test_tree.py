from fractions import Fraction

import pytest
from small_games import FakeEnv, kuhn_tree, public_goods_env, ultimatum_env

import gamedsl
from gamedsl.solve import InfoSet, TooLarge, TreeBuilder, one_shot, tabulate
from gamedsl.solve.tree import CHANCE, ImperfectRecall


def test_simultaneous_step_is_one_blind_decision_node_per_actor():
    tree = tabulate(public_goods_env(3, Fraction(2)))
    assert [info.seat for info in tree.info_sets] == ["player_1", "player_2", "player_3"]
    assert [len(nodes) for nodes in tree.members] == [1, 2, 4]
    assert (len(tree), len(tree.terminals)) == (15, 8)
    assert tree.roles == ("player", "player", "player")


def test_sequential_game_has_an_information_set_for_each_thing_seen():
    tree = tabulate(ultimatum_env())
    assert {info.key for info in tree.info_sets} == {
        "offer", "answer to low", "answer to fair", "answer to high"
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


def test_a_tree_above_the_limit_is_refused_at_once():
    played = []

    class Counting(FakeEnv):
        def reset(self, seed: int = 0, **how: str):
            played.append(seed)
            return super().reset(seed, **how)

    seats = [f"s{i}" for i in range(30)]
    rounds = [lambda past: [(s, ["a", "b"], s) for s in seats]]
    env = Counting(seats, rounds, lambda past: dict.fromkeys(seats, 0))
    with pytest.raises(TooLarge, match="more than 100 nodes"):
        tabulate(env, limit=100)
    assert played == [0]
    assert len(tabulate(ultimatum_env(), limit=10)) == 10
    with pytest.raises(TooLarge):
        tabulate(ultimatum_env(), limit=9)


def test_void_payoffs_in_a_legal_history_are_an_error():
    env = FakeEnv(
        ["a"], [lambda past: [("a", ["x", "y"], "a")]], lambda past: {"a": 0},
        split=lambda payoffs: {"a": None},
    )  # fmt: skip
    with pytest.raises(ValueError, match="without a payoff"):
        tabulate(env)


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
