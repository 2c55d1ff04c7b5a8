"""`project`: mirror descent on the decisions' own probabilities, then a fit of the network.

For each decision the step of magnetic mirror descent with an entropy mirror map has a closed form
(Sokota et al. 2023): with policy pi, magnet rho, action values q, weight alpha and step size eta,

    pi' is proportional to (pi * rho^(eta alpha) * e^(eta q))^(1 / (1 + eta alpha)).

A gradient step cannot take a network there: it moves all decisions at once, for their prompts
hardly differ. So pi' is the target at every distinct prompt, and the adapters are fitted to all
targets together (see `gamedsl.train.methods.fitting`). Decisions that no game came to have targets
too where they are known, with no values: they are held, and pulled to the magnet.

q are the means of the samples' advantages. Every sample's baseline is the mean of its deal, role
and step, which takes away what the cards alone decided; it is the same for all actions of an
information set, in expectation, so pi' does not depend on it. A target's log-odds differ from the
policy's by at most `project.change`, so that the few samples of a rare action cannot throw it.

A network that is trained from nothing misses its targets at first. With `project.base: target` pi
in the formula is the target of the step before, as in mirror descent by its dual variables
(Nesterov 2009): what was learned is not lost where it was not fitted. With `project.floor` no
target asks for less than that of any action, whatever was learned of it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import torch

from gamedsl.policies.base import Query
from gamedsl.train.advantages import Weights
from gamedsl.train.anchor import Anchor
from gamedsl.train.methods.base import Learner, Record, between
from gamedsl.train.methods.fitting import Adam, Goal, Newton, digest
from gamedsl.train.methods.tangent import fits


class Projection:
    """It keeps the magnet, and how it fits."""

    def __init__(self, learner: Learner) -> None:
        self._learner = learner
        self._anchor = Anchor(learner.policy, learner.recipe, learner.known)
        self._newton, self._adam = Newton(learner), Adam(learner)
        self._targets: dict[str, torch.Tensor] = {}
        """The targets of the last steps, by what tells a query from others; empty unless the next
        ones start from them."""

    def update(
        self, queries: Sequence[Query], weights: Weights, step: int, held: Collection[str] = ()
    ) -> Record:
        learner, recipe = self._learner, self._learner.recipe
        asked = list(learner.known or queries)
        learned = dict(zip(queries, action_values(weights), strict=True))
        values = [learned.get(query, np.zeros(len(query.labels))) for query in asked]
        alpha = between(recipe.magnet.weight, step, recipe.steps)
        eta = between(recipe.project.eta, step, recipe.steps)
        change, floor = recipe.project.change, recipe.project.floor
        played = learner.played(learner.scores(asked))
        names = [digest([query]) for query in asked]
        targets = [
            log_pi.double()
            if query.adapter in held
            else target(
                log_pi, log_rho, torch.from_numpy(q), eta, alpha, change, floor,
                base=self._targets.get(name),
            )
            for query, name, log_pi, log_rho, q in zip(
                asked, names, played, self._anchor.log_rho(asked), values, strict=True
            )
        ]  # fmt: skip
        if recipe.project.base == "target":
            self._targets |= zip(names, targets, strict=True)
        record = self._fitter(asked).fit(Goal(learner, asked, targets, held), step)
        if self._anchor.due(step):
            learner.scorer.forget()  # a graph would not survive the move
            self._anchor.move()
        return record | {"magnet_weight": alpha, "eta": eta}

    def state(self) -> dict[str, Any]:
        return {
            "magnet": self._anchor.adapters,
            "newton": self._newton.state(),
            "adam": self._adam.state(),
            "targets": self._targets,
        }

    def restore(self, state: dict[str, Any]) -> None:
        self._anchor.put(state["magnet"])
        self._newton.restore(state["newton"])
        self._adam.restore(state["adam"])
        self._targets = state["targets"]

    def _fitter(self, queries: Sequence[Query]) -> Newton | Adam:
        wanted: str = self._learner.recipe.project.fitter
        if wanted == "auto":
            few = self._learner.known and fits(self._learner.policy, queries)
            wanted = "newton" if few else "adam"
        return self._newton if wanted == "newton" else self._adam


def action_values(weights: Weights) -> list[np.ndarray]:
    """Per query the mean advantage [A] of each action's samples. One that has none is taken to be
    worth what the others are on average: a prompt's advantages need not be 0 on average, since its
    samples may be compared with those of other prompts."""
    return [
        np.divide(
            sums, counts, out=np.full(len(sums), sums.sum() / max(counts.sum(), 1.0)),
            where=counts > 0,
        )
        for sums, counts in zip(weights.sums_A, weights.counts_A, strict=True)
    ]  # fmt: skip


def target(
    log_pi: torch.Tensor,
    log_rho: torch.Tensor,
    q: torch.Tensor,
    eta: float,
    alpha: float,
    change: float,
    floor: float = 0.0,
    base: torch.Tensor | None = None,
) -> torch.Tensor:
    """log pi' [A], float64; see the module docstring. No two actions' log-odds change by more
    than `change`, unless to bring a probability back to `floor` (less what then is too much).
    `base` takes the place of log pi in the formula."""
    now = log_pi.double()
    base = now if base is None else base
    move = (eta * alpha * (log_rho.double() - base) + eta * q.double()) / (1 + eta * alpha)
    move = move + (base - now)
    widest = float(move.max() - move.min())
    if widest > change:
        move = move * (change / widest)
    log_pi = (now + move).log_softmax(0)
    return log_pi.clamp(min=math.log(floor)).log_softmax(0) if floor else log_pi
