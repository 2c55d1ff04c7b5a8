"""Baselines leave the expected gradient as it is: held against every way that the games of a step
can go, and against the game's tree. The exception is known, and is seen."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import gamedsl
from gamedsl.ir.outcome import rewards_so_far
from gamedsl.runtime import Action
from gamedsl.training import checkpoint
from gamedsl.training.advantages import Return, Running
from gamedsl.training.bundles import Bundles
from gamedsl.training.loop import train
from gamedsl.training.rollout import play
from gamedsl.training.scoring import Scorer
from tests.train.conftest import policy_of, recipe_of, run_of, untimed, weighed
from tests.train.exhaustive import Exhaustive

ASK = """
game: ask
roles: [asker, teller]
turns:
  - {draw: state, from: {good: 1/4, bad: 3/4}, seen_by: teller}
  - {role: teller, choose: word, from: [yes, no]}
  - {role: asker, choose: bet, from: [high, low]}
payoffs:
  asker: (3 if state == good else -2) if bet == high else 1
  teller: 2 if (bet == high) == (word == yes) else 0
"""
PAIR = """
game: pair
roles: {worker: 2}
actions: [work, rest]
protocol: simultaneous
payoffs: 8 * count(move[r] == work for r in others) + (1 if move.me == work else 0)
"""
PAID = """
game: paid
roles: [saver, taker]
turns:
  - {role: saver, choose: first, from: [keep, give]}
  - {pay: payoffs, value: 6 if (first == keep) == (me == saver) else 0}
  - {role: taker, choose: second, from: [keep, give]}
  - {role: saver, choose: third, from: [keep, give]}
payoffs: (2 if second == third else 1) if me == saver else (4 if second == first else 0)
"""


@pytest.mark.parametrize("text", [ASK, PAIR, PAID])
@pytest.mark.parametrize(
    ("baseline", "compare"),
    [("none", "turn"), ("running", "turn"), ("leave_one_out", "turn"), ("leave_one_out", "role"),
     ("leave_one_out", "team")],
)  # fmt: skip
def test_the_expected_gradient_is_exact(compiled, text: str, baseline: str, compare: str) -> None:
    game = compiled(text)
    kept = None
    if baseline == "running":
        roles = [role.name for role in game.ir.roles]
        kept = {"running": {"means": dict.fromkeys(roles, 0.75), "steps": dict.fromkeys(roles, 3)}}
    every = Exhaustive(game)
    found = every.mean(2, kept=kept, baseline=baseline, compare=compare)
    assert found == pytest.approx(every.exact(2), abs=1e-9)


def test_what_was_paid_already_is_no_return(compiled) -> None:
    """By the games of a step: the saver has earned 6 if it kept, the taker if it did not; and an
    expected gradient that is exact with it is exact without, at a greater variance."""
    game = compiled(PAID)
    recipe = recipe_of(game, games=64)
    policy = policy_of(game, recipe)
    batch = play(game.env(tokenizer=policy.tokenizer), Bundles(Scorer(policy)), recipe, 1)
    for history in batch.trajectories:
        kept = history.samples[0].action == 0
        assert [s.paid for s in history.samples] == [0, 0 if kept else 6, 6 if kept else 0]
    found = weighed(batch, compare="turn")
    third = [n for n, place in enumerate(batch.places) if place.step == "third"]
    assert max(float(abs(found.sums_A[n] / found.counts_A[n]).max()) for n in third) <= 1


def test_round_payments_follow_the_reward_file() -> None:
    game = gamedsl.load("spread", params={"horizon": 3})
    episode = game.env().reset(seed=3)
    assert rewards_so_far(game.ir, episode.paid) == {}
    for _ in range(2):
        episode.step({d.seat: Action(d.legal[0]) for d in episode.decisions})
        local, team = (episode.paid[name] for name in ("local", "team"))
        half = {seat: Fraction(local[seat] + team[seat], 2) for seat in game.ir.seats}
        assert rewards_so_far(game.ir, episode.paid) == half
        assert any(half.values())


def test_own_game_in_mean_shrinks_uniformly(compiled) -> None:
    """By a share of 1/n, n being the games in the mean; for an information set by what its number
    of games makes of that."""
    every = Exhaustive(compiled(ASK))
    wanted = every.exact(2)
    assert every.mean(2) == pytest.approx(wanted / 2, abs=1e-9)
    # Of two games, both come to an information set with probability reach ** 2.
    shares = np.repeat([p**2 / (2 * p) for p in every.reach()], 2)
    assert every.mean(2, baseline="information_set") == pytest.approx(wanted * shares, abs=1e-9)


def test_shared_mean_couples_the_seats(compiled) -> None:
    """In `PAIR` to work earns its doer 1 and the other 8. With two games, a mean over both seats
    says not to; leaving the game out does not."""
    every = Exhaustive(compiled(PAIR))
    assert all(every.exact(2)[::2] > 0)
    assert all(every.mean(2, baseline="leave_one_out")[::2] > 0)
    assert all(every.mean(2)[::2] < 0)


def test_one_mean_for_all_roles_lags(tmp_path: Path) -> None:
    """In an ultimatum over 60 the proposer earns about 50 and the responder some 5. By step 10 the
    path of the subgame-perfect equilibrium (a low offer, accepted) is played with a mean for each
    role, and with one mean for both as a rule is not."""
    game = gamedsl.load("ultimatum", params={"pie": 60})
    played: dict[str, list[float]] = {}
    for baseline, seed in product(("mean", "information_set", "global"), range(3)):
        given = {"games": 256, "lr": 1e-3, "steps": 10, "exploitability": "off", "seed": seed}
        recipe = recipe_of(game, baseline=baseline, **given)
        run, _ = run_of(game, recipe, tmp_path / f"{baseline}{seed}")
        policy = run.records()[-2]["policy"]
        offer = policy["proposer:offer"]["probs"]["low"]
        answer = policy["responder:answer [proposer.offer=low]"]["probs"]["accept"]
        played.setdefault(baseline, []).append(offer * answer)
    assert min(played["mean"]) > 0.9
    assert min(played["information_set"]) > 0.9
    assert sum(path > 0.9 for path in played["global"]) < 2


def test_a_running_mean_by_hand() -> None:
    """The mean of the steps at first, then each step has a tenth; the first has its own mean."""
    running, found = Running(), []
    for step in range(1, 13):
        rewards = (Fraction(2), Fraction(8)) if step == 1 else (Fraction(1), Fraction(1))
        games = [Return("p", 1, reward, None, None, n) for n, reward in enumerate(rewards)]
        found.append(float(running.over(games)[0]))
    means = [5, 5, 3, 7 / 3, 2, 9 / 5, 10 / 6, 11 / 7, 12 / 8, 13 / 9, 14 / 10]
    means.append(14 / 10 * 0.9 + 0.1)
    assert found == pytest.approx([2 - 5] + [1 - mean for mean in means[1:]])


def test_a_running_mean_goes_on_after_a_stop(compiled, tmp_path: Path) -> None:
    game = compiled(PAID)
    recipe = recipe_of(game, steps=6, baseline="running", games=16, checkpoint_every=100)
    whole, _ = run_of(game, recipe, tmp_path / "whole")
    parts, _ = run_of(game, replace(recipe, steps=3), tmp_path / "parts")
    train(game, recipe, parts, policy_of(game, recipe))
    assert untimed(parts.records()) == untimed(whole.records())
    kept = [checkpoint.latest(run).parts["advantages"] for run in (parts, whole)]
    assert kept[0] == kept[1]
    assert kept[0]["running"]["steps"] == {"saver": 6, "taker": 6}
