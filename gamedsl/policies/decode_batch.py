"""A batch that grows by one token a row a step, on keys and values that are never copied to grow.

Each row's own keys and values (what it shares with no other, see `shared`) end in the same column,
padded on the left, so that a step writes one column for all rows. Room is made ahead, by half as
much again each time. Rows that are done leave when an eighth of the batch is done.

Shape letters: L layers, B rows, H key and value heads, D size of a head, S columns, A columns of
all levels and the own ones, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from gamedsl.policies.kv_pool import SCRAP, KVPool
from gamedsl.policies.lora import Router
from gamedsl.policies.network import Network
from gamedsl.policies.prefill import segments
from gamedsl.policies.shared_attention import NAME, SharedBlock, SharedLevel, blocks

_ROOM = 32  # columns made at once, at least


class DecodeBatch:
    """Rows whose paths are in the pool, sorted by adapter and path."""

    def __init__(
        self,
        network: Network,
        router: Router,
        pool: KVPool,
        adapters: Sequence[str],
        paths: Sequence[list[int]],
        share: int | None,
    ) -> None:
        """`share`: reads of a slot that a shared block must spare a step (None: share nothing)."""
        self._network, self._router = network, router
        self._adapters = list(adapters)
        self._layers = len(network.layers)
        found = [] if share is None else blocks(paths, share)
        self._levels = [
            SharedLevel(pool, self._layers, paths, level, network.device) for level in found
        ]
        begins = _begins(len(paths), found)
        own = [path[begin:] for path, begin in zip(paths, begins, strict=True)]
        self._position_B1 = torch.tensor([[len(path)] for path in paths], device=network.device)
        self._width = self.first = max(map(len, own))
        self._keys: list[torch.Tensor] = []  # by layer [B, H, S, D]
        self._values: list[torch.Tensor] = []
        self._load_cache(pool, own)
        self._mask_BA = self._visible(own)

    def __len__(self) -> int:
        return len(self._adapters)

    @property
    def age(self) -> int:
        """Steps made."""
        return self._width - self.first

    def step(self, tokens: Sequence[int] | torch.Tensor) -> torch.Tensor:
        """Add a token to each row; float32 logits [B, V] of the next. Nothing waits for tokens that
        are on the device."""
        self._width += 1
        if self._keys and self._width > self._keys[0].shape[2]:
            self._widen()
        token_B1 = torch.as_tensor(tokens, device=self._network.device)[:, None]
        shared = sum(level.length for level in self._levels)
        mask = self._mask_BA[:, None, None, : shared + self._width]
        options = {"levels": self._levels} if self._levels else {}
        with self._router.route(segments(self._adapters, 1)), self._attention():
            hidden_B1D = self._network.cached(token_B1, mask, self._position_B1, self, **options)
        self._position_B1 += 1
        return self._network.head(hidden_B1D[:, 0])

    def take(self, rows: Sequence[int]) -> None:
        """Go on with these rows alone, in this order; a row may be there more than once, and goes
        its own ways from then on. In ascending order, for rows that share lie together."""
        row_B = torch.tensor(rows)
        self._adapters = [self._adapters[row] for row in rows]
        for level in self._levels:
            level.take(row_B)
        row_B = row_B.to(self._network.device)
        self._position_B1, self._mask_BA = self._position_B1[row_B], self._mask_BA[row_B]
        for store in (self._keys, self._values):
            for layer in range(len(store)):  # one at a time: both copies of one layer alone live
                store[layer] = store[layer][row_B]

    def own(self, row: int, count: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """By layer the keys and values [count, H, D] of the first `count` tokens that were added
        to a row."""
        columns = slice(self.first, self.first + count)
        for key_BHSD, value_BHSD in zip(self._keys, self._values, strict=True):
            yield (
                key_BHSD[row, :, columns].transpose(0, 1),
                value_BHSD[row, :, columns].transpose(0, 1),
            )

    def update(
        self, key_BH1D: torch.Tensor, value_BH1D: torch.Tensor, layer: int, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Stores the new column and returns all columns; transformers calls this on its cache."""
        if layer == len(self._keys):  # nothing is kept of any row yet
            for store, new in ((self._keys, key_BH1D), (self._values, value_BH1D)):
                store.append(new.new_zeros(*new.shape[:2], self._width + _ROOM - 1, new.shape[3]))
        key_BHSD, value_BHSD = self._keys[layer], self._values[layer]
        key_BHSD[:, :, self._width - 1] = key_BH1D[:, :, 0]
        value_BHSD[:, :, self._width - 1] = value_BH1D[:, :, 0]
        return key_BHSD[:, :, : self._width], value_BHSD[:, :, : self._width]

    def get_seq_length(self, layer: int = 0) -> int:
        return 0

    def _load_cache(self, pool: KVPool, own: Sequence[list[int]]) -> None:
        """Copy what the rows hold of their own from the pool."""
        if not self._width:
            return
        rows = [[SCRAP] * (self._width - len(path)) + path for path in own]
        slot_BS = torch.tensor(rows, device=self._network.device)
        for layer in range(self._layers):
            pair = pool.read(layer, slot_BS)
            for store, read_BSHD in zip((self._keys, self._values), pair, strict=True):
                read_BHSD = read_BSHD.transpose(1, 2)
                room = [*read_BHSD.shape[:2], self._width + _ROOM, read_BHSD.shape[3]]
                store.append(read_BHSD.new_zeros(room))
                store[-1][:, :, : self._width] = read_BHSD

    def _visible(self, own: Sequence[list[int]]) -> torch.Tensor:
        """The additive mask [B, A]."""
        pad_B1 = torch.tensor([[self._width - len(path)] for path in own])
        seen = [level.visible() for level in self._levels]
        seen.append(torch.arange(self._width + _ROOM) >= pad_B1)
        seen_BA = torch.cat(seen, 1)
        dtype = self._network.dtype
        mask_BA = torch.zeros(seen_BA.shape, dtype=dtype).masked_fill_(
            ~seen_BA, torch.finfo(dtype).min
        )
        return mask_BA.to(self._network.device)

    def _widen(self) -> None:
        more = max(_ROOM, self._width // 2)
        for store in (self._keys, self._values):
            for layer, old_BHSD in enumerate(store):
                store[layer] = torch.cat(
                    [old_BHSD, torch.zeros_like(old_BHSD[:, :, :1]).expand(-1, -1, more, -1)], 2
                )
        grown = self._mask_BA.new_zeros(len(self), more)
        self._mask_BA = torch.cat([self._mask_BA, grown], 1)

    @contextmanager
    def _attention(self) -> Iterator[None]:
        """transformers' own attention, or ours where there are levels."""
        config = self._network.config
        before = config._attn_implementation
        if self._levels:
            config._attn_implementation = NAME
        try:
            yield
        finally:
            config._attn_implementation = before


def _begins(rows: int, levels: Sequence[Sequence[SharedBlock]]) -> list[int]:
    """By row where its own slots begin."""
    begins = [0] * rows
    for level in levels:
        for block in level:
            begins[block.start : block.stop] = [block.end] * (block.stop - block.start)
    return begins
