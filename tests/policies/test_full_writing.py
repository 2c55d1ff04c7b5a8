"""Replies of fully trained models: the tokens' gradient by transformers itself, and learning."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from gamedsl.policies.full_model import FullPolicy
from gamedsl.policies.generation import Request, TokenEntropy, TokenRow
from gamedsl.runtime import Game
from tests.train import in_words
from tests.train.conftest import compiled as compiled  # a fixture
from tests.train.test_grpo_variants import SPEAK


@pytest.fixture
def policy() -> FullPolicy:
    return FullPolicy("tiny", ("one", "other"), seed=3)


def plain(policy: FullPolicy, row: TokenRow) -> torch.Tensor:
    """log pi of the trained tokens and the mean entropy, by the copy of the row's adapter."""
    logits = policy._models[row.adapter](input_ids=torch.tensor([row.ids])).logits[0].float()
    log_p = logits.log_softmax(-1)
    taken = torch.stack([log_p[at - 1, row.ids[at]] for at in row.positions])
    entropy = torch.stack([-(log_p[at - 1].exp() * log_p[at - 1]).sum() for at in row.positions])
    return taken.sum() + 0.5 * entropy.sum()


def test_token_gradient_equals_the_whole_model(policy: FullPolicy) -> None:
    rows = [
        TokenRow("one", (5, 9, 7, 30, 31), ((2, 5),)),
        TokenRow("other", (5, 9, 8, 40), ((3, 4),)),
        TokenRow("one", (5, 9, 7, 11), ((2, 4),)),
    ]
    sum(plain(policy, row) for row in rows).backward()
    wanted = [p.grad.clone() for p in policy.parameters()]
    for parameter in policy.parameters():
        parameter.grad = None
    weights = [torch.ones(len(row.positions)) for row in rows]
    entropy = TokenEntropy(torch.full((6,), 0.5))
    policy.token_backward(rows, weights, entropy)
    for parameter, gradient in zip(policy.parameters(), wanted, strict=True):
        torch.testing.assert_close(parameter.grad, gradient, atol=1e-5, rtol=1e-3)
    assert bool((entropy.found_T > 0).all())


def test_replies_are_those_of_each_copy(policy: FullPolicy) -> None:
    """With one copy changed, replies of the other stay, and a guest replies as what it copies."""
    request = Request((("user", "hello"),), "one", 8, temperature=1.0, seed=4)
    other = Request((("user", "hello"),), "other", 8, temperature=1.0, seed=4)
    before = policy.generate([request, other])
    assert before[0].reply_ids == before[1].reply_ids
    policy.add_guest("past", "one")
    with torch.no_grad():
        for parameter in policy.parameters("one"):
            parameter += 0.3 * torch.randn(parameter.shape)
    policy.forget()
    past = Request((("user", "hello"),), "past", 8, temperature=1.0, seed=4)
    after = policy.generate([request, other, past])
    assert after[0].reply_ids != before[0].reply_ids
    assert after[1].reply_ids == after[2].reply_ids == before[1].reply_ids
    assert policy.adapters == ("one", "other")


def test_all_weights_learn_in_words(compiled: Callable[[str], Game], tmp_path: Path) -> None:
    """A run moves the output layer too, and the sampler's log-probabilities are the trainer's."""
    game = compiled(SPEAK)
    recipe = in_words.recipe_of(game, finetuning="full", steps=2, lr=0.001, entropy=0.1)
    start = in_words.opened(game, recipe)
    run, policy = in_words.run_of(game, recipe, tmp_path / "run")
    steps = [one for one in run.records() if one["event"] == "step"]
    assert max(one["sampler_gap"] for one in steps) < 1e-4
    pairs = zip(start.parameters(), policy.parameters(), strict=True)
    assert all(not torch.equal(before, after) for before, after in pairs)
