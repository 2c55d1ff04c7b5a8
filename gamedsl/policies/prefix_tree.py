"""Packs closed decisions into one token tree, so that every distinct prefix is computed once.

Prompts of one game share the rules, and labels of one decision share the prompt. `pack` sorts the
(adapter, tokens) sequences, which puts the tree's nodes in depth-first order. Always true:

- a node is one (adapter, token prefix); nodes of one adapter are contiguous (a `Segment`);
- node j is an ancestor of node i, or i itself, exactly when j <= i < stop[j];
- a token that is only ever predicted (the last one of a label) is no node.

Shape letters: N nodes, R nodes whose next-token distribution is needed, T scored tokens (one for
each token of each label), L labels of all queries together, Q queries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from gamedsl.policies.base import Encoded

AdapterQuery = tuple[str, Encoded]


@dataclass(frozen=True)
class Segment:
    """The nodes [start, stop) that one adapter computes."""

    adapter: str
    start: int
    stop: int


@dataclass(frozen=True)
class ScorePlan:
    """Which token log-probabilities add up to which label; tensors are int64."""

    row_T: torch.Tensor  # index into the R selected nodes
    token_T: torch.Tensor  # the token predicted there
    label_T: torch.Tensor  # index into the L labels
    labels_per_query: tuple[int, ...]

    @property
    def prompt_row_Q(self) -> torch.Tensor:
        """Per query the index into the R selected nodes of the end of its prompt."""
        first_L = np.unique(self.label_T.numpy(), return_index=True)[1]
        starts_Q = np.cumsum((0, *self.labels_per_query))[:-1]
        return self.row_T[torch.from_numpy(first_L[starts_Q])]

    def log_pi(self, log_p_T: torch.Tensor) -> list[torch.Tensor]:
        """Per query log pi [number of labels], float32, normalised over its labels.

        log pi(label) = log_softmax over labels of the sum of the label's token log-probabilities,
        `log_p_T`.
        """
        score_L = log_p_T.new_zeros(sum(self.labels_per_query))
        score_L = score_L.index_add(0, self.label_T.to(log_p_T.device), log_p_T)
        per_query = score_L.split_with_sizes(self.labels_per_query)
        return [score.log_softmax(dim=0) for score in per_query]


@dataclass(frozen=True)
class Nodes:
    """Token prefixes in depth-first order; index tensors are int64, on the CPU."""

    token_N: torch.Tensor
    depth_N: torch.Tensor  # number of tokens before this one
    stop_N: torch.Tensor  # one past the node's last descendant
    segments: tuple[Segment, ...]

    def __len__(self) -> int:
        return len(self.token_N)

    def mask(self, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
        """Additive attention mask [1, 1, N, N]: 0 on ancestors and self, lowest elsewhere."""
        node_N = torch.arange(len(self), device=device)
        stop_N = self.stop_N.to(device)
        visible_NN = (node_N[None, :] <= node_N[:, None]) & (node_N[:, None] < stop_N[None, :])
        mask_NN = torch.full(visible_NN.shape, torch.finfo(dtype).min, dtype=dtype, device=device)
        return mask_NN.masked_fill_(visible_NN, 0.0)[None, None]


@dataclass(frozen=True)
class Tree(Nodes):
    """Prefixes of closed decisions, and how their labels are scored."""

    row_R: torch.Tensor  # nodes whose next-token distribution is needed
    plan: ScorePlan


@dataclass
class TreeBuilder:
    """Grows a tree from sequences that arrive sorted by adapter, then tokens."""

    token: list[int] = field(default_factory=list)
    depth: list[int] = field(default_factory=list)
    stop: list[int] = field(default_factory=list)
    segments: list[Segment] = field(default_factory=list)
    path: list[int] = field(default_factory=list)  # nodes of the latest sequence, by depth
    last: tuple[int, ...] = ()

    def add(self, adapter: str, tokens: tuple[int, ...]) -> list[int]:
        """Insert a sequence; return its nodes by depth."""
        if not self.segments or self.segments[-1].adapter != adapter:
            self.segments.append(Segment(adapter, len(self.token), len(self.token)))
            self._close(0)
        shared = common_prefix(self.last, tokens) if self.path else 0
        self._close(shared)
        for depth in range(shared, len(tokens)):
            self.path.append(len(self.token))
            self.token.append(tokens[depth])
            self.depth.append(depth)
            self.stop.append(-1)
        self.last = tokens
        start = self.segments[-1].start
        self.segments[-1] = Segment(adapter, start, len(self.token))
        return self.path

    def _close(self, depth: int) -> None:
        """End the nodes at `depth` and below: no later sequence passes through them."""
        for node in self.path[depth:]:
            self.stop[node] = len(self.token)
        del self.path[depth:]

    def finish(self) -> Nodes:
        """The tree of all that was inserted."""
        self._close(0)
        return Nodes(
            torch.tensor(self.token),
            torch.tensor(self.depth),
            torch.tensor(self.stop),
            tuple(self.segments),
        )


def common_prefix(a: Sequence[int], b: Sequence[int]) -> int:
    """Number of leading tokens that `a` and `b` share."""
    shared, limit = 0, min(len(a), len(b))
    while shared < limit:  # by halves: slices compare much faster than a loop does
        middle = (shared + limit + 1) // 2
        if a[shared:middle] == b[shared:middle]:
            shared = middle
        else:
            limit = middle - 1
    return shared


def pack(queries: Sequence[AdapterQuery]) -> Tree:
    """The tree of `queries`, with the plan that scores their labels in the order given."""
    sequences = sorted(
        (adapter, query.prompt + label[:-1], len(query.prompt), label, first + offset)
        for (adapter, query), first in zip(queries, _first_labels(queries), strict=True)
        for offset, label in enumerate(query.labels)
    )
    builder = TreeBuilder()
    row_of_node: dict[int, int] = {}
    scored: list[tuple[int, int, int]] = []
    for adapter, tokens, prompt_length, label, label_index in sequences:
        path = builder.add(adapter, tokens)
        for offset, token in enumerate(label):
            node = path[prompt_length - 1 + offset]
            row = row_of_node.setdefault(node, len(row_of_node))
            scored.append((row, token, label_index))
    nodes = builder.finish()
    row_T, token_T, label_T = torch.tensor(scored, dtype=torch.int64).reshape(-1, 3).T
    sizes = tuple(len(query.labels) for _, query in queries)
    return Tree(
        nodes.token_N,
        nodes.depth_N,
        nodes.stop_N,
        nodes.segments,
        row_R=torch.tensor(list(row_of_node)),
        plan=ScorePlan(row_T, token_T, label_T, sizes),
    )


def _first_labels(queries: Sequence[AdapterQuery]) -> Iterator[int]:
    """Index of each query's first label among the labels of all."""
    total = 0
    for _, query in queries:
        yield total
        total += len(query.labels)


def chunks(queries: Sequence[AdapterQuery], max_tokens: int) -> list[list[int]]:
    """Split into groups whose trees have at most `max_tokens` nodes.

    Returns indices into `queries`, ordered so that queries sharing a prefix meet in one group; a
    query larger than the limit gets a group of its own.
    """
    order = sorted(range(len(queries)), key=lambda i: (queries[i][0], queries[i][1].prompt))
    groups: list[list[int]] = []
    used, last_adapter = 0, ""
    last_prompt: tuple[int, ...] = ()
    for index in order:
        adapter, query = queries[index]
        answers = sum(len(label) - 1 for label in query.labels)
        shared = common_prefix(last_prompt, query.prompt) if adapter == last_adapter else 0
        cost = len(query.prompt) - shared + answers
        if not groups or used + cost > max_tokens:
            groups.append([])
            used, cost = 0, len(query.prompt) + answers
        groups[-1].append(index)
        used += cost
        last_adapter, last_prompt = adapter, query.prompt
    return groups
