"""Bounds on exploitability by search: exact for small games, from below for others."""

from statistics import fmean, stdev

import pytest
from small_games import shipped

import gamedsl
from gamedsl.solve import SampledPolicy, expected, exploitability, nash_conv_bound, uniform
from gamedsl.solve.response_search import Bound, Reply, Search

UNIFORM = SampledPolicy({}, "no iterations")


@pytest.mark.parametrize("name", ["kuhn_poker", "ultimatum", "prisoners_dilemma"])
def test_a_small_game_is_worked_out(name):
    game, tree = shipped(name)
    exact = exploitability(tree, uniform(tree), "payoffs")
    for policy in (UNIFORM, uniform(tree)):
        bound = nash_conv_bound(game, policy)
        assert bound.exact
        assert bound.at_least == bound.gain == pytest.approx(float(exact.nash_conv), abs=1e-12)
        assert bound.error == 0
        for seat, reply in bound.replies.items():
            assert reply.actions == exact.best_responses[seat].actions


@pytest.mark.parametrize("name", ["kuhn_poker", "kuhn_poker_n", "prisoners_dilemma"])
def test_search_finds_the_best_reply_and_its_gain(name):
    """As if these games were too large: the bound holds, and is tight."""
    game, tree = shipped(name)
    exact = exploitability(tree, uniform(tree), "payoffs")
    bound = nash_conv_bound(game, UNIFORM, nodes=3, simulations=800, games=300)
    assert not bound.exact
    assert bound.at_least <= exact.nash_conv
    for seat, reply in bound.replies.items():
        most = float(exact.best_responses[seat].value - exact.values[seat])
        assert reply.gain == pytest.approx(most, abs=4 * reply.error + 0.05)


def test_nothing_is_gained_at_an_equilibrium():
    game = shipped("rock_paper_scissors")[0]
    bound = nash_conv_bound(game, UNIFORM, nodes=3, simulations=100, games=400)
    assert abs(bound.gain) < 4 * bound.error
    assert bound.at_least == max(0, bound.gain - 1.96 * bound.error)


def test_response_gain_is_against_current_policy():
    """Also a bad one: its gain is below 0, and by how much is right."""
    game, tree = shipped("kuhn_poker")
    actions = {s.key: s.actions[0] for s in tree.info_sets if s.seat == "second"}
    reply = {**uniform(tree), **{key: {name: 1} for key, name in actions.items()}}
    gain = expected(tree, reply)["second"] - expected(tree, uniform(tree))["second"]
    search = Search(game, UNIFORM, "second", 0, "payoffs")
    gains = [search.compare(actions, str(seed)) for seed in range(500)]
    assert fmean(gains) == pytest.approx(float(gain), abs=4 * stdev(gains) / 500**0.5)
    assert gain < 0
    assert all(search.compare({}, str(seed)) == 0 for seed in range(20))


def test_a_game_too_large_for_a_tree():
    """Random play at connect four loses to whoever thinks a little."""
    game = gamedsl.load("connect_four")
    bound = nash_conv_bound(game, UNIFORM, nodes=1_000, simulations=300, games=150)
    assert bound.at_least > 0
    search = Search(game, UNIFORM, "x", 0, "payoffs")
    for _ in range(20):
        search.simulate()
    assert len(search.tried) == 20  # one more each time
    assert not search.best().keys() - search.tried.keys()


def test_seeds_reproduce():
    game = shipped("kuhn_poker")[0]
    one, same, other = (
        nash_conv_bound(game, UNIFORM, nodes=3, simulations=50, games=50, seed=seed)
        for seed in (1, 1, 2)
    )
    assert one == same
    assert one != other


def test_progress_is_told():
    told = []
    nash_conv_bound(
        shipped("kuhn_poker")[0], UNIFORM, nodes=3, simulations=30, games=10,
        progress=lambda *what: told.append(what),
    )  # fmt: skip
    assert told == [(done, 80) for done in range(4, 81, 4)]


def test_what_is_no_search_is_refused():
    game = shipped("kuhn_poker")[0]
    with pytest.raises(ValueError, match="2 games"):
        nash_conv_bound(game, UNIFORM, games=1)
    with pytest.raises(KeyError):
        nash_conv_bound(game, {})


def test_a_simple_reply_is_found_without_much_search(tmp_path):
    """After one simulation the tree knows one decision; always to stand earns all there is."""
    file = tmp_path / "stand.yaml"
    file.write_text("""
game: stand
roles: [player]
turns:
  - {role: player, choose: first, from: [hit, stand]}
  - {role: player, choose: second, from: [hit, stand]}
  - {role: player, choose: third, from: [hit, stand]}
payoffs: 1 if first == stand and second == stand and third == stand else 0
""")
    bound = nash_conv_bound(gamedsl.load(file), UNIFORM, nodes=3, simulations=1, games=200)
    (reply,) = bound.replies.values()
    assert reply.by == "`stand` wherever it is legal"
    assert reply.tried == bound.tried == 5
    assert bound.at_least < 7 / 8 < reply.gain + 4 * reply.error
    assert bound.at_least > 0.7


def test_no_reply_is_no_gain_of_zero():
    """In an equilibrium no reply gains, and the bound says that it knows nothing."""
    game = shipped("rock_paper_scissors")[0]
    bounds = [
        nash_conv_bound(game, UNIFORM, nodes=3, simulations=20, games=60, seed=seed)
        for seed in range(6)
    ]
    unfound = [r for bound in bounds for r in bound.replies.values() if not r.by]
    assert all(r.gain == r.error == 0 and r.actions == {} for r in unfound)
    assert all(bound.at_least < 0.5 for bound in bounds)
    assert not all(bound.found for bound in bounds)


def test_seat_without_reply_does_not_lessen_others():
    bound = Bound(
        {
            "one": Reply("one", 0.5, 0.1, False, {}, 3, "tree search"),
            "two": Reply("two", 0.0, 0.0, False, {}, 3),
        }
    )
    assert bound.at_least == pytest.approx(0.5 - 1.96 * 0.1)
    assert bound.tried == 3
    assert bound.found
