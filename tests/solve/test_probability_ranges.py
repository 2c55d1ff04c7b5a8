"""Ranges of equilibrium probabilities, against what is known and what enumeration finds."""

from fractions import Fraction
from random import Random

import pytest
from small_games import STAG_HUNT, matrix_tree, shipped, zero_sum

from gamedsl.solve import InfoSet, TreeBuilder, equilibrium_ranges, exploitability
from gamedsl.solve.probability_ranges import _optimal, joined


def ends(ranges, key, action):
    (part,) = ranges.of[key][action]
    return part


def test_kuhn_pokers_family_of_equilibria():
    """Kuhn 1950: the jack bluffs with a in [0, 1/3], the king bets with 3a, the queen calls with
    a + 1/3; the second player has one strategy."""
    ranges = equilibrium_ranges(shipped("kuhn_poker")[1])
    assert ranges.concept == "Nash equilibria"
    assert ends(ranges, "first:open [first.card=J]", "bet") == (0, Fraction(1, 3))
    assert ends(ranges, "first:open [first.card=Q]", "bet") == (0, 0)
    assert ends(ranges, "first:open [first.card=K]", "bet") == (0, 1)
    after = "first:answer_2 [first.card={}, first.open=check, second.reply=bet]"
    assert ends(ranges, after.format("J"), "call") == (0, 0)
    assert ends(ranges, after.format("Q"), "call") == (Fraction(1, 3), Fraction(2, 3))
    assert ends(ranges, after.format("K"), "call") == (1, 1)
    second = {"J": (Fraction(1, 3), 0), "Q": (0, Fraction(1, 3)), "K": (1, 1)}
    for card, (bet, call) in second.items():
        reply = f"second:reply [second.card={card}, first.open=check]"
        answer = f"second:answer [second.card={card}, first.open=bet]"
        assert ends(ranges, reply, "bet") == (bet, bet)
        assert ends(ranges, answer, "call") == (call, call)


def test_kuhn_range_ends_are_equilibria():
    tree = shipped("kuhn_poker")[1]
    ranges = equilibrium_ranges(tree)

    def policy(end):
        return {
            key: {
                name: parts[0][end if name in ("bet", "call") else 1 - end]
                for name, parts in row.items()
            }
            for key, row in ranges.of.items()
        }  # fmt: skip

    assert exploitability(tree, policy(0)).nash_conv == 0
    assert exploitability(tree, policy(1)).nash_conv == 0
    beyond = policy(1)
    beyond["first:open [first.card=J]"] = {"check": Fraction(3, 5), "bet": Fraction(2, 5)}
    assert exploitability(tree, beyond).nash_conv > 0


@pytest.mark.parametrize("seed", range(6))
def test_programs_find_what_enumeration_finds(seed):
    """Small integers make degenerate tables, with whole faces of equilibria."""
    random = Random(seed)
    rows = zero_sum([[random.randint(-1, 1) for _ in range(3)] for _ in range(3)])
    tree = matrix_tree(rows, ("a", "b", "c"))
    enumerated = equilibrium_ranges(tree)
    assert enumerated.method == "all equilibria enumerated"
    assert _optimal(tree, "rewards") == enumerated.of


def test_each_set_of_connected_equilibria_has_an_interval():
    ranges = equilibrium_ranges(matrix_tree(*STAG_HUNT))
    assert ranges.of["row"]["stag"] == ((0, 0), (Fraction(2, 3), Fraction(2, 3)), (1, 1))
    assert ranges.as_dict()["of"]["row"]["hare"] == [[0, 0], [pytest.approx(1 / 3)] * 2, [1, 1]]
    assert joined([(Fraction(1, 2), Fraction(1)), (Fraction(0), Fraction(1, 2))]) == ((0, 1),)


def test_unreached_set_has_no_range():
    """The first seat may end the game for 1; what it plays on with is worth at most 0."""
    builder = TreeBuilder(["one", "two"])
    root = builder.decision(InfoSet("root", "one", "one", "go", ("stop", "on")))
    stop = builder.terminal((1, -1))
    blind = builder.decision(InfoSet("reply", "two", "two", "go", ("l", "r")))
    ends_at = []
    for pays in ((0, -2), (-2, 0)):
        node = builder.decision(InfoSet("after", "one", "one", "go", ("l", "r")))
        builder.link(node, [builder.terminal((x, -x)) for x in pays])
        ends_at.append(node)
    builder.link(root, [stop, blind])
    builder.link(blind, ends_at)
    ranges = equilibrium_ranges(builder.tree())
    assert "after" not in ranges.of
    assert ends(ranges, "root", "stop") == (1, 1)
    assert ends(ranges, "reply", "l") == (0, 1)


def test_subgame_perfect_equilibria_where_a_responder_may_tie():
    builder = TreeBuilder(["proposer", "responder"])
    root = builder.decision(InfoSet("offer", "proposer", "proposer", "offer", ("0", "1", "2")))
    replies = []
    for offer in range(3):
        node = builder.decision(
            InfoSet(f"reply {offer}", "responder", "responder", "reply", ("accept", "reject"))
        )
        builder.link(node, [builder.terminal((4 - offer, offer)), builder.terminal((0, 0))])
        replies.append(node)
    builder.link(root, replies)
    ranges = equilibrium_ranges(builder.tree())
    assert ranges.concept == "subgame-perfect equilibria"
    assert ends(ranges, "reply 0", "accept") == (0, 1)
    assert ends(ranges, "reply 1", "accept") == (1, 1)
    assert [ends(ranges, "offer", o) for o in "012"] == [(0, 1), (0, 1), (0, 0)]


def test_ranges_by_stages_and_unsupported_games():
    ranges = equilibrium_ranges(shipped("public_goods")[1])
    assert (ranges.method, ends(ranges, "player_1:move", "keep")) == ("strict dominance", (1, 1))
    assert equilibrium_ranges(shipped("stag_hunt_n")[1]) is None


def test_a_repeated_game_defects_after_every_history():
    import gamedsl
    from gamedsl.solve import tabulate

    tree = tabulate(gamedsl.load("repeated_prisoners_dilemma", {"rounds": 2}).env())
    ranges = equilibrium_ranges(tree)
    assert ranges.concept == "subgame-perfect equilibria"
    assert len(ranges.of) == 10
    assert all(row["defect"] == ((1, 1),) for row in ranges.of.values())
