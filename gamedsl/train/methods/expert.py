"""`expert`: do as the best games did, or as a teacher does; see `gamedsl.train.examples`.

With n(q, a) how often an action is an example at a prompt, the loss is the cross-entropy
-sum n log pi / sum n. It has no baseline and no negative examples: what was not kept is neither
raised nor lowered but by the softmax.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import torch

from gamedsl.policies.base import Query
from gamedsl.train.advantages import Weights
from gamedsl.train.methods.base import Learner, Record, descend, idle


class Expert:
    """It keeps nothing from step to step."""

    def __init__(self, learner: Learner) -> None:
        self._learner = learner

    def update(
        self, queries: Sequence[Query], weights: Weights, step: int, held: Collection[str] = ()
    ) -> Record:
        learner = self._learner
        pairs = zip(queries, weights.examples_A, strict=True)
        examples = [(query, counts) for query, counts in pairs if counts.any()]
        total = float(sum(counts.sum() for _, counts in examples))
        if not examples:  # no game did better than another
            return idle(learner.scorer) | {"examples": 0.0}
        wanted_L = torch.from_numpy(np.concatenate([counts for _, counts in examples])).float()

        def loss(log_pi_A: Sequence[torch.Tensor]) -> torch.Tensor:
            played_L = torch.cat(learner.played(log_pi_A))
            return -(wanted_L.to(played_L) * played_L).sum() / total

        asked = [query for query, _ in examples]
        return descend(learner, asked, loss, step, held) | {"examples": total}

    def state(self) -> dict[str, Any]:
        return {}

    def restore(self, state: dict[str, Any]) -> None: ...
