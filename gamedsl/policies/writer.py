"""`Writer`: the `Generator` of one network and its adapters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import torch
from torch import nn

from gamedsl.policies.chat import HFTokenizer
from gamedsl.policies.decoding import Decoder
from gamedsl.policies.generation import (
    Generated,
    Request,
    Session,
    Then,
    TokenEntropy,
    TokenRow,
    Weigh,
)
from gamedsl.policies.kv_room import bytes_per_token
from gamedsl.policies.lora import Router
from gamedsl.policies.network import Network
from gamedsl.policies.token_rows import TokenRows
from gamedsl.policies.trunk import TrunkCache

_PREFILL_TOKENS = 2048


class Adapted(Protocol):
    """The adapters of a network: which tokens go through which, and their tensors."""

    @property
    def router(self) -> Router: ...

    def parameters(self, name: str | None = None) -> list[nn.Parameter]:
        """The tensors of one adapter or of all. Raises KeyError for an unknown name."""
        ...


class Writer:
    """Replies and trained tokens; see `decoding` and `token_rows`."""

    def __init__(
        self,
        network: Network,
        adapters: Adapted,
        tokenizer: HFTokenizer,
        *,
        max_tokens: int,
        kv_bytes: int,
        can_pack: Callable[[], bool],
        trunk: TrunkCache | None = None,
    ) -> None:
        """max_tokens: of one training pass. can_pack: whether the network takes packed trees.
        trunk: see `token_rows`."""

        def version(adapter: str) -> int:
            """Grows whenever a tensor of the adapter is written to in place."""
            return sum(tensor._version for tensor in adapters.parameters(adapter))

        self._longest = network.longest
        self._adapters, self.version = adapters, version
        token_bytes = bytes_per_token(network.config, len(network.layers), network.dtype)
        self.decoder = Decoder(
            network,
            adapters.router,
            tokenizer,
            version,
            kept_tokens=max(1, kv_bytes // token_bytes),
            max_tokens=_PREFILL_TOKENS,
        )
        self._rows = TokenRows(
            network, adapters.router, max_tokens=max_tokens, can_pack=can_pack, trunk=trunk
        )

    @property
    def longest(self) -> int | float:
        """The most tokens of a prompt and its reply together."""
        return self._longest

    def generate(self, requests: Sequence[Request]) -> list[Generated]:
        return self.decoder.generate(requests)

    def serve(self, requests: Sequence[Request], then: Then) -> None:
        self.decoder.serve(requests, then)

    def session(self) -> Session:
        return self.decoder.session()

    def token_log_probs(
        self, rows: Sequence[TokenRow], entropy: TokenEntropy | None = None
    ) -> list[torch.Tensor]:
        self._know(rows)
        return self._rows.log_probs(rows, entropy)

    def token_backward(
        self, rows: Sequence[TokenRow], weights: Sequence[torch.Tensor] | Weigh,
        entropy: TokenEntropy | None = None,
    ) -> list[torch.Tensor]:  # fmt: skip
        self._know(rows)
        return self._rows.backward(rows, weights, entropy)

    def forget(self, adapter: str | None = None) -> None:
        self.decoder.forget(adapter)

    def _know(self, rows: Sequence[TokenRow]) -> None:
        for adapter in sorted({row.adapter for row in rows}):
            self._adapters.parameters(adapter)  # raises KeyError
