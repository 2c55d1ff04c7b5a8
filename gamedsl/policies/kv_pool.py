"""Keys and values of token prefixes, kept from call to call in one bounded store.

A slot holds what every layer computed for one token after all tokens before it, under one adapter.
Slots form a trie for each adapter; a prefix is the list of its tokens' slots. Always true: slots of
a kept prefix are filled, or will be in the pass under way; a slot's ancestors were used no earlier
than it was, so that dropping what was used longest ago leaves whole prefixes. Slot 0 is scrap: what
padding writes goes there, and nothing that is used reads it.

Shape letters: C slots, H key and value heads, D size of a head, T tokens.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import torch

SCRAP = 0
_ROOT = -1


class KVPool:
    """Slots of one model; `limit` is how many are kept, unless one call alone needs more."""

    def __init__(self, layers: int, limit: int) -> None:
        self._layers, self.limit = layers, limit
        self._tries: dict[str, dict[tuple[int, int], int]] = {}
        self._used_at = [0]  # by slot
        self._free: list[int] = []
        self._clock = 0
        self._keys: list[torch.Tensor] = []  # by layer [C, H, D]
        self._values: list[torch.Tensor] = []

    def __len__(self) -> int:
        """Slots in use."""
        return len(self._used_at) - 1 - len(self._free)

    def forget(self, adapter: str | None = None) -> None:
        """Drop the prefixes of one adapter, or of all."""
        for name in [adapter] if adapter is not None else list(self._tries):
            self._free += self._tries.pop(name, {}).values()
        if not self._tries:
            self._used_at, self._free, self._keys, self._values = [0], [], [], []

    def find(self, sequences: Sequence[tuple[str, Sequence[int]]]) -> list[int]:
        """Returns the number of cached tokens of each (adapter, tokens). Begins a call: entries
        that it finds, and those claimed until the next call, are not evicted."""
        self._clock += 1
        return [len(self._walk(adapter, tokens)) for adapter, tokens in sequences]

    def reserve(self, count: int) -> None:
        """Make room for `count` slots: what was used longest ago goes, until half is free."""
        if len(self) + count <= self.limit:
            return
        ages = Counter(
            self._used_at[slot] for trie in self._tries.values() for slot in trie.values()
        )
        ages.pop(self._clock, None)
        kept, oldest = len(self), 0
        for age in sorted(ages):
            if kept <= min(self.limit // 2, self.limit - count):
                break
            kept, oldest = kept - ages[age], age
        for adapter, trie in self._tries.items():
            self._free += [slot for slot in trie.values() if self._used_at[slot] <= oldest]
            self._tries[adapter] = {
                step: slot for step, slot in trie.items() if self._used_at[slot] > oldest
            }

    def claim(self, adapter: str, tokens: Sequence[int], parent: int | None = None) -> list[int]:
        """Slots of all tokens after `parent` (None: the beginning); those not kept get new ones,
        which the caller fills."""
        trie = self._tries.setdefault(adapter, {})
        at = _ROOT if parent is None else parent
        slots = []
        for token in tokens:
            step = (at, token)
            if (known := trie.get(step)) is None:
                known = trie[step] = self._new()
            self._used_at[known] = self._clock
            slots.append(known)
            at = known
        return slots

    def write(
        self, layer: int, slot_T: torch.Tensor, key_THD: torch.Tensor, value_THD: torch.Tensor
    ) -> None:
        """Fill slots of one layer."""
        self._fit(key_THD, value_THD)
        self._keys[layer][slot_T] = key_THD
        self._values[layer][slot_T] = value_THD

    def read(self, layer: int, slots: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Keys and values [*slots.shape, H, D] of one layer."""
        return self._keys[layer][slots], self._values[layer][slots]

    def _walk(self, adapter: str, tokens: Sequence[int]) -> list[int]:
        trie = self._tries.get(adapter, {})
        at, slots = _ROOT, []
        for token in tokens:
            known = trie.get((at, token))
            if known is None:
                break
            self._used_at[known] = self._clock
            slots.append(known)
            at = known
        return slots

    def _new(self) -> int:
        if self._free:
            return self._free.pop()
        self._used_at.append(self._clock)
        return len(self._used_at) - 1

    def _fit(self, key_THD: torch.Tensor, value_THD: torch.Tensor) -> None:
        """See that each layer has a place for every slot."""
        size = len(self._used_at)
        if self._keys and len(self._keys[0]) >= size:
            return
        room = max(size, min(2 * size, self.limit + 1))
        for stores, like in ((self._keys, key_THD), (self._values, value_THD)):
            stores += [like[:0]] * (self._layers - len(stores))
            for layer, old in enumerate(stores):
                stores[layer] = like.new_zeros(room, *like.shape[1:])
                stores[layer][: len(old)] = old
