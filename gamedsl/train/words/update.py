"""One update of a policy by replies and what they were worth.

For the N replies of a step, each with advantage A and tokens t, rho_t = pi(t) / pi_old(t):

    L = -1/N [ sum over written replies of 1/K sum_t min(rho_t A, clip(rho_t, 1-c, 1+c) A)
               + sum over options that were drawn of min(rho A, clip(rho, 1-c, 1+c) A) ]

K is the mean number of tokens of a written reply in the step, the same for all of one model, so
that no reply counts less for being long (Liu et al., Understanding R1-Zero-like training, 2025);
models that split words otherwise have a K each. A reply with a
thought is in both sums: by the tokens of the thought that were drawn, and by its option, whose rho
is that of the distribution over the options given the thought. pi_old is what the reply was drawn
from; where an engine's numbers differ from the trainer's, that ratio is there in the first inner
step too, and counts no more than `TRUNCATED`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import torch

from gamedsl.policies.base import Query
from gamedsl.policies.generation import Generated, TokenRow, Writing, join_turns
from gamedsl.policies.multi_model import models_of
from gamedsl.recipe.table import Recipe
from gamedsl.train.methods.base import clip, finite, learning_rate, set_lr
from gamedsl.train.words.weigh import Worth

TRUNCATED = 2.0
"""The most that the ratio between trainer and sampler counts."""


class Lesson:
    """The rows of tokens and the queries that a step trains, with what was drawn and what for.

    `rows` holds the replies of one seat in one game together, as far as each prompt goes on from
    what was there before. `drawn` and `gains` are parallel to the trained tokens of each row; of
    replies that do not count the gain is 0.
    """

    def __init__(
        self, worth: Sequence[Worth], temperature: float,
        model_of: Callable[[str], Hashable] = lambda adapter: None,
    ) -> None:  # fmt: skip
        """model_of: what tells the models of adapters apart."""
        self.rows: list[TokenRow] = []
        self.drawn: list[torch.Tensor] = []
        self.gains: list[torch.Tensor] = []
        self.shares: list[torch.Tensor] = []
        """1 / (N K) of each trained token."""
        self.queries: list[Query] = []
        self.taken: list[list[tuple[int, float]]] = []
        """Of each query, the labels that were taken, with their advantages."""
        self.replies = len(worth)
        talks: dict[tuple[int, str], list[tuple[Generated, float]]] = defaultdict(list)
        labels: dict[Query, list[tuple[int, float]]] = defaultdict(list)
        for one in worth:
            said = one.utterance
            if said.written is not None:
                talks[one.trial, said.seat].append((said.written, one.advantage))
            if said.choice is not None:
                labels[said.choice.query].append((said.choice.action, one.advantage))
        written: Counter[Hashable] = Counter()
        tokens: Counter[Hashable] = Counter()
        adapters = {(o.trial, o.utterance.seat): o.utterance.adapter for o in worth}
        for place, talk in talks.items():
            rows, places = join_turns(adapters[place], [g for g, _ in talk], temperature)
            sizes = [sum(stop - start for start, stop in row.trained) for row in rows]
            drawn = [torch.zeros(size) for size in sizes]
            gains = [torch.zeros(size) for size in sizes]
            for where, (reply, advantage) in zip(places, talk, strict=True):
                part = slice(where.start, where.stop)
                drawn[where.row][part] = torch.tensor(reply.log_probs)
                gains[where.row][part] = advantage
                model = model_of(adapters[place])
                tokens[model] += where.stop - where.start
                written[model] += 1
            self.rows += rows
            self.drawn += drawn
            self.gains += gains
        self.tokens = tokens.total()
        for row in self.rows:
            model = model_of(row.adapter)
            share = written[model] / (self.replies * tokens[model])
            self.shares.append(torch.full((len(row.positions),), share))
        self.queries, self.taken = list(labels), list(labels.values())


def learn(
    policy: Writing, optimizer: torch.optim.Optimizer, worth: Sequence[Worth], recipe: Recipe,
    step: int,
) -> dict[str, Any]:  # fmt: skip
    """`inner_steps` optimiser steps; returns what the record says of them. Raises TrainError where
    numbers are none."""
    number = {name: at for at, one in enumerate(models_of(policy)) for name in one.adapters}
    lesson = Lesson(worth, recipe.temperature, number.__getitem__)
    rate = learning_rate(recipe, step)
    set_lr(optimizer, rate)
    told: dict[str, Any] = {"lr": rate, "loss": 0.0, "grad_norm": 0.0, "trained": lesson.tokens}
    if not worth:
        return told
    old_A = policy.log_probs(lesson.queries) if lesson.queries else []
    for inner in range(recipe.inner_steps):
        optimizer.zero_grad()
        loss, off = _backward(policy, lesson, old_A, recipe, first=inner == 0)
        norm = clip(policy, recipe.max_grad_norm)
        finite(loss, norm)
        optimizer.step()
        told |= {"loss": loss, "grad_norm": norm} | ({"sampler_gap": off} if inner == 0 else {})
    return told


def _backward(
    policy: Writing, lesson: Lesson, old_A: Sequence[torch.Tensor], recipe: Recipe, *, first: bool
) -> tuple[float, float]:
    """Add the gradient; the loss, and how far trainer and sampler are apart: the mean absolute
    difference of a token's log-probability."""
    loss, off = 0.0, 0.0
    if lesson.rows:
        drawn_T, gain_T = torch.cat(lesson.drawn), torch.cat(lesson.gains)
        share_T = torch.cat(lesson.shares)

        def weigh(number_T: torch.Tensor, log_pi_T: torch.Tensor) -> torch.Tensor:
            rho_T = (log_pi_T - drawn_T[number_T]).exp()
            weight_T = _clipped(rho_T, gain_T[number_T], recipe.clip, first=first)[0]
            return -share_T[number_T] * weight_T

        log_pi_T = torch.cat(policy.token_backward(lesson.rows, weigh))
        value_T = _clipped((log_pi_T - drawn_T).exp(), gain_T, recipe.clip, first=first)[1]
        loss = -float((share_T * value_T).sum())
        off = float((log_pi_T - drawn_T).abs().sum())
    if lesson.queries:
        scores = old_A if first else policy.log_probs(lesson.queries)
        weights = []
        for log_pi, old, taken in zip(scores, old_A, lesson.taken, strict=True):
            weight = torch.zeros_like(log_pi)
            for action, advantage in taken:
                rho = _ratio(log_pi, old, recipe.temperature)[action]
                one, value = _clipped(rho, torch.tensor(advantage), recipe.clip, first=first)
                weight += _of_label(log_pi, action, recipe.temperature) * one
                loss -= float(value) / lesson.replies
            weights.append(-weight / lesson.replies)
        policy.backward(lesson.queries, weights)
    return loss, off / max(sum(map(len, lesson.drawn)), 1)


def _clipped(
    rho: torch.Tensor, gain: torch.Tensor, clip: float, *, first: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """The factor of log pi in the gradient, and the objective. In the first inner step nothing has
    moved yet: a ratio that is not 1 is the engine's, and is truncated."""
    if first:
        rho = rho.clamp(max=TRUNCATED)
        return rho * gain, rho * gain
    inside = torch.where(gain > 0, rho <= 1 + clip, rho >= 1 - clip)
    return rho * gain * inside, torch.minimum(rho * gain, rho.clamp(1 - clip, 1 + clip) * gain)


def _ratio(log_pi: torch.Tensor, old: torch.Tensor, temperature: float) -> torch.Tensor:
    """pi / pi_old of each label, as they are played."""
    now, then = (log_pi / temperature).log_softmax(0), (old / temperature).log_softmax(0)
    return (now - then).exp()


def _of_label(log_pi: torch.Tensor, action: int, temperature: float) -> torch.Tensor:
    """The gradient of the played log-probability of one label by log pi of all labels: played is
    the softmax of log pi / temperature."""
    own = torch.zeros_like(log_pi)
    own[action] = 1.0
    played = (log_pi / temperature).softmax(0)
    return (own - played) / temperature
