"""LoRA adapters that share one pass: each adapter's rows of the batch go through its own pair.

PEFT makes the layers, so names, shapes and files are PEFT's; only the forward is ours, because
PEFT picks adapters per batch element and we pack all adapters' tokens into one sequence. A layer
sees its input as rows (tokens), and the `Router` says which rows belong to which adapter.

Shape letters: M rows, I inputs, O outputs of a linear layer, K the rank.
"""

from __future__ import annotations

import copy
import hashlib
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import peft
import torch
from peft.tuners.lora import Linear as PeftLinear
from safetensors.torch import load_file, save_file
from torch import nn

from gamedsl.policies.errors import ModelError
from gamedsl.policies.prefix_tree import Segment

_PREFIX = "base_model.model."  # how PEFT's files name the adapted model
_FILE = "adapter_model.safetensors"


@dataclass(frozen=True)
class LoraSpec:
    """Shape of every adapter.

    `targets` are last names of linear layers (`q_proj`), None for all inside the decoder layers;
    `layers` is how many of the top decoder layers are adapted, None for all of them.
    """

    rank: int = 16
    alpha: float = 32.0
    targets: tuple[str, ...] | None = None
    layers: int | None = None


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
        y = self.base_layer(x)
        x_MI, y_MO = x.reshape(-1, x.shape[-1]), y.reshape(-1, y.shape[-1])
        parts = [self._adapt(segment, x_MI, y_MO) for segment in self.router.segments]
        return (parts[0] if len(parts) == 1 else torch.cat(parts)).view_as(y)

    def _adapt(self, segment: Segment, x_MI: torch.Tensor, y_MO: torch.Tensor) -> torch.Tensor:
        """The segment's rows of y + scaling * x A^T B^T."""
        name, rows = segment.adapter, slice(segment.start, segment.stop)
        if name not in self.lora_A:
            return y_MO[rows]
        a_KI = self.lora_A[name].weight.to(x_MI.dtype)
        b_OK = self.lora_B[name].weight.to(x_MI.dtype)
        return torch.addmm(y_MO[rows], x_MI[rows] @ a_KI.T, b_OK.T, alpha=self.scaling[name])


class Adapters:
    """The named adapters of one model: made from a seed, listed, saved and loaded.

    Each adapter's start depends on the seed and its own name alone, so adding another changes
    nothing. Weights are float32 whatever the model's dtype.
    """

    def __init__(
        self, model: nn.Module, layers: Sequence[nn.Module], spec: LoraSpec, seed: int, base: str
    ) -> None:
        """`layers` are the model's decoder layers, bottom first; `base` names it in files."""
        self.router = Router()
        self.names: tuple[str, ...] = ()
        self._model, self._seed = model, seed
        count = len(layers) if spec.layers is None else spec.layers
        if not 1 <= count <= len(layers):
            raise ModelError(
                f"{count} adapted layers, of a model that has {len(layers)}",
                f"give `layers` as 1 to {len(layers)}, or leave it out",
            )
        self.first_layer = len(layers) - count
        self.config = peft.LoraConfig(
            r=spec.rank,
            lora_alpha=spec.alpha,
            target_modules=_targets(model, layers[self.first_layer :], spec.targets),
            init_lora_weights=False,
            task_type="CAUSAL_LM",
            base_model_name_or_path=base,
        )

    def add(self, name: str) -> None:
        """Create adapter `name`. Raises ValueError if the name is taken or has odd characters."""
        if name in self.names or not re.fullmatch(r"[\w-]+", name):
            raise ValueError(f"adapter name {name!r} is taken, or not letters, digits, _ and -")
        config = copy.deepcopy(self.config)
        config._register_custom_module({nn.Linear: GroupedLinear})
        peft.inject_adapter_in_model(config, self._model, adapter_name=name)
        self.names = (*self.names, name)
        for path, layer in self._layers():
            layer.router = self.router
            _start(layer, name, _seed_of(self._seed, name, path))
        for parameter in self.parameters():  # PEFT leaves only the newest trainable
            parameter.requires_grad_(True)

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
        folder.mkdir(parents=True, exist_ok=True)
        save_file(state, folder / _FILE, metadata={"format": "pt"})
        config = copy.deepcopy(self.config)
        config.inference_mode = True
        config.save_pretrained(str(folder))

    def load(self, name: str, folder: Path) -> None:
        """Read a PEFT adapter folder into the existing adapter `name`. Raises ModelError."""
        file = folder / _FILE
        if not file.is_file():
            raise ModelError(f"{folder} holds no {_FILE}", "give a folder that save_adapter wrote")
        saved = peft.LoraConfig.from_pretrained(str(folder))
        if (saved.r, saved.lora_alpha) != (self.config.r, self.config.lora_alpha):
            raise ModelError(
                f"{folder} has rank {saved.r} and alpha {saved.lora_alpha:g}, not "
                f"{self.config.r} and {self.config.lora_alpha:g}",
                "use the run's own LoRA settings",
            )
        try:
            self.load_state(name, load_file(file))
        except ValueError as error:
            raise ModelError(str(error), "use the run's own model and LoRA settings") from error

    def _layers(self) -> Iterator[tuple[str, GroupedLinear]]:
        for path, module in self._model.named_modules():
            if isinstance(module, GroupedLinear):
                yield path, module

    def _tensors(self, name: str) -> dict[str, nn.Parameter]:
        if name not in self.names:
            raise KeyError(f"no adapter {name!r}; there are {', '.join(self.names)}")
        return {
            f"{_PREFIX}{path}.{half}.weight": getattr(layer, half)[name].weight
            for path, layer in self._layers()
            for half in ("lora_A", "lora_B")
        }


def _targets(
    model: nn.Module, layers: Sequence[nn.Module], wanted: tuple[str, ...] | None
) -> list[str]:
    """Full names of the linear layers to adapt, in the model's order."""
    names = {id(module): name for name, module in model.named_modules()}
    inside = [
        (local.rsplit(".", 1)[-1], names[id(module)])
        for layer in layers
        for local, module in layer.named_modules()
        if isinstance(module, nn.Linear)
    ]
    found = {last for last, _ in inside}
    if not found or not found.issuperset(wanted or ()):
        raise ModelError(
            f"this model has no linear layer called {', '.join(wanted or ('anything',))}",
            f"choose from {', '.join(sorted(found))}" if found else "choose a Llama-like model",
        )
    return [full for last, full in inside if wanted is None or last in wanted]


def _seed_of(seed: int, *names: str) -> int:
    digest = hashlib.sha256("\0".join((str(seed), *names)).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def _start(layer: GroupedLinear, name: str, seed: int) -> None:
    """A as PEFT's default (Kaiming uniform, drawn on the CPU), B zero."""
    generator = torch.Generator().manual_seed(seed)
    a, b = layer.lora_A[name], layer.lora_B[name]
    a.weight.data = a.weight.data.float()
    b.weight.data = torch.zeros_like(b.weight.data, dtype=torch.float32)
    start = torch.empty(a.weight.shape)
    nn.init.kaiming_uniform_(start, a=math.sqrt(5), generator=generator)
    a.weight.data.copy_(start)


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
