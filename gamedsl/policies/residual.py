"""Keeps the residual stream of a decoder in float32, where its weights have fewer digits.

Each layer adds a little to the stream. In bfloat16 the sum is rounded to eight significant bits at
every layer, which is much of what two ways of computing the same tokens differ by. Float32 costs
little time, since norms compute in float32 anyway (`benchmarks/stream.py` measures both). What
enters a layer's products is rounded to the weights' format, by hooks at the norms. Attention and
products are as without it.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import torch
from torch import nn

_TOKENS = (5, 3, 8, 6, 4, 7)
_NEAR = 0.5
"""Of the norm of the hidden states, how far the two ways may be apart. Rounding of the stream was
0.12 of it for SmolLM2; states that have nothing to do with each other are 1.4 apart."""


def widen(model: Any) -> torch.dtype:
    """Lets a causal model of 16-bit weights keep its residual stream in float32, if that gives what
    it gave before but for rounding. Returns the stream's dtype; a model whose layers take nothing
    but their own format is left as it is."""
    decoder: Any = model.get_decoder()
    dtype: torch.dtype = model.dtype
    if dtype not in (torch.bfloat16, torch.float16):
        return dtype
    with torch.no_grad():
        before = _probed(decoder, model.device)
        handles = list(_hooked(model, decoder, dtype))
        after = torch.full_like(before, torch.inf)
        with suppress(TypeError, ValueError, RuntimeError):
            after = _probed(decoder, model.device)
    if (after - before).norm() < _NEAR * before.norm():
        return torch.float32
    for handle in handles:
        handle.remove()
    return dtype


def _hooked(model: Any, decoder: Any, dtype: torch.dtype) -> list[Any]:
    """Has what is embedded be float32, and what leaves the norms of layers and the rotary embedding
    the weights' format, as what enters the model's own output layer. Returns the handles."""

    def narrow(module: nn.Module, given: Any, made: Any) -> Any:
        return tuple(one.to(dtype) for one in made) if isinstance(made, tuple) else made.to(dtype)

    found = [
        decoder.get_input_embeddings().register_forward_hook(lambda *made: made[-1].float()),
        model.get_output_embeddings().register_forward_pre_hook(
            lambda _, given: (given[0].to(dtype), *given[1:])
        ),
    ]
    rotary = getattr(decoder, "rotary_emb", None)
    norms = [
        child
        for layer in decoder.layers
        for child in layer.children() if type(child).__name__.endswith("Norm")
    ]  # fmt: skip
    for module in ([rotary] if isinstance(rotary, nn.Module) else []) + norms:
        found.append(module.register_forward_hook(narrow))
    return found


def _probed(decoder: Any, device: torch.device) -> torch.Tensor:
    tokens = torch.tensor([_TOKENS], device=device)
    hidden: torch.Tensor = decoder(input_ids=tokens, use_cache=False).last_hidden_state
    return hidden.double()
