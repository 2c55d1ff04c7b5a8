"""Several models as one policy: each adapter belongs to one of them.

What is asked goes to the model of its adapter, and what comes back has the order in which it was
asked. Replies are written by all models side by side: each has a batch of its own, which is filled
with what waits for that model, and takes a step in turn. So a game in which one model waits for
another stops neither, and what is asked together goes by counts alone, as with one model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

import torch

from gamedsl.policies.base import Encoded, Policy, Query, TokenCounter
from gamedsl.policies.generation import (
    Generated,
    Request,
    Session,
    Then,
    TokenEntropy,
    Tokenizer,
    TokenRow,
    Weigh,
    Writing,
    all_served,
    numbers_of,
    served,
    weights_of,
)
from gamedsl.policies.handed_on import HandedOn

if TYPE_CHECKING:
    from torch import nn

T = TypeVar("T")


class _Addressed(Protocol):
    """Something for one adapter."""

    @property
    def adapter(self) -> str: ...


class MultiModelPolicy:
    """A `Policy` of policies; see the module docstring. `models` are these, in order."""

    def __init__(
        self, models: Sequence[Policy], adapters: Sequence[str], tokenizer: TokenCounter
    ) -> None:
        """adapters: the order of all of them; tokenizer: those of all models, as one. ValueError
        where two models have one name."""
        self.models = tuple(models)
        self._of = {name: model for model in models for name in model.adapters}
        named = [name for model in models for name in model.adapters]
        if sorted(named) != sorted(adapters):
            raise ValueError(f"the models have the adapters {named}, not {list(adapters)} once")
        self.adapters = tuple(adapters)
        self.tokenizer = tokenizer

    @property
    def name(self) -> str:
        return " + ".join(dict.fromkeys(model.name for model in self.models))

    def of(self, adapter: str) -> Policy:
        """The model of an adapter. Raises KeyError."""
        if adapter not in self._of:
            raise KeyError(f"no adapter {adapter}; there are {self.adapters}")
        return self._of[adapter]

    def encode(self, query: Query) -> Encoded:
        return self.of(query.adapter).encode(query)

    def log_probs(self, queries: Sequence[Query]) -> list[torch.Tensor]:
        return self._each(queries, lambda model, mine: model.log_probs(_at(queries, mine)))

    def forward(self, queries: Sequence[Query]) -> list[torch.Tensor]:
        return self._each(queries, lambda model, mine: model.forward(_at(queries, mine)))

    def backward(
        self, queries: Sequence[Query], weights: Sequence[torch.Tensor]
    ) -> list[torch.Tensor]:
        if len(weights) != len(queries):
            raise ValueError(f"{len(weights)} weights for {len(queries)} queries")
        return self._each(
            queries,
            lambda model, mine: model.backward(_at(queries, mine), _at(weights, mine)),
        )

    def parameters(self, adapter: str | None = None) -> list[nn.Parameter]:
        if adapter is not None:
            return self.of(adapter).parameters(adapter)
        return [tensor for model in self.models for tensor in model.parameters()]

    def adapter_state(self, adapter: str) -> dict[str, torch.Tensor]:
        return self.of(adapter).adapter_state(adapter)

    def load_adapter_state(self, adapter: str, state: dict[str, torch.Tensor]) -> None:
        self.of(adapter).load_adapter_state(adapter, state)

    def save_adapter(self, adapter: str, folder: Path) -> None:
        self.of(adapter).save_adapter(adapter, folder)

    def load_adapter(self, adapter: str, folder: Path) -> None:
        self.of(adapter).load_adapter(adapter, folder)

    def _each(
        self, items: Sequence[_Addressed], ask: Callable[[Any, list[int]], Sequence[T]]
    ) -> list[T]:
        """Returns the models' results for the items of their adapters; `ask` is given their
        places."""
        places: dict[int, list[int]] = {}
        for at, item in enumerate(items):
            places.setdefault(id(self.of(item.adapter)), []).append(at)
        found: dict[int, T] = {}
        for model in self.models:
            if mine := places.get(id(model)):
                found.update(zip(mine, ask(model, mine), strict=True))
        return [found[at] for at in range(len(items))]


class MultiModelWriter(MultiModelPolicy):
    """The same of models that all write."""

    def add_guest(self, name: str, like: str) -> None:
        model = self._writer(like)
        model.add_guest(name, like)
        self._of[name] = model

    def tokenizer_of(self, adapter: str) -> Tokenizer:
        return self._writer(adapter).tokenizer_of(adapter)

    def longest_of(self, adapter: str) -> int | float:
        return self._writer(adapter).longest_of(adapter)

    def cache_tokens(self, adapter: str) -> int:
        return self._writer(adapter).cache_tokens(adapter)

    def generate(self, requests: Sequence[Request]) -> list[Generated]:
        return all_served(self.serve, requests)

    def serve(self, requests: Sequence[Request], then: Then) -> None:
        served(self.session(), requests, then)

    def session(self) -> Session:
        return SideBySide([cast("Writing", model) for model in self.models], self._writer)

    def token_log_probs(
        self, rows: Sequence[TokenRow], entropy: TokenEntropy | None = None
    ) -> list[torch.Tensor]:
        def ask(model: Writing, mine: list[int]) -> list[torch.Tensor]:
            own = None if entropy is None else entropy.part(numbers_of(rows, mine))
            return model.token_log_probs(_at(rows, mine), own)

        return self._each(rows, ask)

    def token_backward(
        self, rows: Sequence[TokenRow], weights: Sequence[torch.Tensor] | Weigh,
        entropy: TokenEntropy | None = None,
    ) -> list[torch.Tensor]:  # fmt: skip
        def ask(model: Writing, mine: list[int]) -> list[torch.Tensor]:
            own = None if entropy is None else entropy.part(numbers_of(rows, mine))
            return model.token_backward(_at(rows, mine), weights_of(weights, rows, mine), own)

        return self._each(rows, ask)

    def forget(self, adapter: str | None = None) -> None:
        for model in self.models if adapter is None else (self.of(adapter),):
            cast("Writing", model).forget(adapter)

    def _writer(self, adapter: str) -> Writing:
        return cast("Writing", self.of(adapter))


class _Serving(Protocol):
    """Something that writes."""

    def session(self) -> Session: ...


class SideBySide:
    """A session of each model, side by side."""

    def __init__(self, models: Sequence[_Serving], of: Callable[[str], _Serving]) -> None:
        self._of, self._count = of, 0
        self._sessions = {id(model): model.session() for model in models}
        self._numbers: dict[int, list[int]] = {key: [] for key in self._sessions}
        """By model, the numbers here of what it was asked."""

    @property
    def under_way(self) -> bool:
        return any(session.under_way for session in self._sessions.values())

    def ask(self, requests: Sequence[Request]) -> None:
        parts: dict[int, list[Request]] = {}
        for request in requests:
            key = id(self._of(request.adapter))
            parts.setdefault(key, []).append(request)
            self._numbers[key].append(self._count)
            self._count += 1
        for key, mine in parts.items():
            self._sessions[key].ask(mine)

    def step(self) -> list[tuple[int, Generated]]:
        """A step of each model that has something to write."""
        return [
            (self._numbers[key][number], reply)
            for key, session in self._sessions.items() if session.under_way
            for number, reply in session.step()
        ]  # fmt: skip

    def close(self) -> None:
        for session in self._sessions.values():
            session.close()


def joined(models: Sequence[Policy], adapters: Sequence[str], tokenizer: TokenCounter) -> Policy:
    """Models as one policy, which writes if all of them do; one alone is itself."""
    if len(models) == 1:
        return models[0]
    mute = any(map(mute_model, models))
    return (MultiModelPolicy if mute else MultiModelWriter)(models, adapters, tokenizer)


def by_model(models: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """From each adapter's model to each model's adapters."""
    return {
        model: tuple(name for name, of in models.items() if of == model)
        for model in dict.fromkeys(models.values())
    }


def models_of(policy: Policy) -> tuple[Policy, ...]:
    """The models that a policy is made of, one at least."""
    if isinstance(policy, HandedOn) and isinstance(policy.own, MultiModelPolicy):
        return policy.own.models
    return policy.models if isinstance(policy, MultiModelPolicy) else (policy,)


def mute_model(policy: Policy) -> str | None:
    """The name of the first model that only scores labels; None where all write."""
    mute = (one.name for one in models_of(policy) if not hasattr(one, "generate"))
    return next(mute, None)


def _at(items: Sequence[T], places: Iterable[int]) -> list[T]:
    return [items[at] for at in places]
