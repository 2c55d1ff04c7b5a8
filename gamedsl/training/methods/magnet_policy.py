"""The magnet: a distribution over the labels of each decision, which a policy is pulled to."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from gamedsl.policies.base import Policy, Query
from gamedsl.training.checkpoint import Adapters, adapters_of
from gamedsl.training.reference import Reference
from gamedsl.training.scoring import tempered


class MagnetPolicy:
    """Uniform until it first moves, then the policy of that step, mixed with a share of uniform
    play.

    Perolat et al. (2021) and Sokota et al. (2023) move the magnet to where learning has settled:
    the policies that it settles at come nearer and nearer to an equilibrium. The share keeps alive
    what a moment's policy hardly played.
    """

    def __init__(
        self, policy: Policy, known: Sequence[Query], *, every: int | None, uniform: float,
        temperature: float,
    ) -> None:  # fmt: skip
        """`every` and `uniform` are as in the settings of `magnet`. The policy is taken as
        it is played at `temperature`; the share of uniform play is mixed in after that."""
        self._policy, self._known = policy, known
        self._every, self._uniform, self._warmth = every, uniform, temperature
        self._reference: Reference | None = None

    @property
    def adapters(self) -> Adapters:
        """The adapters of the policy that it last moved to; empty while it is uniform."""
        return self._reference.adapters if self._reference is not None else {}

    def put(self, adapters: Adapters) -> None:
        """Moves to the policy of `adapters`. No graph of the policy may be alive."""
        self._reference = Reference(self._policy, adapters) if adapters else None
        if self._reference is not None and self._known:
            # Now, and all in one pass: the same last bits whether or not a run was stopped here.
            self._reference.log_pi(self._known)

    def due(self, step: int) -> bool:
        """Returns whether it is time to move, the update of a step being done."""
        return self._every is not None and step % self._every == 0

    def move(self) -> None:
        """Moves to the policy as it is now. No graph of the policy may be alive."""
        self.put(adapters_of(self._policy))

    def log_rho(self, queries: Sequence[Query]) -> list[torch.Tensor]:
        """Returns its log-probabilities [labels], as they would be played; float32 on the CPU."""
        sizes = [len(query.labels) for query in queries]
        even = [torch.full((size,), -math.log(size)) for size in sizes]
        if self._reference is None:
            return even
        share, warmth = self._uniform, self._warmth
        if share == 1:
            return even
        scores = self._reference.log_pi(queries)
        played = [tempered(one, warmth) for one in scores]
        return [
            torch.logaddexp(log_pi + math.log1p(-share), log_even + math.log(share))
            for log_pi, log_even in zip(played, even, strict=True)
        ]
