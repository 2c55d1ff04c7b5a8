"""Memory of the activations that a pass keeps, and the choice to recompute layers instead.

The count follows Korthikanti et al., Reducing Activation Recomputation in Large Transformer Models
(2022, section 4.1), derived again for a gated MLP whose own weights are frozen. Each adapted layer
keeps for each token: the inputs of the two norms and of the linear layers (4 D); the queries, keys
and values of all heads, the attention's result and the output layer's input (5 A); the gate, its
activation, the other half and their product (4 F; without a gate 2 F). Trained norms keep their
inputs too (2 D). A recomputed layer keeps D, and one layer at a time is kept in full. The count is
a bound: the lowest layer and some norms keep less.

Recomputation changes no number: the same operations give the same results. Shape letters: D hidden
size, A size of all heads together, F inner size of the MLP.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, Literal

import torch
from torch.utils.checkpoint import checkpoint

from gamedsl.policies.process_memory import address_space_limit, system_memory

Recompute = Literal["auto", "on", "off"]

SHARE = 1 / 2
"""Of the memory that is free once a model is loaded, what a pass may keep under `auto`; and of what
is free beside them, what the graphs of play may take until the update."""

PASS_BYTES = 2**30
"""What a pass keeps where nobody says how many tokens it has. The rules that all prompts begin with
are computed once a pass, so passes are large; the size follows from the model alone, since a run
must give the same numbers wherever it goes on."""
MOST_TOKENS = 2**15

_GROUPS = (
    (Path("/sys/fs/cgroup"), "memory.max", "memory.current", "inactive_file"),
    (
        Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes", "memory.usage_in_bytes",
        "total_inactive_file",
    ),
)  # fmt: skip
"""Where a control group, of version 2 or 1, has its limit, what it uses, and of that what the
system takes back when it needs room."""

Again = Callable[[], AbstractContextManager[Any]]


class Activations:
    """The memory of one network's training passes; `pass_tokens` are the most of one."""

    def __init__(
        self,
        config: Any,
        layers: int,
        dtype: torch.dtype,
        device: torch.device,
        *,
        pass_tokens: int | None,
        recompute: Recompute,
        least: int = 1,
        frozen: bool = True,
    ) -> None:
        """layers: how many are trained, from the top; `frozen` where it is by adapters. Without
        `pass_tokens` a pass has as many as keep PASS_BYTES, from `least` to MOST_TOKENS."""
        self._recompute = recompute
        self._whole, self._entering = _bytes_per_token(config, dtype, frozen)
        self._layers = layers
        fitting = min(PASS_BYTES // max(self.peak_bytes(1, again=False), 1), MOST_TOKENS)
        self.pass_tokens: int = pass_tokens or max(least, fitting)
        self._device = device
        self._room = SHARE * free_memory(device)
        self._again = False

    def peak_bytes(self, tokens: int, *, again: bool) -> int:
        """Bytes that a pass of so many tokens keeps at most."""
        if again:
            return tokens * (self._layers * self._entering + self._whole)
        return tokens * self._layers * self._whole

    def again(self, tokens: int) -> bool:
        """Whether a pass of so many tokens computes its layers again."""
        if self._recompute == "auto":
            return self.peak_bytes(tokens, again=False) > self._room
        return self._recompute == "on"

    def graph_bytes(self, tokens: int) -> int:
        """Bytes that the graph of a pass of so many tokens holds until its backward pass."""
        each = self._entering if self.again(tokens) else self._whole
        return tokens * self._layers * each

    def has_room(self, alive: int, more: int) -> bool:
        """Whether a graph of `more` bytes may be kept beside those that are alive: where all have
        about as many as one pass keeps anyway, or SHARE of the memory that is free beside them."""
        wanted = alive + more
        return wanted <= PASS_BYTES or wanted <= SHARE * (free_memory(self._device) + alive)

    def room_tokens(self) -> int:
        """Returns about how many tokens' graphs have room now."""
        room = max(PASS_BYTES, SHARE * free_memory(self._device))
        return int(room // max(self.graph_bytes(1), 1))

    @contextmanager
    def of(self, tokens: int) -> Iterator[None]:
        """For a forward pass of so many tokens."""
        before, self._again = self._again, self.again(tokens)
        try:
            yield
        finally:
            self._again = before

    def watch(self, layer: Any, context: Callable[[], Again] = lambda: nullcontext) -> None:
        """Let a layer be computed again where its pass wants that. `context`, called in the forward
        pass, gives the context manager of the second time."""
        forward = layer.forward

        def run(*args: Any, **kwargs: Any) -> Any:
            if not (self._again and torch.is_grad_enabled()):
                return forward(*args, **kwargs)
            then = context()
            return checkpoint(
                forward,
                *args,
                use_reentrant=False,
                preserve_rng_state=False,
                context_fn=lambda: (nullcontext(), then()),
                **kwargs,
            )

        layer.forward = run

    @property
    def most(self) -> int:
        """Bytes that the largest pass keeps."""
        return self.peak_bytes(self.pass_tokens, again=self.again(self.pass_tokens))

    def describe(self) -> str:
        """The largest pass, for people."""
        how = "computed again" if self.again(self.pass_tokens) else "kept"
        return f"at most {self.pass_tokens:,} tokens: layers {how}, {self.most / 1e9:.1f} GB"


def free_memory(device: torch.device) -> float:
    """Bytes that can still be had on a device: of the system, within the limits of the process and
    of its group (a container's); all there are where the system does not tell."""
    if device.type == "cuda":
        return float(torch.cuda.mem_get_info(device)[0])
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        lines = dict(line.split(":", 1) for line in meminfo.read_text().splitlines())
        return max(0.0, min(1024.0 * int(lines["MemAvailable"].split()[0]), *_limits()))
    return system_memory()


def _limits() -> Iterator[float]:
    """Bytes that each limit on this process leaves."""
    yield math.inf
    most = address_space_limit()
    if most is not None:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        yield float(most - pages * os.sysconf("SC_PAGE_SIZE"))
    for folder, limit, usage, reclaimable in _GROUPS:
        with suppress(OSError, ValueError, KeyError):
            lines = (folder / "memory.stat").read_text().splitlines()
            files = int(dict(line.split() for line in lines)[reclaimable])
            used = int((folder / usage).read_text()) - files
            yield float(int((folder / limit).read_text()) - used)


def _bytes_per_token(config: Any, dtype: torch.dtype, frozen: bool) -> tuple[int, int]:
    """Returns the bytes that a token takes in a layer kept in full, and as the input of a layer."""
    hidden, heads = int(config.hidden_size), int(config.num_attention_heads)
    gated = getattr(config, "intermediate_size", None)
    inner = int(gated or getattr(config, "ffn_dim", None) or 4 * hidden)
    size = getattr(config, "head_dim", None) or hidden // heads
    numbers = (4 if frozen else 6) * hidden + 5 * heads * int(size) + (4 if gated else 2) * inner
    wide = torch.float32.itemsize  # the residual stream's: see `residual`
    return (
        numbers * dtype.itemsize + 2 * hidden * (wide - dtype.itemsize),
        hidden * max(wide, dtype.itemsize),
    )
