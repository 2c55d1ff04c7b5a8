"""Two ways to bring a policy to targets at given prompts, both judged by KL(target || pi).

They stop when a share `project.fit` of the divergence is left, or after `inner_steps` tries. At the
end the scorer holds the scores of the policy as it then is.

Where decisions are many, a gradient step on all of them costs what hundreds of small ones cost that
a network from nothing needs. With `project.batch` a try of `Adam` is a pass through all prompts in
small batches, and the divergence is measured after it.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from gamedsl.policies.base import Query
from gamedsl.policies.data_parallel import is_parallel
from gamedsl.training import progress
from gamedsl.training.checkpoint import adapters_of, put_back
from gamedsl.training.methods.base import Learner, Record
from gamedsl.training.methods.tangent import Tangent
from gamedsl.training.optimizer import learning_rate, require_finite
from gamedsl.training.rollout import generator

DAMPING, LEAST, MOST = 0.01, 1e-4, 10.0
LESS, MORE = 0.3, 4.0
"""Damping at first, its bounds, and what it is multiplied by after a move that helped or not."""
POOR, PATIENCE = 0.75, 2
"""So many moves in a row that leave more than this share of what was wrong show that the tangent
does not hold where the policy is: it is made anew."""
TOGETHER = 4
"""Prompts next to each other, by their tokens, that are drawn into a batch as one: what they share
is computed once."""
SLOWER, FASTER = 0.5, 1.1
SLOWEST, FASTEST = 2.0**-10, 4.0
"""What the learning rate is multiplied by after an optimiser step, and the bounds of all that."""


@dataclass(frozen=True)
class Goal:
    """The targets of a fit: log pi' [A] of each query, float64. The adapters `frozen` are not to
    move; the targets of their queries are where they are."""

    learner: Learner
    queries: list[Query]
    targets: Sequence[torch.Tensor]
    frozen: Collection[str] = ()
    share: float = 0.0
    """The share of the divergence that may be left."""

    def played(self, *, graphs: bool = False) -> list[torch.Tensor]:
        """Returns log pi as it is played now, float64, of each query; see `Learner.scores`."""
        scores = self.learner.scores(self.queries, graphs=graphs)
        return [log_pi.double() for log_pi in self.learner.played(scores)]

    def divergence(self, *, graphs: bool = False) -> float:
        """Returns the mean over queries of KL(target || pi)."""
        now, goal = torch.cat(self.played(graphs=graphs)), torch.cat(list(self.targets))
        return float((goal.exp() * (goal - now)).sum()) / len(self.queries)

    def reached(self, first: float, left: float) -> bool:
        return left <= self.share * first


class Newton:
    """Moves all decisions at once along a tangent, and keeps it from step to step.

    Each move that helps teaches the tangent what it did, so one that was made long ago is nearly as
    good as a new one, and damping falls. A move that does not is taken back; then damping grows,
    and the tangent is made anew where the policy is, once in a step.

    Scores are computed with graphs, as play computes them: the scorer then holds the bits that a
    resumed run would compute, and a pass without graphs rounds otherwise.
    """

    def __init__(self, learner: Learner) -> None:
        self._learner = learner
        self._tangent: Tangent | None = None
        self._damping = DAMPING

    def fit(self, goal: Goal, step: int) -> Record:
        """Brings the policy to the goal; returns its part of the step's record."""
        learner, first = self._learner, goal.divergence(graphs=True)
        left, tries, made, poor, tangent = first, 0, 0, 0, self._tangent
        while tries < learner.recipe.inner_steps and (not tries or not goal.reached(first, left)):
            progress.begin_piece(f"try {tries + 1}")
            if tangent is None or tangent.queries != goal.queries or poor == PATIENCE:
                tangent, made, poor = self._made(goal.queries), made + 1, 0
            counts = tangent.counts([target.exp() for target in goal.targets])
            missing = _missing(tangent, goal)
            wrong = _squares(missing, counts)
            tries += 1
            tangent.move(missing, counts, self._damping, goal.frozen)
            learner.scorer.forget()
            after = _missing(tangent, goal)
            still = _squares(after, counts)
            require_finite(min(still, wrong), 0.0)
            poor = poor + 1 if still > POOR * wrong else 0
            if still < wrong:
                tangent.learn(_less(missing, after))
                left = goal.divergence(graphs=True)
                self._damping = max(self._damping * LESS, LEAST)
            else:
                tangent.undo()
                learner.scorer.forget()
                self._damping = min(self._damping * MORE, MOST)
        learner.scorer.drop_graphs()
        if not learner.known:
            self._tangent = None  # the next step asks something else
        return {
            "loss": left, "wanted": first, "fitted": tries, "tangents": made,
            "damping": self._damping,
        }  # fmt: skip

    def state(self) -> dict[str, Any]:
        if self._tangent is None:
            return {"damping": self._damping, "made_at": {}, "learned": {}, "asked": ""}
        made_at, learned = self._tangent.adapters, self._tangent.learned
        asked = digest(self._tangent.queries)
        return {"damping": self._damping, "made_at": made_at, "learned": learned, "asked": asked}

    def restore(self, state: dict[str, Any]) -> None:
        """Goes on from what `state` returned. The tangent is made again where it was made, unless
        that was in another game, a curriculum's level before."""
        self._damping = state["damping"]
        if state["made_at"] and state["asked"] == digest(self._learner.known):
            now = adapters_of(self._learner.policy)
            put_back(self._learner.policy, state["made_at"])
            self._learner.scorer.forget()
            self._made(self._learner.known).relearn(state["learned"])
            put_back(self._learner.policy, now)
            self._learner.scorer.forget()

    def _made(self, queries: Sequence[Query]) -> Tangent:
        learner = self._learner
        learner.scorer.forget()  # a pass of their own, as it would be after a resume
        learner.scores(queries)
        kept = [graph for graph in learner.scorer.graphs(queries) if graph is not None]
        graphs = kept if len(kept) == len(queries) else learner.policy.forward(queries)
        self._tangent = Tangent(learner.policy, queries, learner.played(graphs))
        learner.scorer.drop_graphs()
        return self._tangent


def digest(queries: Sequence[Query]) -> str:
    """Returns a digest that tells the decisions of one game from those of another."""
    return hashlib.sha256(repr(list(queries)).encode()).hexdigest()


class Adam:
    """Optimiser steps down the gradient of the divergence.

    The learning rate is halved when a try made the fit worse, and grows by a tenth otherwise, or it
    is held: momentum carries a fit over its goal and back, and targets of many prompts are learned
    only by going on.
    """

    def __init__(self, learner: Learner, *, adapts: bool, batch: int | None) -> None:
        """`adapts`: whether the rate changes. `batch` is the number of prompts of an optimiser
        step; None takes all."""
        self._learner, self._adapts, self._batch = learner, adapts, batch
        self._rate = 1.0

    def fit(self, goal: Goal, step: int) -> Record:
        """Brings the policy to the goal; returns its part of the step's record."""
        learner, recipe = self._learner, self._learner.recipe
        lr = learning_rate(recipe, step)
        whole = self._batch is None
        if not whole:
            learner.scorer.drop_graphs()
        first = left = goal.divergence(graphs=whole)
        norm, tries = 0.0, 0
        while tries < recipe.inner_steps and (not tries or not goal.reached(first, left)):
            progress.begin_piece(f"try {tries + 1}")
            learner.set_lr(lr * self._rate)
            done = 0
            for part in self._parts(goal, step, tries):
                learner.optimizer.zero_grad()
                self._backward(goal, part)
                learner.freeze(goal.frozen)
                norm = _norm(learner.policy.parameters())
                require_finite(left, norm)
                learner.optimizer.step()
                learner.scorer.forget()
                done += len(part)
                progress.count(done, len(goal.queries), "prompts")
            tries, before = tries + 1, left
            left = goal.divergence(graphs=whole)
            if self._adapts:
                factor = FASTER if left < before else SLOWER
                self._rate = min(max(self._rate * factor, SLOWEST), FASTEST)
        learner.scorer.drop_graphs()
        if not whole:  # a pass without graphs rounds otherwise than the first of a resumed run
            learner.scorer.forget()
        return {
            "loss": left, "wanted": first, "fitted": tries, "grad_norm": norm,
            "lr": lr * self._rate,
        }  # fmt: skip

    def state(self) -> dict[str, Any]:
        return {"rate": self._rate}

    def restore(self, state: dict[str, Any]) -> None:
        self._rate = state["rate"]

    def _parts(self, goal: Goal, step: int, tries: int) -> Iterator[list[int]]:
        """Yields the batches of a try, as places in the goal's queries."""
        learner = self._learner
        size, count = self._batch, len(goal.queries)
        if size is None:
            yield list(range(count))
            return
        rng = generator(learner.recipe.seed, step, f"fit, try {tries}")
        prompts = [(q.adapter, learner.policy.encode(q).prompt) for q in goal.queries]
        order = sorted(range(count), key=prompts.__getitem__)
        starts = rng.permutation(np.arange(-int(rng.integers(TOGETHER)), count, TOGETHER))
        mixed = [i for start in starts for i in order[max(start, 0) : start + TOGETHER]]
        for begin in range(0, count, size):
            yield mixed[begin : begin + size]

    def _backward(self, goal: Goal, part: list[int]) -> None:
        """Adds the divergence's gradient, over a part of the queries, to the adapters."""
        learner, queries = self._learner, [goal.queries[i] for i in part]
        wanted = torch.cat([goal.targets[i] for i in part]).exp()
        kept = len(part) == len(goal.queries) or is_parallel(learner.policy)
        scores = learner.scores(queries) if kept else learner.policy.forward(queries)
        leaves = [score.detach().clone().requires_grad_() for score in scores]
        loss = -(wanted.to(leaves[0]) * torch.cat(learner.played(leaves))).sum() / len(queries)
        slopes = torch.autograd.grad(loss, leaves)
        if kept:
            learner.scorer.backward(queries, slopes)
        else:
            torch.autograd.backward(scores, slopes)


def _missing(tangent: Tangent, goal: Goal) -> list[torch.Tensor]:
    """Returns by how much each log-odds is short of its target."""
    aims, now = tangent.odds(goal.targets), tangent.odds(goal.played(graphs=True))
    return [aim - z for aim, z in zip(aims, now, strict=True)]


def _less(these: Sequence[torch.Tensor], those: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    return [one - other for one, other in zip(these, those, strict=True)]


def _squares(missing: Sequence[torch.Tensor], counts: Sequence[torch.Tensor]) -> float:
    return sum(float((w * z**2).sum()) for z, w in zip(missing, counts, strict=True))


def _norm(parameters: Sequence[torch.nn.Parameter]) -> float:
    squares = [float(p.grad.pow(2).sum()) for p in parameters if p.grad is not None]
    return math.sqrt(sum(squares))
