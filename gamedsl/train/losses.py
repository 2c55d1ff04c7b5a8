"""The objective: clipped GRPO on sums, with entropy and a divergence from the first policy.

For the samples (q, a) of a step, N of them, with advantages A and rho = pi(a|q) / pi_old(a|q):

    L = -1/N sum over samples of min(rho A, clip(rho, 1-c, 1+c) A)
        + 1/N sum over samples of [kl * KL(pi(.|q) || pi_ref(.|q)) - entropy * H(pi(.|q))]

Since min(rho A, clip(rho) A) is min(rho, 1+c) A for A > 0 and max(rho, 1-c) A for A < 0, the
first sum depends on the samples only through the gains and losses per (q, a), which makes this
exact and its cost that of the distinct queries. On the first inner step rho is 1: nothing is
clipped, and the gradient is that of the policy gradient -1/N sum A log pi. KL and H are exact,
not sampled.

Shape letters: A labels of one query, L labels of all queries one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch

from gamedsl.policies.base import Policy, Query
from gamedsl.train.advantages import Weights

Loss = Callable[[Sequence[torch.Tensor]], torch.Tensor]


def objective(
    old_A: Sequence[torch.Tensor],
    weights: Weights,
    *,
    temperature: float = 1.0,
    clip: float = 0.2,
    kl: float = 0.0,
    entropy: float = 0.0,
    entropies: Sequence[float] | None = None,
    reference_A: Sequence[torch.Tensor] | None = None,
) -> Loss:
    """The loss, as a function of log pi [A] of every query; see the module docstring.

    old_A: log pi of the policy that played. reference_A: log pi_ref, needed where `kl` is not
    zero. entropies: what each query's entropy weighs beside `entropy`. All log pi are as the policy
    gives them; the loss is about pi ** (1 / temperature), which is what was played.
    """

    def joined(log_pi_A: Sequence[torch.Tensor]) -> torch.Tensor:
        if temperature == 1:
            return torch.cat(list(log_pi_A))
        return torch.cat([(log_pi / temperature).log_softmax(0) for log_pi in log_pi_A])

    old_L = joined(old_A)
    gains_L, losses_L = _flat(weights.gains_A), _flat(weights.losses_A)
    asked_L = _flat([np.full(len(n), n.sum()) for n in weights.counts_A])
    reference_L = joined(reference_A) if kl and reference_A is not None else None
    bonus_L: torch.Tensor | float = entropy
    if entropies is not None:
        rows = zip(weights.counts_A, entropies, strict=True)
        bonus_L = entropy + _flat([np.full(len(n), more) for n, more in rows])
    samples = max(weights.samples, 1)

    def loss(log_pi_A: Sequence[torch.Tensor]) -> torch.Tensor:
        log_pi_L = joined(log_pi_A)
        device = log_pi_L.device
        rho_L = (log_pi_L - old_L.to(device)).exp()
        total = -(gains_L.to(device) * rho_L.clamp(max=1 + clip)).sum()
        total = total - (losses_L.to(device) * rho_L.clamp(min=1 - clip)).sum()
        if entropy or entropies is not None or reference_L is not None:
            # KL(pi || ref) and -H(pi) are the sums over a of pi log pi / ref and of pi log pi.
            bonus = bonus_L.to(device) if isinstance(bonus_L, torch.Tensor) else bonus_L
            each_L = (bonus + kl) * log_pi_L
            if reference_L is not None:
                each_L = each_L - kl * reference_L.to(device)
            total = total + (asked_L.to(device) * log_pi_L.exp() * each_L).sum()
        return total / samples

    return loss


def backward(
    policy: Policy,
    queries: Sequence[Query],
    loss: Loss,
    log_pi_A: Sequence[torch.Tensor] | None = None,
) -> float:
    """Add the loss's gradient to the adapters, in bounded memory; returns the loss.

    The gradient by log pi is worked out first, on scores without a graph (`log_pi_A`, where the
    policy's own are known); the policy then carries it back chunk by chunk.
    """
    scores = policy.log_probs(queries) if log_pi_A is None else log_pi_A
    leaves = [score.detach().clone().requires_grad_() for score in scores]
    value = loss(leaves)
    policy.backward(queries, torch.autograd.grad(value, leaves))
    return float(value.detach())


def _flat(arrays: Sequence[np.ndarray]) -> torch.Tensor:
    return torch.from_numpy(np.concatenate(arrays)).float()
