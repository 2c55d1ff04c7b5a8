"""Credit by replaying what else could have been done: right on average, quieter than returns, and
blind to what others did."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gamedsl.diagnostics import Problems
from gamedsl.recipe.resolve import parse_overrides, resolve
from gamedsl.runtime import Action, Decision, Episode
from gamedsl.training.advantages import Advantages
from gamedsl.training.bundles import Bundles
from gamedsl.training.credit import Replays, _thinned
from gamedsl.training.loop import train
from gamedsl.training.progress import telling
from gamedsl.training.rollout import play
from gamedsl.training.scoring import Scorer
from gamedsl.training.seats import SeatAssignment
from gamedsl.training.trajectories import Batch, Trajectory
from tests.train.conftest import OFFER, policy_of, recipe_of, run_of, untimed, weighed
from tests.train.exhaustive import Exhaustive
from tests.train.test_baselines import ASK, PAID, PAIR

RIDE = """
game: ride
roles: [driver, rider]
turns:
  - {role: driver, choose: road, from: [long, short]}
  - {role: rider, choose: tune, from: [loud, soft]}
  - {draw: luck, from: 0..9, seen_by: all}
payoffs: (6 if road == short else 0) + luck
rewards: shared
"""
ANSWER = """
game: answer
roles: [first, second]
turns:
  - {role: first, choose: a, from: [up, down]}
  - {role: second, choose: b, from: [up, down]}
payoffs:
  first: 4 if a == b else 0
  second: 2 if b == up else 0
"""
CHAIN = """
game: chain
roles: [speaker]
turns:
  - {role: speaker, choose: a, from: [yes, no]}
  - {role: speaker, choose: b, from: [yes, no]}
  - {role: speaker, choose: c, from: [yes, no]}
  - {role: speaker, choose: d, from: [yes, no]}
payoffs: (9 if a == c else 0) + (4 if b == c else 0) + (1 if c == d else 0)
"""
GOODS = """
game: goods
roles: {giver: 3}
actions: [give, keep]
protocol: simultaneous
payoffs: 2 * count(move[r] == give for r in roles) - (3 if move.me == give else 0)
"""


@pytest.mark.parametrize("text", [ASK, PAIR, PAID, ANSWER])
def test_counterfactual_credit_is_the_policy_gradient(compiled, text: str) -> None:
    every = Exhaustive(compiled(text))
    found = every.mean(1, credit="counterfactual")
    assert found == pytest.approx(every.exact(1), abs=1e-9)


@pytest.mark.parametrize(("text", "replays"), [(ASK, 1), (CHAIN, 3)])
def test_what_replays_draw_is_right_on_average(compiled, text: str, replays: int) -> None:
    """With fewer courses followed than there are, over many seeds."""
    every = Exhaustive(compiled(text))
    way = (max(range(len(every.ways)), key=lambda w: every.ways[w][2]),)
    wanted = every.gradient(way, credit="counterfactual")
    given = {"credit": "counterfactual", "replays": replays}
    found = [every.gradient(way, seed=seed, **given) for seed in range(400)]
    assert np.std(found, axis=0).max() > 0.2
    assert np.mean(found, axis=0) == pytest.approx(wanted, abs=0.1)


def test_dropped_weight_goes_to_the_rest() -> None:
    """Of five points three are drawn by weight; all weights sum to what they did, and each point's
    is its own on average."""
    weights = [0.4, 0.1, 0.1, 0.1, 0.1]
    points = [(number, weight) for number, weight in enumerate(weights)]
    rng, total = np.random.default_rng(0), np.zeros(5)
    for _ in range(2000):
        kept = _thinned(points, 3, rng)
        assert len(kept) <= 3
        assert sum(weight for _, weight in kept) == pytest.approx(0.8)
        for number, weight in kept:
            total[number] += weight / 2000
    assert total == pytest.approx(weights, abs=0.02)
    assert _thinned(points, 5, rng) == points


def test_replays_are_quieter_than_returns(compiled) -> None:
    """At as many games, exactly: the sum of the gradient's variances in a team whose second member
    does not matter, and whose luck is great."""
    every = Exhaustive(compiled(RIDE.replace("0..9", "0..2")))
    _, plain = every.moments(2, baseline="leave_one_out")
    mean, replayed = every.moments(2, credit="counterfactual")
    assert mean == pytest.approx(every.exact(2), abs=1e-9)
    assert replayed < plain / 4


def test_who_does_not_matter_gets_no_credit(compiled, tmp_path: Path) -> None:
    """The rider's tune changes nothing. Under the team's return it is pushed about by luck and by
    the driver; by replay its policy does not move at all, and the driver learns faster."""
    game = compiled(RIDE)
    ends = {}
    for credit in ("own", "counterfactual"):
        given = {"adapters": "per_role", "games": 16, "group_by": "deal", "exploitability": "off"}
        recipe = recipe_of(game, credit=credit, steps=20, lr=4e-4, **given)
        run, _ = run_of(game, recipe, tmp_path / credit)
        policy = run.records()[-2]["policy"]
        tunes = [row["probs"]["loud"] for row in policy.values() if row["role"] == "rider"]
        ends[credit] = policy["driver:road"]["probs"]["short"], max(abs(p - 0.5) for p in tunes)
    assert ends["counterfactual"][0] > 0.95
    assert ends["counterfactual"][1] < 1e-6
    assert ends["own"][1] > 0.05


@pytest.mark.parametrize(
    ("credit", "gives"), [("own", False), ("team", True), ("difference", True)]
)
def test_free_riders(compiled, tmp_path: Path, credit: str, gives: bool) -> None:
    """To give costs the giver 3, and earns each of three 2: alone nobody should, together all."""
    game = compiled(GOODS)
    recipe = recipe_of(game, credit=credit, steps=30, exploitability="off", games=256)
    run, _ = run_of(game, recipe, tmp_path / "run")
    policy = run.records()[-2]["policy"]
    assert all((row["probs"]["give"] > 0.9) == gives for row in policy.values())
    assert all((row["probs"]["give"] < 0.1) != gives for row in policy.values())


def _of_one_game(game, credit: str, pi: dict[str, float]):
    """The sums after one game each of `up` answered by `up` and by `down`, by hand-set odds."""
    every = Exhaustive(game)
    for key, up in pi.items():
        every.odds[key][:] = up, 1 - up
    recipe = recipe_of(game, credit=credit)
    replays = Replays(recipe, every, SeatAssignment(game.ir, recipe))
    ways = [w for w in every.ways if w[0][0].action == 0]
    ways.sort(key=lambda way: way[0][1].action)
    played = [Trajectory(0, 1, samples, end) for samples, end, _ in ways]
    batch = Batch(queries=every.queries, places=every.places, trajectories=played)
    samples = [(n, sample) for n, one in enumerate(batch.trajectories) for sample in one.samples]
    found = iter(replays.advantages(batch, samples))
    return [[next(found) for _ in history.samples] for history in batch.trajectories]


def test_credit_by_hand(compiled) -> None:
    """The second plays up with 0.75 after up, and with 0.5 after down.

    counterfactual, first: up is worth 4 * 0.75, down 4 * 0.5, and it plays up with 0.6.
    difference: the second's answer stands. Answered by up, up makes (4 + 2) / 2 of it, down
    (0 + 2) / 2; answered by down, up makes nothing and down 4 / 2.
    """
    game = compiled(ANSWER)
    pi = {"first:a": 0.6, "second:b [first.a=up]": 0.75, "second:b [first.a=down]": 0.5}
    found = _of_one_game(game, "counterfactual", pi)
    first = 3 - (0.6 * 3 + 0.4 * 2)
    assert np.array(found) == pytest.approx(np.array([[first, 2 * 0.25], [first, -2 * 0.75]]))
    found = _of_one_game(game, "difference", pi)
    wanted = [[3 - (0.6 * 3 + 0.4 * 1), 3 - 0.75 * 3], [0 - 0.4 * 2, -0.75 * 3]]
    assert np.array(found) == pytest.approx(np.array(wanted))


def test_sampled_replays_agree_with_whole_tree(compiled) -> None:
    """In bundles, with chance asked for: means of many games against every way they can go."""
    game = compiled(ASK)
    recipe = recipe_of(game, credit="counterfactual", games=200_000, group_by="deal")
    policy = policy_of(game, recipe)
    scorer, seating = Scorer(policy), SeatAssignment(game.ir, recipe)
    batch = play(game.env(tokenizer=policy.tokenizer), Bundles(scorer), recipe, 1)
    replays = Replays(recipe, scorer, seating)
    found = weighed(batch, credit="counterfactual", alternatives=replays)
    every = Exhaustive(game)
    for row in every.odds.values():
        row[:] = 0.5
    every.ways = list(every._histories())
    wanted = dict(zip((p.information_set for p in every.places), every.exact(1).reshape(-1, 2),
                      strict=True))  # fmt: skip
    for place, sums in zip(batch.places, found.sums_A, strict=True):
        centred = (sums - sums.mean()) / 200_000
        assert centred == pytest.approx(wanted[place.information_set], abs=0.01)


class Refusing:
    """Answers a low offer with rubbish, and takes any other."""

    def act(self, decision: Decision, episode: Episode) -> Action | str:
        low = decision.information_set.endswith("offer=low]")
        return "I refuse" if low else Action("accept")


@pytest.mark.parametrize(("credit", "share"), [("counterfactual", 1), ("difference", 0)])
def test_void_replays_are_left_out(compiled, credit: str, share: int) -> None:
    """A low offer ends void, so the others are compared with each other alone: fair leaves the
    proposer 5 and high 2. A mean that counts the void as 0 would be lower. All that both earn
    together is the same, so that the difference is of nothing."""
    game = compiled(OFFER)
    recipe = recipe_of(game, credit=credit, games=64, roles={"responder": {"player": "random"}})
    policy = policy_of(game, recipe)
    scorer, seating = Scorer(policy), SeatAssignment(game.ir, recipe, {"responder": Refusing()})
    batch = play(game.env(tokenizer=policy.tokenizer), Bundles(scorer), recipe, 1, seating=seating)
    pi = scorer.probabilities(batch.queries[0])
    mean = (5 * pi[1] + 2 * pi[2]) / (pi[1] + pi[2])
    wanted = {"low": 0.0, "fair": share * (5 - mean), "high": share * (2 - mean)}
    samples = [(n, sample) for n, one in enumerate(batch.trajectories) for sample in one.samples]
    for (_, sample), found in zip(
        samples, Replays(recipe, scorer, seating).advantages(batch, samples), strict=True
    ):
        offer = batch.places[sample.query].legal[sample.action]
        assert found == pytest.approx(wanted.pop(offer), abs=1e-9)
    assert not wanted


@pytest.mark.parametrize(
    "given", [{"adapters": "per_role"}, {"roles": {"proposer": {"trained": False}}}]
)
def test_only_who_learns_is_replayed(compiled, given: dict) -> None:
    """Neither a role that rests nor one that is not trained."""
    game = compiled(OFFER)
    recipe = recipe_of(game, credit="counterfactual", games=64, **given)
    policy = policy_of(game, recipe)
    scorer, seating = Scorer(policy), SeatAssignment(game.ir, recipe)
    batch = play(game.env(tokenizer=policy.tokenizer), Bundles(scorer), recipe, 1, seating=seating)
    replays, replayed = Replays(recipe, scorer, seating), []

    class Heard:
        def advantages(self, batch, samples):
            replayed.extend(sample.role for _, sample in samples)
            return replays.advantages(batch, samples)

    weights = Advantages(recipe, Heard()).weigh(batch, {"responder"})
    assert replayed == ["responder"] * len(batch.trajectories)
    assert weights.samples == 64


def test_replays_go_on_after_a_stop(compiled, tmp_path: Path) -> None:
    game = compiled(PAID)
    recipe = recipe_of(
        game, steps=4, credit="difference", replays=1, games=16, exploitability="off"
    )
    whole, _ = run_of(game, recipe, tmp_path / "whole")
    parts, _ = run_of(game, replace(recipe, steps=2), tmp_path / "parts")
    train(game, recipe, parts, policy_of(game, recipe))
    assert untimed(parts.records()) == untimed(whole.records())


def test_what_credit_does_not_go_with(compiled) -> None:
    game = compiled(GOODS)
    for texts, codes in (
        (["credit=difference", "baseline=running"], ["GD0704"]),
        (["credit=counterfactual", "estimator=tree"], ["GD0704"]),
        (["credit=team", "games=1"], ["GD0704"]),
        (["credit=counterfactual", "games=1"], []),
        (["credit=team", "baseline=running"], []),
    ):
        problems = Problems()
        resolve(game.ir, parse_overrides(texts), problems)
        assert [problem.code for problem in problems.found] == codes


def test_replays_are_counted_and_told(compiled, monkeypatch: pytest.MonkeyPatch) -> None:
    """The estimate counts every other choice of the batch; the step says how far it is."""
    game = compiled(CHAIN)
    recipe = recipe_of(game, credit="counterfactual", games=16, replays=2)
    policy, told = policy_of(game, recipe), []
    scorer = Scorer(policy)
    replays = Replays(recipe, scorer, SeatAssignment(game.ir, recipe))
    batch = play(game.env(tokenizer=policy.tokenizer), Bundles(scorer), recipe, 1)
    samples = list(batch.samples)
    keys = {replays._key(number, sample): sample for number, sample in samples}
    choices = sum(len(batch.queries[sample.scored[0]].labels) for sample in keys.values())
    count, seconds = replays.estimate(batch, 3)
    assert count == choices
    assert seconds > 0
    assert told == []
    monkeypatch.setattr("gamedsl.training.progress.TOLD_EVERY", -1.0)
    with telling(told.append):
        replays.advantages(batch, samples)
    first = next(one for one in told if "of" in one)
    assert (first["piece"], first["done"], first["what"]) == ("move 1", 0, "other choices")
    assert 0 < first["of"] <= count
