"""Opponents and populations: who meets whom, what is kept, and what a pool is good for."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import gamedsl
from gamedsl.players.base import Player
from gamedsl.players.mix import MixPlayer
from gamedsl.players.random import RandomPlayer
from gamedsl.solve import expected, tabulate
from gamedsl.training.bundles import Bundles
from gamedsl.training.errors import TrainError
from gamedsl.training.loop import train
from gamedsl.training.pool import Member, Pool, Snapshot
from gamedsl.training.population import Arena, account, equilibrium
from gamedsl.training.rollout import play
from gamedsl.training.runfolder import RunFolder
from gamedsl.training.scoring import Scorer
from gamedsl.training.seats import Lineup, SeatAssignment, assign_seats
from tests.train.conftest import (
    ANEW,
    DILEMMA,
    HIDDEN,
    OFFER,
    StopAfter,
    policy_of,
    recipe_of,
    run_of,
    untimed,
)  # fmt: skip

TWICE = """
game: twice
roles: [mover, rival]
turns:
  - {role: mover, choose: first, from: [a, b]}
  - {role: mover, choose: second, from: [x, y]}
  - {role: rival, choose: answer, from: [left, right]}
payoffs:
  mover: 1 if (first == a) == (second == x) else -1
  rival: -1 if (first == a) == (second == x) else 1
labels: masked
"""
RPS = "biased_rock_paper_scissors"
ALONE = {"method": "grpo", "adapters": "shared", "magnet": {"every": "never"}}
CYCLING = ALONE | {"games": 512, "lr": 2e-4, "betas": [0, 0.999], "entropy": 0.02, "steps": 60}


def _cast(game, recipe, **opponents: Player) -> SeatAssignment:
    return SeatAssignment(game.ir, recipe, None, None, opponents)


def test_self_play_cycles_and_pool_mixture_does_not(tmp_path: Path) -> None:
    game = gamedsl.load(RPS)
    alone, _ = run_of(game, recipe_of(game, **CYCLING), tmp_path / "alone")
    last = [record["exploitability"] for record in alone.records()[-21:-1]]
    assert np.mean(last) > 0.5
    recipe = recipe_of(game, opponents={"self": 0.5, "pool": 0.5}, pool={"every": 4}, **CYCLING)
    run, _ = run_of(game, recipe, tmp_path / "pool")
    found = run.records()[-1]["population"]
    assert found["mixture"] == "equilibrium"
    assert found["exploitability"]["mixture"] < 0.05
    assert found["exploitability"]["last"] > 0.3
    assert found["members"] == list(range(0, 61, 4))


def test_groups_share_one_line_up(compiled) -> None:
    game = compiled(DILEMMA)
    recipe = recipe_of(game, games=8000, opponents={"self": 3, "one": 1, "two": 4})
    policy = policy_of(game, recipe)
    seating = _cast(game, recipe, one=RandomPlayer(), two=RandomPlayer())
    batch = play(
        game.env(tokenizer=policy.tokenizer), Bundles(Scorer(policy)), recipe, 1, seating=seating
    )
    games: Counter[str] = Counter()
    for history in batch.trajectories:
        lineup = batch.lineup(history)
        games[lineup.opponent] += history.games
        policys = {sample.seat for sample in history.samples}
        assert policys == ({lineup.learner} if lineup.learner else {"row", "column"})
        assert policys.isdisjoint(lineup.seats)
    for name, share in (("self", 3), ("one", 1), ("two", 4)):
        assert games[name] / 1000 == pytest.approx(share, abs=0.4)
    assert len(batch.lineups) == len(set(batch.lineups)) == 5
    learned = Counter(dict.fromkeys(batch.lineups, 0))
    for history in batch.trajectories:
        learned[batch.lineup(history)] += history.games
    seats = [learned[one] for one in batch.lineups if one.opponent == "two"]
    assert seats[0] == pytest.approx(seats[1], rel=0.2)  # the policy's seat goes round


def test_separately_seeded_groups_have_own_line_ups(compiled) -> None:
    game = compiled(ANEW)
    recipe = recipe_of(game, games=32, group_size=8, opponents={"one": 1})
    policy = policy_of(game, recipe)
    seating = _cast(game, recipe, one=RandomPlayer())
    batch = play(
        game.env(tokenizer=policy.tokenizer), Bundles(Scorer(policy)), recipe, 1, seating=seating
    )
    assert [lineup.learner for lineup in batch.lineups] == ["row", "column"] * 2


@pytest.mark.parametrize(
    ("text", "settings", "stopped"),
    [
        (HIDDEN, {"model": "tabular", "games": 64}, 3),
        (DILEMMA, {"model": "tiny", "games": 32}, 3),
        (ANEW, {"model": "tiny", "games": 32, "pool__sampling": "uniform", "pool__games": 8}, 3),
        (ANEW, {"model": "tiny", "games": 32, "pool__games": 8}, 5),
    ],
)
def test_run_with_pool_resumes_to_same_numbers(
    compiled, tmp_path: Path, text: str, settings: dict, stopped: int
) -> None:
    """Also where it was stopped after its last step, before members met each other."""
    game = compiled(text)
    recipe = recipe_of(
        game, steps=5, pool__every=1, pool__size=2, checkpoint_every=2, keep_checkpoints=1,
        opponents={"self": 1, "pool": 2, "random": 1}, **settings,
    )  # fmt: skip
    whole, _ = run_of(game, recipe, tmp_path / "whole")
    stop = StopAfter(stopped)
    run, _ = run_of(game, recipe, tmp_path / "parts", observers=[stop], interrupt=stop.interrupt)
    assert run.records()[-1]["step"] == stopped
    assert run.records()[-1]["event"] == "step"
    train(game, recipe, run, policy_of(game, recipe))
    assert untimed(run.records()) == untimed(whole.records())
    record = whole.records()[-2]
    assert set(record["pool"]) == {"4", "5"}
    assert sum(record["opponents"].values()) == settings["games"]
    files = sorted(path.name for path in (whole.path / "pool").iterdir())
    assert files[-2:] == ["step-000004.pt", "step-000005.pt"]
    assert "step-000000.pt" not in files


def test_a_snapshot_that_is_gone_is_said(compiled, tmp_path: Path) -> None:
    game = compiled(DILEMMA)
    recipe = recipe_of(game, steps=2, opponents={"pool": 1})
    stop = StopAfter(1)
    run, _ = run_of(game, recipe, tmp_path / "run", observers=[stop], interrupt=stop.interrupt)
    (run.path / "pool" / "step-000000.pt").unlink()
    with pytest.raises(TrainError, match="snapshot"):
        train(game, recipe, run, policy_of(game, recipe))


def _pool(game, recipe, folder: Path) -> Pool:
    folder.mkdir()
    (folder / "checkpoints").mkdir()
    policy = policy_of(game, recipe)
    return Pool(RunFolder(folder), recipe, policy, SeatAssignment(game.ir, recipe), [])


def test_strongest_opponents_are_drawn_most(compiled, tmp_path: Path) -> None:
    game = compiled(DILEMMA)
    recipe = recipe_of(game, opponents={"pool": 1}, pool__power=2)
    pool = _pool(game, recipe, tmp_path / "run")
    for step, rate in ((0, 0.5), (1, 0.75), (2, 1.0)):
        pool.take(step)
        pool.members[-1].wins, pool.members[-1].games = rate * 1e9, 1e9
    rng = np.random.default_rng(1)
    met = Counter(pool.draw(rng).step for _ in range(5000))
    assert met[0] / 5000 == pytest.approx(0.25 / (0.25 + 0.0625), abs=0.02)
    assert met[2] == 0


def test_a_large_power_draws_the_strongest(compiled, tmp_path: Path) -> None:
    game = compiled(DILEMMA)
    recipe = recipe_of(game, opponents={"pool": 1}, pool__power=1000)
    pool = _pool(game, recipe, tmp_path / "run")
    for step, rate in ((0, 0.7), (1, 0.6), (2, 0.9)):
        pool.take(step)
        pool.members[-1].wins, pool.members[-1].games = rate * 1e9, 1e9
    rng = np.random.default_rng(1)
    assert {pool.draw(rng).step for _ in range(100)} == {1}


def test_win_rates_are_those_of_the_games(compiled, tmp_path: Path) -> None:
    game = compiled(DILEMMA)
    recipe = recipe_of(game, opponents={"pool": 1}, games=256)
    pool = _pool(game, recipe, tmp_path / "run")
    pool.take(0)
    seats = {"row": "column", "column": "row"}

    def history(own: int, other: int, games: int) -> SimpleNamespace:
        episode = SimpleNamespace(payoffs={"row": own, "column": other})
        return SimpleNamespace(group=0, games=games, episode=episode)

    lineup = Lineup("pool", 0, "row", {seats["row"]: pool.members[0].player})
    histories = [history(5, 0, 60), history(3, 3, 20), history(0, 5, 20), history(None, 0, 99)]
    batch = SimpleNamespace(played=histories, lineup=lambda one: lineup)
    pool.after(1, batch)
    assert (pool.members[0].wins, pool.members[0].games) == (70, 100)
    assert pool.record()["pool"] == {"0": pytest.approx(0.7, abs=0.01)}


def _members(game, recipe, *favourites: int) -> list[Member]:
    """Policies that nearly always take the option of a number, at every decision."""
    policy = policy_of(game, recipe)
    seating = SeatAssignment(game.ir, recipe)
    found = []
    for step, favourite in enumerate(favourites):
        policy.parameters()[0].data.zero_()
        policy.parameters()[0].data[:, favourite] = 0.02
        adapters = {name: policy.adapter_state(name) for name in policy.adapters}
        found.append(Member(step, Snapshot(policy, adapters, seating, 1.0, [])))
    return found


def test_cross_play_in_games_agrees_with_the_tree(compiled) -> None:
    game = compiled(DILEMMA)
    recipe = recipe_of(game, opponents={"pool": 1}, pool__games=4000)
    policy, seating = policy_of(game, recipe), SeatAssignment(game.ir, recipe)
    env = game.env(tokenizer=policy.tokenizer)
    members = [*_members(game, recipe, 0, 1), Member(2, MixPlayer([(1.0, RandomPlayer())]))]
    exact = Arena(env, recipe, seating, Scorer(policy), tabulate(env), members)
    played = Arena(env, recipe, seating, Scorer(policy), None, members)
    assert [mean for mean, _ in exact.rewards((0, 1))] == pytest.approx([0, 5], abs=1e-3)
    for chosen in ((0, 2), (2, 2), (2, 1)):
        for (mean, half), (worth, none) in zip(
            played.rewards(chosen), exact.rewards(chosen), strict=True
        ):
            assert none == 0
            assert 0 < half < 0.2
            assert mean == pytest.approx(worth, abs=2 * half)


def test_cross_play_counts_all_games_each_on_a_deal_of_its_own(compiled) -> None:
    """All members play at random, so that every cell is worth 0. Games of a group share a deal,
    and a group that earns the same teaches nothing, which no measure may feel."""
    game = compiled(HIDDEN)
    known = {"games": 8, "group_size": 8, "group_by": "seed", "dynamic_sampling": 1}
    recipe = recipe_of(game, opponents={"pool": 1}, pool__games=64, **known)
    policy = policy_of(game, recipe)
    env = game.env(tokenizer=policy.tokenizer)
    players = [Member(step, MixPlayer([(1.0, RandomPlayer())])) for step in range(5)]
    cells = []
    for seed in range(4):
        seeded = replace(recipe, seed=seed)
        seating = SeatAssignment(game.ir, seeded)
        arena = Arena(env, seeded, seating, Scorer(policy), None, players)
        cells += [arena.rewards((i, j))[0] for i in range(5) for j in range(5)]
    assert all(half > 0 for _, half in cells)
    outside = sum(abs(mean) > half for mean, half in cells)
    assert outside <= 0.15 * len(cells)


def test_a_mixture_is_of_whole_strategies(compiled) -> None:
    """Both members earn 1, choosing twice alike; a mixture of their rows would earn 0."""
    game = compiled(TWICE)
    recipe = recipe_of(game)
    policy, seating = policy_of(game, recipe), SeatAssignment(game.ir, recipe)
    env = game.env(tokenizer=policy.tokenizer)
    tree, members = tabulate(env), _members(game, recipe, 0, 1)
    arena = Arena(env, recipe, seating, Scorer(policy), tree, members)
    mixed = MixPlayer([(0.5, member.player) for member in members])
    assert expected(tree, arena.rows([mixed, mixed]))["mover"] == pytest.approx(1, abs=1e-3)


TEAM = """
game: team
roles: {guard: 2, thief: 1}
turns:
  - {role: all, choose: door, from: [left, right]}
let:
  caught: door.guard_1 == door.thief and door.guard_2 == door.thief
payoffs:
  guard: 1 if caught else -1
  thief: -2 if caught else 2
labels: masked
"""


def test_mixture_over_several_seats_is_not_judged(compiled) -> None:
    """Guards who both play one of two members are always at the same door, and such that draw one
    each only half of the time."""
    game = compiled(TEAM)
    recipe = recipe_of(game, opponents={"pool": 1}, pool__mixture="uniform")
    policy, seating = policy_of(game, recipe), SeatAssignment(game.ir, recipe)
    env = game.env(tokenizer=policy.tokenizer)
    members = _members(game, recipe, 0, 1)
    arena = Arena(env, recipe, seating, Scorer(policy), tabulate(env), members)
    found = account(arena, seating, recipe)["population"]
    assert found["payoff"]["guard_1 guard_2"] == [
        pytest.approx([1, -1], abs=0.01),
        pytest.approx([-1, 1], abs=0.01),
    ]
    assert found["exploitability"] == {"last": pytest.approx(4 / 3, abs=0.01)}


def test_the_equilibrium_between_members() -> None:
    rps = [[0.0, -1.0, 3.0], [1.0, 0.0, -3.0], [-3.0, 3.0, 0.0]]
    for weights in equilibrium([rps, rps]) or []:
        assert weights == pytest.approx([3 / 7, 3 / 7, 1 / 7])
    assert equilibrium([rps]) is None
    assert equilibrium([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]]) is None


def test_opponents_by_name_are_opened(compiled) -> None:
    game = compiled(OFFER)
    seating = assign_seats(game, recipe_of(game, opponents={"self": 1, "fixed:fair,accept": 1}))
    assert list(seating.opponents) == ["fixed:fair,accept"]
