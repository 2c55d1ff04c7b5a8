"""Keeps the trunk's output for every token prefix seen, since training never changes it.

The trunk lies below the first adapted layer, so its output depends on the token prefix alone: not
on the adapter, not on the step. A step whose prompts were all seen before runs no trunk layer, nor
does the update of a step whose games have just been played.

Shape letters: N nodes of the tree asked for, C kept prefixes, D hidden size.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from gamedsl.policies.base import Encoded
from gamedsl.policies.network import Network
from gamedsl.policies.prefix_tree import Nodes, chunks, pack

_ROOT = -1
_BYTES, _MOST = 2**29, 2**18
"""Bytes of the states that are kept, and how many at most: the index of each takes as much as a
short state does."""


def trunk_room(hidden: int, dtype: torch.dtype) -> int:
    """Returns how many prefixes of a model are kept, where nobody says."""
    return min(_MOST, _BYTES // (hidden * dtype.itemsize))


class TrunkCache:
    """Trunk outputs by token prefix, at most `limit`. Where more would be kept, it forgets
    everything if `lasts`; else it keeps what it has until it is told to forget, so that what is
    kept depends on the passes since then alone."""

    def __init__(
        self, network: Network, limit: int, max_tokens: int, *, lasts: bool = True
    ) -> None:
        self._network, self._limit, self._max_tokens = network, limit, max_tokens
        self._lasts = lasts
        self.forget()

    def forget(self) -> None:
        """Drops everything."""
        self._id_of: dict[tuple[int, int], int] = {}  # (parent's id, token) -> id
        self._state_CD: torch.Tensor | None = None

    def __len__(self) -> int:
        return len(self._id_of)

    def states(self, tree: Nodes) -> torch.Tensor:
        """The tree's hidden states [N, D] at the cut; computes those not kept."""
        missing, count = self._missing(tree)
        if len(self) + count > self._limit:
            if not self._lasts:
                return self._run(tree)
            self.forget()
            missing, _ = self._missing(tree)
        if missing:
            self._compute(missing)
        assert self._state_CD is not None
        ids_N = torch.tensor(list(self._ids(tree)), device=self._state_CD.device)
        return self._state_CD[ids_N]

    def _ids(self, tree: Nodes) -> Iterator[int]:
        path: list[int] = []
        for token, depth in zip(tree.token_N.tolist(), tree.depth_N.tolist(), strict=True):
            del path[depth:]
            path.append(self._id_of[path[-1] if path else _ROOT, token])
            yield path[-1]

    def _missing(self, tree: Nodes) -> tuple[list[tuple[int, ...]], int]:
        """Token sequences, root to leaf, of the branches with a prefix that is not kept, and how
        many such prefixes there are."""
        tokens: list[int] = []
        path: list[int | None] = []
        found: list[tuple[int, ...]] = []
        count = 0
        nodes = zip(tree.token_N.tolist(), tree.depth_N.tolist(), tree.stop_N.tolist(), strict=True)
        for node, (token, depth, stop) in enumerate(nodes):
            del path[depth:], tokens[depth:]
            parent = path[-1] if path else _ROOT
            known = None if parent is None else self._id_of.get((parent, token))
            path.append(known)
            tokens.append(token)
            count += known is None
            if known is None and stop == node + 1:
                found.append(tuple(tokens))
        return found, count

    def _compute(self, sequences: list[tuple[int, ...]]) -> None:
        """Run the trunk over `sequences` and keep what is new."""
        # A label of one predicted token adds no node, so each tree is its prompts alone.
        queries = [("", Encoded(sequence, ((0,),))) for sequence in sorted(set(sequences))]
        for group in chunks(queries, self._max_tokens):
            tree = pack([queries[index] for index in group])
            self._keep(tree, self._run(tree))

    @torch.no_grad()
    def _run(self, tree: Nodes) -> torch.Tensor:
        """The trunk's output [N, D] for a tree."""
        device = self._network.device
        token_BS, depth_BS = tree.token_N[None].to(device), tree.depth_N[None].to(device)
        return self._network.trunk(token_BS, tree, depth_BS)[0]

    def _keep(self, tree: Nodes, hidden_ND: torch.Tensor) -> None:
        path: list[int] = []
        new: list[int] = []
        for node, (token, depth) in enumerate(
            zip(tree.token_N.tolist(), tree.depth_N.tolist(), strict=True)
        ):
            del path[depth:]
            key = (path[-1] if path else _ROOT, token)
            if key not in self._id_of:
                self._id_of[key] = len(self._id_of)
                new.append(node)
            path.append(self._id_of[key])
        self._add(hidden_ND[new])

    def _add(self, state_ND: torch.Tensor) -> None:
        """Writes the states of the newest ids behind the others. Room grows by doubling, so that
        many small passes do not copy all that is kept each time."""
        start, stop = len(self) - len(state_ND), len(self)
        if self._state_CD is None or stop > len(self._state_CD):
            room = min(max(stop, 2 * start), max(stop, self._limit))
            grown_CD = state_ND.new_empty(room, state_ND.shape[1])
            if self._state_CD is not None:
                grown_CD[:start] = self._state_CD[:start]
            self._state_CD = grown_CD
        self._state_CD[start:stop] = state_ND
