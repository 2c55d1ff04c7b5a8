"""The memory for keys and values: a share of what is free once the model is loaded.

The room decides which rows are decoded together, and with that the last bits of replies. So a share
is rounded down to a power of two, which differs little from start to start, and a run that goes on
takes the room that it had.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from gamedsl.policies.activations import free_memory

GIB = 2**30
CPU_ROOM = 2.0
"""The most GiB on a processor: more keeps tokens that are used again too late to matter."""
_SHARES = {"cuda": 1 / 4, "vllm": 2 / 5}
_CPU_SHARE = 1 / 8
"""Of the memory that is free. While replies are drawn as much again is taken, so that half of a
GPU's memory is left for passes forward and backward, which begin where replies end."""
_LEAST = 1 / 16


def kv_room(device: torch.device, *, models: int = 1, vllm_weights: int | None = None) -> float:
    """GiB for keys and values on a device, by what is free now. models: how many share it.
    vllm_weights: bytes that vLLM will load before, if the room is for it."""
    kind = "vllm" if vllm_weights is not None else "cuda"
    share = _SHARES[kind] if device.type == "cuda" else _CPU_SHARE
    gib = share * max(0.0, free_memory(device) - (vllm_weights or 0)) / models / GIB
    if device.type != "cuda":
        gib = min(gib, CPU_ROOM)
    return float(max(_LEAST, 2.0 ** math.floor(math.log2(max(gib, _LEAST)))))


def bytes_per_token(config: Any, layers: int, dtype: torch.dtype) -> int:
    """Bytes of the keys and values of one token in all layers."""
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    return 2 * layers * int(heads) * int(size) * dtype.itemsize
