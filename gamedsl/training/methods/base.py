"""The interface of training methods: what each is given, and what it must do."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import torch

from gamedsl.policies.base import Policy, Query
from gamedsl.policies.chunk_scoring import ChunkedPolicy
from gamedsl.policies.handed_on import bare
from gamedsl.policies.multi_model import models_of
from gamedsl.recipe.table import Recipe
from gamedsl.training.estimators import Experience
from gamedsl.training.optimizer import learning_rate, set_lr
from gamedsl.training.reference import Reference
from gamedsl.training.scoring import Scorer, tempered
from gamedsl.training.sessions import writer

if TYPE_CHECKING:
    from gamedsl.players.base import Player

Record = dict[str, Any]


@dataclass(frozen=True)
class Learner:
    """A policy and what it takes to change it. `known` are all decisions of a small game, and
    empty for a larger one; `written` says that its replies are written, not scored. A method never
    sees the game, nor anything that was solved for it."""

    policy: Policy
    optimizer: torch.optim.Optimizer
    scorer: Scorer
    reference: Reference
    recipe: Recipe
    known: Sequence[Query] = ()
    written: bool = False
    open_player: Callable[[str, int], Player] | None = None
    """Opens a player by its name in the recipe, for a seed. Raises TrainError."""

    def set_lr(self, lr: float) -> None:
        set_lr(self.optimizer, lr)

    def scores(self, queries: Sequence[Query], *, graphs: bool = True) -> list[torch.Tensor]:
        """Returns log pi [labels] of each as the policy gives it, scored now if need be; on the
        CPU. The scorer keeps graphs for a backward pass, unless it is to have no `graphs`."""
        self.scorer.score(queries, graphs=graphs)
        return [self.scorer.log_pi(query) for query in queries]

    def freeze(self, frozen: Collection[str]) -> None:
        """Has the optimiser's next step leave these adapters as they are."""
        for name in frozen:
            for parameter in self.policy.parameters(name):
                parameter.grad = None

    def played(self, log_pi: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """Returns scores of the policy as log-probabilities of what is played."""
        return [tempered(one, self.recipe.temperature) for one in log_pi]

    def forget(self) -> None:
        """Drops what was computed before, and kept, so that the last bits of later passes do not
        depend on where a run was resumed."""
        self.scorer.forget()
        for model in map(bare, models_of(self.policy)):
            if isinstance(model, ChunkedPolicy):
                model.end_step()
        if self.written:
            writer(self.policy).forget()

    def idle(self, step: int) -> Record:
        """Leaves the policy as it is in a step in which no game counted; returns the record."""
        self.scorer.forget()
        record: Record = {"loss": 0.0, "grad_norm": 0.0}
        return record | ({"lr": learning_rate(self.recipe, step), "trained": 0}
                         if self.written else {})  # fmt: skip


class Method(Protocol):
    """A way to learn. Its numbers follow from the recipe, the step and `state` alone."""

    def update(self, experience: Experience) -> Record:
        """Changes the policy by one step's games, whose queries the scorer has scored. Returns its
        part of the step's record. The scorer then holds nothing but scores of the new policy.
        Raises TrainError where numbers are none."""
        ...

    def state(self) -> dict[str, Any]:
        """Returns what a checkpoint must hold of it: numbers and tensors."""
        ...

    def restore(self, state: dict[str, Any]) -> None:
        """Goes on from what `state` returned."""
        ...
