"""The ratio between the trainer's probability of a token and the sampler's, truncated at 2.

After truncated importance sampling (Yao et al., Your efficient RL framework secretly brings
you off-policy RL training, 2025): a token counts with min(pi / pi_sampler, 2).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from gamedsl.policies.generation import Generated, TokenRow
from gamedsl.runtime import Game
from gamedsl.training.advantages import Advantage
from gamedsl.training.rollout import play
from gamedsl.training.seats import SeatAssignment
from gamedsl.training.sessions import Sessions
from tests.train.in_words import learn, opened, recipe_of

SPEAK = """
game: speak
roles: [speaker]
turns:
  - {role: speaker, say: word, max_tokens: 8}
payoffs: {speaker: 1}
on_invalid: {then: forfeit, pay: 0}
"""
RATIOS = (5.0, 1.5, 0.25, 2.0)
"""What the first tokens are said to be likelier under the trainer than under the sampler."""
COUNTED = (2.0, 1.5, 0.25, 2.0)


def drawn_by_another(reply: Generated) -> Generated:
    """The same reply of a sampler whose numbers differ from the trainer's."""
    moved = [math.log(ratio) for ratio in RATIOS]
    moved += [0.0] * (len(reply.log_probs) - len(moved))
    log_probs = tuple(log_p - by for log_p, by in zip(reply.log_probs, moved, strict=True))
    return replace(reply, log_probs=log_probs)


@pytest.mark.parametrize("advantage", [1.0, -1.0])
def test_a_token_counts_no_more_than_the_cap(
    compiled: Callable[[str], Game], advantage: float
) -> None:
    """The step that is taken is the one by hand: minus the rate times the gradient of
    -1/K sum_t min(ratio_t, 2) A log pi(t), for one reply of K tokens."""
    game = compiled(SPEAK)
    recipe = recipe_of(game, max_grad_norm=1e9, lr=1.0, lr_schedule="constant")
    policy = opened(game, recipe)
    batch = play(
        game.env(tokenizer=policy.tokenizer),
        Sessions(policy),
        recipe,
        1,
        SeatAssignment(game.ir, recipe),
    )
    said = max(
        (one for _, one in batch.samples),
        key=lambda one: len(one.written.reply_ids) if one.written else 0,
    )
    reply = said.written
    assert reply is not None
    assert len(reply.reply_ids) > len(RATIOS)
    count = len(reply.reply_ids)
    counted_T = torch.tensor([*COUNTED, *[1.0] * (count - len(COUNTED))])
    ids = reply.prompt_ids + reply.reply_ids
    row = TokenRow("shared", ids, ((len(reply.prompt_ids), len(ids)),))
    policy.token_backward([row], [-advantage * counted_T / count])
    by_hand = [tensor.grad.clone() for tensor in policy.parameters() if tensor.grad is not None]
    before = [tensor.detach().clone() for tensor in policy.parameters()]
    worth = Advantage(0, said._replace(written=drawn_by_another(reply)), 1, advantage)
    plain = torch.optim.SGD(policy.parameters(), lr=1.0)
    told = learn(policy, plain, [worth], batch.queries, recipe, 1)
    for tensor, old, gradient in zip(policy.parameters(), before, by_hand, strict=True):
        torch.testing.assert_close(old - tensor.detach(), gradient, atol=1e-6, rtol=1e-3)
    assert any(bool((gradient != 0).any()) for gradient in by_hand)
    assert told["loss"] == pytest.approx(-advantage * float(counted_T.mean()), rel=1e-3)
    gap = sum(abs(math.log(ratio)) for ratio in RATIOS) / count
    assert told["sampler_gap"] == pytest.approx(gap, rel=1e-3), "the gap is told uncut"
