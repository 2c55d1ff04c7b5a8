"""The reference policy is the one that training started from, for queries met later too."""

from __future__ import annotations

import torch

from gamedsl.training.checkpoint import adapters_of
from gamedsl.training.metrics import PolicyMetrics
from gamedsl.training.reference import Reference
from tests.train.conftest import OFFER, policy_of, recipe_of


def test_late_queries_use_the_reference_policy(compiled) -> None:
    game = compiled(OFFER)
    recipe = recipe_of(game, model="tiny")
    policy = policy_of(game, recipe)
    queries = PolicyMetrics(game.env(tokenizer=policy.tokenizer), recipe).queries
    first = policy.log_probs(queries)
    reference = Reference(policy, adapters_of(policy))
    reference.log_pi(queries[:1])
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter += 0.05
    now = policy.log_probs(queries)
    assert not torch.allclose(now[1], first[1], atol=1e-3)
    for found, expected in zip(reference.log_pi(queries), first, strict=True):
        assert torch.allclose(found, expected, atol=1e-5)
    for after, expected in zip(policy.log_probs(queries), now, strict=True):
        assert torch.equal(after, expected)
