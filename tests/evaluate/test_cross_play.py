"""Cross-play: exact where it can be, sampled to agree, intervals that hold what they say."""

from __future__ import annotations

import numpy as np
import pytest

import gamedsl
from gamedsl.evaluate import EvalError, Options, Plan, contestant, evaluate
from gamedsl.evaluate.exact import write_out
from gamedsl.evaluate.intervals import mean, share
from gamedsl.evaluate.seating import pairings
from gamedsl.evaluate.tables import tables_of
from gamedsl.players import PolicyError, SavedPlayer, open_player
from gamedsl.solve.response_search import Search
from gamedsl.tables.markdown import markdown
from tests.evaluate.small import RPS, cell, evaluated, plan_of

PURE = ("fixed:rock", "fixed:paper", "fixed:scissors")
BEATS = {("rock", "scissors"), ("scissors", "paper"), ("paper", "rock")}


@pytest.mark.parametrize("method", ["exact", "sampled"])
def test_pure_players_matrix_equals_payoff_table(method: str) -> None:
    found = evaluated(RPS, *PURE, method=method, games=6)
    for a in PURE:
        for b in PURE:
            pair = a.partition(":")[2], b.partition(":")[2]
            wanted = (pair in BEATS) - (pair[::-1] in BEATS)
            assert cell(found, a, b).value == wanted
    assert found.exact == (method == "exact")


def test_pure_players_are_exploitable_and_mixture_is_not() -> None:
    found = evaluated(RPS, *PURE, "random")
    numbers = {name: one.estimate.value for name, one in found.exploitability.items()}
    assert numbers == {**dict.fromkeys(PURE, 1.0), "random": 0.0}


def test_results_sum_to_one_and_mirror() -> None:
    found = evaluated(RPS, "fixed:rock", "random")
    records = [found.record(p) for p in found.pairings if not p.mirror]
    for one in records:
        shares = one.won.value, one.drawn.value, one.lost.value
        assert shares == pytest.approx((1 / 3, 1 / 3, 1 / 3))
    other = evaluated(RPS, "fixed:rock", "fixed:paper")
    first, second = [other.record(p) for p in other.pairings if not p.mirror]
    assert (first.lost.value, second.won.value) == (1.0, 1.0)


def test_sampled_agrees_with_exact_within_its_interval() -> None:
    names = ("equilibrium", "random", "fixed:bet,call")
    true = evaluated("kuhn_poker", *names)
    guess = evaluated("kuhn_poker", *names, method="sampled", games=600)
    assert not guess.exact
    for a in names:
        for b in names:
            exact, sampled = cell(true, a, b), cell(guess, a, b)
            assert exact.kind == "exact"
            assert abs(sampled.value - exact.value) <= max(1.6 * sampled.half, 1e-9)


def test_kuhn_is_worth_what_the_solver_says() -> None:
    found = evaluated("kuhn_poker", "equilibrium", "random")
    (own, *_) = found.pairings
    assert found.by_role(own)["first"].value == pytest.approx(-1 / 18)
    assert found.exploitability[own.focal].estimate.value == pytest.approx(0, abs=1e-9)
    assert found.exploitability["random"].estimate.value == pytest.approx(0.458, abs=0.001)


def test_t_intervals_have_nominal_coverage() -> None:
    stream, covered, rounds = np.random.default_rng(5), 0, 2000
    for _ in range(rounds):
        found = mean(stream.choice([-2.0, -1.0, 1.0, 2.0], size=50, p=[0.1, 0.5, 0.2, 0.2]))
        covered += found.low <= -0.1 <= found.high
    assert 0.935 < covered / rounds < 0.965


@pytest.mark.parametrize("p", [0.02, 0.3, 0.98])
def test_wilson_intervals_have_nominal_coverage(p: float) -> None:
    stream, rounds = np.random.default_rng(6), 4000
    found = [share(int(k), 200) for k in stream.binomial(200, p, size=rounds)]
    covered = sum(one.low <= p <= one.high for one in found) / rounds
    assert 0.93 < covered < 0.98


def test_intervals_of_matches_cover_the_exact_value() -> None:
    """The whole way: games played from seeds, paired by seatings."""
    true = cell(evaluated("kuhn_poker", "random", "fixed:bet,call"), "random", "fixed:bet,call")
    game, plan = gamedsl.load("kuhn_poker"), plan_of("random", against=("fixed:bet,call",))
    covered, rounds = 0, 40
    for seed in range(rounds):
        found = evaluate(game, plan, Options(games=40, seed=seed, method="sampled"))
        one = cell(found, "random", "fixed:bet,call")
        covered += one.low <= true.value <= one.high
    assert covered / rounds > 0.85  # 95% less three standard errors


def test_match_is_independent_of_other_matches() -> None:
    few = evaluated("kuhn_poker", "random", "fixed:bet,call", method="sampled", games=40)
    many = evaluated(
        "kuhn_poker", "fixed:check,fold", "fixed:bet,call", "random", method="sampled", games=40
    )
    assert cell(few, "random", "fixed:bet,call") == cell(many, "random", "fixed:bet,call")


def test_more_games_begin_with_the_games_of_fewer() -> None:
    short, long = (
        evaluated("kuhn_poker", "random", "fixed:bet,call", method="sampled", games=n)
        for n in (20, 60)
    )
    holders = ("random", "fixed:bet,call")
    rows = long.games[holders].payoffs_GS
    assert (short.games[holders].payoffs_GS == rows[:10]).all()
    assert len(rows) == 30


def test_both_seatings_share_the_deals() -> None:
    """Alike players: what one wins in a seating, it loses in the other, so nothing is left over."""
    plan = plan_of("a=fixed:bet,call", "b=fixed:bet,call")
    found = evaluate(gamedsl.load("kuhn_poker"), plan, Options(games=50, method="sampled"))
    assert cell(found, "a", "b").value == 0 == cell(found, "a", "b").half


def test_focal_contestant_rotates_through_three_seats() -> None:
    (own, pair) = pairings(("x", "y", "z"), {}, ["a"], ["b"])
    assert [s.holders for s in own.seatings] == [("a", "a", "a")]
    assert [s.holders for s in pair.seatings] == [
        ("a", "b", "b"), ("b", "a", "b"), ("b", "b", "a")
    ]  # fmt: skip
    (fixed,) = pairings(("x", "y"), {"y": "c"}, ["a"], ["b"])
    assert (fixed.background, fixed.seatings[0].holders) == (None, ("a", "c"))


def test_a_fixed_role_is_held_in_all_games() -> None:
    responder = contestant("fixed:accept")
    people = (contestant("fixed:low"), contestant("fixed:high"))
    plan = Plan(people, people, {"responder": responder})
    found = evaluate(gamedsl.load("ultimatum"), plan)
    assert [found.earned(p).value for p in found.pairings] == [8.0, 2.0]


def test_pay_of_many_player_game_is_by_role() -> None:
    game = gamedsl.load("kuhn_poker_n")
    found = evaluate(game, plan_of("random", "fixed:bet,call"), Options(games=60, seed=3))
    assert len(game.ir.seats) == 3
    (pair,) = [p for p in found.pairings if (p.focal, p.background) == ("random", "fixed:bet,call")]
    assert len(pair.seatings) == 3
    total = sum(found.games[pair.seatings[0].holders].payoffs_GS.sum(axis=1))
    assert total == pytest.approx(0)


RESIGNS = """
from random import Random

from gamedsl.runtime import Action


class Resigns:
    def __init__(self, seed=0):
        self.stream = Random(seed)

    def act(self, decision, episode):
        return "I resign" if self.stream.random() < 0.5 else Action(decision.legal[0])
"""


def test_invalid_replies_forfeit_and_are_counted(tmp_path) -> None:
    path = tmp_path / "odd.py"
    path.write_text(RESIGNS, encoding="utf-8")
    found = evaluated(RPS, f"odd=module:{path}:Resigns", "fixed:rock", games=200)
    invalid = found.invalid("odd")
    assert 0.35 < invalid.low < invalid.value < invalid.high < 0.6
    assert found.invalid("fixed:rock").value == 0
    (pair,) = [p for p in found.pairings if (p.focal, p.background) == ("odd", "fixed:rock")]
    record = found.record(pair)
    assert record.lost.value == pytest.approx(invalid_share(found, pair))
    assert record.drawn.value == pytest.approx(1 - record.lost.value)
    others = found.by_role(
        next(p for p in found.pairings if p.focal == "fixed:rock" != p.background)
    )
    assert all(one.value == 0 for one in others.values())  # void games do not count for others
    assert found.exploitability["odd"].kind == "unknown"


def invalid_share(found, pair) -> float:
    failed = [found.games[s.holders].failed_GS[:, s.focal[0]] for s in pair.seatings]
    return float(np.concatenate(failed).mean())


def test_large_game_is_sampled_with_lower_bound(monkeypatch) -> None:
    true = evaluated("kuhn_poker", "random").exploitability["random"].estimate.value
    monkeypatch.setattr("gamedsl.evaluate.exact.NODES", 20)
    found = evaluated("kuhn_poker", "random", games=20, search=400)
    one = found.exploitability["random"]
    assert one.kind == "least"
    assert 0.25 < one.estimate.low < true < one.estimate.high + 0.05
    assert "nodes" in found.why_sampled
    with pytest.raises(EvalError, match="no exact result: the game has over"):
        evaluated("kuhn_poker", "random", method="exact")


def test_bound_is_no_worse_than_cross_play(monkeypatch) -> None:
    """Whoever bets and calls always wins from random play; the page shows it, and so the bound."""
    monkeypatch.setattr("gamedsl.evaluate.exact.NODES", 20)
    monkeypatch.setattr(Search, "replies", lambda self: {"first actions": {}})
    found = evaluated("kuhn_poker", "fixed:check,fold", "fixed:bet,call", games=400, search=2)
    weak = found.exploitability["fixed:check,fold"]
    names = ("fixed:check,fold", "fixed:bet,call")
    gains = [
        found.games[seats].mean([i], "payoffs").value
        - found.games[names[:1] * 2].mean([i], "payoffs").value
        for i, seats in enumerate([names[::-1], names])
    ]
    assert weak.kind == "least"
    assert weak.tried == 2
    assert weak.estimate.low > 0.5
    assert weak.estimate.value == pytest.approx(sum(gains) / 2)
    text = markdown(tables_of(found, 200)[0])
    assert "by the best of 2 replies tried for each seat" in text


def test_a_bound_that_says_nothing_is_no_zero(monkeypatch) -> None:
    monkeypatch.setattr("gamedsl.evaluate.exact.NODES", 2)
    found = evaluated("rock_paper_scissors", "random", games=40, search=30)
    one = found.exploitability["random"]
    assert one.estimate.low <= 0
    text = markdown(tables_of(found, 200)[0])
    assert "not found (" in text
    assert "≥ 0" not in text


def test_policy_may_omit_unreached_decisions() -> None:
    """Who always bets is never asked whether to call after checking."""
    game = gamedsl.load("kuhn_poker")
    whole = write_out(game.env())
    bold = open_player("fixed:bet,call", game, seed=0)
    full = {seat: whole.table(bold, seat) for seat in game.ir.seats}
    said = {key: row for key, row in full["first"].items() if ":open" in key}
    assert len(said) == 3 < len(full["first"])
    table = whole.table(SavedPlayer(said), "first")
    assert {key: table[key] for key in said} == said
    with pytest.raises(PolicyError, match="says nothing of"):
        whole.table(SavedPlayer({key: {"check": 1.0} for key in said}), "first")
