"""`HFPolicy`: closed decisions scored and trained with transformers and PEFT LoRA.

All queries of a call, of all adapters, are one packed token tree and one pass (see `prefix_tree`,
`lora`, `network`, `trunk`); more than `max_tokens` distinct tokens are split into several. Always
true: the base weights never change; LoRA weights are float32; the packed pass agreed at load, on
two probes, with padded rows through the same model, or the padded rows are what is used.

Shape letters: B rows, S positions, N tree nodes, R rows with a wanted distribution, D hidden
size, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import torch
from torch import nn

from gamedsl.policies.activations import Activations, Recompute
from gamedsl.policies.agreement import agree
from gamedsl.policies.base import Message, Notify, Query, silent
from gamedsl.policies.chat import HFTokenizer
from gamedsl.policies.chunk_scoring import ChunkedPolicy
from gamedsl.policies.cost import ModelSize, active_weights, weight_bytes
from gamedsl.policies.errors import ModelError
from gamedsl.policies.generation import (
    Generated,
    Request,
    Session,
    Then,
    TokenEntropy,
    TokenRow,
    Weigh,
)
from gamedsl.policies.kv_room import GIB, bytes_per_token, kv_room
from gamedsl.policies.lora import Adapters, LoraSpec
from gamedsl.policies.models import load
from gamedsl.policies.network import Network
from gamedsl.policies.padding import PaddedRows, pad
from gamedsl.policies.prefix_tree import AdapterQuery, ScorePlan, Segment, chunks, pack
from gamedsl.policies.process_group import ProcessGroup
from gamedsl.policies.quantised import Quantize, largest_dense
from gamedsl.policies.sharding import Lockstep, shard
from gamedsl.policies.trunk import TrunkCache, trunk_room
from gamedsl.policies.writer import Writer

PASS_TOKENS = 4096
"""The most distinct tokens of a pass, or of a small model the fewest (see `Activations`)."""
Packing = Literal["auto", "packed", "padded"]
_PROBE_TEXTS = ("Is it day?", "Is it night?")
_PROBE_LABELS = ("yes", "no way")


class HFPolicy(ChunkedPolicy):
    """A `Policy` on a transformers causal model; see the module docstring."""

    def __init__(
        self,
        model: str = "smollm2-135m",
        adapters: Sequence[str] = ("shared",),
        *,
        lora: LoraSpec | None = None,
        shapes: Mapping[str, LoraSpec] | None = None,
        seed: int = 0,
        device: str | torch.device | None = None,
        dtype: torch.dtype | None = None,
        packing: Packing = "auto",
        max_tokens: int | None = None,
        recompute: Recompute = "auto",
        trunk_tokens: int | None = None,
        trunk_lasts: bool = True,
        kv_bytes: int | None = None,
        models: int = 1,
        share_weights: ProcessGroup | None = None,
        quantize: Quantize = "none",
        notify: Notify = silent,
    ) -> None:
        """Load `model` (see `models.load`) and create `adapters` from `seed`.

        lora: the shape of all adapters; `shapes` have a rank and an alpha for some of them.
        device: CUDA if there is one, else the CPU.
        dtype: of the base weights; None is float32 on the CPU, bfloat16 on CUDA.
        max_tokens: distinct tokens of one pass; None is by what they keep, PASS_TOKENS or more.
        recompute: keep only the adapted layers' inputs for the backward pass; auto: where a pass
        needs it.
        trunk_tokens: prefixes whose trunk output is kept (hidden size * bytes of dtype each); None
        are those that half a GiB holds, 0 runs the whole model every time.
        trunk_lasts: keep them beyond `end_step`.
        kv_bytes: keys and values kept from reply to reply; while replies are drawn, as much again.
        None is a share of the memory that is free (see `kv_room`), with `models` that share it.
        share_weights: processes that each keep a part of the base weights (see `sharding`); no
        trunk is kept then.
        quantize: how the base weights of the decoder's linear layers are kept.

        Raises ModelError, and ImportError where the library that quantises is missing.
        """
        self.device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        dtype = dtype or (torch.bfloat16 if self.device.type == "cuda" else torch.float32)
        first = self.device if share_weights is None else torch.device("cpu")
        loaded = load(model, dtype=dtype, device=first, notify=notify, quantize=quantize)
        self.name = loaded.name
        self.tokenizer = HFTokenizer(loaded.tokenizer)
        self._network = Network(loaded.model)
        self._adapters = Adapters(
            loaded.model, self._network.layers, lora or LoraSpec(), seed, base=model
        )
        if not adapters:
            raise ValueError("a policy needs at least one adapter")
        for name in adapters:
            self._adapters.add(name, (shapes or {}).get(name))
        self.lockstep: Lockstep | None = None
        if share_weights is not None:
            trunk_tokens, self.lockstep = 0, self._shard(share_weights)
        if trunk_tokens is None:
            hidden = int(self._network.config.hidden_size)
            trunk_tokens = trunk_room(hidden, self._network.stream_dtype)
        self.activations = self._activations_of(dtype, max_tokens, recompute)
        self._network.watch(self.activations, self._adapters.first_layer, self._adapters.router)
        self._max_tokens = max_tokens = self.activations.pass_tokens
        self.most_rows = self._network.row_block
        self._trunk = TrunkCache(self._network, trunk_tokens, max_tokens, lasts=trunk_lasts)
        self._trunk_lasts = trunk_lasts
        self._check_head()
        self.packing = self._choose_packing(packing, use_trunk=trunk_tokens > 0, notify=notify)
        self.kv_bytes = kv_bytes or int(kv_room(self.device, models=models) * GIB)
        config, layers = self._network.config, len(self._network.layers)
        self.kv_token_bytes = bytes_per_token(config, layers, self._network.dtype)
        self._writer = Writer(
            self._network,
            self._adapters,
            self.tokenizer,
            max_tokens=max_tokens,
            kv_bytes=self.kv_bytes,
            can_pack=lambda: self.packing == "packed",
            trunk=self._trunk,
        )

    def _shard(self, group: ProcessGroup) -> Lockstep:
        """Shares the base weights out among the processes of a group, whose passes then go in
        lockstep."""
        network = self._network
        network.move_head(self.device)
        shard(network.decoder, network.layers, self.parameters(), self.device)
        network.model.to(self.device)
        lockstep = Lockstep(group, self._empty_pass)
        network.before_pass = lockstep.passing
        return lockstep

    def _activations_of(
        self, dtype: torch.dtype, pass_tokens: int | None, recompute: Recompute
    ) -> Activations:
        """Returns the activations that passes of the adapted layers keep."""
        network = self._network
        adapted = len(network.layers) - self._adapters.first_layer
        if not network.attends_by_plan:  # a dense mask, whose cost is quadratic
            pass_tokens = pass_tokens or PASS_TOKENS
        return Activations(
            network.config, adapted, dtype, self.device,
            pass_tokens=pass_tokens, least=PASS_TOKENS, recompute=recompute,
        )  # fmt: skip

    @property
    def size(self) -> ModelSize:
        """The size of the model and its adapters."""
        network, cut = self._network, self._adapters.first_layer
        active = [active_weights(layer, network.config) for layer in network.layers]
        head = network.vocabulary * int(network.config.hidden_size)
        return ModelSize(
            weight_bytes(network.model) + network.head_bytes + largest_dense(network.model),
            sum(parameter.numel() for parameter in self.parameters()),
            sum(active[:cut]), sum(active[cut:]), head,
            int(network.config.hidden_size), network.vocabulary, network.dtype, self.device,
        )  # fmt: skip

    @property
    def adapters(self) -> tuple[str, ...]:
        return self._adapters.names

    @property
    def guests(self) -> tuple[str, ...]:
        return self._adapters.guests

    def longest_of(self, adapter: str) -> int | float:
        """The most tokens of a prompt and its reply together."""
        return self._network.longest

    def cache_tokens(self, adapter: str) -> int:
        """The tokens whose keys and values are kept while replies are drawn."""
        return self._writer.decoder.pool.limit

    def add_adapter(self, name: str) -> None:
        """Create one more adapter. Raises ValueError if the name cannot be used."""
        self._adapters.add(name)

    def add_guest(self, name: str, like: str) -> None:
        """Create an adapter of the shape of another; see `generation.Writing`."""
        self._adapters.add_guest(name, like)

    def generate(self, requests: Sequence[Request]) -> list[Generated]:
        """Replies; see `generation.Generator` and `decoding`."""
        return self._writer.generate(requests)

    def serve(self, requests: Sequence[Request], then: Then) -> None:
        """Reply to requests, and to those that `then` gives as each reply ends."""
        self._writer.serve(requests, then)

    def session(self) -> Session:
        """Begin to take requests; see `generation.Session`."""
        return self._writer.session()

    def tokenizer_of(self, adapter: str) -> HFTokenizer:
        """The one tokenizer there is."""
        return self.tokenizer

    def token_log_probs(
        self, rows: Sequence[TokenRow], entropy: TokenEntropy | None = None
    ) -> list[torch.Tensor]:
        """Per row log pi of its trained tokens, float32 on the CPU. Raises KeyError."""
        return self._writer.token_log_probs(rows, entropy)

    def token_backward(
        self, rows: Sequence[TokenRow], weights: Sequence[torch.Tensor] | Weigh,
        entropy: TokenEntropy | None = None,
    ) -> list[torch.Tensor]:  # fmt: skip
        """Add the gradient of sum(weights * log pi) to `.grad`; return log pi. Raises KeyError."""
        return self._writer.token_backward(rows, weights, entropy)

    def forget(self, adapter: str | None = None) -> None:
        """Drop the keys and values kept from replies. An adapter's are dropped anyway where its
        weights were written to; a run that must resume to the last bit forgets at each step."""
        self._writer.forget(adapter)

    def end_step(self) -> None:
        if not self._trunk_lasts:
            self._trunk.forget()

    @property
    def keeps_for_step(self) -> bool:
        return self._network.is_cut and not self._trunk_lasts

    def parameters(self, adapter: str | None = None) -> list[nn.Parameter]:
        """The trainable tensors of one adapter, or of all. Raises KeyError."""
        return self._adapters.parameters(adapter)

    def adapter_state(self, adapter: str) -> dict[str, torch.Tensor]:
        """CPU copies of one adapter's tensors. Raises KeyError."""
        return self._adapters.state(adapter)

    def load_adapter_state(self, adapter: str, state: dict[str, torch.Tensor]) -> None:
        """Put back what `adapter_state` returned. Raises KeyError, ValueError."""
        self._adapters.load_state(adapter, state)

    def save_adapter(self, adapter: str, folder: Path) -> None:
        """Write a folder for plain `peft.PeftModel.from_pretrained`. Raises KeyError."""
        self._adapters.save(adapter, folder)

    def load_adapter(self, adapter: str, folder: Path) -> None:
        """Read such a folder into an existing adapter. Raises KeyError, ModelError."""
        self._adapters.load(adapter, folder)

    def _empty_pass(self, backward: bool) -> None:
        """Runs one token through the network, forward and if asked backward, and changes no
        gradient."""
        token_BS = torch.zeros(1, 1, dtype=torch.int64, device=self.device)
        with (
            torch.set_grad_enabled(backward),
            self._adapters.router.route((Segment(self.adapters[0], 0, 1),)),
        ):
            hidden_BSD = self._network.whole(token_BS, torch.ones_like(token_BS), token_BS)
        if backward:
            torch.autograd.grad(
                hidden_BSD.sum(), self.parameters(self.adapters[0]), allow_unused=True
            )

    def _chunks(self, items: Sequence[AdapterQuery]) -> list[list[int]]:
        return chunks(items, self._max_tokens)

    def _log_pi(self, items: list[AdapterQuery]) -> list[torch.Tensor]:
        longest = max(len(query.prompt) + max(map(len, query.labels)) for _, query in items)
        if self.packing == "padded" or longest > self._network.window:
            return self._log_pi_padded(items)
        return self._log_pi_packed(items)

    def _log_pi_packed(self, items: list[AdapterQuery]) -> list[torch.Tensor]:
        hidden_RD, plan = self._packed_hidden(items)
        self._keep(items, hidden_RD, plan)
        return self._scores(hidden_RD, plan)

    def _scores(self, hidden_RD: torch.Tensor, plan: ScorePlan) -> list[torch.Tensor]:
        row_T, token_T = plan.row_T.to(hidden_RD.device), plan.token_T.to(hidden_RD.device)
        return plan.log_pi(self._network.log_p(hidden_RD, row_T, token_T))

    def _packed_logits(self, items: list[AdapterQuery]) -> tuple[torch.Tensor, ScorePlan]:
        hidden_RD, plan = self._packed_hidden(items)
        return self._network.head(hidden_RD), plan

    def _packed_hidden(self, items: list[AdapterQuery]) -> tuple[torch.Tensor, ScorePlan]:
        """Final hidden states [R, D] of a packed pass, and how its rows are scored."""
        tree = pack(items)
        position_BS = tree.depth_N[None].to(self.device)
        if self._network.is_cut:
            start = self._trunk.states(tree)[None]
        else:
            start = tree.token_N[None].to(self.device)
        with self._adapters.router.route(tree.segments):
            hidden_BSD = self._network.crown(start, tree, position_BS)
        return hidden_BSD[0, tree.row_R.to(self.device)], tree.plan

    def _log_pi_padded(self, items: list[AdapterQuery]) -> list[torch.Tensor]:
        rows = pad(items)
        hidden_RD = self._padded_hidden(rows).flatten(0, 1)[rows.row_R.to(self.device)]
        self._keep(items, hidden_RD, rows.plan)
        return self._scores(hidden_RD, rows.plan)

    def _padded_logits(self, items: list[AdapterQuery]) -> tuple[torch.Tensor, ScorePlan]:
        rows = pad(items)
        hidden_BSD = self._padded_hidden(rows)
        hidden_RD = hidden_BSD.flatten(0, 1)[rows.row_R.to(self.device)]
        return self._network.head(hidden_RD), rows.plan

    def _padded_hidden(self, rows: PaddedRows) -> torch.Tensor:
        with self._adapters.router.route(rows.segments):
            return self._network.whole(
                rows.token_BS.to(self.device),
                rows.mask_BS.to(self.device),
                rows.position_BS.to(self.device),
            )

    def _probes(self) -> list[AdapterQuery]:
        """Two short decisions that share a beginning, with labels of several tokens."""
        adapter = self.adapters[0]
        chats: list[tuple[Message, ...]] = [
            (("system", "Answer."), ("user", text)) for text in _PROBE_TEXTS
        ]
        return [(adapter, self.encode(Query(chat, _PROBE_LABELS, adapter))) for chat in chats]

    @torch.no_grad()
    def _check_head(self) -> None:
        """Our float32 head must be the model's own output layer."""
        rows = pad(self._probes()[:1])
        ours_RV = self._network.head(self._padded_hidden(rows).flatten(0, 1)[rows.row_R])
        with self._adapters.router.route(rows.segments):
            whole = self._network.model(
                input_ids=rows.token_BS.to(self.device),
                attention_mask=rows.mask_BS.to(self.device),
                position_ids=rows.position_BS.to(self.device),
            )
        theirs_RV = whole.logits.flatten(0, 1)[rows.row_R].float()
        ours, theirs = ours_RV.log_softmax(-1), theirs_RV.log_softmax(-1)
        if not agree([ours], [theirs], self._network.dtype):
            raise ModelError(
                f"the output layer of `{self.name}` does more than multiply, scale and cap",
                "choose another model",
            )

    @torch.no_grad()
    def _choose_packing(self, wanted: Packing, use_trunk: bool, notify: Notify) -> Packing:
        """The fastest way that agrees with padded rows; `wanted` other than auto is obeyed."""
        if wanted == "padded":
            return wanted
        items = self._probes()
        reference = _before_tokens(*self._padded_logits(items))
        for first_layer in (self._adapters.first_layer, 0) if use_trunk else (0,):
            self._network.cut(first_layer)
            packed = _before_tokens(*self._packed_logits(items))
            if agree([packed], [reference], self._network.dtype):
                return "packed"
        if wanted == "packed":
            raise ModelError(f"`{self.name}` cannot run packed", "use packing `auto` or `padded`")
        notify(f"{self.name} cannot run a packed tree of prompts; using padded rows (slower)")
        return "padded"


def _before_tokens(logits_RV: torch.Tensor, plan: ScorePlan) -> torch.Tensor:
    """Log-probabilities [T, V] before each token of each label, label by label. What the labels
    come to would show less: with one that is far likelier, whatever the others have is hidden."""
    row_T = plan.row_T[plan.label_T.argsort(stable=True)]
    return logits_RV.log_softmax(-1)[row_T.to(logits_RV.device)]
