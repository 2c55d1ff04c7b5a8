"""A policy in front of another one, which answers what the first does not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

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
)

if TYPE_CHECKING:
    from torch import nn


class HandedOn:
    """The parts of a `Policy` that another one, `own`, answers alone."""

    def __init__(self, own: Policy) -> None:
        self.own = own

    @property
    def name(self) -> str:
        return self.own.name

    @property
    def tokenizer(self) -> TokenCounter:
        return self.own.tokenizer

    @property
    def adapters(self) -> tuple[str, ...]:
        return self.own.adapters

    def encode(self, query: Query) -> Encoded:
        return self.own.encode(query)

    def log_probs(self, queries: Sequence[Query]) -> list[torch.Tensor]:
        return self.own.log_probs(queries)

    def forward(self, queries: Sequence[Query]) -> list[torch.Tensor]:
        return self.own.forward(queries)

    def backward(
        self, queries: Sequence[Query], weights: Sequence[torch.Tensor]
    ) -> list[torch.Tensor]:
        return self.own.backward(queries, weights)

    def parameters(self, adapter: str | None = None) -> list[nn.Parameter]:
        return self.own.parameters(adapter)

    def adapter_state(self, adapter: str) -> dict[str, torch.Tensor]:
        return self.own.adapter_state(adapter)

    def load_adapter_state(self, adapter: str, state: dict[str, torch.Tensor]) -> None:
        self.own.load_adapter_state(adapter, state)

    def save_adapter(self, adapter: str, folder: Path) -> None:
        self.own.save_adapter(adapter, folder)

    def load_adapter(self, adapter: str, folder: Path) -> None:
        self.own.load_adapter(adapter, folder)


class WritingHandedOn(HandedOn):
    """The same of a policy that writes replies."""

    @property
    def writing(self) -> Writing:
        return cast("Writing", self.own)

    def tokenizer_of(self, adapter: str) -> Tokenizer:
        return self.writing.tokenizer_of(adapter)

    def longest_of(self, adapter: str) -> int | float:
        return self.writing.longest_of(adapter)

    def add_guest(self, name: str, like: str) -> None:
        self.writing.add_guest(name, like)

    def cache_tokens(self, adapter: str) -> int:
        return self.writing.cache_tokens(adapter)

    def token_log_probs(
        self, rows: Sequence[TokenRow], entropy: TokenEntropy | None = None
    ) -> list[torch.Tensor]:
        return self.writing.token_log_probs(rows, entropy)

    def token_backward(
        self, rows: Sequence[TokenRow], weights: Sequence[torch.Tensor] | Weigh,
        entropy: TokenEntropy | None = None,
    ) -> list[torch.Tensor]:  # fmt: skip
        return self.writing.token_backward(rows, weights, entropy)

    def generate(self, requests: Sequence[Request]) -> list[Generated]:
        return self.writing.generate(requests)

    def serve(self, requests: Sequence[Request], then: Then) -> None:
        self.writing.serve(requests, then)

    def session(self) -> Session:
        return self.writing.session()

    def forget(self, adapter: str | None = None) -> None:
        self.writing.forget(adapter)


def bare(policy: Policy) -> Policy:
    """Returns the policy behind those in front of it."""
    return bare(policy.own) if isinstance(policy, HandedOn) else policy
