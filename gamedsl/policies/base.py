"""The interface of a policy for closed decisions: labels in, log-probabilities out.

A closed decision offers a few labels, and the policy is the softmax over the legal labels' sequence
log-probabilities, so sampling needs no decoding: score the labels and draw. Nothing here loads
torch; the engines (`hf`, and others later) implement `Policy`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    import torch
    from torch import nn

Role = Literal["tools", "system", "user", "assistant", "tool"]
"""Roles of chats. `tools`: the list of tools, as JSON, that a chat template or an endpoint is given
beside the messages. `tool`: what came of a call."""
Message = tuple[Role, str]
Notify = Callable[[str], None]


def silent(message: str) -> None:
    """The `Notify` that drops every message."""


@dataclass(frozen=True)
class Query:
    """One closed decision: who is asked (`adapter`), what (`messages`), and the legal `labels`.

    `prefix` are ids that the prompt ends with and the answer goes on from, such as those of a
    thought; only policies that write have any.

    No label may be empty or repeated. Where one is the beginning of another, in tokens, the end of
    the answer is scored with each, so that the labels' probabilities are always those of disjoint
    events.
    """

    messages: tuple[Message, ...]
    labels: tuple[str, ...]
    adapter: str
    prefix: tuple[int, ...] = ()


@dataclass(frozen=True)
class Encoded:
    """Token ids of a query: the prompt, and each label as it continues the prompt."""

    prompt: tuple[int, ...]
    labels: tuple[tuple[int, ...], ...]


Prompt = tuple[str, tuple[int, ...]]
"""An adapter, and the token ids of a prompt for it."""


class TokenCounter(Protocol):
    """A tokenizer as the rest of the compiler sees it."""

    @property
    def fingerprint(self) -> str:
        """sha256 (hex) of the tokenizer's content: vocabulary, splitting rules, chat template."""
        ...

    def count(self, text: str) -> int:
        """Number of tokens of `text`, without special tokens added around it."""
        ...


class Policy(Protocol):
    """Scores closed decisions and trains the adapters that answer them."""

    @property
    def name(self) -> str:
        """The model's name, as the user wrote it."""
        ...

    @property
    def tokenizer(self) -> TokenCounter: ...

    @property
    def adapters(self) -> tuple[str, ...]:
        """Names a query may carry, in order of creation."""
        ...

    def encode(self, query: Query) -> Encoded:
        """Token ids of `query`. Raises ValueError for empty, repeated or nested labels."""
        ...

    def log_probs(self, queries: Sequence[Query]) -> list[torch.Tensor]:
        """Per query a float32 CPU tensor [number of labels]: log pi, normalised; no graph."""
        ...

    def forward(self, queries: Sequence[Query]) -> list[torch.Tensor]:
        """The same on the model's device, with a graph to the adapters' parameters."""
        ...

    def backward(
        self, queries: Sequence[Query], weights: Sequence[torch.Tensor]
    ) -> list[torch.Tensor]:
        """Add the gradient of sum(weights * log pi) to the adapters; return log pi, no graph."""
        ...

    def parameters(self, adapter: str | None = None) -> list[nn.Parameter]:
        """The trainable tensors of one adapter, or of all."""
        ...

    def adapter_state(self, adapter: str) -> dict[str, torch.Tensor]:
        """A copy of one adapter's tensors on the CPU, under their PEFT file names."""
        ...

    def load_adapter_state(self, adapter: str, state: dict[str, torch.Tensor]) -> None:
        """Put back what `adapter_state` returned. Raises ValueError if it does not fit."""
        ...

    def save_adapter(self, adapter: str, folder: Path) -> None:
        """Write a folder that plain `peft.PeftModel.from_pretrained` loads."""
        ...

    def load_adapter(self, adapter: str, folder: Path) -> None:
        """Read such a folder into an existing adapter of the same shape."""
        ...


@runtime_checkable
class HiddenStates(Protocol):
    """A policy whose network shows what it makes of a prompt."""

    def states(self, prompts: Sequence[Prompt]) -> torch.Tensor:
        """The final hidden states [prompts, D] at the ends of prompts, as the policy is now;
        float32 on the CPU, without a graph. Raises KeyError for an unknown adapter."""
        ...
