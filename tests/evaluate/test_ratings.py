"""Elo by maximum likelihood, and TrueSkill: right, anchored, and as sure as they say."""

from __future__ import annotations

import numpy as np
import pytest

from gamedsl.evaluate.ratings import PRIOR, Score, elo, trueskill


def score(won: float, drawn: float, lost: float) -> Score:
    """A score in which a win is a point, and a draw half of one."""
    return Score(won, drawn, lost, won + drawn / 2)


def chance_of(a: float, b: float) -> float:
    return 1 / (1 + 10 ** ((b - a) / 400))


def test_two_players_have_the_ratings_of_their_score() -> None:
    """With one pair the maximum is known in closed form: the odds of the score, prior included."""
    found = elo({("a", "b"): score(70, 10, 20)}, anchor="b")
    share = (70 + 5 + PRIOR / 2) / (100 + PRIOR)
    assert found["b"].value == 1000.0
    assert found["b"].kind == "exact"
    assert chance_of(found["a"].value, 1000) == pytest.approx(share)
    error = 1 / np.sqrt((100 + PRIOR) * share * (1 - share)) * 400 / np.log(10)
    assert found["a"].half == pytest.approx(1.96 * error, rel=1e-3)


def test_ratings_recover_true_strengths() -> None:
    true = {"a": 1300.0, "b": 1000.0, "c": 900.0, "d": 1420.0}
    pairs = [(x, y) for x in true for y in true if x < y]
    scores = {}
    for x, y in pairs:
        p = chance_of(true[x], true[y])
        scores[x, y] = score(1e7 * p, 0, 1e7 * (1 - p))
    found = elo(scores, anchor="b")
    assert {n: one.value for n, one in found.items()} == pytest.approx(true, abs=0.1)


def test_ratings_ignore_order_of_matches_and_names() -> None:
    scores = {("a", "b"): score(5, 1, 2), ("b", "c"): score(4, 0, 4), ("a", "c"): score(3, 2, 1)}
    turned = {(b, a): score.turned() for (a, b), score in reversed(scores.items())}
    one, other = elo(scores, "b"), elo(turned, "b")
    for name in one:
        assert one[name].value == pytest.approx(other[name].value)
        assert one[name].half == pytest.approx(other[name].half)


def test_without_an_anchor_the_mean_is_1000() -> None:
    found = elo({("a", "b"): score(9, 0, 1), ("b", "c"): score(9, 0, 1)})
    assert np.mean([one.value for one in found.values()]) == pytest.approx(1000)
    assert all(one.half > 0 for one in found.values())


def test_who_lost_every_game_has_a_finite_rating() -> None:
    found = elo({("a", "b"): score(100, 0, 0)}, anchor="a")
    assert -400 < found["b"].value < 500
    assert found["b"].half > 100


def test_clean_sheet_without_anchor_has_an_interval() -> None:
    found = elo({("a", "b"): score(1000, 0, 0)})
    assert 100 < found["a"].half < 1000
    assert found["a"].half == pytest.approx(found["b"].half)


def test_groups_that_never_met_are_not_compared() -> None:
    scores = {("a", "b"): score(1, 0, 1), ("x", "y"): score(1, 0, 1), ("y", "z"): score(1, 0, 1)}
    assert set(elo(scores, "a")) == {"a", "b"}
    assert set(elo(scores)) == {"x", "y", "z"}
    with pytest.raises(KeyError):
        elo(scores, "nobody")
    assert elo({}) == {}


def test_intervals_of_ratings_cover_the_truth() -> None:
    true = np.array([0.0, 0.5, -0.7, 1.0])
    names, stream, rounds = "abcd", np.random.default_rng(3), 400
    covered = 0
    for _ in range(rounds):
        scores = {}
        for i in range(4):
            for j in range(i):
                won = int(stream.binomial(60, 1 / (1 + np.exp(true[j] - true[i]))))
                scores[names[i], names[j]] = score(won, 0, 60 - won)
        found = elo(scores, anchor="a")
        wanted = 1000 + true * 400 / np.log(10)
        covered += sum(
            found[n].low <= w <= found[n].high for n, w in zip(names[1:], wanted[1:], strict=True)
        )
    assert 0.925 < covered / (3 * rounds) < 0.975


def test_trueskill_ranks_by_results() -> None:
    pytest.importorskip("trueskill")
    found = trueskill([("a", "b", score(30, 5, 5)), ("b", "c", score(30, 5, 5))])
    assert found["a"].low > found["b"].value > found["c"].high
    assert found == trueskill([("a", "b", score(30, 5, 5)), ("b", "c", score(30, 5, 5))])
