"""A transformers decoder cut where we need it: trunk, crown and head.

With LoRA on the top layers only, the layers below (the trunk) are fixed: their outputs can be kept
(`trunk`), and only the crown is run and differentiated. The cut is made by shallow copies of the
decoder whose layer lists are shorter, so the architecture's own code runs. Models that cannot be
cut have an empty trunk and a crown that is the whole decoder. The head is computed in float32 on
the selected rows alone, for bf16 logits near 20 are 0.125 apart; where a copy of its weights in
float32 would be large, or on a GPU, a part of them is converted at a time.

Shape letters: B sequences, S positions, D hidden size, R selected rows, V vocabulary.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import torch
from torch import nn

from gamedsl.policies.activations import Activations, Again
from gamedsl.policies.errors import ModelError
from gamedsl.policies.lora import Router
from gamedsl.policies.prefix_tree import Nodes
from gamedsl.policies.residual import widen
from gamedsl.policies.tree_attention import adopt, arguments

KEPT_BYTES = 2**30
"""Bytes up to which a processor keeps the output layer in float32, which is faster."""
PART_NUMBERS = 2**24
"""Weights of the output layer that are converted at a time: 64 MiB."""
CACHED_LOGITS, MANY_LOGITS = 3 * 2**21, 2**25
"""Float32 logits at a time. A processor keeps 24 MiB in its cache; where all weights are converted
for them, or on a GPU, 128 MiB are better."""
_TOKENS = 4096
"""Predicted tokens whose output weights are gathered at a time."""


class Network:
    """The forward passes of one model. It changes no weights."""

    def __init__(self, model: Any) -> None:
        """`model` is a transformers causal model, which is untyped in the parts used here."""
        self.model = model
        self.decoder: Any = self.model.get_decoder()
        self.config = model.config.get_text_config()
        self.layers: list[Any] = list(layers_of(model))
        self.stream_dtype = widen(model)
        """The format of the hidden states between layers."""
        self.attends_by_plan = adopt(model)
        self._trunk: nn.Module | None = None
        self._crown: nn.Module = self.decoder
        self._activations: Activations | None = None
        self.before_pass: Callable[[], None] = lambda: None
        """Called before each pass."""
        head = self.model.get_output_embeddings()
        weight_VD: torch.Tensor = head.weight.detach()
        keeps = weight_VD.device.type == "cpu" and 4 * weight_VD.numel() <= KEPT_BYTES
        self._head_VD = weight_VD.float() if keeps else weight_VD
        self._bias_V = None if getattr(head, "bias", None) is None else head.bias.detach().float()

    def move_head(self, device: torch.device) -> None:
        """Keeps the output layer whole on a device, wherever the decoder's weights go."""
        self._head_VD = self._head_VD.to(device)
        self._bias_V = None if self._bias_V is None else self._bias_V.to(device)

    @property
    def device(self) -> torch.device:
        return self._head_VD.device

    @property
    def dtype(self) -> torch.dtype:
        dtype: torch.dtype = self.model.dtype
        return dtype

    @property
    def vocabulary(self) -> int:
        """Number of logits of one row."""
        return len(self._head_VD)

    @property
    def head_bytes(self) -> int:
        """Bytes of the output layer's copy in float32; 0 where there is none."""
        own = self.model.get_output_embeddings().weight
        return 0 if own.dtype == self._head_VD.dtype else 4 * self._head_VD.numel()

    @property
    def window(self) -> int | float:
        """The longest sequence for which every layer attends to all that came before."""
        window = getattr(self.config, "sliding_window", None)
        used = getattr(self.config, "use_sliding_window", True)
        return window if window and used else float("inf")

    @property
    def longest(self) -> int | float:
        """The most tokens of a prompt and its reply together."""
        most = getattr(self.config, "max_position_embeddings", None) or float("inf")
        return min(most, self.window)

    @property
    def is_cut(self) -> bool:
        return self._trunk is not None

    def cut(self, first_layer: int) -> None:
        """Let the crown begin at `first_layer`; 0 undoes it."""
        self._trunk, self._crown = None, self.decoder
        if first_layer and isinstance(getattr(self.decoder, "norm", None), nn.Module):
            self._trunk = _section(self.decoder, 0, first_layer, norm=nn.Identity())
            self._crown = _section(self.decoder, first_layer, len(self.layers))

    def watch(self, activations: Activations, first_layer: int, router: Router) -> None:
        """Let `activations` say which passes compute the layers from `first_layer` on again."""

        def routed() -> Again:
            segments = router.segments
            return lambda: router.route(segments)

        self._activations = activations
        for layer in self.layers[first_layer:]:
            activations.watch(layer, routed)

    def trunk(
        self, token_BS: torch.Tensor, seen: torch.Tensor | Nodes, position_BS: torch.Tensor
    ) -> torch.Tensor:
        """Hidden states [B, S, D] that enter the crown; only for a network that is cut. `seen`
        says who attends to whom: a mask as transformers takes it, or the nodes of a tree."""
        assert self._trunk is not None, "the network is not cut"
        return self._run(self._trunk, seen, position_BS, input_ids=token_BS)

    def crown(
        self, start: torch.Tensor, seen: torch.Tensor | Nodes, position_BS: torch.Tensor
    ) -> torch.Tensor:
        """Final hidden states [B, S, D] from the trunk's, or from token ids [B, S] if uncut."""
        name = "input_ids" if start.dtype == torch.int64 else "inputs_embeds"
        return self._run(self._crown, seen, position_BS, **{name: start})

    def whole(
        self, token_BS: torch.Tensor, seen: torch.Tensor | Nodes, position_BS: torch.Tensor
    ) -> torch.Tensor:
        """Final hidden states [B, S, D], never through the cut."""
        return self._run(self.decoder, seen, position_BS, input_ids=token_BS)

    def _run(
        self, decoder: nn.Module, seen: torch.Tensor | Nodes, position_BS: torch.Tensor,
        **start: torch.Tensor,
    ) -> torch.Tensor:  # fmt: skip
        told = (
            arguments(seen, self.attends_by_plan, self.dtype, self.device)
            if isinstance(seen, Nodes) else {"attention_mask": seen}
        )  # fmt: skip
        tokens = sum(tensor.shape[0] * tensor.shape[1] for tensor in start.values())
        here = nullcontext() if self._activations is None else self._activations.of(tokens)
        self.before_pass()
        with here:
            output = decoder(**start, **told, position_ids=position_BS, use_cache=False)
        hidden_BSD: torch.Tensor = output.last_hidden_state
        return hidden_BSD

    def cached(
        self,
        token_BS: torch.Tensor,
        mask: torch.Tensor,
        position_BS: torch.Tensor,
        cache: Any,
        **options: Any,
    ) -> torch.Tensor:
        """Final hidden states [B, S, D] where keys and values go through `cache.update`; options
        reach the attention function."""
        self.before_pass()
        output = self.decoder(
            input_ids=token_BS,
            attention_mask=mask,
            position_ids=position_BS,
            past_key_values=cache,
            use_cache=True,
            **options,
        )
        hidden_BSD: torch.Tensor = output.last_hidden_state
        return hidden_BSD

    def head(self, hidden_RD: torch.Tensor) -> torch.Tensor:
        """Float32 logits [R, V], with the scaling and capping that the model's config names."""
        return scaled_logits(self._logits(hidden_RD), self.config)

    @property
    def row_block(self) -> int:
        """Rows whose logits are best computed together."""
        cached = self.device.type == "cpu" and self._head_VD.dtype == torch.float32
        return max(1, (CACHED_LOGITS if cached else MANY_LOGITS) // self.vocabulary)

    def log_p(
        self, hidden_RD: torch.Tensor, row_T: torch.Tensor, token_T: torch.Tensor
    ) -> torch.Tensor:
        """Float32 log-probabilities [T] of tokens after rows. The gradient by the rows is found as
        their logits are, some rows at a time, so that no more logits are ever there."""
        apply: Any = _LogP.apply  # torch leaves it untyped
        log_p_T: torch.Tensor = apply(hidden_RD, self, row_T, token_T)
        return log_p_T

    def _logits(self, hidden_RD: torch.Tensor) -> torch.Tensor:
        """Applies the output layer to final states (R, D) and returns logits (R, V) in float32."""
        if self._head_VD.dtype == torch.float32:
            return nn.functional.linear(hidden_RD.float(), self._head_VD, self._bias_V)
        apply: Any = _Head.apply  # torch leaves it untyped
        logits_RV: torch.Tensor = apply(hidden_RD, self._head_VD)
        return logits_RV if self._bias_V is None else logits_RV + self._bias_V


def layers_of(model: Any) -> nn.ModuleList:
    """Returns the decoder layers of a transformers causal model, bottom first. Raises
    ModelError."""
    layers = getattr(model.get_decoder(), "layers", None)
    if not isinstance(layers, nn.ModuleList):
        raise ModelError(
            f"{type(model).__name__} does not list its decoder layers as `layers`",
            "choose a Llama-like model (Llama, SmolLM, Qwen, Mistral, Gemma, ...)",
        )
    return layers


def scaled_logits(logits_RV: torch.Tensor, config: Any) -> torch.Tensor:
    """Returns logits with the scaling and capping that a model's config names."""
    if scale := getattr(config, "logit_scale", None):  # Cohere
        logits_RV = logits_RV * scale
    if scale := getattr(config, "logits_scaling", None):  # Granite
        logits_RV = logits_RV / scale
    if cap := getattr(config, "final_logit_softcapping", None):  # Gemma
        logits_RV = torch.tanh(logits_RV / cap) * cap
    return logits_RV


class TrainedNetwork(Network):
    """A network whose own weights are trained, those of its output layer too."""

    def _logits(self, hidden_RD: torch.Tensor) -> torch.Tensor:
        head = self.model.get_output_embeddings()
        bias_V = None if getattr(head, "bias", None) is None else head.bias.float()
        return nn.functional.linear(hidden_RD.float(), head.weight.float(), bias_V)


class _Head(torch.autograd.Function):
    """hidden W^T in float32, where W has fewer digits and gets no gradient. By hand because
    autograd would keep all of W in float32 for the backward pass."""

    @staticmethod
    def forward(ctx: Any, hidden_RD: torch.Tensor, weight_VD: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(weight_VD)
        ctx.dtype = hidden_RD.dtype
        if weight_VD.is_cuda:
            return torch.mm(hidden_RD.to(weight_VD.dtype), weight_VD.T, out_dtype=torch.float32)
        logits_RV = hidden_RD.new_empty(len(hidden_RD), len(weight_VD), dtype=torch.float32)
        for at, part_VD in _parts(weight_VD):
            logits_RV[:, at : at + len(part_VD)] = hidden_RD.float() @ part_VD.T
        return logits_RV

    @staticmethod
    def backward(ctx: Any, grad_RV: torch.Tensor) -> tuple[torch.Tensor, None]:
        (weight_VD,) = ctx.saved_tensors
        return _back(grad_RV, weight_VD).to(ctx.dtype), None


class _LogP(torch.autograd.Function):
    """log p [T] of tokens under softmax(head(hidden)), where the output layer gets no gradient.

    With logits z = hidden W^T, as a config scales them z' = s(z), the gradient of log p(t) by a row
    is s'(z_t) W_t less that of log sum_v e^(z'_v), which is sum_v softmax(z')_v s'(z_v) W_v: one
    row [D], whatever is predicted there. It is computed beside z, which is then forgotten.
    """

    @staticmethod
    def forward(
        ctx: Any, hidden_RD: torch.Tensor, network: Network, row_T: torch.Tensor,
        token_T: torch.Tensor,
    ) -> torch.Tensor:  # fmt: skip
        rows, config = network.row_block, network.config
        raw_T = hidden_RD.new_empty(len(row_T), dtype=torch.float32)
        norm_R = hidden_RD.new_empty(len(hidden_RD), dtype=torch.float32)
        means: list[torch.Tensor] = []
        for first in range(0, len(hidden_RD), rows):
            here = ((row_T >= first) & (row_T < first + rows)).nonzero().flatten()
            raw_RV = network._logits(hidden_RD[first : first + rows])
            raw_T[here] = raw_RV[row_T[here] - first, token_T[here]]
            differ = ctx.needs_input_grad[0]
            norm_R[first : first + rows], slope_RV = _log_norm(raw_RV, config, differ)
            if differ:
                means.append(_back(slope_RV, network._head_VD))
        ctx.network, ctx.dtype = network, hidden_RD.dtype
        ctx.save_for_backward(row_T, token_T, raw_T, *means)
        return scaled_logits(raw_T, config) - norm_R[row_T]

    @staticmethod
    def backward(ctx: Any, grad_T: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        row_T, token_T, raw_T, *means = ctx.saved_tensors
        mean_RD = torch.cat(means)
        with torch.enable_grad():
            raw_T = raw_T.detach().requires_grad_(True)
            scaled_T = scaled_logits(raw_T, ctx.network.config)
        (weight_T,) = torch.autograd.grad(scaled_T, raw_T, grad_T)
        weight_R = grad_T.new_zeros(len(mean_RD)).index_add_(0, row_T, grad_T)
        grad_RD = mean_RD * -weight_R[:, None]
        for at in range(0, len(row_T), _TOKENS):
            here = slice(at, at + _TOKENS)
            weight_TD = ctx.network._head_VD[token_T[here]].float() * weight_T[here, None]
            grad_RD.index_add_(0, row_T[here], weight_TD)
        return grad_RD.to(ctx.dtype), None, None, None


def _log_norm(raw_RV: torch.Tensor, config: Any, differ: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """log sum_v e^(z'_v) [R] of logits as a config scales them, and, to `differ`, its gradient by
    those before."""
    with torch.set_grad_enabled(differ):
        logits_RV = scaled_logits(raw_RV.requires_grad_(differ), config)
        if logits_RV is not raw_RV:
            norm_R = logits_RV.logsumexp(-1)
            slope_RV = torch.autograd.grad(norm_R.sum(), raw_RV)[0] if differ else raw_RV
            return norm_R.detach(), slope_RV
    raw_RV = raw_RV.detach()
    p_RV = raw_RV.softmax(-1)  # to differ or not, for the same last bits
    top_R, top = raw_RV.max(-1)  # its p is at least 1/V, and so exact enough
    return top_R - p_RV.gather(1, top[:, None])[:, 0].log(), p_RV


def _back(grad_RV: torch.Tensor, weight_VD: torch.Tensor) -> torch.Tensor:
    """grad W in float32, a part of W at a time where it has fewer digits."""
    if weight_VD.dtype == torch.float32:
        return grad_RV @ weight_VD
    grad_RD = grad_RV.new_zeros(len(grad_RV), weight_VD.shape[1])
    for at, part_VD in _parts(weight_VD):
        grad_RD.addmm_(grad_RV[:, at : at + len(part_VD)], part_VD)
    return grad_RD


def _parts(weight_VD: torch.Tensor) -> Iterator[tuple[int, torch.Tensor]]:
    """Rows of a matrix in float32, a part at a time, each with the number of its first."""
    rows = max(1, PART_NUMBERS // weight_VD.shape[1])
    for at in range(0, len(weight_VD), rows):
        yield at, weight_VD[at : at + rows].float()


def _section(decoder: Any, start: int, stop: int, norm: nn.Module | None = None) -> nn.Module:
    """A decoder of the layers [start, stop) that shares all weights with `decoder`."""
    section: Any = copy.copy(decoder)
    section._modules = dict(decoder._modules)
    section.layers = nn.ModuleList(decoder.layers[start:stop])
    if norm is not None:
        section.norm = norm
    section.config = copy.deepcopy(decoder.config)
    section.config.num_hidden_layers = stop - start
    if types := getattr(decoder.config, "layer_types", None):
        section.config.layer_types = types[start:stop]
    cut: nn.Module = section
    return cut
