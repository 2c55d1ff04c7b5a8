"""A past policy, scored with its adapters: the reference of `kl`, or a magnet that has moved."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from gamedsl.policies.base import Policy, Query
from gamedsl.train.checkpoint import Adapters, adapters_of, put_back

_KEPT = 65_536


class Reference:
    """Scores queries with adapters of the past, each distinct query once."""

    def __init__(self, policy: Policy, adapters: Adapters) -> None:
        self.adapters = adapters
        self._policy = policy
        self._log_pi: dict[Query, torch.Tensor] = {}

    def log_pi(self, queries: Sequence[Query]) -> list[torch.Tensor]:
        """Returns log pi_ref [labels] of each. Changes and restores the policy's adapters in place,
        so no graph of it may be alive."""
        missing = [query for query in queries if query not in self._log_pi]
        if missing:
            if len(self._log_pi) + len(missing) > _KEPT:
                self._log_pi, missing = {}, list(queries)
            now = adapters_of(self._policy)
            put_back(self._policy, self.adapters)
            found = self._policy.log_probs(missing)
            put_back(self._policy, now)
            self._log_pi.update(zip(missing, found, strict=True))
        return [self._log_pi[query] for query in queries]
