"""Attention of a batch of single tokens over beginnings that several rows share.

Rows that go on from the same tokens read the same keys and values: these are kept once for the
group, and the group's queries are multiplied with them as one matrix, which reads them once
instead of once a row (Hydragen, Juravsky et al. 2024, arXiv:2402.05099). Levels nest: the rules
that all prompts begin with, then the prompt that several samples share; what is left is the row's
own. The scores of all levels stand side by side under one softmax, so nothing is approximated.

Shape letters: L layers, B rows, G groups, M rows of the largest group, H key and value heads, R
query heads for each of these, D size of a head, P shared tokens, S own tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers import AttentionInterface

from gamedsl.policies.errors import ModelError
from gamedsl.policies.kv_pool import KVPool
from gamedsl.policies.prefix_tree import common_prefix

NAME = "gamedsl_shared"
DEPTH = 3
"""The most levels."""
_UNKNOWN = ("softcap", "s_aux", "position_bias", "head_mask")


@dataclass(frozen=True)
class SharedBlock:
    """The rows [start, stop) share the slots [begin, end) of their paths."""

    start: int
    stop: int
    begin: int
    end: int


def blocks(paths: Sequence[Sequence[int]], least: int) -> list[list[SharedBlock]]:
    """Returns the shared prefixes of rows, level by level; rows are sorted so that equal prefixes
    are adjacent.

    A block is made if it saves at least `least` reads of a slot.
    """
    levels: list[list[SharedBlock]] = [[] for _ in range(DEPTH)]
    todo = [(0, len(paths), 0, 0)]  # rows, first slot not in a block yet, level
    while todo:
        start, stop, begin, level = todo.pop()
        if stop - start < 2 or level == DEPTH:
            continue
        end = common_prefix(paths[start], paths[stop - 1])
        if (stop - start - 1) * (end - begin) >= least:
            levels[level].append(SharedBlock(start, stop, begin, end))
            begin, level = end, level + 1
        first = start
        for row in range(start + 1, stop + 1):
            if row == stop or paths[row][end : end + 1] != paths[first][end : end + 1]:
                if paths[first][end : end + 1]:
                    todo.append((first, row, begin, level))
                first = row
    return [sorted(level, key=lambda block: block.start) for level in levels if level]


class SharedLevel:
    """One level's keys and values, by group, and which row is in which group."""

    def __init__(
        self,
        pool: KVPool,
        layers: int,
        paths: Sequence[list[int]],
        level: list[SharedBlock],
        device: torch.device,
    ) -> None:
        self.length = max(block.end - block.begin for block in level)
        slot_GP = torch.zeros(len(level), self.length, dtype=torch.int64)
        self.group_B = torch.full((len(paths),), -1)
        self._size_G = torch.tensor([block.end - block.begin for block in level])
        for group, block in enumerate(level):
            path = paths[block.start][block.begin : block.end]
            slot_GP[group, : len(path)] = torch.tensor(path)
            self.group_B[block.start : block.stop] = group
        slot_GP = slot_GP.to(device)
        pairs = (pool.read(layer, slot_GP) for layer in range(layers))
        self.kv = [
            (k.transpose(1, 2).contiguous(), v.transpose(1, 2).contiguous()) for k, v in pairs
        ]
        self._device = device
        self._arrange()

    def visible(self) -> torch.Tensor:
        """Which of the level's tokens each row reads: bool [B, P]."""
        size_B = torch.where(self.group_B >= 0, self._size_G[self.group_B.clamp(min=0)], 0)
        return torch.arange(self.length) < size_B[:, None]

    def take(self, row_B: torch.Tensor) -> None:
        """Go on with these rows alone; see `DecodeBatch.take`."""
        self.group_B = self.group_B[row_B]
        self._arrange()

    def gather(self, x_BHRD: torch.Tensor) -> torch.Tensor:
        """Rows by group: [G, H, M * R, D]; missing members are copies of some row."""
        x_GMHRD = x_BHRD[self._row_GM]
        return x_GMHRD.transpose(1, 2).flatten(2, 3)

    def scatter(self, x_GHMRP: torch.Tensor) -> torch.Tensor:
        """Back to [B, H, R, P] from [G, H, M * R, P]; 0 for rows of no group."""
        groups, heads, _, size = x_GHMRP.shape
        x_GMHRP = x_GHMRP.view(groups, heads, self._row_GM.shape[1], -1, size).transpose(1, 2)
        x_BHRP = x_GMHRP[self._group_B, self._place_B]
        return x_BHRP if self._alone_B is None else x_BHRP.masked_fill_(self._alone_B, 0.0)

    def _arrange(self) -> None:
        groups = len(self._size_G)
        members = [(self.group_B == group).nonzero().flatten() for group in range(groups)]
        row_GM = torch.zeros(groups, max(1, *map(len, members)), dtype=torch.int64)
        place_B = torch.zeros_like(self.group_B)
        for group, rows in enumerate(members):
            row_GM[group, : len(rows)] = rows
            place_B[rows] = torch.arange(len(rows))
        self._row_GM, self._place_B = row_GM.to(self._device), place_B.to(self._device)
        self._group_B = self.group_B.clamp(min=0).to(self._device)
        alone_B = (self.group_B < 0)[:, None, None, None].to(self._device)
        self._alone_B = alone_B if alone_B.any() else None


def attend(
    module: Any,
    query_BNQD: torch.Tensor,
    key_BHSD: torch.Tensor,
    value_BHSD: torch.Tensor,
    mask_BQQA: torch.Tensor,
    scaling: float,
    levels: Sequence[SharedLevel] = (),
    **options: Any,
) -> tuple[torch.Tensor, None]:
    """An attention function of transformers: one query a row (Q = 1), N = H * R query heads.

    The additive mask [B, 1, 1, A] covers the levels' tokens, then the row's own. Raises ModelError
    for a model whose attention does more.
    """
    if more := [name for name in _UNKNOWN if options.get(name) is not None]:
        raise ModelError(f"the model's attention uses {', '.join(more)}", "choose another model")
    batch, heads = key_BHSD.shape[:2]
    query_BHRD = (query_BNQD * scaling).view(batch, heads, -1, query_BNQD.shape[-1])
    scores = []
    for level in levels:
        key_GHPD, _value = level.kv[module.layer_idx]
        scores.append(level.scatter(level.gather(query_BHRD) @ key_GHPD.transpose(2, 3)))
    scores.append(query_BHRD @ key_BHSD.transpose(2, 3))
    score_BHRA = torch.cat(scores, -1).add_(mask_BQQA)
    weight_BHRA = score_BHRA.softmax(-1, dtype=torch.float32).to(query_BNQD.dtype)
    *parts, own_BHRS = weight_BHRA.split_with_sizes(
        [*(level.length for level in levels), key_BHSD.shape[2]], -1
    )
    out_BHRD = own_BHRS @ value_BHSD
    for level, part_BHRP in zip(levels, parts, strict=True):
        _key, value_GHPD = level.kv[module.layer_idx]
        out_BHRD += level.scatter(level.gather(part_BHRP) @ value_GHPD)
    return out_BHRD.reshape(batch, 1, -1, value_BHSD.shape[-1]), None


AttentionInterface.register(NAME, attend)
