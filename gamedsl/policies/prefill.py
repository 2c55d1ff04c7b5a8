"""Fills the pool with the keys and values of token prefixes, each token once.

New tokens are cut into pieces of consecutive tokens, a row of the batch each. Within a layer all
new keys and values are written before any are read, so pieces that continue one another, and
sequences that share a beginning, go through in one pass.

Shape letters: G pieces, Q tokens of a piece, S slots that a piece reads, T tokens that are new.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from gamedsl.policies.kv_pool import SCRAP, KVPool
from gamedsl.policies.lora import Router
from gamedsl.policies.network import Network
from gamedsl.policies.prefix_tree import Segment

_SIZES = (16, 32, 64, 128, 256)
_READ_COST = 1 / 8  # of a slot that a piece reads, against a token that it computes
PASS_COST = 64  # of a pass, in tokens; and the padding that is worth another one
_READ_LIMIT = 2**17  # slots that the pieces of one pass read

Sequence_ = tuple[str, Sequence[int]]


@dataclass(frozen=True)
class _Piece:
    """The tokens [begin, end) of a sequence; `slots` are those of its tokens [0, end)."""

    adapter: str
    tokens: Sequence[int]
    slots: Sequence[int]
    begin: int
    end: int

    def __len__(self) -> int:
        return self.end - self.begin


def fill(
    network: Network,
    router: Router,
    pool: KVPool,
    sequences: Sequence[Sequence_],
    max_tokens: int,
) -> list[list[int]]:
    """Slots of every token of each (adapter, tokens), computing what is not kept.

    To be called after `KVPool.find` on the same sequences and `reserve`. If a pass fails, what it
    was to fill is dropped. max_tokens: of one pass.
    """
    paths: list[list[int]] = []
    fresh: list[tuple[int, int]] = []  # first new token, number of them
    for adapter, tokens in sequences:
        before = len(pool)
        paths.append(pool.claim(adapter, tokens))
        fresh.append((len(tokens) - (len(pool) - before), len(pool) - before))
    try:
        for pieces in _planned(sequences, paths, fresh, max_tokens):
            _compute(network, router, pool, pieces)
    except BaseException:
        pool.forget()
        raise
    return paths


def _planned(
    sequences: Sequence[Sequence_],
    paths: Sequence[list[int]],
    fresh: Sequence[tuple[int, int]],
    max_tokens: int,
) -> list[list[_Piece]]:
    """Passes over pieces of the size that costs least."""
    counts = [count for _, count in fresh if count]
    if not counts:
        return []
    sizes = sorted({*_SIZES, min(max(counts), _SIZES[-1])}, reverse=True)
    plans = (_passes(_cut(sequences, paths, fresh, size), max_tokens) for size in sizes)
    return min(plans, key=lambda plan: sum(map(_cost, plan)))


def _cost(pieces: Sequence[_Piece]) -> float:
    """Returns the cost of a pass, in computed tokens."""
    longest = max(piece.end for piece in pieces)
    return PASS_COST + len(pieces) * (max(map(len, pieces)) + _READ_COST * longest)


def _cut(
    sequences: Sequence[Sequence_],
    paths: Sequence[list[int]],
    fresh: Sequence[tuple[int, int]],
    size: int,
) -> list[_Piece]:
    """Pieces of at most `size` tokens, those that others continue before them, longest first."""
    pieces: list[tuple[int, _Piece]] = []
    level_of: dict[int, int] = {}  # of slots that are new: how many pieces come before theirs
    for (adapter, tokens), path, (first, _) in zip(sequences, paths, fresh, strict=True):
        for begin in range(first, len(tokens), size):
            end = min(begin + size, len(tokens))
            level = level_of.get(path[begin - 1], -1) + 1 if begin else 0
            level_of.update(dict.fromkeys(path[begin:end], level))
            pieces.append((level, _Piece(adapter, tokens, path, begin, end)))
    return [piece for _, piece in sorted(pieces, key=lambda each: (each[0], -len(each[1])))]


def _passes(pieces: Sequence[_Piece], max_tokens: int) -> list[list[_Piece]]:
    """In order; a pass ends where more padding would cost what another pass does."""
    groups: list[list[_Piece]] = []
    width = longest = padding = 0
    for piece in pieces:
        rows = len(groups[-1]) + 1 if groups else 0
        wider, deeper = max(width, len(piece)), max(longest, piece.end)
        more = padding + rows * wider - (rows - 1) * width - len(piece)
        if (
            not rows or more > PASS_COST
            or rows * wider > max_tokens or rows * deeper > _READ_LIMIT
        ):  # fmt: skip
            groups.append([])
            wider, deeper, more = len(piece), piece.end, 0
        groups[-1].append(piece)
        width, longest, padding = wider, deeper, more
    return groups


class _Filling:
    """A cache for transformers that writes new columns and reads all columns that a piece sees."""

    def __init__(
        self, pool: KVPool, slot_T: torch.Tensor, cell_T: torch.Tensor, read_GS: torch.Tensor
    ) -> None:
        """cell_T: places of the new tokens in the flattened [G * Q]."""
        self._pool, self._slot_T, self._cell_T, self._read_GS = pool, slot_T, cell_T, read_GS

    def update(
        self, key_GHQD: torch.Tensor, value_GHQD: torch.Tensor, layer: int, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        key_THD, value_THD = (
            new.transpose(1, 2).flatten(0, 1)[self._cell_T] for new in (key_GHQD, value_GHQD)
        )
        self._pool.write(layer, self._slot_T, key_THD, value_THD)
        key_GSHD, value_GSHD = self._pool.read(layer, self._read_GS)
        return key_GSHD.transpose(1, 2), value_GSHD.transpose(1, 2)

    def get_seq_length(self, layer: int = 0) -> int:
        return 0


def _compute(network: Network, router: Router, pool: KVPool, pieces: list[_Piece]) -> None:
    """One pass over the pieces."""
    pieces = sorted(pieces, key=lambda piece: piece.adapter)
    width = max(map(len, pieces))
    length = max(piece.end for piece in pieces)
    token_GQ = torch.zeros(len(pieces), width, dtype=torch.int64)
    read_GS = torch.full((len(pieces), length), SCRAP)
    slots: list[int] = []
    cells: list[int] = []
    for row, piece in enumerate(pieces):
        size = len(piece)
        token_GQ[row, :size] = torch.tensor(piece.tokens[piece.begin : piece.end])
        read_GS[row, : piece.end] = torch.tensor(piece.slots[: piece.end])
        slots += piece.slots[piece.begin : piece.end]
        cells += range(row * width, row * width + size)
    begin_G1 = torch.tensor([[piece.begin] for piece in pieces])
    position_GQ = (begin_G1 + torch.arange(width)).clamp_(max=length - 1)
    hidden_GQS = torch.arange(length) > position_GQ[..., None]  # tokens that come later
    dtype, device = network.dtype, network.device
    mask = torch.zeros(hidden_GQS.shape, dtype=dtype).masked_fill_(
        hidden_GQS, torch.finfo(dtype).min
    )
    filling = _Filling(
        pool,
        torch.tensor(slots, device=device),
        torch.tensor(cells, device=device),
        read_GS.to(device),
    )
    with router.route(segments([piece.adapter for piece in pieces], width)):
        network.cached(
            token_GQ.to(device), mask[:, None].to(device), position_GQ.to(device), filling
        )


def segments(adapters: Sequence[str], width: int) -> tuple[Segment, ...]:
    """The router's segments of rows of `width` tokens, sorted by adapter."""
    found: list[Segment] = []
    for row, adapter in enumerate(adapters):
        start, stop = row * width, (row + 1) * width
        if found and found[-1].adapter == adapter:
            start = found.pop().start
        found.append(Segment(adapter, start, stop))
    return tuple(found)
