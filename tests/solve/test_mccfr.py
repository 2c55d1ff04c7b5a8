"""Monte Carlo CFR: what it comes to, and that it plays through the rules alone."""

import pytest
from small_games import shipped

import gamedsl
from gamedsl.solve import SampledPolicy, expected, exploitability, mccfr, tabulate
from gamedsl.solve.mccfr import ExternalSampling


def distance(game, tree, iterations, sampling, **kwargs):
    policy = mccfr(game, iterations, **kwargs, sampling=sampling)
    return float(exploitability(tree, policy.on(tree), "payoffs").nash_conv)


@pytest.mark.parametrize(
    ("name", "sampling", "iterations", "within"),
    [
        ("kuhn_poker", "external", 1_000, 0.1),
        ("kuhn_poker", "outcome", 2_500, 0.15),
        ("kuhn_poker_n", "external", 300, 0.3),
        ("biased_rock_paper_scissors", "external", 2_500, 0.2),
        ("biased_rock_paper_scissors", "outcome", 2_500, 0.25),
    ],
)
def test_it_converges(name, sampling, iterations, within):
    game, tree = shipped(name)
    first = distance(game, tree, 5, sampling)
    assert distance(game, tree, iterations, sampling) < min(within, first / 2)


def third_to_act(traversal):
    """A history of Kuhn poker of three in which the first two have passed."""
    state = traversal.kernel.start()
    while state.kind == "chance" or state.asked != (traversal.seats[2],):
        state.apply(0)
    return state


@pytest.mark.parametrize(
    ("updated", "sampled", "weight"), [(0, 1, 10), (1, 1, 4), (0, 0.5, 20), (2, 1, 0)]
)
def test_averages_weigh_own_reach_only(updated, sampled, weight):
    """What brought play here is divided out: the choices of the seat that neither acts nor is
    updated, and how likely those of the updated one were sampled."""
    traversal = ExternalSampling(shipped("kuhn_poker_n")[0], 0, "payoffs")
    reach = [1 / 4, 1 / 10, 1 / 2]
    numbers, _, own = traversal.move(third_to_act(traversal), updated, reach, sampled)
    (node,) = traversal.nodes.values()
    assert node.totals == pytest.approx([weight / 2] * 2)
    assert (own is node) == (updated == 2)
    assert reach == [1 / 4, 1 / 10, 1 / 2 if updated == 2 else 1 / 4]
    assert numbers[0] in (0, 1)


def test_a_game_of_one_seat():
    """Of three numbers in two guesses, the middle one first finds all."""
    game = gamedsl.load("guess_the_number", {"top": 3, "tries": 2})
    tree = tabulate(game.env())
    policy = mccfr(game, 2_000).on(tree)
    assert expected(tree, policy, "payoffs")["guesser"] > 0.97


def test_seeds_reproduce():
    game = shipped("kuhn_poker")[0]
    for sampling in ("external", "outcome"):
        one, same, other = (mccfr(game, 30, seed, sampling=sampling) for seed in (7, 7, 8))
        assert one == same
        assert one != other


def test_joint_choosers_are_mutually_blind():
    policy = mccfr(shipped("prisoners_dilemma")[0], 300)
    assert len(policy.visited) == 2
    assert all(row["defect"] > 0.95 for row in policy.visited.values())


def test_what_was_not_met_is_played_uniformly():
    policy = SampledPolicy({"met": {"a": 0.75, "b": 0.25}}, "by hand")
    assert policy("met", ("a", "b")) == {"a": 0.75, "b": 0.25}
    assert policy("unmet", ("a", "b", "c")) == dict.fromkeys("abc", 1 / 3)
    game, tree = shipped("kuhn_poker")
    little = mccfr(game, 1)
    assert 0 < len(little.visited) < len(tree.info_sets)
    assert set(little.on(tree)) == {info.key for info in tree.info_sets}


def test_progress_is_told():
    told = []
    policy = mccfr(shipped("kuhn_poker")[0], 40, progress=lambda *what: told.append(what))
    assert [done for done, _ in told] == list(range(2, 41, 2))
    assert told[-1][1] == len(policy.visited)
    assert policy.method == "external-sampling MCCFR, 40 iterations"


def test_rewards_may_be_what_counts(tmp_path):
    file = tmp_path / "team.yaml"
    file.write_text("game: team\nextends: prisoners_dilemma\nrewards: {use: shared}\n")
    game = gamedsl.load(file)
    team = mccfr(game, 300, utility="rewards").visited
    assert all(row["cooperate"] > 0.95 for row in team.values())
    each = mccfr(game, 300, utility="payoffs").visited
    assert all(row["defect"] > 0.95 for row in each.values())


def test_what_there_is_not_is_refused():
    with pytest.raises(ValueError, match="0 iterations"):
        mccfr(shipped("kuhn_poker")[0], 0)
    with pytest.raises(ValueError, match="'robust', only external, outcome"):
        mccfr(shipped("kuhn_poker")[0], 1, sampling="robust")
