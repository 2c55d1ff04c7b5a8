"""A learned value as the baseline of advantages: the critic of PPO (Schulman et al. 2017).

V is what a seat's return from a decision on is on average. For the decisions t = 1 .. T of a seat
in a game, with r_t what it earns between one and the next (after the last, all that is left),

    delta_t = r_t + V_t+1 - V_t,   V_T+1 = 0,
    A_t     = sum over k >= 0 of lambda^k delta_t+k

is the generalised advantage (Schulman et al. 2016, High-dimensional continuous control using
generalized advantage estimation), without a discount: games end. `gae_lambda: 1` is the return to
go less V, and leaves the expected gradient as it is whatever V is; below 1 the noise of later turns
counts less, and V's error is in the gradient. With `credit: team` a seat's rewards are the mean of
all seats'. A reply that was refused earns its cost and nothing else, and is no decision of the
chain: A is the cost less V.

What V is a function of: with `view: own` of the seat's prompt, which its policy has too (IPPO; de
Witt et al. 2020); with `centralised` of the prompt and the game's whole state (MAPPO; Yu et al.
2021), from which the policy still learns alone what it may see. A table has a value for each prompt
of a role. A network has a head for each role, linear in the hidden state h at the end of the
prompt, by least squares over the steps so far:

    w = argmin over w of mean (w . (h - h') - (G - G'))^2 + ridge |w|^2,   G_t = A_t + V_t,
    V = w . (h - h') + the mean of G,

h' and G' being the means of a step. Hidden states of decisions that hardly differ move together
when the policy learns, by more than they differ; this leaves out what they have in common. (So a
sample's own prompt has a share of 1/n in its V, n being the samples of the step.) No gradient of
the head reaches the network: IPPO and MAPPO train critics apart from policies, and where both share
a network they disturb each other (Andrychowicz et al. 2021, What matters for on-policy deep
actor-critic methods). What is long ago is forgotten: the k-th step has weight 1/k at first, and
never less than `rate`, as in the `running` baseline. The ridge is that of signals as large as their
noise: the variance of h over the number of samples that count.

V is as it was before the step, so that it does not depend on the actions that it is a baseline of.
Before its first step it is the mean of the role's returns, and so it is at a prompt never seen.

Shape letters: N prompts of a role, D hidden size.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

import numpy as np

from gamedsl.policies.base import HiddenStates, Message, Policy, Prompt, Query
from gamedsl.policies.chunk_scoring import ChunkedPolicy
from gamedsl.policies.generation import Tokenizer
from gamedsl.policies.handed_on import bare
from gamedsl.policies.multi_model import models_of
from gamedsl.recipe.table import Recipe
from gamedsl.training.moving_means import MovingMeans
from gamedsl.training.trajectories import Batch, Sample

if TYPE_CHECKING:
    from gamedsl.training.methods.base import Record


class Earned(NamedTuple):
    """A sample that counts for `games` games, by the number of its trajectory: its return to go,
    and what its reply lost of that for its length."""

    trajectory: int
    sample: Sample
    games: int
    to_go: Fraction
    lost: Fraction


class Observation(NamedTuple):
    """The argument of a value: the prompt of a role, and the state of the game (empty where the
    critic does not see it)."""

    role: str
    prompt: Query | Prompt
    state: str = ""


@dataclass(frozen=True)
class Target:
    """The number that a value is fitted to: the mean over `games` games."""

    seen: Observation
    games: int
    mean: float


class Values(Protocol):
    """A function from observations to values."""

    def predict(self, seen: Sequence[Observation], games: Sequence[int]) -> list[float | None]:
        """Returns the values as they are at all observations of a step, each of so many games; None
        for roles of which nothing was seen yet."""
        ...

    def fit(self, targets: Sequence[Target]) -> None:
        """Learns from a step, of observations that are all different."""
        ...

    def state(self) -> dict[str, Any]: ...

    def restore(self, state: dict[str, Any]) -> None: ...


class TableValues:
    """A value for each observation, and for those never seen the role's mean."""

    def __init__(self, rate: float) -> None:
        share = Fraction(rate).limit_denominator(10**9)
        self._means, self._roles = MovingMeans(share), MovingMeans(share)

    def predict(self, seen: Sequence[Observation], games: Sequence[int]) -> list[float | None]:
        roles = self._roles.means
        return [self._means.means.get(_key(one), roles.get(one.role)) for one in seen]

    def fit(self, targets: Sequence[Target]) -> None:
        for role, own in _by_role(targets).items():
            self._roles.see(role, _mean(own))
        for one in targets:
            self._means.see(_key(one.seen), Fraction(one.mean))

    def state(self) -> dict[str, Any]:
        return {"means": self._means.state(), "roles": self._roles.state()}

    def restore(self, state: dict[str, Any]) -> None:
        self._means.restore(state["means"])
        self._roles.restore(state["roles"])


class LinearValues:
    """A head for each role, linear in the hidden states that `states` gives [N, D]."""

    def __init__(self, rate: float, states: Callable[[Sequence[Observation]], np.ndarray]) -> None:
        self._rate, self._states = rate, states
        self._moments: dict[str, _Moments] = {}

    def predict(self, seen: Sequence[Observation], games: Sequence[int]) -> list[float | None]:
        found: list[float | None] = [None] * len(seen)
        for role, moments in self._moments.items():
            mine = [at for at, one in enumerate(seen) if one.role == role]
            if mine:
                games_N = np.array([float(games[at]) for at in mine])
                value_N = moments.predict(self._states([seen[at] for at in mine]), games_N)
                for at, value in zip(mine, value_N, strict=True):
                    found[at] = float(value)
        return found

    def fit(self, targets: Sequence[Target]) -> None:
        for role, own in _by_role(targets).items():
            states_ND = self._states([one.seen for one in own])
            games_N = np.array([float(one.games) for one in own])
            value_N = np.array([one.mean for one in own])
            moments = self._moments.setdefault(role, _Moments(states_ND.shape[1]))
            moments.see(states_ND, games_N, value_N, self._rate)

    def state(self) -> dict[str, Any]:
        return {role: moments.state() for role, moments in self._moments.items()}

    def restore(self, state: dict[str, Any]) -> None:
        self._moments = {role: _Moments.of(kept) for role, kept in state.items()}


class _Moments:
    """The moments of hidden states and targets, about the means of their steps, and the head that
    follows from them."""

    def __init__(self, size: int) -> None:
        self.covariance_DD, self.product_D = np.zeros((size, size)), np.zeros(size)
        self.mean, self.steps, self.spread = 0.0, 0, 0.0
        """The mean of targets; how many steps were seen; the sum of the squared weights of all
        samples, which is 1 over the number of samples that count."""
        self._slope_D: np.ndarray | None = None

    def see(
        self, states_ND: np.ndarray, games_N: np.ndarray, value_N: np.ndarray, rate: float
    ) -> None:
        """Takes a step's prompts, how many games came to each, and the mean of what they earned."""
        self.steps += 1
        share, weight_N = max(1 / self.steps, rate), games_N / games_N.sum()
        mean = float(weight_N @ value_N)
        about_ND = states_ND - weight_N @ states_ND
        weighed_ND = about_ND * weight_N[:, None]
        self.covariance_DD = (1 - share) * self.covariance_DD + share * (weighed_ND.T @ about_ND)
        self.product_D = (1 - share) * self.product_D + share * ((value_N - mean) @ weighed_ND)
        self.mean = (1 - share) * self.mean + share * mean
        self.spread = (1 - share) ** 2 * self.spread + share**2 / float(games_N.sum())
        self._slope_D = None

    def predict(self, states_ND: np.ndarray, games_N: np.ndarray) -> np.ndarray:
        """Returns the values of a step's prompts, each of which so many games came to."""
        if self._slope_D is None:
            ridge = float(self.covariance_DD.trace()) * self.spread + _TINY
            ridged_DD = self.covariance_DD + ridge * np.eye(len(self.product_D))
            self._slope_D = np.linalg.solve(ridged_DD, self.product_D)
        center_D = games_N @ states_ND / games_N.sum()
        found_N: np.ndarray = self.mean + (states_ND - center_D) @ self._slope_D
        return found_N

    def state(self) -> dict[str, Any]:
        import torch

        return {
            "covariance": torch.from_numpy(self.covariance_DD),
            "product": torch.from_numpy(self.product_D),
            "mean": self.mean, "steps": self.steps, "spread": self.spread,
        }  # fmt: skip

    @classmethod
    def of(cls, state: dict[str, Any]) -> _Moments:
        found = cls(len(state["product"]))
        found.covariance_DD, found.product_D = state["covariance"].numpy(), state["product"].numpy()
        found.mean, found.steps, found.spread = state["mean"], state["steps"], state["spread"]
        return found


_TINY = 1e-10
"""Added to variances, so that a hidden state that never changes can be divided by."""


class Critic:
    """The values of a run's policy: a baseline, and what it has learned of the games so far."""

    def __init__(self, recipe: Recipe, policy: Policy) -> None:
        self._recipe = recipe
        self._values: dict[str, Values] = {}
        """By adapter; those of one model are one."""
        self._models: list[Values] = []
        for model in map(bare, models_of(policy)):
            values = values_of(model, recipe.critic.rate)
            self._models.append(values)
            self._values.update(dict.fromkeys(model.adapters, values))
            if isinstance(model, ChunkedPolicy):
                model.keeps_states = True
        self.record: Record = {}
        """The fields of the last step's record."""

    def advantages(self, batch: Batch, earned: Sequence[Earned]) -> list[float]:
        """Returns the advantages of a step's samples by the values as they are, and then fits the
        values to the step."""
        seen = self._observations(batch, earned)
        value = self._predict(earned, seen)
        found = generalised(earned, value, self._recipe.critic.gae_lambda)
        self.record = _errors(earned, value)
        sums: dict[Observation, tuple[int, float]] = defaultdict(lambda: (0, 0.0))
        for one, here, v, advantage in zip(earned, seen, value, found, strict=True):
            games, total = sums[here]
            sums[here] = games + one.games, total + one.games * (v + advantage)
        adapter = {here: one.sample.adapter for one, here in zip(earned, seen, strict=True)}
        for values in self._models:
            own = [
                Target(here, games, total / games)
                for here, (games, total) in sums.items()
                if self._values[adapter[here]] is values
            ]
            if own:
                values.fit(own)
        return found

    def state(self) -> dict[str, Any]:
        """Returns what a checkpoint must hold of it."""
        return {"models": [values.state() for values in self._models]}

    def restore(self, state: dict[str, Any]) -> None:
        """Goes on from what `state` returned."""
        for values, kept in zip(self._models, state["models"], strict=True):
            values.restore(kept)

    def _predict(self, earned: Sequence[Earned], seen: Sequence[Observation]) -> list[float]:
        """Returns the values; those of a role before its first step are its mean in this one."""
        found: dict[int, float] = {}
        for values in self._models:
            mine = [
                at for at, one in enumerate(earned)
                if self._values[one.sample.adapter] is values
            ]  # fmt: skip
            here, games = [seen[at] for at in mine], [earned[at].games for at in mine]
            for at, value in zip(mine, values.predict(here, games), strict=True):
                if value is not None:
                    found[at] = value
        new = {one.role for at, one in enumerate(seen) if at not in found}
        for role in new:
            mine = [at for at, one in enumerate(seen) if one.role == role]
            total = sum(earned[at].games * (earned[at].to_go - earned[at].lost) for at in mine)
            mean = float(total / sum(earned[at].games for at in mine))
            found |= dict.fromkeys(mine, mean)
        return [found[at] for at in range(len(seen))]

    def _observations(self, batch: Batch, earned: Sequence[Earned]) -> list[Observation]:
        """Returns what the values are functions of at each sample."""
        states: dict[int, str] = {}
        found = []
        for one in earned:
            sample, state = one.sample, ""
            if self._recipe.critic.view == "centralised":
                assert sample.point is not None, "decisions are kept for a centralised critic"
                episode = sample.point.episode
                if id(episode) not in states:
                    states[id(episode)] = episode.table
                state = states[id(episode)]
            prompt: Query | Prompt
            if sample.written is not None:
                prompt = sample.adapter, sample.written.prompt_ids
            else:
                prompt = batch.queries[sample.scored[0]]
            found.append(Observation(sample.role, prompt, state))
        return found


def generalised(earned: Sequence[Earned], value: Sequence[float], gae_lambda: float) -> list[float]:
    """Returns the generalised advantages of samples, in the order of their games, by the values of
    their decisions."""
    found = [float(one.to_go - one.lost) - v for one, v in zip(earned, value, strict=True)]
    chains: dict[tuple[int, str], list[int]] = defaultdict(list)
    for at, one in enumerate(earned):
        if one.sample.invalid is None:
            chains[one.trajectory, one.sample.seat].append(at)
    for chain in chains.values():
        for at, after in zip(chain[-2::-1], chain[:0:-1], strict=True):
            paid = float(earned[at].to_go - earned[at].lost - earned[after].to_go)
            found[at] = paid + value[after] - value[at] + gae_lambda * found[after]
    return found


def values_of(model: Policy, rate: float) -> Values:
    """Returns the values of a model: linear in its hidden states, or a table where it has none."""
    if not isinstance(model, HiddenStates):
        return TableValues(rate)
    reader: HiddenStates = model

    def states(seen: Sequence[Observation]) -> np.ndarray:
        found: np.ndarray = reader.states([_prompt(model, one) for one in seen]).double().numpy()
        return found

    return LinearValues(rate, states)


def _prompt(model: Policy, seen: Observation) -> Prompt:
    """Returns a prompt with the state of the game behind it, if the critic sees that."""
    if isinstance(seen.prompt, Query):
        query, before = seen.prompt, seen.prompt.messages[:-1]
        if seen.state:
            speaker, text = query.messages[-1]
            last: Message = speaker, f"{text}\n{seen.state}"
            query = Query((*before, last), query.labels, query.adapter, query.prefix)
        return query.adapter, model.encode(query).prompt
    if not seen.state:
        return seen.prompt
    adapter, ids = seen.prompt
    return adapter, (*ids, *cast("Tokenizer", model.tokenizer).ids(f"\n{seen.state}"))


def _key(seen: Observation) -> str:
    """Returns the key of an observation in a table, the same in every process."""
    return hashlib.sha256(repr(seen).encode()).hexdigest()


def _by_role(targets: Sequence[Target]) -> dict[str, list[Target]]:
    found: dict[str, list[Target]] = defaultdict(list)
    for one in targets:
        found[one.seen.role].append(one)
    return found


def _mean(targets: Sequence[Target]) -> Fraction:
    total = sum(Fraction(one.mean) * one.games for one in targets)
    return Fraction(total) / sum(one.games for one in targets)


def _errors(earned: Sequence[Earned], value: Sequence[float]) -> Record:
    """Returns the mean squared error of values that the step was not fitted to yet, and the share
    of the variance of returns, within each role, that they explain (None where there is none)."""
    games_N = np.array([float(one.games) for one in earned])
    return_N = np.array([float(one.to_go - one.lost) for one in earned])
    error_N = return_N - np.array(value)
    total = left = 0.0
    for role in dict.fromkeys(one.sample.role for one in earned):
        mine = np.array([one.sample.role == role for one in earned])
        total += _scatter(return_N[mine], games_N[mine])
        left += _scatter(error_N[mine], games_N[mine])
    loss = float(games_N @ error_N**2 / games_N.sum()) if len(games_N) else 0.0
    return {"value_loss": loss, "explained_variance": 1 - left / total if total > 0 else None}


def _scatter(each_N: np.ndarray, games_N: np.ndarray) -> float:
    """Returns the sum of squares about the mean."""
    mean = games_N @ each_N / games_N.sum()
    return float(games_N @ (each_N - mean) ** 2)
