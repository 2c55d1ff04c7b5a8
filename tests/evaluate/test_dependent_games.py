"""Sampled numbers where draws or games hang together: sets that recur, and games that share a
seed, a lineage or a referee."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gamedsl
from gamedsl.evaluate import Options, Plan, contestants, evaluate
from gamedsl.evaluate.games import Games, record
from gamedsl.evaluate.intervals import mean, mean_of_clusters, share
from gamedsl.evaluate.replies import Talk
from gamedsl.players.base import Answered
from gamedsl.runtime import Action
from tests.evaluate.small import evaluated
from tests.writing import write

DRIVER = """
game: absent_minded_driver
roles: [driver]
turns:
  - {role: driver, choose: first, from: [exit, go], knows: nothing}
  - {role: driver, choose: second, from: [exit, go], knows: nothing, if: first == go}
payoffs: 0 if first == exit else 4 if second == exit else 1
"""
COINS = """
game: two_coins
roles: [tosser, better]
turns:
  - {role: tosser, choose: first, from: [heads, tails], knows: nothing}
  - {role: tosser, choose: second, from: [heads, tails], knows: nothing}
  - {role: better, choose: bet, from: [same, differ]}
payoffs:
  tosser: 1 if first == second else 0
  better: 1 if (first == second) == (bet == same) else 0
"""
JUDGED = """
game: judged
roles: [ann, bob]
referees: {judge: {payoff: 1 if verdict == ann else 0}}
turns:
  - {role: all, choose: claim, from: [red, blue]}
  - {role: judge, choose: verdict, from: [ann, bob]}
payoffs: 1 if verdict == me else 0
"""


@pytest.mark.parametrize("text", [DRIVER, COINS])
def test_recurring_information_set_is_drawn_afresh(text: str, tmp_path: Path) -> None:
    game = gamedsl.load(write(tmp_path, text))
    true, guess = (evaluated(game, "random", method=method) for method in ("exact", "sampled"))
    (pairing,) = true.pairings
    for role, wanted in true.by_role(pairing).items():
        found = guess.by_role(pairing)[role]
        assert found.low <= wanted.value <= found.high


def test_recurring_draws_are_common_to_seatings(tmp_path: Path) -> None:
    game = gamedsl.load(write(tmp_path, COINS))
    found = evaluated(game, "a=random", "b=random", method="sampled", games=100)
    one, other = found.games["a", "b"], found.games["b", "a"]
    assert (one.payoffs_GS == other.payoffs_GS).all()


def test_to_be_asked_again_is_no_visit(tmp_path: Path) -> None:
    env = gamedsl.load(write(tmp_path, DRIVER + "on_invalid: {retry: 1}\n")).env()
    talk = Talk(env.reset(seed=1), {"driver": "random"})
    replies: list[str | Action] = ["neither", Action("go"), "neither", Action("go")]
    visits = []
    for reply in replies:
        (decision,) = talk.episode.decisions
        visits.append(talk.earlier_visits(decision))
        talk.step([(decision, Answered(reply))])
    assert talk.episode.done
    assert visits == [0, 0, 1, 1]


def games_of(results_G: np.ndarray, carry: int = 1) -> Games:
    """Games for two that the first seat won (1), drew (½) or lost (0), or that were void (NaN)."""
    payoffs_GS = np.stack([results_G, 1 - results_G], axis=1)
    count = len(results_G)
    return Games(
        ("a", "b"), False, np.full(count, 1 / count), payoffs_GS, payoffs_GS,
        np.zeros(payoffs_GS.shape, dtype=bool), np.zeros(2), np.zeros(2), carry=carry,
    )  # fmt: skip


@pytest.mark.parametrize("p", [0.1, 0.5])
@pytest.mark.parametrize("alike", [1.0, 0.6])
@pytest.mark.parametrize(("seeds", "seatings", "carry"), [(500, 2, 1), (200, 1, 5), (100, 2, 3)])
def test_intervals_cover_where_games_are_alike(
    p: float, alike: float, seeds: int, seatings: int, carry: int
) -> None:
    """A game has the result of its seed, or lineage, with probability `alike`."""
    stream, covered, rounds = np.random.default_rng(8), 0, 400
    shape = (seatings, seeds, carry)
    for _ in range(rounds):
        common = stream.random((seeds, 1)) < p
        won = np.where(stream.random(shape) < alike, common, stream.random(shape) < p)
        parts = [(games_of(rows.ravel().astype(float), carry), 0) for rows in won]
        found = record(parts)
        assert found is not None
        assert found.games == won.size
        assert found.won.value == pytest.approx(won.mean())
        covered += found.won.low <= p <= found.won.high
    assert covered / rounds >= 0.92


def test_luck_that_cancels_between_seatings_narrows_the_interval() -> None:
    """Who sits first wins most games, so that a contestant wins about one game of each seed."""
    stream = np.random.default_rng(9)
    first, second = (stream.random((2, 400)) < 0.9).astype(float)
    found = record([(games_of(first), 0), (games_of(second), 1)])
    assert found is not None
    alone = share(round(found.won.value * 800), 800)
    assert alone is not None
    assert found.won.half < 0.75 * alone.half


def test_independent_games_have_the_interval_of_independent_trials() -> None:
    results = np.array([1.0] * 37 + [0.5] * 12 + [0.0] * 41 + [np.nan] * 10)
    found = record([(games_of(results), 0)])
    assert found is not None
    assert (found.won, found.drawn, found.lost) == (share(37, 90), share(12, 90), share(41, 90))
    assert found.games == 90


@pytest.mark.parametrize("result", [1.0, 0.0])
def test_a_seed_counts_once_where_all_agree(result: float) -> None:
    found = record([(games_of(np.full(50, result)), 0), (games_of(np.full(50, result)), 0)])
    assert found is not None
    assert found.won == share(50 * result, 50)
    assert record([(games_of(np.full(5, np.nan)), 0)]) is None


def test_no_game_of_a_referee_is_left_out(tmp_path: Path) -> None:
    """A contestant plays itself in one seating, and others in two, of half as many games each."""
    game = gamedsl.load(write(tmp_path, JUDGED))
    people = tuple(contestants(["random", "fixed:red,ann"]))
    plan = Plan(people, people, referees={"judge": contestants(["random"])[0]})
    found = evaluate(game, plan, Options(games=60, seed=1))
    paid = [games.referee_payoffs["judge"] for games in found.games.values()]
    assert sorted(map(len, paid)) == [30, 30, 60, 60]
    assert found.referee_payoffs["judge"].value == pytest.approx(np.concatenate(paid).mean())
    assert found.referee_payoffs["judge"].rows == 60


def test_means_of_clusters_are_means_over_all_entries() -> None:
    rows_CK = np.random.default_rng(7).normal(size=(30, 3))
    found, wanted = mean_of_clusters(rows_CK), mean(rows_CK.mean(axis=1))
    assert found is not None
    assert wanted is not None
    assert (found.value, found.half) == pytest.approx((wanted.value, wanted.half))
    rows_CK[10:20, 1:], rows_CK[20:] = np.nan, np.nan
    found = mean_of_clusters(rows_CK)
    assert found is not None
    assert found.value == pytest.approx(np.nanmean(rows_CK))
    assert found.rows == 20
    assert mean_of_clusters(np.full((2, 2), np.nan)) is None


def test_intervals_of_means_of_clusters_have_nominal_coverage() -> None:
    """Half of the clusters have one entry, the others four that are much alike."""
    stream, covered, rounds = np.random.default_rng(3), 0, 1000
    for _ in range(rounds):
        rows_CK = stream.normal(size=(60, 1)) + 0.3 * stream.normal(size=(60, 4))
        rows_CK[30:, 1:] = np.nan
        found = mean_of_clusters(rows_CK)
        assert found is not None
        covered += found.low <= 0 <= found.high
    assert 0.93 < covered / rounds < 0.97
