"""`FullPolicy`: a policy that is trained with all weights of a transformers model.

For models that are trained from nothing, and small ones that LoRA is too narrow for. Each "adapter"
is a whole copy of the model, which writes its replies in a batch of its own. Queries of one adapter
are packed token trees, as in `hf`; there is no trunk to keep, and more than `max_tokens` distinct
tokens are split into several passes.

Shape letters: N tree nodes, R rows with a wanted distribution, D hidden size, V vocabulary.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn

from gamedsl.policies.activations import Activations, Recompute
from gamedsl.policies.base import Notify, silent
from gamedsl.policies.chat import HFTokenizer
from gamedsl.policies.chunk_scoring import ChunkedPolicy
from gamedsl.policies.cost import ModelSize, active_weights
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
    numbers_of,
    served,
    weights_of,
)
from gamedsl.policies.kv_room import GIB, kv_room
from gamedsl.policies.lora import Router
from gamedsl.policies.models import load
from gamedsl.policies.multi_model import SideBySide
from gamedsl.policies.network import TrainedNetwork, scaled_logits
from gamedsl.policies.prefix_tree import AdapterQuery, chunks, pack
from gamedsl.policies.progress_bars import without_progress_bars
from gamedsl.policies.tensor_files import failing_as_disk, read_tensors
from gamedsl.policies.tree_attention import adopt, arguments
from gamedsl.policies.writer import Writer

PASS_TOKENS = 1024
"""The most distinct tokens of a pass, or of a small model the fewest (see `Activations`)."""
_FILE = "model.safetensors"


class _Copy:
    """A copy of a model as its own only adapter."""

    def __init__(self, model: nn.Module, name: str) -> None:
        self.router = Router()
        self._model, self._name = model, name

    def parameters(self, name: str | None = None) -> list[nn.Parameter]:
        if name not in (None, self._name):
            raise KeyError(f"no adapter {name!r}; there is {self._name}")
        return list(self._model.parameters())


class FullPolicy(ChunkedPolicy):
    """A `Policy` whose adapters are whole models; see the module docstring."""

    def __init__(
        self,
        model: str = "small",
        adapters: Sequence[str] = ("shared",),
        *,
        seed: int = 0,
        device: str | torch.device | None = None,
        max_tokens: int | None = None,
        recompute: Recompute = "auto",
        kv_bytes: int | None = None,
        models: int = 1,
        notify: Notify = silent,
    ) -> None:
        """Load `model` (see `models.load`) once, and copy it for each adapter. A model that is made
        here is made from `seed`. max_tokens, recompute, kv_bytes and models: as those of
        `HFPolicy`; the copies share the room. Raises ModelError.

        Weights are float32: bfloat16 would round away most updates, which are far smaller."""
        self.device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        loaded = load(model, dtype=torch.float32, device=self.device, notify=notify, seed=seed)
        self.name = loaded.name
        self.tokenizer = HFTokenizer(loaded.tokenizer)
        self._wrapped = loaded.tokenizer
        self._by_plan = adopt(loaded.model)
        self._models: dict[str, Any] = {}
        self._writers: dict[str, Writer] = {}
        self._guests: dict[str, Any] = {}
        self.kv_bytes = kv_bytes or int(kv_room(self.device, models=models) * GIB)
        for name in adapters:
            if name in self._models or not re.fullmatch(r"[\w-]+", name):
                raise ValueError(f"adapter name {name!r} is taken, or not letters, digits, _ and -")
            self._models[name] = copy.deepcopy(loaded.model).requires_grad_(True)
        decoders: list[Any] = [own.get_decoder() for own in self._models.values()]
        self.activations = Activations(
            loaded.model.config.get_text_config(),
            len(decoders[0].layers),
            loaded.model.dtype,
            self.device,
            pass_tokens=max_tokens if self._by_plan else max_tokens or PASS_TOKENS,
            least=PASS_TOKENS,
            recompute=recompute,
            frozen=False,
        )
        self._max_tokens = self.most_rows = self.activations.pass_tokens
        for layer in (layer for decoder in decoders for layer in decoder.layers):
            self.activations.watch(layer)
        for name, own in self._models.items():
            self._writers[name] = self._writer(own, name)

    @property
    def size(self) -> ModelSize:
        """The size of all copies of the model, each of which is trained."""
        model = next(iter(self._models.values()))
        config = model.config.get_text_config()
        layers = model.get_decoder().layers
        head = model.get_output_embeddings().weight
        numbers = sum(parameter.numel() for parameter in self.parameters())
        return ModelSize(
            0, numbers, 0, sum(active_weights(layer, config) for layer in layers), head.numel(),
            int(config.hidden_size), len(head), model.dtype, self.device, trains_all=True,
        )  # fmt: skip

    @property
    def keeps_for_step(self) -> bool:
        return False

    def end_step(self) -> None:
        pass

    @property
    def adapters(self) -> tuple[str, ...]:
        return tuple(self._models)

    @property
    def guests(self) -> tuple[str, ...]:
        return tuple(self._guests)

    def add_guest(self, name: str, like: str) -> None:
        """Copy the model of an adapter once more; see `generation.Writing`."""
        if name in (*self._models, *self._guests):
            raise ValueError(f"adapter name {name!r} is taken")
        guest = copy.deepcopy(self._models[like]).requires_grad_(False)
        for layer in guest.get_decoder().layers:
            del layer.forward  # the one that activations watch is bound to the layer it came from
        self._guests[name] = guest
        self._writers[name] = self._writer(self._guests[name], name)

    def tokenizer_of(self, adapter: str) -> HFTokenizer:
        """The one tokenizer there is."""
        return self.tokenizer

    def longest_of(self, adapter: str) -> int | float:
        """The most tokens of a prompt and its reply together."""
        return self._writers[adapter].longest

    def generate(self, requests: Sequence[Request]) -> list[Generated]:
        """Replies; see `generation.Generator` and `decoding`."""
        return all_served(self.serve, requests)

    def serve(self, requests: Sequence[Request], then: Then) -> None:
        """Reply to requests, and to those that `then` gives as each reply ends."""
        served(self.session(), requests, then)

    def session(self) -> Session:
        """Begin to take requests: each copy of the model has a batch of its own."""
        if len(self._writers) == 1:
            return next(iter(self._writers.values())).session()
        return SideBySide(list(self._writers.values()), self._writers.__getitem__)

    def cache_tokens(self, adapter: str) -> int:
        """The tokens whose keys and values are kept while replies are drawn. Raises KeyError."""
        return self._writers[adapter].decoder.pool.limit

    def token_log_probs(
        self, rows: Sequence[TokenRow], entropy: TokenEntropy | None = None
    ) -> list[torch.Tensor]:
        """Per row log pi of its trained tokens, float32 on the CPU. Raises KeyError."""

        def ask(writer: Writer, mine: list[int]) -> list[torch.Tensor]:
            own = None if entropy is None else entropy.part(numbers_of(rows, mine))
            return writer.token_log_probs([rows[at] for at in mine], own)

        return self._each_copy(rows, ask)

    def token_backward(
        self, rows: Sequence[TokenRow], weights: Sequence[torch.Tensor] | Weigh,
        entropy: TokenEntropy | None = None,
    ) -> list[torch.Tensor]:  # fmt: skip
        """Add the gradient of sum(weights * log pi); return log pi. Raises KeyError."""

        def ask(writer: Writer, mine: list[int]) -> list[torch.Tensor]:
            own = None if entropy is None else entropy.part(numbers_of(rows, mine))
            own_rows = [rows[at] for at in mine]
            return writer.token_backward(own_rows, weights_of(weights, rows, mine), own)

        return self._each_copy(rows, ask)

    def forget(self, adapter: str | None = None) -> None:
        """Drop the keys and values kept from replies."""
        for name, writer in self._writers.items():
            if adapter in (None, name):
                writer.forget(name)

    def _writer(self, model: Any, name: str) -> Writer:
        return Writer(
            TrainedNetwork(model), _Copy(model, name), self.tokenizer,
            max_tokens=self._max_tokens, kv_bytes=self.kv_bytes // max(1, len(self._models)),
            can_pack=lambda: True,
        )  # fmt: skip

    def _each_copy(
        self, rows: Sequence[TokenRow], ask: Callable[[Writer, list[int]], list[torch.Tensor]]
    ) -> list[torch.Tensor]:
        """Returns the results of each copy for its own rows, in the order of all."""
        found: dict[int, torch.Tensor] = {}
        for name in dict.fromkeys(row.adapter for row in rows):
            mine = [at for at, row in enumerate(rows) if row.adapter == name]
            if name not in self._writers:
                raise KeyError(f"no adapter {name}; there are {self.adapters}")
            found.update(zip(mine, ask(self._writers[name], mine), strict=True))
        return [found[at] for at in range(len(rows))]

    def parameters(self, adapter: str | None = None) -> list[nn.Parameter]:
        """The weights of one copy of the model, or of all. Raises KeyError."""
        names = self.adapters if adapter is None else (adapter,)
        return [tensor for name in names for tensor in self._tensors(name).values()]

    def adapter_state(self, adapter: str) -> dict[str, torch.Tensor]:
        """CPU copies of one copy's weights, under their names in the model. Raises KeyError."""
        return {key: p.detach().cpu().clone() for key, p in self._tensors(adapter).items()}

    def load_adapter_state(self, adapter: str, state: dict[str, torch.Tensor]) -> None:
        """Put back what `adapter_state` returned. Raises KeyError, ValueError."""
        tensors = self._tensors(adapter)
        shapes = {key: tensor.shape for key, tensor in tensors.items()}
        if shapes != {key: tensor.shape for key, tensor in state.items()}:
            raise ValueError(f"these are not the weights of `{self.name}`")
        with torch.no_grad():
            for key, parameter in tensors.items():
                parameter.copy_(state[key])

    def save_adapter(self, adapter: str, folder: Path) -> None:
        """Write a folder that `AutoModelForCausalLM.from_pretrained`, and `model:`, load."""
        with without_progress_bars(), failing_as_disk():
            self._models[adapter].save_pretrained(str(folder))
        self._wrapped.save_pretrained(str(folder))

    def load_adapter(self, adapter: str, folder: Path) -> None:
        """Read such a folder. Raises KeyError, ModelError."""
        try:
            self.load_adapter_state(adapter, read_tensors(folder / _FILE))
        except ValueError as error:
            raise ModelError(str(error), "use the run's own model") from error

    def _tensors(self, adapter: str) -> dict[str, nn.Parameter]:
        return dict(self._copy(adapter).named_parameters())

    def _copy(self, adapter: str) -> Any:
        return self._guests[adapter] if adapter in self._guests else self._models[adapter]

    def _chunks(self, items: Sequence[AdapterQuery]) -> list[list[int]]:
        found: list[list[int]] = []
        for name in (*self.adapters, *self.guests):
            mine = [index for index, (adapter, _) in enumerate(items) if adapter == name]
            own = chunks([items[index] for index in mine], self._max_tokens)
            found += [[mine[index] for index in chunk] for chunk in own]
        return found

    def _log_pi(self, items: list[AdapterQuery]) -> list[torch.Tensor]:
        model, tree = self._copy(items[0][0]), pack(items)
        with self.activations.of(len(tree)):
            output = model.get_decoder()(
                input_ids=tree.token_N[None].to(self.device),
                **arguments(tree, self._by_plan, model.dtype, self.device),
                position_ids=tree.depth_N[None].to(self.device),
                use_cache=False,
            )
        hidden_RD = output.last_hidden_state[0, tree.row_R.to(self.device)]
        self._keep(items, hidden_RD, tree.plan)
        logits_RV = model.get_output_embeddings()(hidden_RD).float()
        log_p_RV = scaled_logits(logits_RV, model.config.get_text_config()).log_softmax(-1)
        row_T, token_T = tree.plan.row_T.to(self.device), tree.plan.token_T.to(self.device)
        return tree.plan.log_pi(log_p_RV[row_T, token_T])
