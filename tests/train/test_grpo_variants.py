"""Variants of GRPO: their losses against formulas over plain logits, and what they change."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gamedsl.diagnostics import Problems
from gamedsl.policies.generation import Generated
from gamedsl.policies.prefix_tree import Segment
from gamedsl.recipe.presets import PRESETS
from gamedsl.recipe.resolve import parse_overrides, resolve
from gamedsl.recipe.table import Overlong, Recipe
from gamedsl.runtime import Game
from gamedsl.training.advantages import Advantage, overlong
from gamedsl.training.bundles import Bundles
from gamedsl.training.dry_run import dry_run
from gamedsl.training.estimators import ActionSums, Experience, action_sums
from gamedsl.training.losses import Pulls, games_apart, samples_apart, surrogate
from gamedsl.training.methods.base import Learner
from gamedsl.training.methods.entropy_floor import GAIN, EntropyFloor
from gamedsl.training.metrics import role_entropy
from gamedsl.training.optimizer import learning_rate
from gamedsl.training.reference import Reference
from gamedsl.training.rollout import play
from gamedsl.training.scoring import Scorer
from gamedsl.training.seats import SeatAssignment
from gamedsl.training.sessions import Sessions
from gamedsl.training.trajectories import Batch, Sample
from tests.train import in_words
from tests.train.conftest import DILEMMA, HIDDEN, policy_of, recipe_of, run_of, untimed

SPEAK = """
game: speak
roles: [speaker]
turns:
  - {role: speaker, say: word, max_tokens: 12}
payoffs: {speaker: 1}
on_invalid: {then: forfeit, pay: 0}
"""
GAINS = (1.0, -0.5, -2.0, 0.75)


class Said:
    """Replies of a policy that has moved since, with advantages; and a reference policy."""

    def __init__(self, game: Game, recipe: Recipe) -> None:
        self.recipe, self.policy = recipe, in_words.opened(game, recipe)
        env = game.env(tokenizer=self.policy.tokenizer)
        self.batch = play(env, Sessions(self.policy), recipe, 1, SeatAssignment(game.ir, recipe))
        rng = torch.Generator().manual_seed(1)
        samples = [one for _, one in self.batch.samples][: len(GAINS)]
        self.samples = [self._of_another(one, rng) for one in samples]
        self.advantages = [
            Advantage(number, one, 1, gain)
            for number, (one, gain) in enumerate(zip(self.samples, GAINS, strict=True))
        ]
        self.start = {name: self.policy.adapter_state(name) for name in self.policy.adapters}
        with torch.no_grad():
            for parameter in self.policy.parameters():
                parameter += 0.02 * torch.randn(parameter.shape, generator=rng)

    def _of_another(self, sample: Sample, rng: torch.Generator) -> Sample:
        """A sample of a sampler that gave its tokens other probabilities."""
        reply = sample.written
        assert reply is not None
        moves = torch.randn(len(reply.log_probs), generator=rng).tolist()
        moved = tuple(min(p + move, -0.01) for p, move in zip(reply.log_probs, moves, strict=True))
        return sample._replace(written=replace(reply, log_probs=moved))

    def gradient(self, pulls: Pulls) -> tuple[float, torch.Tensor]:
        """The loss of the second inner step and its gradient."""
        learner = Learner(
            self.policy, torch.optim.SGD(self.policy.parameters(), lr=0.0),
            Scorer(self.policy, keeps_graphs=False), Reference(self.policy, self.start),
            self.recipe, written=True,
        )  # fmt: skip
        found = Experience(1, Batch(step=1), (), ActionSums([], [], [], 0), self.advantages)
        loss = surrogate(learner, found, pulls)[0]
        return loss.backward(1), self.taken()

    def taken(self) -> torch.Tensor:
        """The gradient that was added up, which is then dropped."""
        found = torch.cat([p.grad.flatten() for p in self.policy.parameters()])
        for parameter in self.policy.parameters():
            parameter.grad = None
        return found

    def log_pi(self, reply: Generated) -> torch.Tensor:
        """log pi [tokens, vocabulary] where the reply was drawn, by transformers itself, with its
        graph."""
        ids = reply.prompt_ids + reply.reply_ids
        policy: Any = self.policy
        with policy._adapters.router.route((Segment("shared", 0, len(ids)),)):
            logits = policy._network.model(input_ids=torch.tensor([ids])).logits[0].float()
        first = len(reply.prompt_ids) - 1
        return (logits[first : len(ids) - 1] / self.recipe.temperature).log_softmax(-1)

    def reference(self, reply: Generated) -> torch.Tensor:
        """The same of the reference."""
        now = {name: self.policy.adapter_state(name) for name in self.policy.adapters}
        for name, state in self.start.items():
            self.policy.load_adapter_state(name, state)
        with torch.no_grad():
            found = self.log_pi(reply)
        for name, state in now.items():
            self.policy.load_adapter_state(name, state)
        return found


def said(compiled: Callable[[str], Game], **settings: Any) -> Said:
    game = compiled(SPEAK)
    return Said(game, in_words.recipe_of(game, **settings))


def clipped(rho: torch.Tensor, gain: float, low: float, high: float, dual: float) -> torch.Tensor:
    """The term of the clipped objective, as the papers write it."""
    term = torch.minimum(rho * gain, rho.clamp(1 - low, 1 + high) * gain)
    return term if gain > 0 else torch.maximum(term, torch.tensor(dual * gain))


VARIANTS: Sequence[tuple[dict[str, Any], float, float, float]] = (
    ({}, 0.2, 0.2, math.inf),
    ({"clip": 0.1, "clip_high": 0.5}, 0.1, 0.5, math.inf),
    ({"dual_clip": 1.5}, 0.2, 0.2, 1.5),
    ({"length_norm": "reply", "temperature": 0.7}, 0.2, 0.2, math.inf),
    ({"length_norm": "limit"}, 0.2, 0.2, math.inf),
    ({"ratio": "sequence", "clip": 0.1, "clip_high": 0.3}, 0.1, 0.3, math.inf),
    ({"ratio": "sequence", "dual_clip": 1.2}, 0.2, 0.2, 1.2),
)


@pytest.mark.parametrize(("settings", "low", "high", "dual"), VARIANTS)
def test_written_loss_is_the_papers(
    compiled: Callable[[str], Game], settings: dict[str, Any], low: float, high: float, dual: float
) -> None:
    these = said(compiled, **settings)
    replies = [one.written for one in these.samples if one.written is not None]
    mean = sum(len(reply.reply_ids) for reply in replies) / len(replies)
    loss = torch.zeros(())
    clips = 0
    for reply, gain in zip(replies, GAINS, strict=True):
        taken = these.log_pi(reply).gather(1, torch.tensor(reply.reply_ids)[:, None])[:, 0]
        far = taken - torch.tensor(reply.log_probs)
        if settings.get("ratio") == "sequence":
            terms = clipped(far.mean().exp(), gain, low, high, dual)
            clips += int(terms.detach() != far.mean().exp().detach() * gain)
        else:
            each = clipped(far.exp(), gain, low, high, dual)
            clips += int((each.detach() != far.exp().detach() * gain).sum())
            length = {"reply": len(taken), "limit": 12}.get(settings.get("length_norm", ""), mean)
            terms = each.sum() / length
        loss = loss - terms / len(replies)
    loss.backward()
    wanted = these.taken()
    value, gradient = these.gradient(Pulls())
    assert clips, "something must be clipped, or nothing is tested"
    assert wanted.norm() > 1e-4
    torch.testing.assert_close(gradient, wanted, atol=1e-6, rtol=1e-3)
    assert value == pytest.approx(loss.item(), rel=1e-4)


def test_token_entropy_is_exact(compiled: Callable[[str], Game]) -> None:
    """With `entropy` the loss less that without it is minus the weighted mean entropy of tokens,
    over the whole vocabulary."""
    plain, these = said(compiled), said(compiled, entropy=0.3, temperature=1.0)
    replies = [one.written for one in these.samples if one.written is not None]
    rows = [these.log_pi(reply) for reply in replies]
    tokens = sum(map(len, rows))
    wanted = -0.3 * sum(-(row.exp() * row).sum() for row in rows) / tokens
    assert isinstance(wanted, torch.Tensor)
    wanted.backward()
    by_hand = these.taken()
    without, gradient_without = plain.gradient(Pulls())
    value, gradient = these.gradient(Pulls())
    torch.testing.assert_close(gradient - gradient_without, by_hand, atol=1e-6, rtol=1e-3)
    assert value - without == pytest.approx(wanted.item(), rel=1e-3)


def test_token_divergence_has_its_gradient(compiled: Callable[[str], Game]) -> None:
    """The mean over all tokens that could be drawn of what a token adds is the gradient of the
    exact divergence from the reference; the estimated value is never negative."""
    these = said(compiled)
    reference = these.reference(these.samples[0].written)[:1]
    row = these.log_pi(these.samples[0].written)[:1]
    pi = row.exp().detach()
    (pi * (row.detach() - reference) * row).sum().backward()
    sampled = these.taken()
    row = these.log_pi(these.samples[0].written)[:1]
    (row.exp() * (row - reference)).sum().backward()
    torch.testing.assert_close(sampled, these.taken(), atol=1e-6, rtol=1e-3)
    # and of the tokens that were drawn, by hand
    replies = [one.written for one in these.samples if one.written is not None]
    tokens = sum(len(reply.reply_ids) for reply in replies)
    value = 0.0
    for reply in replies:
        ids = torch.tensor(reply.reply_ids)[:, None]
        referred = these.reference(reply).gather(1, ids)[:, 0]
        taken = these.log_pi(reply).gather(1, ids)[:, 0]
        far = taken.detach() - referred
        rho = (taken.detach() - torch.tensor(reply.log_probs)).exp().clamp(max=2)
        (0.5 * (rho * far * taken).sum() / tokens).backward()
        value += 0.5 * float(((-far).exp() + far - 1).sum()) / tokens
    by_hand = these.taken()
    without, gradient_without = these.gradient(Pulls())
    reference_of = Reference(these.policy, these.start)
    found, gradient = these.gradient(Pulls(0.5, reference_of.log_pi, reference_of.token_log_pi))
    assert value > 0
    assert found - without == pytest.approx(value, rel=1e-3)
    torch.testing.assert_close(gradient - gradient_without, by_hand, atol=1e-6, rtol=1e-3)


def test_floor_of_entropy_weighs_whole_replies() -> None:
    floor = EntropyFloor(0.2)
    weights = floor.of_replies(torch.tensor([0.1, 0.4]), torch.tensor([-3.0, 1.0]))
    assert weights.tolist() == pytest.approx([GAIN * 3 * (0.2 / 0.1 - 1), 0.0])


def test_minibatches_split_all_samples(compiled: Callable[[str], Game]) -> None:
    rng = np.random.default_rng(0)
    game = compiled(DILEMMA)
    recipe = recipe_of(game, games=64)
    policy = policy_of(game, recipe)
    batch = play(game.env(tokenizer=policy.tokenizer), Bundles(Scorer(policy)), recipe, 1)
    advantages = [
        Advantage(number, sample, batch.trajectories[number].games, 1.0 + number)
        for number, sample in batch.samples
    ]
    whole = action_sums(batch.queries, advantages)
    found = Experience(1, batch, batch.queries, whole, advantages, samples=whole.samples)
    parts = list(samples_apart(found, 3, rng))
    assert len(parts) == 3
    assert sum(part.samples for part in parts) == whole.samples == 128
    for number, query in enumerate(batch.queries):
        rows = [p.sums.gains_A[p.queries.index(query)] for p in parts if query in p.queries]
        assert sum(rows).tolist() == pytest.approx(whole.gains_A[number].tolist())

    these = said(compiled)
    told = Experience(1, these.batch, (), ActionSums([], [], [], 0), these.advantages, samples=4)
    apart = [[one.trajectory for one in part.advantages] for part in games_apart(told, 3, rng)]
    assert sorted(map(len, apart)) == [1, 1, 2]
    assert sorted(number for part in apart for number in part) == [0, 1, 2, 3]


def test_later_minibatches_are_clipped_against_the_start(compiled, tmp_path) -> None:
    """Four parts, twice, are eight optimiser steps, and ratios are still those to the policy that
    played: a probability of one half rises until its ratio leaves 1.2, by one step too many."""
    game = compiled(DILEMMA)
    given = {"games": 512, "lr": 0.0001, "steps": 1, "inner_steps": 2}
    found = {}
    for clip in (0.2, 10.0):
        recipe = recipe_of(game, minibatches=4, clip=clip, **given)
        run, _ = run_of(game, recipe, tmp_path / f"{clip}")
        rows = run.records()[-2]["policy"].values()
        found[clip] = max(p for row in rows for p in row["probs"].values())
    assert 0.6 < found[0.2] < 0.65
    assert found[10.0] > 0.75


def test_learning_rate_rises_first(compiled) -> None:
    recipe = recipe_of(compiled(DILEMMA), lr=1.0, lr_warm_up=4, steps=10, lr_schedule="linear")
    rates = [learning_rate(recipe, step) for step in range(1, 11)]
    assert rates == pytest.approx([0.2, 0.4, 0.6, 0.8, 1, 5 / 6, 4 / 6, 3 / 6, 2 / 6, 1 / 6])


def test_penalty_rises_to_the_limit(compiled) -> None:
    def loss_of(tokens: int) -> Fraction:
        reply = Generated((), (1,) * tokens, (0.0,) * tokens, "", "stop")
        sample = Sample(None, None, "a", "a", "s", 0, written=reply, limit=100)
        return overlong(Overlong(2, 0.25), sample)

    assert [float(loss_of(n)) for n in (10, 75, 85, 100)] == pytest.approx([0, 0, 0.8, 2])


LUCKY = """
game: lucky
roles: [guesser]
turns:
  - {draw: prize, from: [big, small], seen_by: nobody}
  - {role: guesser, choose: guess, from: [left, right]}
payoffs: (1 if guess == left else 0) if prize == big else 0
"""


def test_groups_without_signal_are_played_anew(compiled) -> None:
    """Where the prize is small all games of a group earn the same: they are set aside, and others
    are played, so that the step has as many games with a prize as it is to have."""
    game = compiled(LUCKY)
    plain = recipe_of(game, games=64, group_size=8, group_by="seed")
    recipe = replace(plain, dynamic_sampling=8)
    policy = policy_of(game, recipe)
    env = game.env(tokenizer=policy.tokenizer)

    def prizes(batch: Batch) -> list[str]:
        games = [
            one.episode.transcript["steps"][0]
            for one in batch.trajectories
            for _ in range(one.games)
        ]
        return [str(step) for step in games]

    batch = play(env, Bundles(Scorer(policy)), recipe, 1)
    assert sum(one.games for one in batch.trajectories) == 64
    assert len({one.group for one in batch.trajectories}) == 8
    assert all("big" in prize for prize in prizes(batch))
    assert batch.set_aside
    assert batch.round
    once = play(env, Bundles(Scorer(policy)), plain, 1)
    assert not once.set_aside
    assert any("small" in prize for prize in prizes(once))


ROUNDS = """
game: rounds
roles: [one]
turns:
  - {draw: card, from: 0..9, seen_by: all}
  - {role: one, choose: first, from: [x, y]}
  - {pay: payoffs, value: 1}
  - {role: one, choose: second, from: [x, y]}
  - {pay: payoffs, value: 1 if second == first else 1}
"""


@pytest.mark.parametrize("signal", [False, True])
def test_pay_before_a_turn_is_no_signal(compiled, signal: bool) -> None:
    """Returns to go are 2, and then 1: a turn is compared with the same turn of other games."""
    game = compiled(ROUNDS.replace("else 1", "else 0") if signal else ROUNDS)
    given = {"games": 64, "group_size": 8, "group_by": "seed", "dynamic_sampling": 1}
    recipe = recipe_of(game, **given)
    policy = policy_of(game, recipe)
    batch = play(game.env(tokenizer=policy.tokenizer), Bundles(Scorer(policy)), recipe, 1)
    assert bool(batch.trajectories) == signal


HELPED = """
game: helped
roles: [worker, helper]
turns:
  - {draw: weather, from: [sun, rain], seen_by: nobody}
  - {role: worker, choose: made, from: [good, bad]}
  - {role: helper, choose: taken, from: [yes, no]}
payoffs: {worker: 0, helper: 1 if made == good else 0}
"""


def test_what_a_teammate_earns_is_signal_to_the_team(compiled) -> None:
    """The worker is paid nothing whatever it does; its team is."""
    game = compiled(HELPED)
    given = {"games": 64, "group_size": 8, "group_by": "seed", "dynamic_sampling": 1}
    given |= {"roles__helper__trained": False, "adapters": "per_role"}
    for credit, counts in (("own", False), ("team", True)):
        recipe = recipe_of(game, credit=credit, **given)
        policy = policy_of(game, recipe)
        batch = play(game.env(tokenizer=policy.tokenizer), Bundles(Scorer(policy)), recipe, 1)
        assert bool(batch.trajectories) == counts


def test_entropy_is_that_of_all_games(compiled) -> None:
    """Games of groups without signal are in it, and where no other was played it is known too."""
    game = compiled(
        LUCKY.replace("from: [big, small]", "from: [small, tiny]").replace("big", "tiny")
    )
    recipe = recipe_of(game, games=64, group_size=8, group_by="seed", dynamic_sampling=1)
    policy = policy_of(game, recipe)
    scorer = Scorer(policy)
    batch = play(game.env(tokenizer=policy.tokenizer), Bundles(scorer), recipe, 1)
    assert role_entropy(scorer, batch) == {"guesser": pytest.approx(math.log(2))}


def _problems(game: Game, *texts: str) -> list[tuple[str, str]]:
    problems = Problems()
    resolve(game.ir, parse_overrides(texts), problems)
    return [(one.code, one.span.text) for one in problems.sorted() if one.severity == "error"]


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_defaults(compiled, name: str) -> None:
    game = compiled(
        SPEAK.replace("[speaker]", "{speaker: 2}").replace("role: speaker", "role: all")
    )
    recipe = in_words.recipe_of(game, preset=name)
    for setting, value in PRESETS[name].settings.items():
        assert recipe.value(setting) == value
    mine = in_words.recipe_of(game, preset=name, clip=0.4, scale="batch")
    assert (mine.clip, mine.scale) == (0.4, "batch")
    shown = dry_run(game, recipe, SeatAssignment(game.ir, recipe), lambda line: None)
    assert f"preset                {name}: " in shown or f"{name}: " in shown
    assert f"preset: {name}" in shown


@pytest.mark.parametrize("name", PRESETS)
def test_presets_learn_from_the_tree_too(compiled, tmp_path: Path, name: str) -> None:
    """A tree has no samples to split, so `minibatches` change nothing."""
    game = compiled(DILEMMA)
    recipe = recipe_of(game, preset=name, estimator="tree", dynamic_sampling="off", steps=2)
    found = []
    for number, one in enumerate((recipe, replace(recipe, minibatches=1))):
        run, outcome = run_of(game, one, tmp_path / f"run-{number}")
        assert outcome.finished
        found.append(untimed(run.records())[1:])
    assert found[0] == found[1]


def test_settings_that_do_not_fit_presets_are_told(compiled) -> None:
    game = compiled(SPEAK)
    assert _problems(game, "preset=dapo", "method=magnet")[0] == ("GD0704", "magnet")
    assert _problems(compiled(DILEMMA), "preset=dapo") == [("GD0704", "dapo")]
    assert _problems(compiled(DILEMMA), "preset=dapo", "dynamic_sampling=off") == []
    assert _problems(compiled(HIDDEN), "ratio=sequence") == [("GD0704", "sequence")]
    assert _problems(game, "preset=spiral_rae", "dynamic_sampling=2") == [("GD0704", "2")]
    assert _problems(game, "lr_warm_up=20") == [("GD0704", "20")]
