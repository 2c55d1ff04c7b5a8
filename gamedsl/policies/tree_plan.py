"""Plans attention over a packed token tree, so that a node costs what its ancestors cost.

A node attends to its ancestors and to itself. Nodes are in depth-first order, so the descendants
of a node are one range, and a plan needs two kinds of work:

- **Shared keys**: ancestors that every node of a range has in common, such as the rules that all
  prompts begin with. They are read where they lie, once for the whole range, without a mask.
- **Blocks**: a short range of nodes, their ancestors that are not shared keys of the range, and
  the nodes of the range themselves, under a mask. Blocks of like size are one batch.

Each (node, ancestor) pair is in exactly one piece; partial results are merged by their log-sum-exp
(`tree_attention`), as in cascade attention (Juravsky et al., Hydragen, 2024, arXiv:2402.05099).
Index tensors grow with the nodes and not with the lengths of their paths: ancestors become shared
keys where gathering them for each block would cost more. Costs are counted in pairs, and their
constants were measured on a processor for heads of 16 to 64 numbers.

Shape letters: N nodes, K keys, G blocks of a batch, B queries of a block, T queries of a batch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch

GATHER = 24
"""The cost of gathering a key for one block, forward and back, in pairs."""
MASKED = 0.15
"""What a mask adds to a pair."""
MERGE = 20
"""The cost of merging one more partial result into a query's, in pairs."""
CALL = 2**14
"""The cost of one more piece, in pairs."""
_SIZES = (16, 32, 64, 128, 256)
"""Queries of a block, padding included."""
_SCORES = {"cpu": 2**18, "cuda": 2**24}
"""The most scores of a batch, for one head: few enough for the cache of a processor."""


_KEPT = 2**24
"""The most scores whose masks are kept from layer to layer."""
_TENSORS = ("row_T", "place_T", "query_GB", "key_GK", "stop_GK")


@dataclass(frozen=True)
class SharedKeys:
    """The keys that every query of [start, stop) sees."""

    keys: slice | torch.Tensor
    start: int
    stop: int


@dataclass(frozen=True)
class BlockBatch:
    """Blocks of one size, padded. A query q sees the key k where k <= q < stop of k."""

    row_T: torch.Tensor  # the queries
    place_T: torch.Tensor  # where each is in the flattened [G, B]
    query_GB: torch.Tensor  # the queries again, padding -1
    key_GK: torch.Tensor
    stop_GK: torch.Tensor  # one past the key's last descendant; padding 0
    kept: dict[torch.dtype, torch.Tensor] | None

    def mask(self, dtype: torch.dtype) -> torch.Tensor:
        """Returns the additive mask [G, 1, B, K], made once for all layers unless a plan's masks
        are large together."""
        if self.kept is None:
            return self._made(dtype)
        if dtype not in self.kept:
            self.kept[dtype] = self._made(dtype)
        return self.kept[dtype]

    def _made(self, dtype: torch.dtype) -> torch.Tensor:
        query_GB1, key_G1K = self.query_GB[:, :, None], self.key_GK[:, None]
        hidden_GBK = (key_G1K > query_GB1) | (query_GB1 >= self.stop_GK[:, None])
        zero = torch.zeros(hidden_GBK.shape, dtype=dtype, device=hidden_GBK.device)
        return zero.masked_fill_(hidden_GBK, torch.finfo(dtype).min)[:, None]


@dataclass(frozen=True)
class TreePlan:
    """All pieces of a tree's attention; every query is in one block, which comes first."""

    batches: tuple[BlockBatch, ...]
    shared: tuple[SharedKeys, ...]
    cost: float
    """In pairs of a query and a key."""

    def to(self, device: torch.device) -> TreePlan:
        """Returns the plan with its index tensors on a device."""
        batches = [
            replace(batch, **{name: getattr(batch, name).to(device) for name in _TENSORS})
            for batch in self.batches
        ]
        shared = [
            one if isinstance(one.keys, slice) else replace(one, keys=one.keys.to(device))
            for one in self.shared
        ]
        return TreePlan(tuple(batches), tuple(shared), self.cost)


def plan(depth_N: torch.Tensor, stop_N: torch.Tensor, device: torch.device) -> TreePlan:
    """Returns the plan of a tree of at least one node; see `prefix_tree.Nodes` for its tensors."""
    tree = _Tree(depth_N.numpy(), stop_N.numpy())
    shared, covered_N = _shared(tree)
    blocks = list(_blocks(tree, shared, covered_N))
    cost = sum(map(_shared_cost, shared)) + sum(map(_block_cost, blocks))
    whole = _Block(0, len(tree), np.arange(0))
    if _block_cost(whole) <= cost:
        shared, blocks, cost = [], [whole], _block_cost(whole)
    most = _SCORES.get(device.type, _SCORES["cuda"])
    groups = list(_groups(blocks, most))
    keeps = sum(_padded(one) * one.keys for one in blocks) <= _KEPT
    batches = [_batch(tree, group, keeps) for group in groups]
    pieces = [SharedKeys(_slice_of(keys), start, stop) for keys, start, stop in shared]
    return TreePlan(tuple(batches), tuple(pieces), cost).to(device)


class _Tree:
    """The nodes, and the path to each as one goes through them in order."""

    def __init__(self, depth_N: np.ndarray, stop_N: np.ndarray) -> None:
        self.depth_N, self.stop_N = depth_N, stop_N
        self._latest = np.zeros(int(depth_N.max(initial=0)) + 1, dtype=np.int64)
        self._seen = 0

    def __len__(self) -> int:
        return len(self.depth_N)

    def path(self, node: int, first: int) -> np.ndarray:
        """Returns the node's ancestors from the depth `first` on. Nodes are asked for in order."""
        if node < self._seen:
            self._seen = 0
        self._latest[self.depth_N[self._seen : node]] = np.arange(self._seen, node)
        self._seen = node
        return self._latest[first : self.depth_N[node]].copy()


_Shared = tuple[np.ndarray, int, int]


@dataclass(frozen=True)
class _Block:
    start: int
    stop: int
    path: np.ndarray
    """The ancestors of the first query that are no shared keys."""

    @property
    def keys(self) -> int:
        return len(self.path) + self.stop - self.start


def _shared_cost(one: _Shared) -> float:
    keys, start, stop = one
    return CALL + (stop - start) * (len(keys) + MERGE)


def _block_cost(block: _Block) -> float:
    return block.keys * ((1 + MASKED) * (block.stop - block.start) + GATHER)


def _shared(tree: _Tree) -> tuple[list[_Shared], np.ndarray]:
    """Returns the shared keys, and for each node how many of its first ancestors they are."""
    found: list[_Shared] = []
    covered_N = np.zeros(len(tree), dtype=np.int64)
    active: list[tuple[int, int]] = []  # ancestors that are shared so far, and up to which node
    for node, least in _ends(tree):
        while active and active[-1][1] <= node:
            active.pop()
        covered = active[-1][0] if active else 0
        while tree.depth_N[node] > covered:
            path = tree.path(node, covered)
            count_K = np.arange(1, len(path) + 1)
            queries_K = tree.stop_N[path] - node
            spared = MASKED + GATHER / _SIZES[2]
            saving_K = queries_K * (spared * count_K - MERGE) - CALL
            best = int(saving_K.argmax())
            if saving_K[best] <= 0 or best + 1 < least:
                break
            stop = int(tree.stop_N[path[best]])
            covered += best + 1
            found.append((path[: best + 1], node, stop))
            active.append((covered, stop))
            covered_N[node:stop] = covered
    return found, covered_N


def _ends(tree: _Tree) -> Iterator[tuple[int, int]]:
    """Yields the nodes at which ancestors may become shared keys, and the fewest worth it: where a
    path branches, and every so often along a path that does not.

    A path that goes on with most of its nodes waits for more keys, since each merge costs. Merging
    costs MERGE for each of the R remaining queries and waiting about half a pair for each key and
    query of the next block, which is least for sqrt(2 * R * MERGE / (MASKED + GATHER / B)) keys.
    """
    depth_N, stop_N = tree.depth_N, tree.stop_N
    begins_N = np.ones(len(tree), dtype=bool)
    begins_N[1:] = (depth_N[1:] != depth_N[:-1] + 1) | (stop_N[1:] != stop_N[:-1])
    starts = np.flatnonzero(begins_N)
    stops = np.append(starts[1:], len(tree))
    spared = MASKED + GATHER / _SIZES[2]
    for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        last = int(stop_N[stop - 1])
        if (last - start) * spared * depth_N[stop - 1] < CALL:
            continue
        pause = max(_SIZES[2], round(math.sqrt(2 * (last - start) * MERGE / spared)))
        for node in range(start + pause, stop - pause // 2, pause):
            yield node, pause
        if last > stop:
            waits = _largest_child(stop_N, stop, last) > (last - stop) / 2
            yield stop, pause if waits else 1


def _largest_child(stop_N: np.ndarray, child: int, last: int) -> int:
    """Returns the most nodes below one of the children that fill the range [child, last)."""
    most = 0
    while child < last:
        most = max(most, int(stop_N[child]) - child)
        child = int(stop_N[child])
    return most


def _blocks(tree: _Tree, shared: list[_Shared], covered_N: np.ndarray) -> Iterator[_Block]:
    """Yields blocks that cover all nodes, each with the same shared keys for all its queries. A
    block ends early where the next one's path is then shorter by more than that costs."""
    uncovered_N = tree.depth_N - covered_N
    cuts = sorted({len(tree), *(at for _, start, stop in shared for at in (start, stop))} - {0})
    start = 0
    for cut in cuts:
        while start < cut:
            path = tree.path(start, int(covered_N[start]))
            size = _size(len(path))
            stop = min(start + size, cut)
            if stop < cut:
                end_B = np.arange(start + size // 2, stop + 1)
                gain_B = (end_B - start) * (len(path) + size) / size
                stop = int(end_B[(uncovered_N[end_B] - gain_B).argmin()])
            yield _Block(start, stop, path)
            start = stop


def _size(path: int) -> int:
    """Returns the queries of a block for which gathering its path and masking its own keys cost
    least together."""
    best = math.sqrt(GATHER * max(path, 1))
    return next((size for size in _SIZES[2:] if size >= best), _SIZES[-1])


def _groups(blocks: list[_Block], most: int) -> Iterator[list[_Block]]:
    """Yields blocks that are one batch: of one padded size, and of like numbers of keys."""
    group: list[_Block] = []
    for block in sorted(blocks, key=lambda one: (-_padded(one), -one.keys, one.start)):
        if group:
            first = group[0]
            scores = (len(group) + 1) * _padded(first) * first.keys
            fits = _padded(block) == _padded(first) and scores <= most
            if not fits or (block.keys < 0.75 * first.keys and len(group) >= 8):
                yield group
                group = []
        group.append(block)
    yield group


def _padded(block: _Block) -> int:
    queries = block.stop - block.start
    return next((size for size in _SIZES if size >= queries), queries)


def _batch(tree: _Tree, group: list[_Block], keeps: bool) -> BlockBatch:
    size, width = _padded(group[0]), max(block.keys for block in group)
    query_GB = np.full((len(group), size), -1)
    key_GK = np.zeros((len(group), width), dtype=np.int64)
    stop_GK = np.zeros_like(key_GK)
    for row, block in enumerate(group):
        own = np.arange(block.start, block.stop)
        query_GB[row, : len(own)] = own
        key_GK[row, : block.keys] = np.concatenate([own, block.path])
        stop_GK[row, : block.keys] = tree.stop_N[key_GK[row, : block.keys]]
    place_T = np.flatnonzero(query_GB >= 0)
    return BlockBatch(
        torch.from_numpy(query_GB.reshape(-1)[place_T]),
        torch.from_numpy(place_T),
        torch.from_numpy(query_GB.astype(np.int32)),
        torch.from_numpy(key_GK.astype(np.int32)),
        torch.from_numpy(stop_GK.astype(np.int32)),
        {} if keeps else None,
    )


def _slice_of(keys: np.ndarray) -> slice | torch.Tensor:
    """Returns neighbouring keys as a slice, which copies nothing."""
    first, last = int(keys[0]), int(keys[-1])
    return slice(first, last + 1) if last - first + 1 == len(keys) else torch.from_numpy(keys)
