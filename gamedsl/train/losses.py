"""The objective: clipped GRPO on sums, with entropy and a divergence from the first policy.

For the samples (q, a) of a step, N of them, with advantages A and rho = pi(a|q) / pi_old(a|q):

    L = -1/N sum over samples of min(rho A, clip(rho, 1-c, 1+c) A)
        + 1/N sum over samples of [kl * KL(pi(.|q) || pi_ref(.|q)) - entropy * H(pi(.|q))]

Since min(rho A, clip(rho) A) is min(rho, 1+c) A for A > 0 and max(rho, 1-c) A for A < 0, the first
sum depends on the samples only through the gains and losses per (q, a), which makes this exact and
its cost that of the distinct queries. On the first inner step rho is 1: nothing is clipped, and the
gradient is that of the policy gradient -1/N sum A log pi. KL and H are exact, not sampled.

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
    clip: float = 0.2,
    kl: float = 0.0,
    entropy: float = 0.0,
    reference_A: Sequence[torch.Tensor] | None = None,
) -> Loss:
    """The loss, as a function of log pi [A] of every query; see the module docstring.

    old_A: log pi of the policy that played. reference_A: log pi_ref, needed where `kl` is not zero.
    """
    old_L = torch.cat(list(old_A))
    gains_L, losses_L = _flat(weights.gains_A), _flat(weights.losses_A)
    asked_L = _flat([np.full(len(n), n.sum()) for n in weights.counts_A])
    reference_L = torch.cat(list(reference_A)) if kl and reference_A is not None else None
    samples = max(weights.samples, 1)

    def loss(log_pi_A: Sequence[torch.Tensor]) -> torch.Tensor:
        log_pi_L = torch.cat(list(log_pi_A))
        device = log_pi_L.device
        rho_L = (log_pi_L - old_L.to(device)).exp()
        total = -(gains_L.to(device) * rho_L.clamp(max=1 + clip)).sum()
        total = total - (losses_L.to(device) * rho_L.clamp(min=1 - clip)).sum()
        if entropy or reference_L is not None:
            # KL(pi || ref) and -H(pi) are the sums over a of pi log pi / ref and of pi log pi.
            each_L = (entropy + kl) * log_pi_L
            if reference_L is not None:
                each_L = each_L - kl * reference_L.to(device)
            total = total + (asked_L.to(device) * log_pi_L.exp() * each_L).sum()
        return total / samples

    return loss


def backward(
    policy: Policy,
    queries: Sequence[Query],
    loss: Loss,
    *,
    log_pi: Sequence[torch.Tensor] | None = None,
    tempered: Callable[[torch.Tensor], torch.Tensor] = lambda log_pi: log_pi,
) -> float:
    """Add the loss's gradient to the adapters, in bounded memory; returns the loss.

    The gradient by log pi is worked out first, on scores without a graph; the policy then carries it
    back chunk by chunk. `log_pi` are the policy's own scores (untempered) where they are known.
    """
    scores = policy.log_probs(queries) if log_pi is None else log_pi
    leaves = [score.detach().clone().requires_grad_() for score in scores]
    value = loss([tempered(leaf) for leaf in leaves])
    gradients = torch.autograd.grad(value, leaves)
    policy.backward(queries, gradients)
    return float(value.detach())


def _flat(arrays: Sequence[np.ndarray]) -> torch.Tensor:
    return torch.from_numpy(np.concatenate(arrays)).float()
