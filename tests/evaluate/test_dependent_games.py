"""Sampled numbers where draws or games hang together: sets that recur, and games that share a
seed, a lineage or a referee."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import gamedsl
from gamedsl.evaluate import Options, Plan, contestants, evaluate
from gamedsl.evaluate.games import Games, record
from gamedsl.evaluate.intervals import mean, mean_of_clusters, share
from gamedsl.evaluate.replies import ReplyCount, Talk
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


TALK = """
game: talk
roles: [ann, bob]
state: {note: {of: text(40), lasts: run}}
turns:
  - {draw: weather, from: [sun, rain], seen_by: all}
  - repeat: 3
    turns:
      - {role: all, say: word, max_tokens: 9}
  - {role: ann, say: note, max_tokens: 9}
payoffs: 1 if me == ann else 0
on_invalid: {then: skip, pay: -1}
"""
MUTE = """
from gamedsl.runtime import Action

class Mute:
    \"\"\"Says nothing where it rains.\"\"\"

    def __init__(self, seed=0): ...

    def act(self, decision, episode):
        return "" if "rain" in decision.information_set else "yes"
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
        np.zeros(payoffs_GS.shape, dtype=bool), np.zeros((count, 2)), np.zeros((count, 2)),
        np.ones(count, dtype=bool), carry=carry,
    )  # fmt: skip


def counted(invalid_G: np.ndarray, asked_G: np.ndarray) -> ReplyCount:
    """The counts of replies at one place, of independent games."""
    return ReplyCount(
        int(asked_G.sum()), Counter({"missing": int(invalid_G.sum())}),
        asked=Counter(dict(enumerate(asked_G.tolist()))),
        refused=Counter(dict(enumerate(invalid_G.tolist()))),
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


@pytest.mark.parametrize(("p", "games"), [(0.1, 200), (0.5, 30)])
def test_intervals_cover_where_replies_are_alike(p: float, games: int) -> None:
    """The replies of a game are all valid or all invalid in nine of ten; some have four times as
    many as others. As independent trials they have intervals too narrow."""
    stream, rounds = np.random.default_rng(5), 400
    covered = independent = 0
    for _ in range(rounds):
        asked_G = stream.choice([5, 20], size=games)
        common, alike = stream.random(games) < p, stream.random(games) < 0.9
        invalid_G = np.where(alike, common * asked_G, stream.binomial(asked_G, p))
        found = counted(invalid_G, asked_G).valid
        alone = share(int((asked_G - invalid_G).sum()), int(asked_G.sum()))
        assert found is not None
        assert alone is not None
        assert found.value == pytest.approx(alone.value)
        assert found.half >= alone.half
        covered += found.low <= 1 - p <= found.high
        independent += alone.low <= 1 - p <= alone.high
    assert 0.92 <= covered / rounds <= 0.98
    assert independent / rounds < 0.5


def test_single_replies_are_independent_trials() -> None:
    """And replies of which each game has as many invalid ones count for no more."""
    invalid_G, asked_G = np.array([1] * 12 + [0] * 48), np.ones(60)
    assert counted(invalid_G, asked_G).valid == share(48, 60)
    even = counted(np.ones(60), np.full(60, 4)).valid
    other = counted(np.append(np.ones(59), 2), np.full(60, 4)).valid
    independent = share(179, 240)
    assert even is not None
    assert other is not None
    assert independent is not None
    assert (other.low, other.high) == (independent.low, independent.high)
    assert even.half > other.half  # nothing differs, and so nothing is known of how much it may


def test_a_game_without_invalid_replies_counts_once() -> None:
    for invalid in (0, 13):
        found = counted(np.full(100, invalid), np.full(100, 13)).valid
        assert found == share(100 - 100 * invalid // 13, 100)


@pytest.mark.parametrize("carry", [1, 2])
def test_replies_of_one_seed_are_a_cluster(tmp_path: Path, carry: int) -> None:
    """In all seatings of a contestant, and where memory goes on in all games of a lineage."""
    path = write(tmp_path, TALK)
    (tmp_path / "mute.py").write_text(MUTE, encoding="utf-8")
    people = contestants([f"mute=module:{tmp_path / 'mute.py'}:Mute", "random"])
    found = evaluate(gamedsl.load(path), Plan(people, people), Options(games=80, carry=carry))
    invalid, own = found.invalid("mute"), found.own_ends
    assert invalid is not None
    assert own is not None
    rows = [(g.invalid_GS, g.asked_GS, g.own_ends_G) for g in found.games.values()]
    longest = max(len(asked) for _, asked, _ in rows)
    assert invalid.rows == own.rows == longest // carry
    assert 0 < invalid.value < 1
    total = sum(int(asked.sum()) for _, asked, _ in rows)
    assert sum(count.replies for count in found.reply_counts.values()) == total
    for place, count in found.reply_counts.items():
        assert count.asked.total() == count.replies
        assert count.refused.total() == count.invalid.total()
        assert len(count.asked) <= longest // carry
        if place.who == "mute":
            assert count.valid.half > share(count.replies - 20, count.replies).half


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
