"""A past policy, scored with its adapters: the reference of `kl`, or a magnet that has moved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch

from gamedsl.policies.base import Policy, Query
from gamedsl.policies.errors import ModelError
from gamedsl.policies.generation import TokenRow
from gamedsl.recipe.table import Recipe
from gamedsl.runs.errors import RunDamaged
from gamedsl.runs.saved import SavedRun
from gamedsl.storage.reader import expanded
from gamedsl.training.checkpoint import Adapters, adapters_of, put_back
from gamedsl.training.errors import TrainError
from gamedsl.training.sessions import writer

_KEPT = 65_536


def reference_of(policy: Policy, recipe: Recipe) -> Adapters:
    """Returns the adapters of a recipe's reference: the policy as it is now, or as a run left it.
    Raises TrainError for a run whose adapters do not fit."""
    now = adapters_of(policy)
    if recipe.reference is None:
        return now
    folder = expanded(recipe.reference)
    help = "name the folder of a finished run with the same model, adapters and `lora`"
    try:
        found = SavedRun(folder).adapters()
        if missing := set(policy.adapters) - set(found):
            raise TrainError(f"the reference `{folder}` has no adapter `{min(missing)}`", help)
        for name in policy.adapters:
            policy.load_adapter(name, found[name])
        return adapters_of(policy)
    except (RunDamaged, ModelError) as error:
        raise TrainError(f"the reference `{folder}` cannot be read: {error}", help) from error
    finally:
        put_back(policy, now)


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
            with self._in_place():
                found = self._policy.log_probs(missing)
            self._log_pi.update(zip(missing, found, strict=True))
        return [self._log_pi[query] for query in queries]

    def token_log_pi(self, rows: Sequence[TokenRow]) -> list[torch.Tensor]:
        """Returns log pi_ref of the trained tokens of each row, float32 on the CPU; nothing is
        kept. Changes and restores the adapters as `log_pi` does."""
        with self._in_place():
            return writer(self._policy).token_log_probs(rows)

    @contextmanager
    def _in_place(self) -> Iterator[None]:
        """Has the policy play with the adapters of the past inside the block."""
        now = adapters_of(self._policy)
        put_back(self._policy, self.adapters)
        try:
            yield
        finally:
            put_back(self._policy, now)
