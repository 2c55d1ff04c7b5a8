"""The cost of a step on a device, by formula: bytes of memory, and multiplications.

Counts are of the parts that grow with the model or the step: weights, adapters with their gradients
and Adam's two averages, activations of the largest pass, logits, keys and values, prefixes that are
kept, and vLLM's copy of the weights. What a library takes besides (some hundred megabytes on a
processor, and CUDA's context on a GPU) is not in them.

A token costs two operations for each weight that it meets, forward; backward as much again for the
gradient that goes through, and once more where the weights themselves are trained. Frozen layers
below the adapted ones have no backward pass. Of experts a token meets those that it is sent to.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

SCORED_COPIES, WRITTEN_COPIES, TRAINED_COPIES = 2, 4, 6
"""Float32 numbers for each logit of a part while its gradient is found. Of labels: itself and its
softmax. Of written tokens: gradients of the two as well. Where the output layer is trained: also
those of their sum, whose parts are there together."""
_RATE_SECONDS = 0.2
_RATE_TOKENS = 512


@dataclass(frozen=True)
class ModelSize:
    """The size of one model. `weights` are bytes, of quantised ones with the largest while it is
    dequantised; `trunk`, `crown` and `head` the weights that a
    token meets below the trained layers, in them and above, and at the output. `adapters`: float32
    numbers of all adapters. `trains_all`: these are the model itself."""

    weights: int
    adapters: int
    trunk: int
    crown: int
    head: int
    hidden: int
    vocabulary: int
    dtype: torch.dtype
    device: torch.device
    trains_all: bool = False

    def step_flop(self, tokens: int, rows: int, *, kept_trunk: bool = False) -> float:
        """Operations of one pass forward and backward: distinct tokens, and the positions that a
        token is predicted at. kept_trunk: the lower layers' outputs are known."""
        backward = 2 if self.trains_all else 1
        below = 0 if kept_trunk else 2 * self.trunk
        trained = 2 * (1 + backward) * self.crown
        return float(tokens * (below + trained) + rows * 2 * (1 + backward) * self.head)

    def read_flop(self, tokens: int, rows: int) -> float:
        """Operations of passes forward alone, such as those that draw replies."""
        return float(2 * tokens * (self.trunk + self.crown) + 2 * rows * self.head)


@dataclass(frozen=True)
class Memory:
    """Bytes on the device at the most that are there at one time, part by part."""

    weights: int
    adapters: int
    """With gradients and Adam's averages of those that are trained."""
    activations: int
    logits: int
    kept: int
    """Keys and values, or outputs of frozen layers."""
    vllm: int = 0
    """vLLM's copy of the weights, and its cache of keys and values."""
    vllm_sleeps: bool = False
    """Whether all that leaves the device while adapters are trained."""

    @property
    def total(self) -> int:
        """Keys and values are gone when a pass backward begins, but what is kept of prefixes is
        not: the sum is of all. Where vLLM sleeps during passes backward, the larger of what it
        holds and what they take counts."""
        a_pass = self.activations + self.logits
        beside = max(a_pass, self.vllm) if self.vllm_sleeps else a_pass + self.vllm
        return self.weights + self.adapters + self.kept + beside

    def describe(self) -> str:
        """The sum with its parts, for people."""
        parts = [
            f"{name} {size / 1e9:.2f}" for name, size in vars(self).items() if size >= 5_000_000
        ]
        return f"about {self.total / 1e9:.2f} GB" + (f" ({', '.join(parts)})" if parts else "")


def memory_of(size: ModelSize, *, trained: int, activations: int, logits: int, kept: int) -> Memory:
    """trained: numbers that an optimiser has. activations: bytes of the largest pass. logits: the
    float32 numbers that stand for them while a gradient is found. kept: bytes."""
    return Memory(
        size.weights,
        4 * size.adapters + 3 * 4 * trained,
        activations,
        4 * logits,
        kept,
    )


def active_weights(layer: nn.Module, config: Any) -> int:
    """The weights of a layer that a token meets: of adapters none, of experts some."""
    chosen = getattr(config, "num_experts_per_tok", None) or 1
    count = 0
    for name, weight in layer.named_parameters():
        if ".lora_" in name or weight.dim() < 2:
            continue
        experts = weight.dim() == 3 and ".experts." in f".{name}"
        held = 2 if weight.dtype == torch.uint8 else 1  # quantised: two in each byte
        count += weight.numel() * chosen // len(weight) if experts else weight.numel() * held
    return count


def weight_bytes(model: nn.Module) -> int:
    """Bytes of a model's own parameters and buffers, each once; adapters left out."""
    found = {
        tensor.data_ptr(): tensor.numel() * tensor.element_size()
        for name, tensor in (*model.named_parameters(), *model.named_buffers())
        if ".lora_" not in name
    }
    return sum(found.values())


def measured_rate(dtype: torch.dtype, device: torch.device, width: int) -> float:
    """Operations a second of a multiplication with a square matrix of this width, measured for a
    fifth of a second."""
    x_TD = torch.randn(_RATE_TOKENS, width, device=device).to(dtype)
    weight_DD = torch.randn(width, width, device=device).to(dtype)
    best, begun = float("inf"), time.perf_counter()
    while time.perf_counter() - begun < _RATE_SECONDS or best == float("inf"):
        started = time.perf_counter()
        nn.functional.linear(x_TD, weight_DD)
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        best = min(best, time.perf_counter() - started)
    return 2 * _RATE_TOKENS * width * width / best
