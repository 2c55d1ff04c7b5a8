"""Log-probabilities and gradients of chosen tokens of long rows.

Rows that begin alike (samples of one prompt, turns of one episode) are one packed tree; a network
that takes none gets padded rows of like length. Rows are split into passes of a bounded number of
tokens, whose gradients are added up. The output layer runs over a bounded number of positions at a
time, forward and backward, so its logits never stand in memory for all; only positions before a
trained token reach it: the other tokens have no log-probability that a gradient could come from.

Shape letters: B rows, S positions, N tree nodes, R positions before a trained token, D hidden
size, V vocabulary, T trained tokens of all rows together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from gamedsl.policies.generation import TokenEntropy, TokenRow, Weigh
from gamedsl.policies.lora import Router
from gamedsl.policies.network import Network
from gamedsl.policies.prefill import PASS_COST, segments
from gamedsl.policies.prefix_tree import TreeBuilder, common_prefix
from gamedsl.policies.trunk import TrunkCache


@dataclass(frozen=True)
class _Plan:
    """Which token is predicted where; `place_T` are positions in the flattened pass."""

    place_T: torch.Tensor
    token_T: torch.Tensor
    temperature_T: torch.Tensor
    sizes: tuple[int, ...]
    """Trained tokens of each row."""


class TokenRows:
    """Trained tokens of one network; `router` says which adapter a token goes through."""

    def __init__(
        self,
        network: Network,
        router: Router,
        *,
        max_tokens: int,
        can_pack: Callable[[], bool],
        trunk: TrunkCache | None = None,
    ) -> None:
        """max_tokens: of one pass, padding included; a row that is longer has one of its own.
        trunk: of a network that may be cut, what the layers below the cut give."""
        self._network, self._router, self._trunk = network, router, trunk
        self._max_tokens, self._can_pack = max_tokens, can_pack
        self._weights: int = sum(p.numel() for layer in network.layers for p in layer.parameters())
        self._width = len(network.layers) * int(network.config.hidden_size)

    def log_probs(
        self, rows: Sequence[TokenRow], entropy: TokenEntropy | None = None
    ) -> list[torch.Tensor]:
        """Per row log pi of its trained tokens, float32 on the CPU, without a graph."""
        with torch.no_grad():
            return self._each(rows, None, entropy)

    def backward(
        self, rows: Sequence[TokenRow], weights: Sequence[torch.Tensor] | Weigh,
        entropy: TokenEntropy | None = None,
    ) -> list[torch.Tensor]:  # fmt: skip
        """Add the gradient of sum(weights * log pi), and of the weighted entropies, to `.grad`;
        return log pi as `log_probs`."""
        if callable(weights):
            return self._each(rows, weights, entropy)
        if [len(weight) for weight in weights] != [len(row.positions) for row in rows]:
            raise ValueError("there must be a weight for each trained token of each row")
        weight_T = torch.cat([torch.zeros(0), *weights])
        return self._each(rows, lambda number_T, _: weight_T[number_T], entropy)

    def _each(
        self, rows: Sequence[TokenRow], weigh: Weigh | None, entropy: TokenEntropy | None
    ) -> list[torch.Tensor]:
        results = [torch.zeros(0)] * len(rows)
        sizes = [len(row.positions) for row in rows]
        number_T = torch.arange(sum(sizes)).split_with_sizes(sizes)
        for indices in self._passes(rows):
            hidden, plan = self._run([rows[index] for index in indices])
            numbers = torch.cat([number_T[i] for i in indices])
            log_p_T = self._score(hidden, plan, weigh, numbers, entropy)
            results_here = log_p_T.cpu().split_with_sizes(plan.sizes)
            for index, log_p in zip(indices, results_here, strict=True):
                results[index] = log_p
        return results

    def _passes(self, rows: Sequence[TokenRow]) -> list[list[int]]:
        """All rows with trained tokens, by number, in passes of one kind."""
        trained = [index for index, row in enumerate(rows) if row.trained]
        trees = [index for index in trained if self._fits_tree(_input(rows[index]))]
        padded = [index for index in trained if not self._fits_tree(_input(rows[index]))]
        return [*self._trees(rows, trees), *self._by_length(rows, padded)]

    def _fits_tree(self, ids: tuple[int, ...]) -> bool:
        return self._can_pack() and len(ids) <= self._network.window

    def _trees(self, rows: Sequence[TokenRow], indices: Sequence[int]) -> list[list[int]]:
        """Rows that begin alike together. A row joins those before it where that costs no more than
        a pass of its own. It spares what they share; under a dense mask each looks past all the
        others."""
        groups: list[list[int]] = []
        used = 0
        last: TokenRow | None = None
        apart = PASS_COST * self._weights
        for index in sorted(indices, key=lambda i: (rows[i].adapter, _input(rows[i]))):
            row, alone = rows[index], len(_input(rows[index]))
            new = alone
            if last is not None and last.adapter == row.adapter:
                new -= common_prefix(_input(last), _input(row))
            joined = self._masked_cost(used + new) - self._masked_cost(used)
            dearer = joined > self._masked_cost(alone) + apart
            dearer &= not self._network.attends_by_plan
            if used + new > self._max_tokens or dearer or not groups:
                groups.append([])
                used, new = 0, alone
            groups[-1].append(index)
            used, last = used + new, row
        return groups

    def _by_length(self, rows: Sequence[TokenRow], indices: Sequence[int]) -> list[list[int]]:
        """Rows of like length together, the padding counted as tokens."""
        groups: list[list[int]] = []
        width = padding = 0
        for index in sorted(indices, key=lambda i: -len(_input(rows[i]))):
            size = len(_input(rows[index]))
            padding += width - size
            full = bool(groups) and (len(groups[-1]) + 1) * width > self._max_tokens
            if not groups or full or padding > PASS_COST:
                groups.append([])
                width, padding = size, 0
            groups[-1].append(index)
        return groups

    def _run(self, rows: Sequence[TokenRow]) -> tuple[torch.Tensor, _Plan]:
        """Hidden states of one pass, positions flattened, and what is predicted where."""
        longest = max((_input(row) for row in rows), key=len)
        if not self._fits_tree(longest):
            return self._run_padded(rows, len(longest))
        builder = TreeBuilder()
        paths: dict[int, list[int]] = {}
        for at in sorted(range(len(rows)), key=lambda i: (rows[i].adapter, _input(rows[i]))):
            paths[at] = list(builder.add(rows[at].adapter, _input(rows[at])))
        return self._run_tree(builder, rows, [paths[at] for at in range(len(rows))])

    def _masked_cost(self, tokens: int) -> int:
        """Multiplications of a tree under a dense mask: weights, scores and sums of attention."""
        return tokens * self._weights + 2 * tokens**2 * self._width

    def _run_tree(
        self, builder: TreeBuilder, rows: Sequence[TokenRow], paths: Sequence[list[int]]
    ) -> tuple[torch.Tensor, _Plan]:
        tree, device = builder.finish(), self._network.device
        position_1N = tree.depth_N[None].to(device)
        token_1N, start_1ND = tree.token_N[None].to(device), None
        if self._trunk is not None and self._network.is_cut:
            start_1ND = self._trunk.states(tree)[None]
        with self._router.route(tree.segments):
            if start_1ND is None:
                hidden_1ND = self._network.whole(token_1N, tree, position_1N)
            else:
                hidden_1ND = self._network.crown(start_1ND, tree, position_1N)
        return hidden_1ND[0], _plan(rows, paths, device)

    def _run_padded(self, rows: Sequence[TokenRow], longest: int) -> tuple[torch.Tensor, _Plan]:
        order = sorted(range(len(rows)), key=lambda at: rows[at].adapter)
        token_BS = torch.zeros(len(rows), longest, dtype=torch.int64)
        mask_BS = torch.zeros_like(token_BS)
        paths: dict[int, range] = {}
        for place, at in enumerate(order):
            ids = _input(rows[at])
            token_BS[place, : len(ids)] = torch.tensor(ids)
            mask_BS[place, : len(ids)] = 1
            paths[at] = range(place * longest, place * longest + len(ids))
        device = self._network.device
        position_BS = torch.arange(longest, device=device).expand(len(rows), -1)
        with self._router.route(segments([rows[at].adapter for at in order], longest)):
            hidden_BSD = self._network.whole(token_BS.to(device), mask_BS.to(device), position_BS)
        in_order = [paths[at] for at in range(len(rows))]
        return hidden_BSD.flatten(0, 1), _plan(rows, in_order, device)

    def _score(
        self, hidden_ND: torch.Tensor, plan: _Plan, weigh: Weigh | None, number_T: torch.Tensor,
        entropy: TokenEntropy | None,
    ) -> torch.Tensor:  # fmt: skip
        """log pi [T]; with weights, its weighted sum's gradient is run back through the pass.
        number_T: of each token among those of all rows."""
        row_R, row_T = torch.unique(plan.place_T, return_inverse=True)
        hidden_RD = hidden_ND[row_R]
        start_RD = hidden_RD.detach().requires_grad_(weigh is not None)
        log_p_T = torch.zeros(len(row_T), device=hidden_ND.device)
        rows = self._network.row_block
        for first in range(0, len(row_R), rows):
            here = ((row_T >= first) & (row_T < first + rows)).nonzero().flatten()
            logits_RV = self._network.head(start_RD[first : first + rows])
            part = _log_p(logits_RV, row_T[here] - first, plan, here)
            log_p_T[here] = part.detach()
            bonus = None
            if entropy is not None:
                at = row_T[here] - first
                bonus = _entropy(logits_RV, at, plan, here, number_T[here.cpu()], entropy)
            if weigh is not None:
                weight = weigh(number_T[here.cpu()], part.detach().cpu())
                total = (part * weight.to(part)).sum()
                torch.autograd.backward(total if bonus is None else total + bonus)
        if weigh is not None and hidden_RD.requires_grad:
            torch.autograd.backward(hidden_RD, start_RD.grad)
        return log_p_T


def _log_p(
    logits_RV: torch.Tensor, row_T: torch.Tensor, plan: _Plan, here: torch.Tensor
) -> torch.Tensor:
    """log softmax(logits / temperature) of each predicted token of these positions."""
    token_T, temperature_T = plan.token_T[here], plan.temperature_T[here]
    value_T = logits_RV[row_T, token_T] / temperature_T
    norm_T = torch.zeros_like(value_T)
    for temperature in sorted(set(temperature_T.tolist())):
        at = (temperature_T == temperature).nonzero().flatten()
        norm_R = (logits_RV / temperature if temperature != 1 else logits_RV).logsumexp(-1)
        norm_T = norm_T.index_copy(0, at, norm_R[row_T[at]])
    return value_T - norm_T


def _entropy(
    logits_RV: torch.Tensor, row_T: torch.Tensor, plan: _Plan, here: torch.Tensor,
    number_T: torch.Tensor, entropy: TokenEntropy,
) -> torch.Tensor | None:  # fmt: skip
    """The weighted sum of the entropies of these positions, which `entropy` takes; None where it
    has no gradient."""
    trains = torch.is_grad_enabled() and entropy.trains
    temperature_T = plan.temperature_T[here]
    found_T = torch.zeros(len(row_T), device=logits_RV.device)
    with torch.set_grad_enabled(trains):
        for temperature in sorted(set(temperature_T.tolist())):
            at = (temperature_T == temperature).nonzero().flatten()
            log_p_RV = (logits_RV / temperature).log_softmax(-1)
            entropy_R = -(log_p_RV.exp() * log_p_RV).sum(-1)
            found_T = found_T.index_copy(0, at, entropy_R[row_T[at]])
    entropy.see(number_T, found_T.detach().cpu(), math.log(logits_RV.shape[-1]))
    return (found_T * entropy.weight(number_T).to(found_T)).sum() if trains else None


def _input(row: TokenRow) -> tuple[int, ...]:
    """The tokens that are read: the last trained one is only predicted."""
    return row.ids[: row.trained[-1][1] - 1]


def _plan(rows: Sequence[TokenRow], paths: Sequence[Sequence[int]], device: torch.device) -> _Plan:
    """paths: by row the place of each token that is read."""
    positions = [row.positions for row in rows]
    tokens = [row.ids[at] for row, trained in zip(rows, positions) for at in trained]
    places = [path[at - 1] for path, trained in zip(paths, positions) for at in trained]
    sizes = tuple(map(len, positions))
    temperatures = [row.temperature for row, size in zip(rows, sizes) for _ in range(size)]
    return _Plan(
        torch.tensor(places, device=device),
        torch.tensor(tokens, device=device),
        torch.tensor(temperatures, dtype=torch.float32, device=device),
        sizes,
    )
