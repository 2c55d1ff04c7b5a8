"""`project`: mirror descent on the decisions' own probabilities, then a fit of the network.

For each decision the step of magnetic mirror descent with an entropy mirror map has a closed form
(Sokota et al. 2023): with policy pi, magnet rho, action values q, weight alpha and step size eta,

    pi' is proportional to (pi * rho^(eta alpha) * e^(eta q))^(1 / (1 + eta alpha)).

A network cannot go there in one gradient step, and a gradient step for one decision moves all
others, whose prompts hardly differ. So pi' is the target at every distinct prompt at once, and the
adapters are fitted by a few optimiser steps on the mean over prompts of KL(pi' || pi). Decisions
that no game came to have targets too where they are known, with no values: they are held, and
pulled to the magnet.

Three sizes find themselves. A target's log-odds differ from the policy's by at most
`project.change`, so that the few samples of a rare action cannot throw it. The fit stops when a
share `project.fit` of the divergence is left, or after `inner_steps`. The learning rate is halved
when an optimiser step made the fit worse, and grows by a tenth otherwise.

q are the means of the samples' advantages. Every sample's baseline is the mean of its deal, role
and step, which takes away what the cards alone decided; it is the same for all actions of an
information set, in expectation, so pi' does not depend on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from gamedsl.policies.base import Query
from gamedsl.train.advantages import Weights
from gamedsl.train.anchor import Anchor
from gamedsl.train.methods.base import Learner, Record, between, finite, learning_rate

SLOWER, FASTER = 0.5, 1.1
SLOWEST, FASTEST = 2.0**-10, 4.0
"""What the learning rate is multiplied by after an optimiser step, and in all."""


class Projection:
    """It keeps the magnet, and by how much the learning rate was adapted."""

    def __init__(self, learner: Learner) -> None:
        self._learner = learner
        self._anchor = Anchor(learner.policy, learner.recipe, learner.known)
        self._rate = 1.0

    def update(self, queries: Sequence[Query], weights: Weights, step: int) -> Record:
        recipe, asked = self._learner.recipe, set(queries)
        unseen = [query for query in self._learner.known if query not in asked]
        values = [*action_values(weights), *(np.zeros(len(query.labels)) for query in unseen)]
        every = [*queries, *unseen]
        alpha = between(recipe.magnet.weight, step, recipe.steps)
        eta = between(recipe.project.eta, step, recipe.steps)
        targets = [
            target(log_pi, log_rho, torch.from_numpy(q), eta, alpha, recipe.project.change)
            for log_pi, log_rho, q in zip(
                self._played(self._scores(every)), self._anchor.log_rho(every), values, strict=True
            )
        ]
        record = self._fit(every, targets, step)
        if self._anchor.due(step):
            self._learner.scorer.forget()  # a graph would not survive the move
            self._anchor.move()
        return record | {"magnet_weight": alpha, "eta": eta}

    def state(self) -> dict[str, Any]:
        return {"magnet": self._anchor.adapters, "rate": self._rate}

    def restore(self, state: dict[str, Any]) -> None:
        self._anchor.put(state["magnet"])
        self._rate = state["rate"]

    def _fit(self, queries: Sequence[Query], targets: Sequence[torch.Tensor], step: int) -> Record:
        """Bring the policy to the targets; the scorer holds its scores at the end."""
        learner, recipe = self._learner, self._learner.recipe
        lr = learning_rate(recipe, step)
        first = left = self._divergence(queries, targets)
        norm, inner = 0.0, 0
        while inner < recipe.inner_steps and (left > recipe.project.fit * first or not inner):
            learner.optimizer.zero_grad()
            self._backward(queries, targets)
            norm = _norm(learner.policy.parameters())
            finite(left, norm)
            learner.set_lr(lr * self._rate)
            learner.optimizer.step()
            learner.scorer.forget()
            inner, before = inner + 1, left
            left = self._divergence(queries, targets)
            factor = FASTER if left < before else SLOWER
            self._rate = min(max(self._rate * factor, SLOWEST), FASTEST)
        return {
            "loss": left, "grad_norm": norm, "lr": lr * self._rate, "fitted": inner,
            "wanted": first,
        }  # fmt: skip

    def _scores(self, queries: Sequence[Query]) -> list[torch.Tensor]:
        self._learner.scorer.score(queries)
        return [self._learner.scorer.log_pi(query) for query in queries]

    def _played(self, log_pi: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """Scores of the policy as log-probabilities of what is played."""
        warmth = self._learner.recipe.temperature
        return list(log_pi) if warmth == 1 else [(one / warmth).log_softmax(0) for one in log_pi]

    def _divergence(self, queries: Sequence[Query], targets: Sequence[torch.Tensor]) -> float:
        """The mean over queries of KL(target || pi)."""
        played = torch.cat(self._played(self._scores(queries))).double()
        goal = torch.cat(list(targets))
        return float((goal.exp() * (goal - played)).sum()) / len(queries)

    def _backward(self, queries: Sequence[Query], targets: Sequence[torch.Tensor]) -> None:
        """Add the gradient of that divergence to the adapters."""
        graphs = self._learner.scorer.graphs(queries)
        scores = self._scores(queries) if graphs is None else graphs
        leaves = [score.detach().clone().requires_grad_() for score in scores]
        goal = torch.cat(list(targets)).exp().to(leaves[0])
        loss = -(goal * torch.cat(self._played(leaves))).sum() / len(queries)
        slopes = torch.autograd.grad(loss, leaves)
        if graphs is None:
            self._learner.policy.backward(queries, slopes)
        else:
            torch.autograd.backward(graphs, slopes)


def action_values(weights: Weights) -> list[np.ndarray]:
    """Per query the mean advantage [A] of each action's samples; 0 where it has none."""
    return [
        np.divide(sums, counts, out=np.zeros(len(sums)), where=counts > 0)
        for sums, counts in zip(weights.sums_A, weights.counts_A, strict=True)
    ]


def target(
    log_pi: torch.Tensor,
    log_rho: torch.Tensor,
    q: torch.Tensor,
    eta: float,
    alpha: float,
    change: float,
) -> torch.Tensor:
    """log pi' [A], float64; see the module docstring. No two actions' log-odds change by more
    than `change`."""
    now = log_pi.double()
    move = (eta * alpha * (log_rho.double() - now) + eta * q.double()) / (1 + eta * alpha)
    widest = float(move.max() - move.min())
    if widest > change:
        move = move * (change / widest)
    return (now + move).log_softmax(0)


def _norm(parameters: Sequence[torch.nn.Parameter]) -> float:
    squares = [float(p.grad.pow(2).sum()) for p in parameters if p.grad is not None]
    return sum(squares) ** 0.5
