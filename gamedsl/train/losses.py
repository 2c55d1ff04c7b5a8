"""Losses, and the optimiser steps that descend on them.

The clipped surrogate of GRPO (Shao et al. 2024) has two estimators behind the interface `Loss`.
For N samples with advantages A and rho = pi / pi_old it is

    L = -1/N sum over samples of min(rho A, clip(rho, 1-c, 1+c) A)

Exact over the labels (`LabelLoss`), for scored replies. For the samples (q, a) of a step,

    L + 1/N sum over samples of [kl * KL(pi(.|q) || pi_ref(.|q)) - entropy * H(pi(.|q))]

Since min(rho A, clip(rho) A) is min(rho, 1+c) A for A > 0 and max(rho, 1-c) A for A < 0, L depends
on the samples only through the gains and losses per (q, a), which makes this exact and its cost
that of the distinct queries. On the first inner step rho is 1: nothing is clipped, and the gradient
is that of the policy gradient -1/N sum A log pi. KL and H are exact, not sampled.

Over tokens (`TokenLoss`), for written replies. For the N replies of a step, with tokens t,

    L = -1/N [ sum over written replies of 1/K sum_t min(rho_t A, clip(rho_t, 1-c, 1+c) A)
               + sum over options that were drawn of min(rho A, clip(rho, 1-c, 1+c) A) ]

K is the mean number of tokens of a written reply in the step, the same for all of one model, so
that no reply counts less for being long (Liu et al., Understanding R1-Zero-like training, 2025);
models that split words otherwise have a K each. A reply with a thought is in both sums: by the
tokens of the thought that were drawn, and by its option, whose rho is that of the distribution over
the options given the thought. pi_old is the sampler; where an engine's numbers differ from the
trainer's, that ratio is there in the first inner step too, and counts no more than `TRUNCATED`
(truncated importance sampling; Yao et al. 2025).

Shape letters: A labels of one query, L labels of all queries one after the other, T trained tokens
of all rows one after the other.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from typing import Protocol

import numpy as np
import torch

from gamedsl.policies.base import Policy, Query
from gamedsl.policies.generation import Generated, TokenRow, Writing, join_turns
from gamedsl.policies.multi_model import models_of
from gamedsl.recipe.table import Recipe
from gamedsl.train.advantages import Advantage
from gamedsl.train.estimators import ActionSums, Experience
from gamedsl.train.methods.base import Learner, Record
from gamedsl.train.optimizer import clip_gradients, learning_rate, require_finite
from gamedsl.train.sessions import writer

TRUNCATED = 2.0
"""The most that the ratio between trainer and sampler counts."""
SHORTENED, SHORTER = 8, 0.95
"""How often a step that changed log-odds too much is shortened, and the margin that is left."""

LabelObjective = Callable[[Sequence[torch.Tensor]], torch.Tensor]
"""A loss as a function of log pi [A] of every query."""


class Loss(Protocol):
    """The loss of a step, for one inner step after another."""

    queries: Sequence[Query]
    """The queries whose scores it reads."""
    record: Record
    """Fields of the step's record."""

    def backward(self, inner: int) -> float:
        """Adds the gradient at the policy as it is to the adapters; returns the loss. `inner`
        counts the inner steps from 0."""
        ...


def surrogate(
    learner: Learner, experience: Experience, *, kl: float = 0.0,
    entropies: Sequence[float] | None = None, reference_A: Sequence[torch.Tensor] | None = None,
) -> Loss:  # fmt: skip
    """Returns the clipped surrogate of a step's replies, of the kind that fits them. The divergence
    and the entropies are of scored replies alone; see `objective`."""
    recipe, queries = learner.recipe, experience.queries
    if learner.written:
        policy = writer(learner.policy)
        number = {name: at for at, one in enumerate(models_of(policy)) for name in one.adapters}
        tokens = TokenBatch(
            experience.advantages, experience.batch.queries, recipe.temperature, number.__getitem__
        )
        return TokenLoss(policy, tokens, recipe)
    loss = objective(
        [learner.scorer.log_pi(query) for query in queries],
        experience.sums,
        temperature=recipe.temperature,
        clip=recipe.clip,
        kl=kl,
        entropy=recipe.entropy,
        entropies=entropies,
        reference_A=reference_A,
    )
    return LabelLoss(learner, queries, loss)


def descend(learner: Learner, loss: Loss, experience: Experience) -> Record:
    """Takes `inner_steps` optimiser steps on a loss, the frozen adapters left as they are. Returns
    the last one's loss and gradient norm (before clipping), the rate, and the loss's own fields.
    Raises TrainError where numbers are none."""
    recipe, policy, optimizer = learner.recipe, learner.policy, learner.optimizer
    lr = learning_rate(recipe, experience.step)
    learner.set_lr(lr)
    value = norm = 0.0
    for inner in range(recipe.inner_steps):
        optimizer.zero_grad()
        value = loss.backward(inner)
        learner.freeze(experience.frozen)
        norm = clip_gradients(policy, recipe.max_grad_norm)
        require_finite(value, norm)
        if recipe.max_change is None:
            optimizer.step()
        else:
            shortened_step(learner, loss.queries, recipe.max_change)
    learner.scorer.forget()
    return {"loss": value, "grad_norm": norm, "lr": lr, **loss.record}


def shortened_step(learner: Learner, queries: Sequence[Query], most: float) -> None:
    """Takes the optimiser's step, shortened until the log-odds of no two actions at any of
    `queries` have changed by more than `most`. The scorer then holds scores of the new policy."""
    before = [parameter.detach().clone() for parameter in learner.policy.parameters()]
    was = [log_pi.double() for log_pi in learner.played(learner.scores(queries))]
    learner.optimizer.step()
    for _ in range(SHORTENED):
        learner.scorer.forget()
        now = learner.played(learner.scores(queries))
        moves = [log_pi.double() - then for log_pi, then in zip(now, was, strict=True)]
        widest = max(float(move.max() - move.min()) for move in moves)
        if widest <= most:
            return
        with torch.no_grad():
            for parameter, then in zip(learner.policy.parameters(), before, strict=True):
                parameter.lerp_(then, 1 - SHORTER * most / widest)
    learner.scorer.forget()


class LabelLoss:
    """A loss over the labels of scored queries, by an objective over their log-probabilities."""

    def __init__(
        self, learner: Learner, queries: Sequence[Query], objective: LabelObjective
    ) -> None:
        self.queries = queries
        self.record: Record = {}
        self._policy, self._objective = learner.policy, objective
        self._old_A = [learner.scorer.log_pi(query) for query in queries]
        self._graphs = learner.scorer.graphs(queries)

    def backward(self, inner: int) -> float:
        """Adds the gradient; the first inner step runs the graphs that the scorer kept."""
        if inner == 0 and self._graphs is not None:
            total = self._objective(self._graphs)
            torch.autograd.backward(total)
            return float(total.detach())
        old_A = self._old_A if inner == 0 else None
        return backward(self._policy, self.queries, self._objective, old_A)


def objective(
    old_A: Sequence[torch.Tensor],
    sums: ActionSums,
    *,
    temperature: float = 1.0,
    clip: float = 0.2,
    kl: float = 0.0,
    entropy: float = 0.0,
    entropies: Sequence[float] | None = None,
    reference_A: Sequence[torch.Tensor] | None = None,
) -> LabelObjective:
    """Returns the exact loss over the labels; see the module docstring.

    old_A: log pi of the policy that played. reference_A: log pi_ref, needed where `kl` is not
    zero. entropies: the weight of each query's entropy, added to `entropy`. All log pi are as the
    policy gives them; the loss is about pi ** (1 / temperature), which is what was played.
    """

    def joined(log_pi_A: Sequence[torch.Tensor]) -> torch.Tensor:
        if temperature == 1:
            return torch.cat(list(log_pi_A))
        return torch.cat([(log_pi / temperature).log_softmax(0) for log_pi in log_pi_A])

    old_L = joined(old_A)
    gains_L, losses_L = _flat(sums.gains_A), _flat(sums.losses_A)
    asked_L = _flat([np.full(len(n), n.sum()) for n in sums.counts_A])
    reference_L = joined(reference_A) if kl and reference_A is not None else None
    bonus_L: torch.Tensor | float = entropy
    if entropies is not None:
        rows = zip(sums.counts_A, entropies, strict=True)
        bonus_L = entropy + _flat([np.full(len(n), more) for n, more in rows])
    samples = max(sums.samples, 1)

    def loss(log_pi_A: Sequence[torch.Tensor]) -> torch.Tensor:
        log_pi_L = joined(log_pi_A)
        device = log_pi_L.device
        rho_L = (log_pi_L - old_L.to(device)).exp()
        total = -(gains_L.to(device) * rho_L.clamp(max=1 + clip)).sum()
        total = total - (losses_L.to(device) * rho_L.clamp(min=1 - clip)).sum()
        if entropy or entropies is not None or reference_L is not None:
            # KL(pi || ref) and -H(pi) are the sums over a of pi log pi / ref and of pi log pi.
            bonus = bonus_L.to(device) if isinstance(bonus_L, torch.Tensor) else bonus_L
            each_L = (bonus + kl) * log_pi_L
            if reference_L is not None:
                each_L = each_L - kl * reference_L.to(device)
            total = total + (asked_L.to(device) * log_pi_L.exp() * each_L).sum()
        return total / samples

    return loss


def backward(
    policy: Policy,
    queries: Sequence[Query],
    loss: LabelObjective,
    log_pi_A: Sequence[torch.Tensor] | None = None,
) -> float:
    """Adds an objective's gradient to the adapters, in bounded memory; returns the loss.

    The gradient by log pi is worked out first, on scores without a graph (`log_pi_A`, where the
    policy's own are known); the policy then carries it back chunk by chunk.
    """
    scores = policy.log_probs(queries) if log_pi_A is None else log_pi_A
    leaves = [score.detach().clone().requires_grad_() for score in scores]
    value = loss(leaves)
    policy.backward(queries, torch.autograd.grad(value, leaves))
    return float(value.detach())


def _flat(arrays: Sequence[np.ndarray]) -> torch.Tensor:
    return torch.from_numpy(np.concatenate(arrays)).float()


class TokenBatch:
    """The rows of tokens and the queries that a step trains, with what was drawn and what for.

    `rows` holds the replies of one seat in one game together, as far as each prompt goes on from
    what was there before. `drawn` (log-probabilities under the sampler) and `gains` (advantages)
    are parallel to the trained tokens of each row; of replies that do not count the gain is 0.
    """

    def __init__(
        self, advantages: Sequence[Advantage], queries: Sequence[Query], temperature: float,
        model_of: Callable[[str], Hashable] = lambda adapter: None,
    ) -> None:  # fmt: skip
        """queries: those that the samples number. model_of: tells the models of adapters apart."""
        self.rows: list[TokenRow] = []
        self.drawn: list[torch.Tensor] = []
        self.gains: list[torch.Tensor] = []
        self.replies = len(advantages)
        talks: dict[tuple[int, str, str], list[tuple[Generated, float]]] = defaultdict(list)
        labels: dict[int, list[tuple[int, float]]] = defaultdict(list)
        for number, sample, _, amount in advantages:
            if sample.written is not None:
                talks[number, sample.seat, sample.adapter].append((sample.written, amount))
            if sample.query is not None:
                query, action = sample.scored
                labels[query].append((action, amount))
        written: Counter[Hashable] = Counter()
        tokens: Counter[Hashable] = Counter()
        for (_, _, adapter), talk in talks.items():
            tokens[model_of(adapter)] += self._add(adapter, talk, temperature)
            written[model_of(adapter)] += len(talk)
        self.tokens = tokens.total()
        models = [model_of(row.adapter) for row in self.rows]
        self.shares = [
            torch.full((len(row.positions),), written[model] / (self.replies * tokens[model]))
            for row, model in zip(self.rows, models, strict=True)
        ]
        """1 / (N K) of each trained token."""
        self.queries = [queries[number] for number in labels]
        self.taken = list(labels.values())
        """Of each query, the labels that were taken, with their advantages."""

    def _add(self, adapter: str, talk: list[tuple[Generated, float]], temperature: float) -> int:
        """Adds the replies of a seat in a game; returns the number of their tokens."""
        rows, places = join_turns(adapter, [reply for reply, _ in talk], temperature)
        sizes = [sum(stop - start for start, stop in row.trained) for row in rows]
        drawn = [torch.zeros(size) for size in sizes]
        gains = [torch.zeros(size) for size in sizes]
        for place, (reply, amount) in zip(places, talk, strict=True):
            part = slice(place.start, place.stop)
            drawn[place.row][part] = torch.tensor(reply.log_probs)
            gains[place.row][part] = amount
        self.rows += rows
        self.drawn += drawn
        self.gains += gains
        return sum(place.stop - place.start for place in places)


class TokenLoss:
    """The clipped surrogate over the tokens of written replies, and over options that were scored
    beside them."""

    def __init__(self, policy: Writing, tokens: TokenBatch, recipe: Recipe) -> None:
        self._policy, self._tokens, self._recipe = policy, tokens, recipe
        self.queries: Sequence[Query] = tokens.queries
        self.record: Record = {"trained": tokens.tokens}
        self._old_A = policy.log_probs(self.queries) if self.queries else []

    def backward(self, inner: int) -> float:
        """Adds the gradient; the first inner step records how far trainer and sampler differ: the
        mean absolute difference of a token's log-probability."""
        gap = 0.0
        loss = 0.0
        if self._tokens.rows:
            loss, gap = self._tokens_backward(first=inner == 0)
        if self.queries:
            loss = self._labels_backward(loss, first=inner == 0)
        if inner == 0:
            self.record["sampler_gap"] = gap
        return loss

    def _tokens_backward(self, *, first: bool) -> tuple[float, float]:
        tokens, clip = self._tokens, self._recipe.clip
        drawn_T, gain_T = torch.cat(tokens.drawn), torch.cat(tokens.gains)
        share_T = torch.cat(tokens.shares)

        def weigh(number_T: torch.Tensor, log_pi_T: torch.Tensor) -> torch.Tensor:
            rho_T = (log_pi_T - drawn_T[number_T]).exp()
            weight_T = _clipped(rho_T, gain_T[number_T], clip, first=first)[0]
            return -share_T[number_T] * weight_T

        log_pi_T = torch.cat(self._policy.token_backward(tokens.rows, weigh))
        value_T = _clipped((log_pi_T - drawn_T).exp(), gain_T, clip, first=first)[1]
        gap = float((log_pi_T - drawn_T).abs().sum()) / max(len(drawn_T), 1)
        return -float((share_T * value_T).sum()), gap

    def _labels_backward(self, loss: float, *, first: bool) -> float:
        """Adds the options' part of the loss to it."""
        tokens, recipe = self._tokens, self._recipe
        scores = self._old_A if first else self._policy.log_probs(self.queries)
        weights = []
        for log_pi, old, taken in zip(scores, self._old_A, tokens.taken, strict=True):
            weight = torch.zeros_like(log_pi)
            for action, advantage in taken:
                rho = _ratio(log_pi, old, recipe.temperature)[action]
                one, value = _clipped(rho, torch.tensor(advantage), recipe.clip, first=first)
                weight += _label_gradient(log_pi, action, recipe.temperature) * one
                loss -= float(value) / tokens.replies
            weights.append(-weight / tokens.replies)
        self._policy.backward(self.queries, weights)
        return loss


def _clipped(
    rho: torch.Tensor, gain: torch.Tensor, clip: float, *, first: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the factor of log pi in the gradient, and the objective. In the first inner step
    nothing has moved yet: a ratio that is not 1 is the engine's, and is truncated."""
    if first:
        rho = rho.clamp(max=TRUNCATED)
        return rho * gain, rho * gain
    inside = torch.where(gain > 0, rho <= 1 + clip, rho >= 1 - clip)
    return rho * gain * inside, torch.minimum(rho * gain, rho.clamp(1 - clip, 1 + clip) * gain)


def _ratio(log_pi: torch.Tensor, old: torch.Tensor, temperature: float) -> torch.Tensor:
    """Returns pi / pi_old of each label, as they are played."""
    now, then = (log_pi / temperature).log_softmax(0), (old / temperature).log_softmax(0)
    return (now - then).exp()


def _label_gradient(log_pi: torch.Tensor, action: int, temperature: float) -> torch.Tensor:
    """Returns the gradient of the played log-probability of one label by log pi of all labels;
    the softmax of log pi / temperature is what is played."""
    own = torch.zeros_like(log_pi)
    own[action] = 1.0
    played = (log_pi / temperature).softmax(0)
    return (own - played) / temperature
