"""The objective by hand, and the same gradient as a loss over single samples."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from gamedsl.policies.activations import Activations
from gamedsl.training.bundles import Bundles
from gamedsl.training.estimators import ActionSums
from gamedsl.training.losses import Clip, backward, objective
from gamedsl.training.methods import method_of
from gamedsl.training.methods.base import Learner
from gamedsl.training.reference import Reference
from gamedsl.training.rollout import play
from gamedsl.training.scoring import Scorer
from tests.train.conftest import DILEMMA, OFFER, experience, policy_of, recipe_of, weighed

HALF = torch.tensor([0.5, 0.5]).log()


def weights(gains: list[float], losses: list[float], counts: list[int]) -> ActionSums:
    arrays = [[np.array(x, dtype=float)] for x in (gains, losses, counts)]
    return ActionSums(*arrays, samples=sum(counts))


def test_on_policy_it_is_the_policy_gradient() -> None:
    log_pi = HALF.clone().requires_grad_()
    loss = objective([HALF], weights([6, 0], [0, -2], [3, 1]))([log_pi])
    loss.backward()
    assert loss.item() == pytest.approx(-(6 - 2) / 4)
    assert log_pi.grad.tolist() == pytest.approx([-6 / 4, 2 / 4])


def test_clipping_by_hand() -> None:
    # The first action's ratio is 1.6, the second's 0.4; both are outside 1 +- 0.2.
    now = torch.tensor([0.8, 0.2]).log().requires_grad_()
    loss = objective([HALF], weights([1, 2], [-4, -8], [2, 2]), clip=Clip(0.2, 0.2))([now])
    gained = 1 * 1.2 + 2 * 0.4  # min(ratio, 1.2)
    lost = -4 * 1.6 - 8 * 0.8  # max(ratio, 0.8)
    assert loss.item() == pytest.approx(-(gained + lost) / 4)
    loss.backward()
    # Where a bound holds there is no gradient: only gains of the second, losses of the first.
    assert now.grad.tolist() == pytest.approx([4 * 1.6 / 4, -2 * 0.4 / 4])


def test_entropy_and_divergence_by_hand() -> None:
    nothing = weights([0, 0], [0, 0], [6, 2])
    now = torch.tensor([0.25, 0.75]).log()
    entropy = -(0.25 * math.log(0.25) + 0.75 * math.log(0.75))
    assert objective([now], nothing, entropy=0.5)([now]).item() == pytest.approx(-0.5 * entropy)
    divergence = 0.25 * math.log(0.5) + 0.75 * math.log(1.5)
    found = objective([now], nothing, kl=2.0, reference_A=[HALF])([now])
    assert found.item() == pytest.approx(2 * divergence)


def test_queries_have_weights_of_entropy_of_their_own() -> None:
    now = [torch.tensor([0.25, 0.75]).log(), torch.tensor([0.1, 0.9]).log()]
    counts = [np.array([6.0, 2.0]), np.array([4.0, 0.0])]
    nothing = [np.zeros(2), np.zeros(2)]
    weights = ActionSums(nothing, nothing, counts, samples=12)
    entropy = [float(torch.special.entr(row.exp()).sum()) for row in now]
    found = objective(now, weights, entropy=0.5, entropies=[0, 3.0])(now)
    wanted = -(8 * 0.5 * entropy[0] + 4 * 3.5 * entropy[1]) / 12
    assert found.item() == pytest.approx(wanted)


def test_temperature_is_in_the_loss() -> None:
    now = torch.tensor([0.8, 0.2]).log().requires_grad_()
    objective([now.detach()], weights([1, 0], [0, 0], [1, 0]), temperature=2.0)([now]).backward()
    other = now.detach().clone().requires_grad_()
    (-(other / 2).log_softmax(0)[0]).backward()
    assert now.grad.tolist() == pytest.approx(other.grad.tolist())


@pytest.mark.parametrize(
    ("text", "room", "kept"),
    [
        (DILEMMA, 0, "none"), (DILEMMA, 1, "all"), (OFFER, 0, "none"), (OFFER, 1, "some"),
        (OFFER, 99, "all"),
    ],
)  # fmt: skip
def test_sums_have_the_gradient_of_8192_single_games(
    compiled, monkeypatch, text: str, room: int, kept: str
) -> None:
    """Whether the graphs of play are kept, and of how many passes, changes nothing."""
    game = compiled(text)
    recipe = recipe_of(game, model="tiny", games=8192, max_grad_norm=1e9, lr=1e-30)
    policy = policy_of(game, recipe)
    env = game.env(tokenizer=policy.tokenizer)
    keep_passes(monkeypatch, room)
    scorer = Scorer(policy)
    batch = play(env, Bundles(scorer), recipe, 1)
    has = {graph is not None for graph in scorer.graphs(batch.queries)}
    assert has == {"none": {False}, "some": {False, True}, "all": {True}}[kept]
    optimizer = torch.optim.SGD(policy.parameters(), lr=0.0)
    learner = Learner(policy, optimizer, scorer, Reference(policy, {}), recipe)
    method_of(learner).update(experience(batch.queries, weighed(batch)))
    summed = torch.cat([p.grad.flatten() for p in policy.parameters()])

    policy_gradient = _per_sample_loss(policy, batch)
    optimizer.zero_grad()
    policy_gradient.backward()
    single = torch.cat([p.grad.flatten() for p in policy.parameters()])
    assert single.norm() > 1e-3
    assert (summed - single).norm() / single.norm() < 1e-5


def _per_sample_loss(policy, batch) -> torch.Tensor:
    """The textbook's loss: one term for each decision of each game."""
    samples = [
        (s, float(h.episode.rewards[s.seat]))
        for h in batch.trajectories
        for _ in range(h.games)
        for s in h.samples
    ]
    mean = {
        step: np.mean([r for s, r in samples if (s.role, s.step) == step])
        for step in {(s.role, s.step) for s, _ in samples}
    }
    log_pi = policy.forward(batch.queries)
    log_pi = [scores.double() for scores in log_pi]
    terms = [(r - mean[s.role, s.step]) * log_pi[s.query][s.action] for s, r in samples]
    return -torch.stack(terms).mean()


def test_bounded_memory_gives_the_same_gradient(compiled) -> None:
    game = compiled(OFFER)
    recipe = recipe_of(game, model="tiny", games=64)
    policy = policy_of(game, recipe)
    batch = play(game.env(tokenizer=policy.tokenizer), Bundles(Scorer(policy)), recipe, 1)
    old = [score + 0.1 for score in policy.log_probs(batch.queries)]
    loss = objective(old, weighed(batch), entropy=0.3)
    direct = loss(policy.forward(batch.queries))
    direct.backward()
    expected = [p.grad.clone() for p in policy.parameters()]
    for parameter in policy.parameters():
        parameter.grad = None
    assert backward(policy, batch.queries, loss) == pytest.approx(direct.item(), abs=1e-6)
    for parameter, grad in zip(policy.parameters(), expected, strict=True):
        assert torch.allclose(parameter.grad, grad, atol=1e-6)


@pytest.mark.parametrize(
    "settings",
    [
        {"inner_steps": 3}, {"max_change": 0.01},
        {"method": "project", "project__fitter": "adam", "inner_steps": 3},
        {"method": "project", "project__fitter": "adam", "project__batch": 3, "inner_steps": 2},
    ],
)  # fmt: skip
@pytest.mark.parametrize("pass_tokens", ["auto", 90])
def test_kept_graphs_change_no_bit(
    compiled, monkeypatch, settings: dict[str, object], pass_tokens: object
) -> None:
    """Nor does one outlive its update, however many optimiser steps this takes."""
    game = compiled(OFFER)
    recipe = recipe_of(
        game, model="tiny", games=512, lr=0.01, **settings, pass_tokens=pass_tokens
    )  # fmt: skip
    learned = []
    for room in (0, 1, 99):
        policy = policy_of(game, recipe)
        keep_passes(monkeypatch, room)
        scorer = Scorer(policy)
        batch = play(game.env(tokenizer=policy.tokenizer), Bundles(scorer), recipe, 1)
        optimizer = torch.optim.AdamW(policy.parameters(), lr=recipe.lr, betas=recipe.betas)
        learner = Learner(policy, optimizer, scorer, Reference(policy, {}), recipe)
        method_of(learner).update(experience(batch.queries, weighed(batch), batch=batch))
        assert not any(graph is not None for graph in scorer.graphs(batch.queries))
        learned.append(torch.cat(policy.log_probs(batch.queries)))
    before = torch.cat(policy_of(game, recipe).log_probs(batch.queries))
    assert (learned[0] - before).abs().max() > 1e-3
    for other in learned[1:]:
        assert torch.equal(learned[0], other)


def keep_passes(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """Lets the graphs of so many passes be kept from now on."""
    asked = iter([True] * most)
    monkeypatch.setattr(Activations, "has_room", lambda *_: next(asked, False))
