"""`FullPolicy`: closed decisions scored and trained with all weights of a transformers model.

For models that are trained from nothing, and small ones that LoRA is too narrow for. Each
"adapter" is a whole copy of the model. Queries of one adapter are packed token trees, as in `hf`;
there is no trunk to keep, and more than `max_tokens` distinct tokens are split into several passes.

Shape letters: N tree nodes, R rows with a wanted distribution, D hidden size, V vocabulary.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn

from gamedsl.policies.activations import Activations, Recompute
from gamedsl.policies.base import Notify, Query, silent
from gamedsl.policies.chat import HFTokenizer
from gamedsl.policies.chunk_scoring import ChunkedPolicy, Scored
from gamedsl.policies.errors import ModelError
from gamedsl.policies.models import load
from gamedsl.policies.prefix_tree import AdapterQuery, chunks, pack
from gamedsl.policies.progress_bars import without_progress_bars
from gamedsl.policies.tensor_files import failing_as_disk, read_tensors
from gamedsl.policies.tree_attention import adopt, arguments

PASS_TOKENS = 1024
"""The most distinct tokens of a pass, or of a small model the fewest (see `Activations`)."""
_FILE = "model.safetensors"


class FullPolicy(ChunkedPolicy):
    """A `Policy` whose adapters are whole models; see the module docstring."""

    def __init__(
        self,
        model: str = "small",
        adapters: Sequence[str] = ("shared",),
        *,
        seed: int = 0,
        device: str | torch.device | None = None,
        dtype: torch.dtype | None = None,
        max_tokens: int | None = None,
        recompute: Recompute = "auto",
        notify: Notify = silent,
    ) -> None:
        """Load `model` (see `models.load`) once, and copy it for each adapter. A model that is made
        here is made from `seed`. dtype: float32 unless given. max_tokens, recompute: as those of
        `HFPolicy`. Raises ModelError."""
        self.device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        loaded = load(
            model, dtype=dtype or torch.float32, device=self.device, notify=notify, seed=seed
        )
        self.name = loaded.name
        self.tokenizer = HFTokenizer(loaded.tokenizer)
        self._wrapped = loaded.tokenizer
        self._by_plan = adopt(loaded.model)
        self._models: dict[str, Any] = {}
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
        self._max_tokens = self.activations.pass_tokens
        for layer in (layer for decoder in decoders for layer in decoder.layers):
            self.activations.watch(layer)

    @property
    def adapters(self) -> tuple[str, ...]:
        return tuple(self._models)

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
        return dict(self._models[adapter].named_parameters())

    def _scored(self, queries: Sequence[Query]) -> Iterator[Scored]:
        for name in self.adapters:
            mine = [index for index, query in enumerate(queries) if query.adapter == name]
            items = [(name, self.encode(queries[index])) for index in mine]
            for chunk in chunks(items, self._max_tokens):
                scores = self._log_pi(self._models[name], [items[index] for index in chunk])
                yield [mine[index] for index in chunk], scores

    def _log_pi(self, model: Any, items: list[AdapterQuery]) -> list[torch.Tensor]:
        tree = pack(items)
        with self.activations.of(len(tree)):
            output = model.get_decoder()(
                input_ids=tree.token_N[None].to(self.device),
                **arguments(tree, self._by_plan, model.dtype, self.device),
                position_ids=tree.depth_N[None].to(self.device),
                use_cache=False,
            )
        hidden_RD = output.last_hidden_state[0, tree.row_R.to(self.device)]
        return tree.plan.log_pi(model.get_output_embeddings()(hidden_RD).float())
