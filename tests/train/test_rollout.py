"""Playing in bundles is playing one by one, only faster."""

from __future__ import annotations

from collections import Counter
from math import prod

import numpy as np
import pytest
import torch
from scipy.stats import chi2_contingency, chisquare

from gamedsl.players import PolicyPlayer
from gamedsl.players import play as play_one
from gamedsl.training.bundles import Bundles, sample_joint
from gamedsl.training.rollout import generator, play
from gamedsl.training.scoring import Scorer
from tests.train.conftest import ANEW, CROWD, DILEMMA, OFFER, policy_of, recipe_of

PI = [np.array([0.2, 0.8]), np.array([0.5, 0.3, 0.2])]


def test_joint_counts_have_the_product_distribution() -> None:
    outcomes, counts = sample_joint(np.random.default_rng(1), PI, 100_000)
    assert counts.sum() == 100_000
    expected = [100_000 * prod(pi[a] for pi, a in zip(PI, row, strict=True)) for row in outcomes]
    assert chisquare(counts, expected).pvalue > 0.01


def test_joint_counts_vary_as_independent_games_do() -> None:
    rng = np.random.default_rng(2)
    first = [
        sum(n for row, n in zip(*sample_joint(rng, PI, 50), strict=True) if row[0] == 0)
        for _ in range(4000)
    ]
    assert np.mean(first) == pytest.approx(10, abs=0.15)
    assert np.var(first) == pytest.approx(50 * 0.2 * 0.8, rel=0.08)  # binomial


def test_bundled_rollouts_equal_single_games() -> None:
    pi = [np.full(10, 0.1)] * 4
    outcomes, counts = sample_joint(np.random.default_rng(3), pi, 500)
    rng = np.random.default_rng(3)
    each = np.stack([rng.choice(10, size=500, p=p) for p in pi], axis=1)
    assert dict(zip(map(tuple, outcomes), counts, strict=True)) == Counter(map(tuple, each))


def test_bundles_play_as_single_games_do(compiled) -> None:
    game = compiled(OFFER)
    recipe = recipe_of(game, games=4000)
    policy = policy_of(game, recipe)
    env = game.env(tokenizer=policy.tokenizer)
    scorer = Scorer(policy)
    play(env, Bundles(scorer), recipe, 1)
    policy.parameters()[0].data[:, :3] = (
        0.001 * torch.tensor([1.0, 2.0, 3.0]).log()
    )  # no uniform play
    scorer.forget()
    bundled: Counter[tuple] = Counter()
    for history in play(env, Bundles(scorer), recipe, 1).trajectories:
        bundled[_choices(history.episode)] += history.games
    players = {seat: PolicyPlayer(policy, seed=5) for seat in game.ir.seats}
    single = Counter(_choices(play_one(env, players, seed=0)) for _ in range(4000))
    assert set(bundled) == set(single)
    table = [[bundled[key] for key in single], [single[key] for key in single]]
    assert chi2_contingency(table).pvalue > 0.01


def _choices(episode) -> tuple:
    return tuple(tuple(step["choices"].values()) for step in episode.transcript["steps"])


def test_cost_is_that_of_distinct_histories(compiled) -> None:
    game = compiled(DILEMMA)
    recipe = recipe_of(game, games=1_000_000)
    policy = policy_of(game, recipe)
    scorer = Scorer(policy)
    batch = play(game.env(tokenizer=policy.tokenizer), Bundles(scorer), recipe, 1)
    assert len(batch.trajectories) == 4
    assert len(batch.queries) == 2
    assert scorer.tokens == batch.tokens == 2
    assert sum(history.games for history in batch.trajectories) == 1_000_000


def test_many_seats(compiled) -> None:
    game = compiled(CROWD)
    recipe = recipe_of(game, games=300)
    policy = policy_of(game, recipe)
    batch = play(game.env(tokenizer=policy.tokenizer), Bundles(Scorer(policy)), recipe, 1)
    assert sum(history.games for history in batch.trajectories) == 300
    assert 250 < len(batch.trajectories) <= 300
    assert {len(history.samples) for history in batch.trajectories} == {4}
    for history in batch.trajectories:
        chosen = history.episode.transcript["steps"][0]["choices"]
        for sample in history.samples:
            assert batch.places[sample.query].seat == sample.seat
            assert batch.places[sample.query].legal[sample.action] == chosen[sample.seat]


def test_steps_and_seeds_have_their_own_numbers(compiled) -> None:
    game = compiled(DILEMMA)

    def counts(seed: int, step: int) -> list[int]:
        recipe = recipe_of(game, games=1000, seed=seed)
        policy = policy_of(game, recipe)
        batch = play(game.env(tokenizer=policy.tokenizer), Bundles(Scorer(policy)), recipe, step)
        return [history.games for history in batch.trajectories]

    assert counts(0, 1) == counts(0, 1)
    assert len({tuple(counts(seed, step)) for seed in (0, 1) for step in (1, 2)}) == 4
    assert generator(0, 1, "play").random() != generator(0, 1, "groups").random()


def test_labels_drawn_anew_make_groups(compiled) -> None:
    game = compiled(ANEW)
    recipe = recipe_of(game, games=32, group_size=8)
    policy = policy_of(game, recipe)
    batch = play(game.env(tokenizer=policy.tokenizer), Bundles(Scorer(policy)), recipe, 1)
    games = Counter()
    books = {}
    for history in batch.trajectories:
        games[history.group] += history.games
        book = str(history.episode.transcript["labels"])
        assert books.setdefault(history.group, book) == book
    assert games == {0: 8, 1: 8, 2: 8, 3: 8}
    assert len(set(books.values())) == 4
