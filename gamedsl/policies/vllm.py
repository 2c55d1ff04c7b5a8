"""`VllmPolicy`: replies are written by vLLM, and all else is as `hf` does it.

The trainer's model scores and is trained; vLLM has the same base weights in the same number format,
and gets each adapter anew once its weights were written to. Both compute the same probabilities but
for rounding, which `train.losses` corrects: a reply was drawn with what vLLM says, and the
ratio to what the trainer says is truncated.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch

from gamedsl.policies.activations import Recompute
from gamedsl.policies.base import Notify, Query, silent
from gamedsl.policies.cost import weight_bytes
from gamedsl.policies.errors import ModelError
from gamedsl.policies.generation import (
    Generated,
    Request,
    Session,
    Then,
    TokenEntropy,
    TokenRow,
    Weigh,
    all_served,
    served,
)
from gamedsl.policies.hf import HFPolicy
from gamedsl.policies.kv_room import GIB, bytes_per_token, kv_room
from gamedsl.policies.lora import LoraSpec
from gamedsl.policies.models import locate
from gamedsl.policies.names import SMALL, TINY, vllm_install
from gamedsl.policies.vllm_engine import VllmEngine, VllmSettings


class VllmPolicy(HFPolicy):
    """A `Policy` and a `Generator`; see the module docstring."""

    def __init__(
        self,
        model: str = "smollm2-135m",
        adapters: Sequence[str] = ("shared",),
        *,
        settings: VllmSettings | None = None,
        lora: LoraSpec | None = None,
        shapes: Mapping[str, LoraSpec] | None = None,
        seed: int = 0,
        dtype: torch.dtype | None = None,
        max_tokens: int | None = None,
        recompute: Recompute = "auto",
        kv_bytes: int | None = None,
        models: int = 1,
        notify: Notify = silent,
    ) -> None:
        """Load the model twice, for the trainer and for vLLM; arguments as those of `HFPolicy`.

        Raises ModelError, also where vLLM is not installed.
        """
        if importlib.util.find_spec("vllm") is None:
            raise ModelError("vLLM is not installed here", vllm_install())
        if model in (SMALL, TINY):
            raise ModelError(
                f"vLLM reads a model from a folder, and `{model}` is made in memory",
                "write `engine: hf`, or another `model`",
            )
        lora = lora or LoraSpec()
        super().__init__(
            model, adapters, lora=lora, shapes=shapes, seed=seed, dtype=dtype,
            max_tokens=max_tokens, recompute=recompute, trunk_tokens=0, kv_bytes=kv_bytes,
            models=models, notify=notify,
        )  # fmt: skip
        notify(f"starting vLLM with {model}")
        settings = settings or VllmSettings()
        self.vllm_weights = weight_bytes(self._network.model)
        """Bytes of vLLM's copy of the base weights."""
        self.vllm_sleeps = settings.idle == "sleep"
        if settings.cache is None:
            room = kv_room(self.device, models=models, vllm_weights=self.vllm_weights)
            settings = replace(settings, cache=room)
        self.kv_bytes = int((settings.cache or 0) * GIB)
        self._engine = VllmEngine(
            locate(model, notify),
            self.tokenizer,
            ends=self._writer.decoder.ends,
            adapters=len(adapters),
            rank=max(shape.rank for shape in (lora, *(shapes or {}).values())),
            dtype=self._network.dtype,
            device=self.device,
            settings=settings,
            version=self._writer.version,
            save=self.save_adapter,
        )

    def longest_of(self, adapter: str) -> int | float:
        """The most tokens of a prompt and its reply together, in both models."""
        return min(self._engine.longest, super().longest_of(adapter))

    def cache_tokens(self, adapter: str) -> int:
        """The tokens whose keys and values fit vLLM's cache."""
        network = self._network
        size = bytes_per_token(network.config, len(network.layers), network.dtype)
        return self.kv_bytes // size

    def generate(self, requests: Sequence[Request]) -> list[Generated]:
        """Replies by vLLM; see `generation.Generator`."""
        return all_served(self.serve, requests)

    def serve(self, requests: Sequence[Request], then: Then) -> None:
        """Reply to requests, and to those that `then` gives as each reply ends."""
        served(self.session(), requests, then)

    def session(self) -> Session:
        """Begin to take requests."""
        return self._engine.session()

    def backward(
        self, queries: Sequence[Query], weights: Sequence[torch.Tensor]
    ) -> list[torch.Tensor]:
        """Calls `HFPolicy.backward`; vLLM may sleep meanwhile."""
        self._engine.rest()
        return super().backward(queries, weights)

    def token_backward(
        self, rows: Sequence[TokenRow], weights: Sequence[torch.Tensor] | Weigh,
        entropy: TokenEntropy | None = None,
    ) -> list[torch.Tensor]:  # fmt: skip
        """Calls `HFPolicy.token_backward`; vLLM may sleep meanwhile."""
        self._engine.rest()
        return super().token_backward(rows, weights, entropy)

    def forget(self, adapter: str | None = None) -> None:
        """Drop the keys and values kept from replies, of all adapters."""
        self._engine.forget()

    def close(self) -> None:
        """Stop vLLM; what it wrote last was its last reply."""
        self._engine.close()
