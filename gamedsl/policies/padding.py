"""The plain way to score closed decisions: one padded row for each label of each query.

The reference that the packed tree is checked against, and the fallback for models that cannot
run it. Rows are padded on the right, so positions are those of the unpadded text.

Shape letters: B rows (all labels of all queries), S positions, R rows of flattened [B * S].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import torch

from gamedsl.policies.prefix_tree import AdapterQuery, ScorePlan, Segment


@dataclass(frozen=True)
class PaddedRows:
    """A padded batch, rows sorted by adapter; int64 tensors on the CPU."""

    token_BS: torch.Tensor
    mask_BS: torch.Tensor  # 1 on tokens, 0 on padding
    position_BS: torch.Tensor
    segments: tuple[Segment, ...]  # in flattened positions
    row_R: torch.Tensor  # flattened positions whose next-token distribution is needed
    plan: ScorePlan


def pad(queries: Sequence[AdapterQuery]) -> PaddedRows:
    """One row for each label: its prompt and the label without its last token."""
    sizes = tuple(len(query.labels) for _, query in queries)
    flat = [(adapter, query, label) for adapter, query in queries for label in query.labels]
    order = sorted(range(len(flat)), key=lambda index: flat[index][0])
    length = max(len(query.prompt) + len(label) - 1 for _, query, label in flat)
    token_BS = torch.zeros(len(flat), length, dtype=torch.int64)
    mask_BS = torch.zeros_like(token_BS)
    scored: list[tuple[int, int, int]] = []  # (flattened position, token, label)
    for row, index in enumerate(order):
        _, query, label = flat[index]
        tokens = query.prompt + label[:-1]
        token_BS[row, : len(tokens)] = torch.tensor(tokens)
        mask_BS[row, : len(tokens)] = 1
        first = row * length + len(query.prompt) - 1
        scored.extend((first + offset, token, index) for offset, token in enumerate(label))
    row_R, token_T, label_T = torch.tensor(scored).T
    segments, start = [], 0
    for adapter, group in groupby(flat[index][0] for index in order):
        stop = start + len(list(group)) * length
        segments.append(Segment(adapter, start, stop))
        start = stop
    return PaddedRows(
        token_BS=token_BS,
        mask_BS=mask_BS,
        position_BS=torch.arange(length).expand(len(flat), -1),
        segments=tuple(segments),
        row_R=row_R,
        plan=ScorePlan(torch.arange(len(scored)), token_T, label_T, sizes),
    )
