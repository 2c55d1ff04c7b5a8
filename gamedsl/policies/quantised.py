"""Frozen weights in four bits: NF4 with double quantisation, as QLoRA has them (Dettmers et al.,
2023), by bitsandbytes.

A weight is one of 16 levels times the scale of its block of 64, and the scales are quantised to
eight bits in blocks of 256. A layer dequantises its weight in each pass, forward and backward, and
keeps no copy. The layers of bitsandbytes are not used: on some processors they reorder and round
for passes without gradient alone, and then what is drawn is not what is trained.

Shape letters: I inputs, O outputs of a linear layer.
"""

from __future__ import annotations

import importlib
from functools import cache
from importlib.util import find_spec
from typing import Any, Literal

import torch
from torch import nn

from gamedsl.extras import missing

Quantize = Literal["none", "nf4"]
_BLOCK, _SCALES_BLOCK = 64, 256


class QuantisedLinear(nn.Linear):
    """A linear layer whose `weight` is packed, two numbers to a byte, and never changes."""

    def __init__(self, layer: nn.Linear, device: torch.device) -> None:
        """Quantise the weight of a layer on a device."""
        nn.Module.__init__(self)
        self.in_features, self.out_features = layer.in_features, layer.out_features
        self.bias = layer.bias
        self._dtype = layer.weight.dtype
        packed, state = _library().quantize_4bit(
            layer.weight.detach().to(device), blocksize=_BLOCK, compress_statistics=True,
            quant_type="nf4",
        )  # fmt: skip
        self.weight = nn.Parameter(packed, requires_grad=False)
        for name, tensor in (
            ("levels", state.code), ("scales", state.absmax), ("scales_mean", state.offset),
            ("scales_levels", state.state2.code), ("scales_scales", state.state2.absmax),
        ):  # fmt: skip
            self.register_buffer(name, tensor, persistent=False)

    def dense(self) -> torch.Tensor:
        """Returns the weight [O, I] in the number format that the layer had."""
        made: Any = _library().QuantState
        scales = made(
            self.scales_scales, code=self.scales_levels, blocksize=_SCALES_BLOCK,
            dtype=torch.float32,
        )  # fmt: skip
        state = made(
            self.scales, torch.Size((self.out_features, self.in_features)), self.levels, _BLOCK,
            "nf4", self._dtype, self.scales_mean, scales,
        )  # fmt: skip
        weight_OI: torch.Tensor = _library().dequantize_4bit(self.weight, state)
        return weight_OI

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x [..., I] to [..., O]."""
        product: Any = _Product  # torch leaves `apply` untyped
        y: torch.Tensor = product.apply(x, self)
        return y


class _Product(torch.autograd.Function):
    """x W^T + bias. By hand because autograd would keep the dense weight until the backward
    pass."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, layer: QuantisedLinear) -> torch.Tensor:
        ctx.layer = layer
        return nn.functional.linear(x, layer.dense(), layer.bias)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, None]:
        return grad @ ctx.layer.dense(), None


def dense_weight(layer: nn.Linear) -> torch.Tensor:
    """Returns the weight [O, I] of a linear layer, dequantised where it is quantised."""
    return layer.dense() if isinstance(layer, QuantisedLinear) else layer.weight


def quantise(module: nn.Module, device: torch.device) -> None:
    """Quantise the weight of each linear layer inside a module, on a device. Layers of subclasses
    of `nn.Linear`, whose forward may be their own, stay as they are. Raises ImportError without
    bitsandbytes."""
    for parent in [*module.modules()]:
        for name, child in [*parent.named_children()]:
            if type(child) is nn.Linear:
                setattr(parent, name, QuantisedLinear(child, device))


def largest_dense(model: nn.Module) -> int:
    """Returns the bytes of the largest weight of a model while it is dequantised."""
    return max(
        (
            layer.out_features * layer.in_features * layer._dtype.itemsize
            for layer in model.modules() if isinstance(layer, QuantisedLinear)
        ),
        default=0,
    )  # fmt: skip


@cache
def _library() -> Any:
    """The functions of bitsandbytes. Raises ImportError where it is not installed."""
    if find_spec("bitsandbytes") is None:
        raise missing("bitsandbytes", "quantized")
    return importlib.import_module("bitsandbytes.functional")
