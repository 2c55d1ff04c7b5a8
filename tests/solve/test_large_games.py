"""Games too large for a tree: graphs of positions, arrays without a tree, stages over positions."""

from __future__ import annotations

from fractions import Fraction
from math import isclose
from pathlib import Path

import numpy as np
import pytest

import gamedsl
from gamedsl.cli import main
from gamedsl.engine.walk import count_histories
from gamedsl.runtime.positions import has_public_state
from gamedsl.solve import Unfit, solve, solve_public, tabulate
from gamedsl.solve.arrays import arrays_of
from gamedsl.solve.game_arrays import arrays_of_graph
from gamedsl.solve.large_games import (
    checked_arrays,
    estimate_histories,
    lay_out,
    minimise_regret,
    search_team,
)
from gamedsl.solve.position_graph import position_graph
from gamedsl.solve.text import render
from gamedsl.solve.tree import TooLarge

SMALL = [
    ("kuhn_poker", {}),
    ("kuhn_poker_n", {}),
    ("leduc_poker", {}),
    ("goofspiel", {"n": 3}),
    ("liars_dice", {"faces": 3}),
    ("ultimatum", {}),
    ("advice", {}),
    ("repeated_prisoners_dilemma", {"rounds": 3}),
    ("tiny_hanabi", {}),
    ("information_cascade", {}),
    ("nim", {"piles": [1, 2, 2]}),
]

OSHI_ZUMO = """
game: oshi_zumo
about: Wrestlers push by bids from a purse; the higher bid moves the ring a step.
params: {coins: {default: 6, in: 1..20}, size: {default: 1, in: 1..5}}
roles: [left, right]
types: {Coins: 0..coins}
state:
  purse: {per: role, of: Coins, start: coins}
  at: {of: -9..9, start: 0}
turns:
  - repeat: 12
    turns:
      - {role: all, choose: bid, from: "[c for c in 0..coins if c <= purse.me]", seen_by: all}
      - {each: roles, do: purse.me -= bid.me}
      - do: at += sign(bid.left - bid.right)
end: at > size or at < 0 - size or (purse.left == 0 and purse.right == 0)
payoffs: sign(at) if me == left else 0 - sign(at)
"""


def written(folder: Path, text: str) -> str:
    path = folder / "example.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def skewed(arrays):
    """A policy in which no two actions of an information set are equally likely."""
    rows = {}
    for info in arrays.infos:
        weights = range(1, len(info.actions) + 1)
        rows[info.key] = {a: w / sum(weights) for a, w in zip(info.actions, weights, strict=True)}
    return rows


@pytest.mark.parametrize(("name", "params"), SMALL)
def test_arrays_of_positions_are_those_of_the_tree(name, params):
    """The same information sets, values and best replies, with fewer positions than histories."""
    game = gamedsl.load(name, params)
    graph = position_graph(game)
    found = arrays_of_graph(graph, dict(game.ir.role_of))
    tree = arrays_of(tabulate(game.env()), "payoffs")
    assert {i.key: i for i in found.infos} == {i.key: i for i in tree.infos}
    assert graph.histories == count_histories(game.kernel().start(), 100_000)
    assert len(graph.positions) <= graph.histories
    policy = skewed(tree)
    for one, other in zip(
        found.replies(found.rows(policy)), tree.replies(tree.rows(policy)), strict=True
    ):
        assert one[:2] == pytest.approx(other[:2], abs=1e-12)


def test_one_step_or_two_is_one_information_set(tmp_path):
    """The same events, shown by moves of different histories, of different lengths."""
    game = gamedsl.load(written(tmp_path, """
game: lengths
roles: [one, two]
turns:
  - {draw: coin, from: [heads, tails], seen_by: nobody}
  - {draw: extra, from: 1..3, seen_by: nobody, if: coin == heads}
  - {role: one, choose: move, from: [left, right]}
  - {role: two, choose: reply, from: [left, right]}
payoffs: {one: 1 if move == reply else 0, two: 1 if coin == heads and reply == left else 0}
"""))  # fmt: skip
    found = arrays_of_graph(position_graph(game), dict(game.ir.role_of))
    assert sorted(i.key for i in found.infos) == sorted(
        i.key for i in tabulate(game.env()).info_sets
    )
    assert len(found.infos) == 3


def test_a_game_that_may_forget_has_no_graph(tmp_path):
    game = gamedsl.load(written(tmp_path, """
game: driver
roles: [driver]
turns:
  - {role: driver, choose: first, from: [exit, go], knows: nothing}
  - {role: driver, choose: second, from: [exit, go], knows: nothing, if: first == go}
payoffs: 0 if first == exit else 4 if second == exit else 1
"""))  # fmt: skip
    with pytest.raises(ValueError, match="knows"):
        position_graph(game)
    assert lay_out(game, "payoffs") is None


def test_cfr_on_arrays_is_cfr_on_the_tree():
    game = gamedsl.load("liars_dice", {"faces": 4})
    laid_out = lay_out(game, "payoffs")
    told = []
    found = minimise_regret(laid_out, "cfr+", 200, lambda *what: told.append(what))
    assert found.method == "CFR+, 200 iterations"
    assert told[-1][:2] == (200, 200)
    assert float(found.nash_conv) == pytest.approx(told[-1][2], abs=1e-12)
    tree = tabulate(game.env())
    exact = gamedsl.solve.exploitability(tree, found.policy, "payoffs")
    assert float(exact.nash_conv) == pytest.approx(float(found.nash_conv), abs=1e-9)
    assert found.nash_conv < 0.01


def test_large_games_are_solved_whole_and_not_sampled(capsys):
    """Histories beyond the tree's limit: values and regrets of the whole game, no estimates."""
    game = gamedsl.load("liars_dice", {"faces": 4})
    report = solve(game, limit=1_000, iterations=50)
    assert report.method == "cfr+"
    assert report.sampled is None
    assert report.tree is None
    assert report.size["histories"] == count_histories(game.kernel().start(), 100_000)
    assert 0 < report.solution.nash_conv < 0.2
    main(["solve", "liars_dice", "--param", "faces=4", "--limit", "1000", "--iterations", "50"])
    out = capsys.readouterr().out
    assert "worked out anew by best responses" in out
    assert "laid out as arrays" in out


def test_a_hopeless_game_is_not_walked_through():
    game = gamedsl.load("connect_four")
    assert estimate_histories(game) > 1e15
    assert lay_out(game, "payoffs") is None
    assert isclose(estimate_histories(gamedsl.load("kuhn_poker")), 58, rel_tol=0.1)


def test_graph_limits_are_kept():
    game = gamedsl.load("leduc_poker")
    with pytest.raises(TooLarge):
        position_graph(game, limit=100)
    with pytest.raises(TooLarge):
        position_graph(game, moves_limit=100)
    with pytest.raises(TooLarge):
        arrays_of_graph(position_graph(game), dict(game.ir.role_of), sets=100)


def test_a_large_team_is_searched_from_many_starts():
    game = gamedsl.load("tiny_hanabi")
    laid_out = lay_out(game, "payoffs")
    assert laid_out.common_payoff
    told = []
    found = search_team(laid_out, lambda *what: told.append(what))
    optimum = solve(game).solution
    assert found.values == pytest.approx({s: float(v) for s, v in optimum.values.items()})
    assert found.nash_conv == pytest.approx(0, abs=1e-12)
    worths = [worth for _, _, worth in told]
    assert worths == sorted(worths)  # never less than what was seen before
    start = checked_arrays(
        laid_out.arrays, [s.uniform() for s in laid_out.arrays.seats], "", "", ""
    )
    assert all(found.values[seat] >= value for seat, value in start.values.items())


def test_oshi_zumo_is_worth_nothing_exactly(tmp_path, capsys):
    """A symmetric game of 166 million histories; its state is public after each step."""
    path = written(tmp_path, OSHI_ZUMO)
    report = solve(gamedsl.load(path))
    assert report.method == "backward"
    assert report.solution.exact
    assert report.solution.values == {"left": Fraction(0), "right": Fraction(0)}
    assert report.solution.nash_conv == 0
    assert report.size == {"histories": 166_351_044, "positions": 5_827}
    told = render(report, 24)
    assert "left plays first:" in told
    assert "too many information sets" in told
    assert main(["solve", path, "--save", str(tmp_path / "policy.json")]) == 2
    assert "too many information sets to be kept" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("repeated_prisoners_dilemma", {"rounds": 3}),
        ("rock_paper_scissors", {}),
        ("chicken", {}),
        ("battle_of_the_sexes", {}),
        ("ultimatum", {}),
    ],
)
def test_stages_over_positions_are_subgame_perfect(name, params):
    """Its policy has no regret on the tree, and its values are those found there."""
    game = gamedsl.load(name, params)
    assert has_public_state(game.ir)
    found = solve_public(game)
    tree = tabulate(game.env())
    policy = gamedsl.solve.uniform(tree) | found.solution.policy
    checked = gamedsl.solve.exploitability(tree, policy, "payoffs")
    assert found.complete
    assert checked.nash_conv == 0
    assert checked.values == found.solution.values


def test_oshi_zumo_agrees_with_the_linear_program(tmp_path):
    text = OSHI_ZUMO.replace("repeat: 12", "repeat: 5")
    game = gamedsl.load(written(tmp_path, text), {"coins": 2})
    tree = tabulate(game.env())
    by_tree = gamedsl.solve.solve_zero_sum(tree)
    found = solve_public(game)
    assert found.solution.values == by_tree.values
    assert found.complete
    policy = gamedsl.solve.uniform(tree) | found.solution.policy
    assert gamedsl.solve.exploitability(tree, policy, "payoffs").nash_conv == 0


def test_hidden_state_is_refused(tmp_path):
    game = gamedsl.load("kuhn_poker")
    assert not has_public_state(game.ir)
    with pytest.raises(ValueError, match="sees everything"):
        solve_public(game)


def test_three_seats_without_equilibrium_are_not_staged(tmp_path):
    game = gamedsl.load(written(tmp_path, """
game: odd_one_out
roles: [one, two, three]
turns:
  - {role: all, choose: side, from: [heads, tails]}
payoffs: >-
  (1 if side.one == side.two else -1) if me == one else
  (1 if side.two == side.three else -1) if me == two else
  (1 if side.three != side.one else -1)
"""))  # fmt: skip
    assert solve_public(game) is None
    with pytest.raises(Unfit):
        solve(game, "backward", limit=5)


def test_more_than_two_seats_are_laid_out():
    game = gamedsl.load("kuhn_poker_n")
    found = arrays_of_graph(position_graph(game), dict(game.ir.role_of))
    assert all(np.diff(other[:, 0]).min() >= 0 for other in found.others)
