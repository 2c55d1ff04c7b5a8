"""A floor under the policy's entropy at every information set, held without a weight to tune.

With h the entropy of pi(.|q) as a share of that of uniform play, f the floor and s what is at
stake, the entropy of a query counts in the objective with the weight

    w(q) = GAIN * s * (f / h - 1)  where h < f, else 0.

As an action's probability p falls, h falls as p log(1/p) does and the weight rises as its inverse,
so that the pull upwards does not vanish with p, as the policy gradient does: where an action is
worth less than another by s, the two balance just below the floor. The weights are those of the
policy that played, and no gradient goes through them.

Of a written reply h is the mean entropy of its tokens, as a share of the logarithm of the size of
the vocabulary: the tokens of one reply have one weight, so that spelling and form, which are
certain, stay so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch

from gamedsl.training.estimators import ActionSums

GAIN = 10.0
_LEAST = 1e-6
"""What h is taken to be at least."""


class EntropyFloor:
    """Weights of the entropy, query by query. Keeps the stake: the largest advantage that an action
    had on average in a step so far."""

    def __init__(self, share: float) -> None:
        self.share = share
        self.stake = 0.0

    def weights(self, log_pi_A: Sequence[torch.Tensor], sums: ActionSums) -> list[float] | None:
        """Returns a weight for each query, `log_pi_A` being what was played; None without a
        floor."""
        if not self.share:
            return None
        for sum_A, counts in zip(sums.sums_A, sums.counts_A, strict=True):
            means = np.abs(sum_A[counts > 0] / counts[counts > 0])
            self.stake = max(self.stake, float(means.max(initial=0.0)))
        return [self._weight(log_pi) for log_pi in log_pi_A]

    def of_replies(self, shares: torch.Tensor, gains: torch.Tensor) -> torch.Tensor:
        """Returns a weight for each written reply, from the mean entropy of its tokens as a share
        of that of a uniform draw from the vocabulary; `gains` are advantages."""
        self.stake = max(self.stake, float(gains.abs().max()))
        return GAIN * self.stake * (self.share / shares.clamp(min=_LEAST) - 1).clamp(min=0)

    def _weight(self, log_pi: torch.Tensor) -> float:
        if len(log_pi) < 2:
            return 0.0
        share = float(torch.special.entr(log_pi.double().exp()).sum()) / math.log(len(log_pi))
        return GAIN * self.stake * max(self.share / max(share, _LEAST) - 1, 0.0)
