"""LoRA adapters that share one pass: each adapter's rows of the batch go through its own pair.

PEFT makes the layers, so names, shapes and files are PEFT's; only the forward is ours, because
PEFT picks adapters per batch element and we pack all adapters' tokens into one sequence. A layer
sees its input as rows (tokens), and the `Router` says which rows belong to which adapter.

Experts of mixture models are one parameter for all of them, which PEFT adapts as a parameter: the
low-rank product is added to the weights, for the rows of each adapter in turn.

Shape letters: M rows, I inputs, O outputs of a linear layer, K the rank.
"""

from __future__ import annotations

import copy
import hashlib
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import peft
import torch
from peft.tuners.lora import Linear as PeftLinear
from peft.tuners.lora.layer import ParamWrapper
from peft.utils import transformers_weight_conversion as peft_conversion
from torch import nn

from gamedsl.policies.activations import free_memory
from gamedsl.policies.errors import ModelError
from gamedsl.policies.prefix_tree import Segment
from gamedsl.policies.quantised import dense_weight
from gamedsl.policies.tensor_files import read_config, read_tensors, write_tensors

_PREFIX = "base_model.model."  # how PEFT's files name the adapted model
_FILE = "adapter_model.safetensors"
_COPIES = 4
"""Numbers for each weight in training: itself, its gradient, and two averages of Adam."""
_CONFIG = "adapter_config.json"


@dataclass(frozen=True)
class LoraSpec:
    """Shape of every adapter.

    `targets` are last names of linear layers (`q_proj`), None for all inside the decoder layers;
    and of the parameters of experts (`gate_up_proj`), which are adapted only where they are named.
    `layers` is how many of the top decoder layers are adapted; None, or as many as there are or
    more, is all of them. `useful`: a rank above the width of every adapted layer is refused.
    """

    rank: int = 16
    alpha: int = 32
    targets: tuple[str, ...] | None = None
    layers: int | None = None
    useful: bool = False


class Router:
    """Which rows of the pass under way belong to which adapter."""

    def __init__(self) -> None:
        self.segments: tuple[Segment, ...] = ()

    @contextmanager
    def route(self, segments: tuple[Segment, ...]) -> Iterator[None]:
        """Use `segments`, which cover all rows in order, for the passes inside the block."""
        before, self.segments = self.segments, segments
        try:
            yield
        finally:
            self.segments = before


class GroupedLinear(PeftLinear):
    """A PEFT LoRA layer whose forward follows a `Router`; an unknown adapter adds nothing."""

    router: Router

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x [..., I] to [..., O]; the leading dimensions flattened are the router's rows."""
        base = self.base_layer
        groups: list[tuple[slice, float]] = []
        pairs: list[torch.Tensor] = []
        for segment in self.router.segments:
            if (name := segment.adapter) in self.lora_A:
                groups.append((slice(segment.start, segment.stop), self.scaling[name]))
                pairs += _pair(self, name)
        x_MI = x.reshape(-1, x.shape[-1])
        grouped: Any = _GroupedLora  # torch leaves `apply` untyped
        y_MO: torch.Tensor = grouped.apply(x_MI, base, groups, *pairs)
        return y_MO.view(*x.shape[:-1], -1)


class _GroupedLora(torch.autograd.Function):
    """y = x W^T + bias, and y[rows] += scale * x[rows] A^T B^T for each group of rows.

    By hand because autograd's slices and sums would fill and add a full [M, I] tensor for each
    group: in place, a group costs its small products alone. W and bias get no gradient, and W is
    read again in the backward pass, so that one that is dequantised is not kept.
    """

    @staticmethod
    def forward(
        ctx: Any,
        x_MI: torch.Tensor,
        base: nn.Linear,
        groups: list[tuple[slice, float]],
        *pairs: torch.Tensor,
    ) -> torch.Tensor:
        y_MO = nn.functional.linear(x_MI, dense_weight(base), base.bias)
        middle = []
        for (rows, scale), a_KI, b_OK in zip(groups, pairs[::2], pairs[1::2], strict=True):
            h_MK = x_MI[rows] @ a_KI.to(x_MI.dtype).T
            y_MO[rows].addmm_(h_MK, b_OK.to(x_MI.dtype).T, alpha=scale)
            middle.append(h_MK)
        ctx.save_for_backward(x_MI, *pairs, *middle)
        ctx.base, ctx.groups = base, groups
        return y_MO

    @staticmethod
    def backward(ctx: Any, grad_MO: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        x_MI, *rest = ctx.saved_tensors
        count = len(ctx.groups)
        pairs, middle = rest[: 2 * count], rest[2 * count :]
        grad_x_MI = grad_MO @ dense_weight(ctx.base) if ctx.needs_input_grad[0] else None
        grads: list[torch.Tensor] = []
        for (rows, scale), a_KI, b_OK, h_MK in zip(
            ctx.groups, pairs[::2], pairs[1::2], middle, strict=True
        ):
            grad_h_MK = grad_MO[rows] @ b_OK.to(grad_MO.dtype) * scale
            if grad_x_MI is not None:
                grad_x_MI[rows].addmm_(grad_h_MK, a_KI.to(grad_MO.dtype))
            grads.append((grad_h_MK.T @ x_MI[rows]).to(a_KI.dtype))
            grads.append((grad_MO[rows].T @ h_MK).mul_(scale).to(b_OK.dtype))
        return (grad_x_MI, None, None, *grads)


def _route_experts(layer: ParamWrapper, router: Router) -> None:
    """Let the experts under `layer`, the outermost wrapper of their parameters, follow the router.
    Their inputs are rows, and all other arguments have a row for each."""
    wrappers: list[Any] = [layer]  # untyped in PEFT
    while isinstance(wrappers[-1].base_layer, ParamWrapper):
        wrappers.append(wrappers[-1].base_layer)
    experts = wrappers[-1].base_layer

    def forward(x_MI: torch.Tensor, *given: torch.Tensor) -> torch.Tensor:
        rows = router.segments[-1].stop
        if any(len(tensor) != rows for tensor in (x_MI, *given)):
            raise ModelError(
                f"the experts of {type(experts).__name__} get no row for each token",
                "leave their parameters out of `lora.targets`",
            )
        parts: list[torch.Tensor] = []
        for segment in router.segments:
            here = slice(segment.start, segment.stop)
            weights = {
                one.parameter_name: one.get_param() + one.get_delta_weight(segment.adapter)
                for one in wrappers if segment.adapter in one.lora_A
            }  # fmt: skip
            inputs = tuple(tensor[here] for tensor in (x_MI, *given))
            parts.append(torch.func.functional_call(experts, weights, inputs))
        return torch.cat(parts)

    wrappers[0].forward = forward


class Adapters:
    """The named adapters of one model: made from a seed, listed, saved and loaded. Each may have a
    rank and an alpha of its own.

    Each adapter's start depends on the seed and its own name alone, so adding another changes
    nothing. Weights are float32 whatever the model's dtype.
    """

    def __init__(
        self, model: nn.Module, layers: Sequence[nn.Module], spec: LoraSpec, seed: int, base: str
    ) -> None:
        """`layers` are the model's decoder layers, bottom first; `base` names it in files."""
        self.router = Router()
        self.names: tuple[str, ...] = ()
        """The adapters that are listed and trained."""
        self.guests: tuple[str, ...] = ()
        """Adapters that play, and are neither listed nor trained."""
        self._model, self._seed = model, seed
        self._tuner: peft.LoraModel | None = None
        count = len(layers) if spec.layers is None else min(spec.layers, len(layers))
        self.first_layer = len(layers) - count
        self._configs: dict[str, peft.LoraConfig] = {}
        self._useful = spec.useful
        linear, experts = _targets(model, layers[self.first_layer :], spec.targets)
        layer_of: Callable[[str], Any] = model.get_submodule
        self._device = next(model.parameters()).device
        self._targeted = [
            *((layer_of(name).out_features, layer_of(name).in_features) for name in linear),
            *(tuple(model.get_parameter(name).shape) for name in experts),
        ]
        """The shape of each weight that is adapted: the last two dimensions are of one matrix."""
        self._usual = peft.LoraConfig(
            r=spec.rank,
            lora_alpha=spec.alpha,
            target_modules=linear or [],
            target_parameters=experts or None,
            init_lora_weights=False,
            task_type="CAUSAL_LM",
            base_model_name_or_path=base,
        )

    def add_guest(self, name: str, like: str) -> None:
        """Create a guest of the shape of an adapter. Raises as `add`."""
        config = self._configs[like]
        self.add(name, LoraSpec(config.r, config.lora_alpha), guest=True)

    def add(self, name: str, shape: LoraSpec | None = None, *, guest: bool = False) -> None:
        """Create adapter `name`, with the rank and the alpha of a `shape`, or those of all. Raises
        ValueError if the name is taken or has odd characters, and ModelError for an adapter that
        is too large."""
        if name in (*self.names, *self.guests) or not re.fullmatch(r"[\w-]+", name):
            raise ValueError(f"adapter name {name!r} is taken, or not letters, digits, _ and -")
        config = copy.deepcopy(self._usual)
        if shape is not None:
            config.r, config.lora_alpha = shape.rank, shape.alpha
        self._check_size(name, config.r)
        self._configs[name] = copy.deepcopy(config)
        config._register_custom_module({nn.Linear: GroupedLinear})
        if self._tuner is None:
            self._tuner = peft.LoraModel(self._model, config, name)
        else:
            self._tuner.peft_config[name] = config
            self._tuner.inject_adapter(self._model, name)
        if guest:
            self.guests = (*self.guests, name)
        else:
            self.names = (*self.names, name)
        for path, layer in self._layers():
            if isinstance(layer, GroupedLinear):
                layer.router = self.router
            elif not path.endswith(".base_layer"):
                _route_experts(layer, self.router)
            _start(*_pair(layer, name), _seed_of(self._seed, name, path))
        for parameter in self.parameters():  # PEFT leaves only the newest trainable
            parameter.requires_grad_(True)
        for one in self.guests:
            for parameter in self.parameters(one):
                parameter.requires_grad_(False)

    def _check_size(self, name: str, rank: int) -> None:
        """Raises ModelError for an adapter whose rank cannot help, or whose training would not fit
        in memory."""
        narrow = [min(shape[-2:]) for shape in self._targeted]
        if self._useful and rank > max(narrow):
            raise ModelError(
                f"the adapter `{name}` has rank {rank:,}, above the width of every layer that it "
                f"adapts: a rank above {max(narrow):,} adds nothing",
                f"write `lora.rank: {max(narrow)}`, or less",
            )
        numbers = rank * sum(math.prod(shape[:-2]) * sum(shape[-2:]) for shape in self._targeted)
        wanted, free = _COPIES * 4 * numbers, free_memory(self._device)
        if wanted > free:
            raise ModelError(
                f"the adapter `{name}` of rank {rank:,} has {numbers:,} numbers, which take "
                f"{wanted / 1e9:,.1f} GB to train; {free / 1e9:,.1f} GB are free",
                "write a smaller `lora.rank`, or fewer `lora.layers` or `lora.targets`",
            )

    def parameters(self, name: str | None = None) -> list[nn.Parameter]:
        """The tensors of one adapter or of all. Raises KeyError for an unknown name."""
        names = self.names if name is None else (name,)
        return [tensor for each in names for tensor in self._tensors(each).values()]

    def state(self, name: str) -> dict[str, torch.Tensor]:
        """CPU copies of the adapter's tensors under their PEFT file names."""
        return {key: p.detach().cpu().clone() for key, p in self._tensors(name).items()}

    def load_state(self, name: str, state: dict[str, torch.Tensor]) -> None:
        """Copy `state` in. Raises ValueError unless names and shapes are the adapter's."""
        tensors = self._tensors(name)
        if problem := _mismatch(tensors, state):
            raise ValueError(f"this is no state of adapter {name!r}: {problem}")
        with torch.no_grad():
            for key, parameter in tensors.items():
                parameter.copy_(state[key])

    def save(self, name: str, folder: Path) -> None:
        """Write a PEFT adapter folder."""
        state = self.state(name)
        write_tensors(folder / _FILE, state, {"format": "pt"})
        config = copy.deepcopy(self._configs[name])
        config.inference_mode = True
        # PEFT keeps names in a set, whose order is another in each process
        config.target_modules = sorted(config.target_modules or ())
        config.save_pretrained(str(folder))

    def load(self, name: str, folder: Path) -> None:
        """Read a PEFT adapter folder into the existing adapter `name`. Raises ModelError."""
        state, own = read_tensors(folder / _FILE), self._configs[name]
        saved = read_config(folder / _CONFIG)
        shape = saved.get("r"), saved.get("lora_alpha")
        if shape != (own.r, own.lora_alpha):
            raise ModelError(
                f"{folder} has rank {shape[0]} and alpha {shape[1]}, not "
                f"{own.r} and {own.lora_alpha}",
                "use the run's own LoRA settings",
            )
        try:
            self.load_state(name, state)
        except ValueError as error:
            raise ModelError(str(error), "use the run's own model and LoRA settings") from error

    def _layers(self) -> Iterator[tuple[str, GroupedLinear | ParamWrapper]]:
        for path, module in self._model.named_modules():
            if isinstance(module, GroupedLinear | ParamWrapper):
                yield path, module

    def _tensors(self, name: str) -> dict[str, nn.Parameter]:
        if name not in (*self.names, *self.guests):
            raise KeyError(f"no adapter {name!r}; there are {', '.join(self.names)}")
        return {
            f"{_PREFIX}{path}.{half}.weight": parameter
            for path, layer in self._layers()
            for half, parameter in zip(("lora_A", "lora_B"), _pair(layer, name), strict=True)
        }


def _pair(layer: GroupedLinear | ParamWrapper, name: str) -> tuple[nn.Parameter, nn.Parameter]:
    """An adapter's A [K, I] and B [O, K] in a layer; with the ranks of all experts, E * K of it."""
    layers: Any = (layer.lora_A[name], layer.lora_B[name])
    return layers[0].weight, layers[1].weight


def _targets(
    model: nn.Module, layers: Sequence[nn.Module], wanted: tuple[str, ...] | None
) -> tuple[list[str], list[str]]:
    """Full names of the linear layers to adapt, and of the parameters of experts, in the model's
    order. Raises ModelError for a name that there is not, or that PEFT cannot write."""
    names = {id(module): name for name, module in model.named_modules()}
    linear: list[str] = []
    experts: list[str] = []
    for layer in layers:
        for module in layer.modules():
            name = names[id(module)]
            if isinstance(module, nn.Linear):
                linear.append(name)
            experts += [
                f"{name}.{one}" for one, weight in module.named_parameters(recurse=False)
                if weight.dim() == 3 and name.endswith("experts")
            ]  # fmt: skip
    taken = _taken_by_peft(model, linear)
    known = {_last(name) for name in (*linear, *experts) if name not in taken}
    if lost := set(wanted or ()).intersection(map(_last, taken)) - known:
        raise ModelError(
            f"PEFT takes {_listed(lost)} in a {type(model).__name__} for its experts: an adapter"
            " of the linear layer of that name could not be read again",
            f"choose from {_listed(known)}",
        )
    if not known or not known.issuperset(wanted or ()):
        raise ModelError(
            f"this model has no linear layer called {', '.join(wanted or ('anything',))}",
            f"choose from {_listed(known)}" if known else "choose a Llama-like model",
        )
    return (
        [name for name in linear
         if name not in taken and (wanted is None or _last(name) in wanted)],
        [name for name in experts if _last(name) in (wanted or ())],
    )  # fmt: skip


def _taken_by_peft(model: nn.Module, linear: Sequence[str]) -> set[str]:
    """The linear layers whose names PEFT, in a file or here, takes for those of the model's
    experts before transformers 5, such as the shared expert's."""
    config = peft.LoraConfig(target_modules=list(linear))
    peft_conversion.convert_peft_config_for_transformers(config, model, None)
    return set(linear) - set(config.target_modules or ())


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))


def _seed_of(seed: int, *names: str) -> int:
    digest = hashlib.sha256("\0".join((str(seed), *names)).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def _start(a: nn.Parameter, b: nn.Parameter, seed: int) -> None:
    """A as PEFT's default (Kaiming uniform, drawn on the CPU), B zero."""
    generator = torch.Generator().manual_seed(seed)
    start_KI = torch.empty(a.shape, dtype=torch.float32)
    nn.init.kaiming_uniform_(start_KI, a=math.sqrt(5), generator=generator)
    a.data = start_KI.to(a.device)
    b.data = torch.zeros_like(b, dtype=torch.float32)


def _mismatch(tensors: dict[str, nn.Parameter], state: dict[str, torch.Tensor]) -> str:
    """The first difference in names or shapes, or nothing."""
    for key in (*tensors, *state):
        if key not in state:
            return f"{key} is missing"
        if key not in tensors:
            return f"{key} has no place here"
        if tensors[key].shape != state[key].shape:
            return f"{key} is {tuple(state[key].shape)}, not {tuple(tensors[key].shape)}"
    return ""
