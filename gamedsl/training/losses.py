"""Losses, and the optimiser steps that descend on them.

The clipped surrogate of GRPO (Shao et al. 2024) has two estimators behind the interface `Loss`.
For N samples with advantages A and rho = pi / pi_old it is

    L = -1/N sum over samples of min(rho A, clip(rho, 1-c, 1+h) A)

Here h is c, or `clip_high` (clip-higher; Yu et al. 2025, DAPO). With `dual_clip: d` a term with
A < 0 is no less than d A (Ye et al. 2020, Mastering complex control in MOBA games): however likely
a bad sample has become, it is not pushed down further than that.

Exact over the labels (`LabelLoss`), for scored replies. For the samples (q, a) of a step,

    L + 1/N sum over samples of [kl * KL(pi(.|q) || pi_ref(.|q)) - entropy * H(pi(.|q))]

Since min(rho A, clip(rho) A) is min(rho, 1+h) A for A > 0 and max(rho, 1-c) A for A < 0, L depends
on the samples only through the gains and losses per (q, a), which makes this exact and its cost
that of the distinct queries. On the first inner step rho is 1: nothing is clipped, and the gradient
is that of the policy gradient -1/N sum A log pi. KL and H are exact, not sampled.

Over tokens (`TokenLoss`), for written replies. For the N replies of a step, with tokens t,

    L = -1/N [ sum over written replies of 1/K sum_t min(rho_t A, clip(rho_t, 1-c, 1+h) A)
               + sum over options that were drawn of min(rho A, clip(rho, 1-c, 1+h) A) ]

By `length_norm`, K is the mean number of tokens of a written reply in the step, the same for all of
one model (Yu et al. 2025), so that no reply counts less for being long (Liu et al., Understanding
R1-Zero-like training, 2025); models that split words otherwise have a K each. Or it is the reply's
limit of tokens (Liu et al.), or its own length (Shao et al.). With `ratio: sequence` all tokens of
a reply have one ratio, the geometric mean of theirs, and K is its own length (Zheng et al. 2025,
Group sequence policy optimization). A reply with a thought is in both sums: by the
tokens of the thought that were drawn, and by its option, whose rho is that of the distribution over
the options given the thought. pi_old is the sampler; where an engine's numbers differ from the
trainer's, that ratio is there in the first inner step too, and counts no more than `TRUNCATED`
(truncated importance sampling; Yao et al. 2025). So it is with games of an earlier policy
(`staleness`), of tokens and of options: the gradient is that of

    -1/N sum over samples of min(rho, TRUNCATED) A log pi

as in the policy gradient of V-trace (Espeholt et al. 2018, IMPALA), with a bound of 2 instead of 1.

With `minibatches` the samples are split at random, written ones by games, and N and K are those of
a part. pi_old stays that of the whole step.

Shape letters: A labels of one query, L labels of all queries one after the other, T trained tokens
of all rows one after the other.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np
import torch

from gamedsl.policies.base import Policy, Query
from gamedsl.policies.generation import TokenEntropy, TokenRow, Writing, join_turns
from gamedsl.policies.multi_model import models_of
from gamedsl.recipe.table import Recipe
from gamedsl.training import progress
from gamedsl.training.advantages import Advantage
from gamedsl.training.estimators import ActionSums, Experience, action_sums, counted
from gamedsl.training.methods.base import Learner, Record
from gamedsl.training.methods.entropy_floor import EntropyFloor
from gamedsl.training.optimizer import clip_gradients, learning_rate, require_finite
from gamedsl.training.rollout import generator
from gamedsl.training.scoring import tempered
from gamedsl.training.sessions import writer

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
        counts the optimiser steps of the update from 0."""
        ...


@dataclass(frozen=True)
class Clip:
    """The clipped terms of the objective: ratios count from 1 - `low` to 1 + `high`, and no more
    than `dual` where an advantage is negative (None: any)."""

    low: float = 0.2
    high: float = 0.2
    dual: float | None = None

    @classmethod
    def of(cls, recipe: Recipe) -> Clip:
        high = recipe.clip if recipe.clip_high is None else recipe.clip_high
        return cls(recipe.clip, high, recipe.dual_clip)

    def gained(self, rho: torch.Tensor) -> torch.Tensor:
        """Returns what a ratio counts for a positive advantage."""
        return rho.clamp(max=1 + self.high)

    def lost(self, rho: torch.Tensor) -> torch.Tensor:
        """Returns what a ratio counts for a negative advantage."""
        return rho.clamp(1 - self.low, self.dual)


class Truncation:
    """The terms of the objective without clipping: a ratio counts no more than `TRUNCATED` in the
    gradient of log pi, which does not vanish beyond."""

    def gained(self, rho: torch.Tensor) -> torch.Tensor:
        """Returns a function of a ratio whose derivative by log pi is min(rho, TRUNCATED)."""
        above = TRUNCATED * (1 + (rho.clamp(min=TRUNCATED) / TRUNCATED).log())
        return torch.where(rho > TRUNCATED, above, rho)

    lost = gained


Reference = Callable[[Sequence[Query]], Sequence[torch.Tensor]]
"""Gives log pi_ref [A] of queries, as `Policy.log_probs` does."""

TokenReference = Callable[[Sequence[TokenRow]], Sequence[torch.Tensor]]
"""Gives log pi_ref of the trained tokens of rows, as `Generator.token_log_probs` does."""


@dataclass(frozen=True)
class Pulls:
    """The terms that the objective has beside the surrogate, in each step.

    kl: the weight of the divergence from a reference, which `options` gives of queries and `tokens`
    of written tokens; None leaves it out. floor: of the entropy. The weight of the entropy itself
    is the recipe's.
    """

    kl: float = 0.0
    options: Reference | None = None
    tokens: TokenReference | None = None
    floor: EntropyFloor | None = None


def surrogate(learner: Learner, experience: Experience, pulls: Pulls) -> list[Loss]:
    """Returns the clipped surrogate of a step's replies, of the kind that fits them, for each
    optimiser step of the update."""
    parts = (_written if learner.written else _scored)(learner, experience, pulls)
    recipe = learner.recipe
    if recipe.minibatches == 1 or recipe.estimator == "tree":  # a tree has no samples to split
        return [parts(experience)] * recipe.inner_steps
    rng = generator(recipe.seed, experience.step, "minibatches")
    split = games_apart if learner.written else samples_apart
    passes = [
        [parts(part) for part in split(experience, recipe.minibatches, rng)]
        for _ in range(recipe.inner_steps)
    ]
    first = passes[0]
    if learner.written:
        first[0].record["trained"] = sum(loss.record["trained"] for loss in first)
    return [loss for losses in passes for loss in losses]


LossOf = Callable[[Experience], Loss]
"""Makes the loss of a part of a step's samples."""


def _scored(learner: Learner, experience: Experience, pulls: Pulls) -> LossOf:
    """Returns what makes the losses of scored replies."""
    recipe, queries = learner.recipe, experience.queries
    old_A = [learner.scorer.log_pi(query) for query in queries]
    floors = None
    if pulls.floor is not None:
        floors = pulls.floor.weights(learner.played(old_A), experience.sums)
    reference_A = pulls.options(queries) if pulls.options is not None else None
    place = {query: number for number, query in enumerate(queries)}

    def loss(part: Experience) -> Loss:
        here = [place[query] for query in part.queries]
        label_objective = objective(
            [old_A[at] for at in here],
            part.sums,
            temperature=recipe.temperature,
            clip=Clip.of(recipe),
            kl=pulls.kl,
            entropy=recipe.entropy,
            entropies=None if floors is None else [floors[at] for at in here],
            reference_A=None if reference_A is None else [reference_A[at] for at in here],
        )
        return LabelLoss(learner, part.queries, label_objective)

    return loss


def _written(learner: Learner, experience: Experience, pulls: Pulls) -> LossOf:
    """Returns what makes the losses of written replies, and of options that were scored beside
    them."""
    recipe, policy = learner.recipe, writer(learner.policy)
    queries = experience.batch.queries
    scored = (one.sample.query for one in experience.advantages)
    asked = [queries[at] for at in dict.fromkeys(scored) if at is not None]
    old: Mapping[Query, torch.Tensor] = experience.batch.scores or {}
    if asked and experience.batch.scores is None:
        old = dict(zip(asked, policy.log_probs(asked), strict=True))
    reference: dict[Query, torch.Tensor] = {}
    if asked and pulls.options is not None:
        reference = dict(zip(asked, pulls.options(asked), strict=True))

    def loss(part: Experience) -> Loss:
        norm = "reply" if recipe.ratio == "sequence" else recipe.length_norm
        tokens = _token_batch(learner, part.advantages, queries, norm)
        stale = experience.batch.scores is not None
        return TokenLoss(learner, policy, tokens, pulls, old, reference, stale=stale)

    return loss


def games_apart(
    experience: Experience, parts: int, rng: np.random.Generator
) -> Iterator[Experience]:
    """Yields a step's written replies in parts of about as many games each, split at random."""
    numbers = list(dict.fromkeys(one.trajectory for one in experience.advantages))
    for chosen in np.array_split(rng.permutation(numbers), min(parts, len(numbers))):
        games = set(chosen.tolist())
        kept = [one for one in experience.advantages if one.trajectory in games]
        yield replace(experience, advantages=kept, samples=sum(one.games for one in kept))


def samples_apart(
    experience: Experience, parts: int, rng: np.random.Generator
) -> Iterator[Experience]:
    """Yields a step's scored replies in parts: each sample is in one of them, drawn at random."""
    counts = [rng.multinomial(one.games, [1 / parts] * parts) for one in experience.advantages]
    for part in range(parts):
        pairs = zip(experience.advantages, counts, strict=True)
        kept = [one._replace(games=int(count[part])) for one, count in pairs if count[part]]
        if kept:
            all_sums = action_sums(experience.batch.queries, kept)
            queries, sums = counted(experience.batch.queries, all_sums)
            yield replace(
                experience, queries=queries, sums=sums, advantages=kept, samples=sums.samples
            )


def descend(learner: Learner, losses: Sequence[Loss], experience: Experience) -> Record:
    """Takes an optimiser step on each of the losses, the frozen adapters left as they are. Returns
    the last one's loss and gradient norm (before clipping), the rate, and the losses' own fields.
    Raises TrainError where numbers are none."""
    recipe, policy, optimizer = learner.recipe, learner.policy, learner.optimizer
    lr = learning_rate(recipe, experience.step)
    learner.set_lr(lr)
    value = norm = 0.0
    for inner, loss in enumerate(losses):
        progress.begin_piece(f"pass {inner + 1} of {len(losses)}")
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
    return {"loss": value, "grad_norm": norm, "lr": lr, **losses[0].record}


def shortened_step(learner: Learner, queries: Sequence[Query], most: float) -> None:
    """Takes the optimiser's step, shortened until the log-odds of no two actions at any of
    `queries` have changed by more than `most`. The scorer then holds scores of the new policy."""
    before = [parameter.detach().clone() for parameter in learner.policy.parameters()]
    was = [log_pi.double() for log_pi in learner.played(learner.scores(queries, graphs=False))]
    learner.optimizer.step()
    for _ in range(SHORTENED):
        learner.scorer.forget()
        now = learner.played(learner.scores(queries, graphs=False))
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
        self._learner, self._objective = learner, objective

    def backward(self, inner: int) -> float:
        """Adds the gradient, by the graphs that the scorer kept where it did."""
        learner = self._learner
        value, slopes = differentiated(self._objective, learner.scores(self.queries))
        learner.scorer.backward(self.queries, slopes)
        return value


def objective(
    old_A: Sequence[torch.Tensor],
    sums: ActionSums,
    *,
    temperature: float = 1.0,
    clip: Clip | Truncation = Clip(),
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
        return torch.cat([tempered(log_pi, temperature) for log_pi in log_pi_A])

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
        total = -(gains_L.to(device) * clip.gained(rho_L)).sum()
        total = total - (losses_L.to(device) * clip.lost(rho_L)).sum()
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
    value, slopes = differentiated(loss, scores)
    policy.backward(queries, slopes)
    return value


def differentiated(
    loss: LabelObjective, log_pi_A: Sequence[torch.Tensor]
) -> tuple[float, tuple[torch.Tensor, ...]]:
    """Returns an objective at log pi, and its gradient by these."""
    leaves = [log_pi.detach().clone().requires_grad_() for log_pi in log_pi_A]
    value = loss(leaves)
    return float(value.detach()), torch.autograd.grad(value, leaves)


def _flat(arrays: Sequence[np.ndarray]) -> torch.Tensor:
    return torch.from_numpy(np.concatenate(arrays)).float()


class TokenBatch:
    """The rows of tokens and the queries that a step trains, with what was drawn and what for.

    `rows` holds the replies of one seat in one game together, as far as each prompt goes on from
    what was there before. `drawn` (log-probabilities under the sampler), `gains` (advantages),
    `shares` (1 / (N K)) and `numbers` (of the reply, among all written ones) are parallel to the
    trained tokens of each row; of replies that do not count the gain is 0. `sums` are the
    advantages of the options that were taken, parallel to `queries`; their `samples` are all N
    replies.
    """

    def __init__(
        self, advantages: Sequence[Advantage], queries: Sequence[Query], temperature: float,
        model_of: Callable[[str], Hashable] = lambda adapter: None,
        length_norm: Literal["step", "reply", "limit"] = "step",
    ) -> None:  # fmt: skip
        """queries: those that the samples number. model_of: tells the models of adapters apart.
        length_norm: as in the recipe."""
        self.rows: list[TokenRow] = []
        self.drawn: list[torch.Tensor] = []
        self.gains: list[torch.Tensor] = []
        self.numbers: list[torch.Tensor] = []
        self.replies, self.written = len(advantages), 0
        talks: dict[tuple[int, str, str], list[Advantage]] = defaultdict(list)
        for one in advantages:
            if one.sample.written is not None:
                talks[one.trajectory, one.sample.seat, one.sample.adapter].append(one)
        written: Counter[Hashable] = Counter()
        tokens: Counter[Hashable] = Counter()
        limits: list[torch.Tensor] = []
        for (_, _, adapter), talk in talks.items():
            model = model_of(adapter)
            tokens[model] += self._add(adapter, talk, temperature, limits)
            written[model] += len(talk)
        self.tokens = tokens.total()
        models = [model_of(row.adapter) for row in self.rows]
        lengths: Sequence[torch.Tensor]
        match length_norm:
            case "step":
                lengths = [
                    torch.full((len(row.positions),), tokens[model] / written[model])
                    for row, model in zip(self.rows, models, strict=True)
                ]
            case "limit":
                lengths = limits
            case "reply":
                sizes = Counter(int(one) for row in self.numbers for one in row)
                lengths = [
                    torch.tensor([float(sizes[int(i)]) for i in row]) for row in self.numbers
                ]
        self.shares = [1 / (self.replies * length_T) for length_T in lengths]
        scored = [one for one in advantages if one.sample.query is not None]
        found, sums = counted(queries, action_sums(queries, scored))
        self.queries = list(found)
        self.sums = replace(sums, samples=self.replies)

    def _add(
        self, adapter: str, talk: Sequence[Advantage], temperature: float,
        limits: list[torch.Tensor],
    ) -> int:  # fmt: skip
        """Adds the replies of a seat in a game; returns the number of their tokens."""
        said = [one.sample.written for one in talk if one.sample.written is not None]
        rows, places = join_turns(adapter, said, temperature)
        sizes = [sum(stop - start for start, stop in row.trained) for row in rows]
        drawn, gains, most = ([torch.zeros(size) for size in sizes] for _ in range(3))
        numbers = [torch.zeros(size, dtype=torch.int64) for size in sizes]
        for place, reply, one in zip(places, said, talk, strict=True):
            part = slice(place.start, place.stop)
            drawn[place.row][part] = torch.tensor(reply.log_probs)
            gains[place.row][part] = one.amount
            most[place.row][part] = max(one.sample.limit, len(reply.reply_ids))
            numbers[place.row][part] = self.written
            self.written += 1
        self.rows += rows
        self.drawn += drawn
        self.gains += gains
        self.numbers += numbers
        limits += most
        return sum(place.stop - place.start for place in places)


class TokenLoss:
    """The clipped surrogate over the tokens of written replies, and over options that were scored
    beside them, with the divergence from a reference and the entropy of both.

    The entropy of a token is exact over the vocabulary. The divergence of tokens is sampled: its
    gradient is that of KL(pi || pi_ref) at the states that the replies came to, by
    rho (log pi - log pi_ref) grad log pi, and its value is estimated without negative terms
    (Schulman 2020, Approximating KL divergence).
    """

    def __init__(
        self, learner: Learner, policy: Writing, tokens: TokenBatch, pulls: Pulls,
        old: Mapping[Query, torch.Tensor], reference: Mapping[Query, torch.Tensor],
        *, stale: bool = False,
    ) -> None:  # fmt: skip
        """old: log pi of the options as they were played; reference: those of the reference.
        stale: another policy than the one that learns played them."""
        self._learner, self._stale = learner, stale
        self._weights: list[torch.Tensor] = []
        self._policy, self._tokens, self._recipe = policy, tokens, learner.recipe
        self._clip, self._kl = Clip.of(learner.recipe), pulls.kl
        self.queries: Sequence[Query] = tokens.queries
        self.record: Record = {"trained": tokens.tokens}
        self._old_A = [old[query] for query in self.queries]
        floors = None
        if pulls.floor is not None and self.queries:
            floors = pulls.floor.weights(learner.played(self._old_A), tokens.sums)
        referred = reference and pulls.kl

        def options(clip: Clip | Truncation) -> LabelObjective | None:
            return objective(
                self._old_A, tokens.sums, temperature=self._recipe.temperature, clip=clip,
                kl=pulls.kl if referred else 0.0, entropy=self._recipe.entropy, entropies=floors,
                reference_A=[reference[query] for query in self.queries] if referred else None,
            ) if self.queries else None  # fmt: skip

        self._options = options(self._clip)
        self._first_options = options(Truncation()) if stale else self._options
        self._reference_T: torch.Tensor | None = None
        if not tokens.rows:
            return
        self._drawn_T, self._gain_T = torch.cat(tokens.drawn), torch.cat(tokens.gains)
        self._share_T, self._number_T = torch.cat(tokens.shares), torch.cat(tokens.numbers)
        if pulls.kl and pulls.tokens is not None:
            self._reference_T = torch.cat(list(pulls.tokens(tokens.rows)))
        bonus_T = torch.full_like(self._share_T, self._recipe.entropy)
        if pulls.floor is not None and pulls.floor.share:
            bonus_T += self._floors(pulls.floor)
        self._entropy = TokenEntropy(-self._share_T * bonus_T)

    def backward(self, inner: int) -> float:
        """Adds the gradient. The first inner step records how far trainer and sampler differ: the
        mean absolute difference of a token's log-probability; and of games of an earlier policy
        the effective sample size, (sum rho)^2 / (n sum rho^2), over tokens and options."""
        gap = loss = 0.0
        if self._tokens.rows:
            loss, gap = self._tokens_backward(first=inner == 0)
        if self._options is not None and self._first_options is not None:
            if inner:
                loss += backward(self._policy, self.queries, self._options)
            else:
                now_A = self._policy.log_probs(self.queries) if self._stale else self._old_A
                loss += backward(self._policy, self.queries, self._first_options, now_A)
                self._weigh_options(now_A)
        if inner == 0:
            self.record["sampler_gap"] = gap
            if self._stale and self._weights:
                rho = torch.cat(self._weights).double()
                self.record["ess"] = float(rho.sum() ** 2 / (rho**2).sum() / len(rho))
        return loss

    def _weigh_options(self, now_A: Sequence[torch.Tensor]) -> None:
        """Notes the ratio of each option that was taken, as often as it was."""
        pairs = zip(self._learner.played(now_A), self._learner.played(self._old_A), strict=True)
        for (now, old), counts in zip(pairs, self._tokens.sums.counts_A, strict=True):
            times = torch.from_numpy(counts).long()
            self._weights.append((now - old).exp().float().repeat_interleave(times))

    def _tokens_backward(self, *, first: bool) -> tuple[float, float]:
        tokens, gain_T, share_T = self._tokens, self._gain_T, self._share_T
        ratio_T: torch.Tensor | None = None
        if self._recipe.ratio == "sequence":
            ratio_T = self._sequence_ratios(torch.cat(self._policy.token_log_probs(tokens.rows)))

        done = 0

        def weigh(number_T: torch.Tensor, log_pi_T: torch.Tensor) -> torch.Tensor:
            nonlocal done
            done += len(number_T)
            progress.count(done, len(gain_T), "tokens")
            rho_T = (log_pi_T - self._drawn_T[number_T]).exp()
            counted_T = rho_T if ratio_T is None else ratio_T[number_T]
            weight_T = _clipped(counted_T, gain_T[number_T], self._clip, first=first)[0]
            if self._reference_T is not None:
                far_T = log_pi_T - self._reference_T[number_T]
                weight_T = weight_T - self._kl * rho_T.clamp(max=TRUNCATED) * far_T
            return -share_T[number_T] * weight_T

        entropy = self._entropy
        log_pi_T = torch.cat(self._policy.token_backward(tokens.rows, weigh, entropy))
        rho_T = (log_pi_T - self._drawn_T).exp() if ratio_T is None else ratio_T
        value_T = _clipped(rho_T, gain_T, self._clip, first=first)[1]
        loss = float((entropy.weight_T * entropy.found_T).sum()) - float((share_T * value_T).sum())
        if self._reference_T is not None:
            far_T = self._reference_T - log_pi_T
            divergence_T = far_T.expm1() - far_T
            loss += self._kl * float((share_T * divergence_T).sum())
            if first:
                self.record["token_kl"] = float(divergence_T.mean())
        if first:
            self._weights.append((log_pi_T - self._drawn_T).exp())
            self.record["token_entropy"] = float(entropy.found_T.mean())
        return loss, float((log_pi_T - self._drawn_T).abs().mean())

    def _sequence_ratios(self, log_pi_T: torch.Tensor) -> torch.Tensor:
        """Returns the geometric mean of each reply's ratios, at each of its tokens."""
        return self._by_reply(log_pi_T - self._drawn_T).exp()[self._number_T]

    def _by_reply(self, each_T: torch.Tensor) -> torch.Tensor:
        """Returns the mean over the tokens of each written reply."""
        zeros = torch.zeros(self._tokens.written)
        total = zeros.index_add(0, self._number_T, each_T)
        return total / zeros.index_add(0, self._number_T, torch.ones_like(each_T))

    def _floors(self, floor: EntropyFloor) -> torch.Tensor:
        """Returns the weight of the entropy that holds each reply's mean above the floor, at each
        of its tokens."""
        now = TokenEntropy(torch.zeros_like(self._share_T))
        self._policy.token_log_probs(self._tokens.rows, now)
        share = self._by_reply(now.found_T / now.most_T)
        return floor.of_replies(share, self._gain_T)[self._number_T]


class ImitationLoss:
    """The cross-entropy with replies that are examples, each with a weight w: for the tokens t of
    written ones, whose mean length is K, and for options that were scored,

        L = -1/(sum of w) [ sum over written replies of w/K sum_t log pi_t
                            + sum over options of w log pi ]

    A thought and the option after it are one reply, as in `TokenLoss`.
    """

    def __init__(
        self, learner: Learner, examples: Sequence[Advantage], queries: Sequence[Query]
    ) -> None:
        """The weight of an example is its `amount`. queries: those that the samples number."""
        self._learner, self._policy = learner, writer(learner.policy)
        self._tokens = tokens = _token_batch(learner, examples, queries, "step")
        self.queries: Sequence[Query] = tokens.queries
        self.total = sum(one.games * one.amount for one in examples)
        self.record: Record = {"trained": tokens.tokens}

    def backward(self, inner: int) -> float:
        """Adds the gradient; it is the same function in each optimiser step."""
        tokens, loss = self._tokens, 0.0
        if tokens.rows:
            whole = tokens.replies / self.total
            pairs = zip(tokens.gains, tokens.shares, strict=True)
            weights = [whole * gain_T * share_T for gain_T, share_T in pairs]
            found = self._policy.token_backward(tokens.rows, [-weight_T for weight_T in weights])
            pairs = zip(weights, found, strict=True)
            loss -= float(sum((weight_T * log_pi_T).sum() for weight_T, log_pi_T in pairs))
        if self.queries:
            loss += backward(self._policy, self.queries, self._options)
        return loss

    def _options(self, log_pi_A: Sequence[torch.Tensor]) -> torch.Tensor:
        played_L = torch.cat(self._learner.played(log_pi_A))
        wanted_L = _flat(self._tokens.sums.gains_A).to(played_L)
        return -(wanted_L * played_L).sum() / self.total


def _token_batch(
    learner: Learner, advantages: Sequence[Advantage], queries: Sequence[Query],
    length_norm: Literal["step", "reply", "limit"],
) -> TokenBatch:  # fmt: skip
    """Returns the rows of tokens of some replies, those of each model with a K of their own."""
    models = enumerate(models_of(writer(learner.policy)))
    number = {name: at for at, one in models for name in one.adapters}
    return TokenBatch(
        advantages, queries, learner.recipe.temperature, number.__getitem__, length_norm
    )


def _clipped(
    rho: torch.Tensor, gain: torch.Tensor, clip: Clip, *, first: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the factor of log pi in the gradient, and the objective. In the first inner step
    nothing has moved yet: a ratio that is not 1 is the engine's, and is truncated."""
    if first:
        rho = rho.clamp(max=TRUNCATED)
        return rho * gain, rho * gain
    value = torch.where(gain > 0, clip.gained(rho), clip.lost(rho))
    return rho * gain * (value == rho), value * gain
