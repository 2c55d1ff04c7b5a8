"""Attention over a packed token tree by a `TreePlan`, forward and backward.

Every piece of the plan is ordinary attention of some queries to some keys. It gives a partial
result and the log-sum-exp of its scores; both are merged into those of the pieces before. The
backward pass needs the final result and log-sum-exp alone: with them each piece gives its exact
share of the gradients, so nothing of a piece is kept, and memory grows with the nodes.

transformers calls `attend` under the name NAME, in the place of its `sdpa`, which it still is
where a pass has no tree.

Shape letters: N nodes, H key and value heads, R query heads for each of these, D size of a head,
K keys and Q queries of a piece, G blocks of a batch or slices of a range, B queries of each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from transformers import AttentionInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

from gamedsl.policies.errors import ModelError
from gamedsl.policies.prefix_tree import Nodes
from gamedsl.policies.tree_plan import BlockBatch, TreePlan, plan

NAME = "gamedsl_tree"
_UNKNOWN = ("softcap", "s_aux", "position_bias", "head_mask")
_NEAR = 0.1
"""Of the norm of a node's hidden states, how far two ways to compute them may be apart for half of
the nodes. Rounding is less: few nodes are so sensitive to it that it grows through the layers."""
_SLICE = 1024
"""Queries of a slice: pieces of a long range that threads take at the same time."""
_SLICES = 8
"""The most slices of one call, which bounds what it makes."""


def adopt(model: Any) -> bool:
    """Lets a causal model attend over trees by their plans, if it then gives what a dense mask
    gives. Returns whether it does; a model whose attention is not transformers' `sdpa`, or does
    more, is left as it is."""
    config, decoder = model.config.get_text_config(), model.get_decoder()
    before = config._attn_implementation
    if before != "sdpa":
        return False
    with torch.no_grad():
        dense = _probed(decoder, arguments(_PROBE, False, model.dtype, model.device), model.device)
        config._attn_implementation = NAME
        try:
            told = arguments(_PROBE, True, model.dtype, model.device)
            ours = _probed(decoder, told, model.device)
        except (ModelError, TypeError, ValueError, RuntimeError):
            ours = torch.full_like(dense, torch.inf)
    apart_1N = (ours - dense).norm(dim=-1) / dense.norm(dim=-1)
    if apart_1N.median() < _NEAR:
        return True
    config._attn_implementation = before
    return False


def _probed(decoder: Any, told: dict[str, Any], device: torch.device) -> torch.Tensor:
    hidden: torch.Tensor = decoder(
        input_ids=_PROBE.token_N[None].to(device), position_ids=_PROBE.depth_N[None].to(device),
        use_cache=False, **told,
    ).last_hidden_state  # fmt: skip
    return hidden.double()


def arguments(
    nodes: Nodes, adopted: bool, dtype: torch.dtype, device: torch.device
) -> dict[str, Any]:
    """Returns the arguments of a decoder by which it attends over a tree: the plan for a model
    that was adopted, else a dense mask."""
    if not adopted:
        return {"attention_mask": nodes.mask(dtype, device)}
    unread = torch.zeros(1, 1, 1, 1, dtype=dtype, device=device)  # or transformers makes a mask
    return {"attention_mask": unread, "tree": plan(nodes.depth_N, nodes.stop_N, device)}


def attend(
    module: Any,
    query_1ANC: torch.Tensor,
    key_1HNC: torch.Tensor,
    value_1HNC: torch.Tensor,
    mask: torch.Tensor | None,
    scaling: float | None = None,
    tree: TreePlan | None = None,
    dropout: float = 0.0,
    **options: Any,
) -> tuple[torch.Tensor, None]:
    """An attention function of transformers: A = H * R query heads of C numbers to [1, N, A, C].

    Without a tree it is transformers' `sdpa` with the mask. Raises ModelError for a model whose
    attention does more than a softmax of scaled products.
    """
    if tree is None:
        result: tuple[torch.Tensor, None] = sdpa_attention_forward(
            module, query_1ANC, key_1HNC, value_1HNC, mask,
            scaling=scaling, dropout=dropout, **options,
        )  # fmt: skip
        return result
    more = [name for name in _UNKNOWN if options.get(name) is not None]
    if more or dropout > 0:
        told = ", ".join(more) or "dropout"
        raise ModelError(f"the model's attention uses {told}", "use packing `padded`")
    heads = key_1HNC.shape[1]
    query_NHRD = query_1ANC[0].view(heads, -1, *query_1ANC.shape[2:]).permute(2, 0, 1, 3)
    key_NHD, value_NHD = key_1HNC[0].transpose(0, 1), value_1HNC[0].transpose(0, 1)
    scale = query_NHRD.shape[-1] ** -0.5 if scaling is None else scaling
    return tree_attention(query_NHRD, key_NHD, value_NHD, tree, scale).flatten(1, 2)[None], None


def tree_attention(
    query_NHRD: torch.Tensor,
    key_NHD: torch.Tensor,
    value_NHD: torch.Tensor,
    tree: TreePlan,
    scale: float,
) -> torch.Tensor:
    """Returns [N, H, R, D], of the queries' dtype: each node's attention to its ancestors and
    itself."""
    function: Any = _TreeAttention  # torch leaves `apply` untyped
    out_NHRD: torch.Tensor = function.apply(query_NHRD, key_NHD, value_NHD, tree, scale)
    return out_NHRD


class _TreeAttention(torch.autograd.Function):
    """Sums over pieces are float32, or the queries' dtype where that is wider."""

    @staticmethod
    def forward(
        ctx: Any,
        query_NHRD: torch.Tensor,
        key_NHD: torch.Tensor,
        value_NHD: torch.Tensor,
        tree: TreePlan,
        scale: float,
    ) -> torch.Tensor:
        given = query_NHRD, key_NHD, value_NHD
        query_NHRD, key_NHD, value_NHD = _widened(*given)
        wide = torch.promote_types(query_NHRD.dtype, torch.float32)
        shape = (*query_NHRD.shape[:3], value_NHD.shape[-1])
        out_NHRD = query_NHRD.new_empty(shape, dtype=wide)
        norm_NHR = query_NHRD.new_empty(shape[:3], dtype=wide)
        for piece in _pieces(tree, key_NHD, value_NHD):
            query_GBHRD = piece.split(query_NHRD)
            out_GBHRD = query_GBHRD.new_empty(*query_GBHRD.shape[:-1], shape[-1])
            norm_GBHR = query_GBHRD.new_empty(query_GBHRD.shape[:-1], dtype=wide)
            for r in range(shape[2]):
                out_GHBD, norm_GHB = _attend(_of(query_GBHRD, r), *piece.keyed, scale)
                _of(out_GBHRD, r).copy_(out_GHBD)
                norm_GBHR[..., r].transpose(1, 2).copy_(norm_GHB)
            piece.merge(out_NHRD, norm_NHR, out_GBHRD, norm_GBHR)
        out_NHRD = out_NHRD.to(given[0].dtype)
        ctx.save_for_backward(*given, out_NHRD, norm_NHR)
        ctx.tree, ctx.scale = tree, scale
        return out_NHRD

    @staticmethod
    def backward(ctx: Any, grad_NHRD: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        *given, out_NHRD, norm_NHR = ctx.saved_tensors
        query_NHRD, key_NHD, value_NHD = _widened(*given)
        grad_NHRD, out_NHRD = _widened(grad_NHRD, out_NHRD)
        dquery_NHRD, dkey_NHD, dvalue_NHD = (
            torch.zeros_like(one, dtype=norm_NHR.dtype, memory_format=torch.contiguous_format)
            for one in (query_NHRD, key_NHD, value_NHD)
        )
        for piece in _pieces(ctx.tree, key_NHD, value_NHD):
            grad_GBHRD, query_GBHRD, out_GBHRD, norm_GBHR1 = (
                piece.split(one) for one in (grad_NHRD, query_NHRD, out_NHRD, norm_NHR[..., None])
            )
            dquery_GBHRD = torch.empty_like(query_GBHRD)
            sums: list[torch.Tensor] = []
            for r in range(query_NHRD.shape[2]):
                dquery_GHBD, *dkeyed = _gradients(
                    _of(grad_GBHRD, r), _of(query_GBHRD, r), _of(out_GBHRD, r),
                    _of(norm_GBHR1, r), *piece.keyed, ctx.scale,
                )  # fmt: skip
                _of(dquery_GBHRD, r).copy_(dquery_GHBD)
                wider = [one.to(norm_NHR.dtype) for one in dkeyed]
                sums = [a.add_(b) for a, b in zip(sums, wider, strict=True)] if sums else wider
            piece.add_to_queries(dquery_NHRD, dquery_GBHRD)
            piece.add_to_keys(dkey_NHD, sums[0])
            piece.add_to_keys(dvalue_NHD, sums[1])
        grads = (
            total.to(like.dtype)
            for total, like in zip((dquery_NHRD, dkey_NHD, dvalue_NHD), given, strict=True)
        )
        return (*grads, None, None)


def _widened(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Returns 16-bit tensors of a processor in float32: its kernel rounds less so, and takes about
    as long (`benchmarks/stream.py`)."""
    if tensors[0].device.type != "cpu":
        return tensors
    return tuple(one.to(torch.promote_types(one.dtype, torch.float32)) for one in tensors)


Keyed = tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]
"""Keys [G, H, K, D], values of that shape, and an additive mask [G, 1, B, K] if there is one."""


def _of(x_GBHRD: torch.Tensor, r: int) -> torch.Tensor:
    """Returns one query head of each key head, [G, H, B, D]."""
    return x_GBHRD[:, :, :, r].transpose(1, 2)


def _rows(x_T: torch.Tensor, shape: Sequence[int]) -> torch.Tensor:
    """Splits the first dimension in two."""
    return x_T.reshape(*shape, *x_T.shape[1:])


class _Batch:
    """The blocks of a batch: each query's first piece."""

    def __init__(self, blocks: BlockBatch, key_NHD: torch.Tensor, value_NHD: torch.Tensor) -> None:
        self._blocks, self._key_T = blocks, blocks.key_GK.flatten()
        key, value = (
            _rows(one.index_select(0, self._key_T), blocks.key_GK.shape).transpose(1, 2)
            for one in (key_NHD, value_NHD)
        )
        self.keyed: Keyed = (key, value, blocks.mask(key_NHD.dtype))

    def split(self, x_NHRD: torch.Tensor) -> torch.Tensor:
        """Returns the queries' rows as [G, B, H, R, D]; padding is 0."""
        shape = self._blocks.query_GB.shape
        x_PHRD = x_NHRD.new_zeros(shape.numel(), *x_NHRD.shape[1:])
        x_THRD = x_NHRD.index_select(0, self._blocks.row_T)
        return _rows(x_PHRD.index_copy_(0, self._blocks.place_T, x_THRD), shape)

    def merge(
        self, out_NHRD: torch.Tensor, norm_NHR: torch.Tensor, out_GBHRD: torch.Tensor,
        norm_GBHR: torch.Tensor,
    ) -> None:  # fmt: skip
        """Writes the first results of these queries."""
        for total, part in ((out_NHRD, out_GBHRD), (norm_NHR, norm_GBHR)):
            part_T = part.flatten(0, 1).index_select(0, self._blocks.place_T)
            total.index_copy_(0, self._blocks.row_T, part_T.to(total.dtype))

    def add_to_queries(self, total_NHRD: torch.Tensor, part_GBHRD: torch.Tensor) -> None:
        """Adds the gradient of these queries."""
        part_THRD = part_GBHRD.flatten(0, 1).index_select(0, self._blocks.place_T)
        total_NHRD.index_add_(0, self._blocks.row_T, part_THRD.to(total_NHRD.dtype))

    def add_to_keys(self, total_NHD: torch.Tensor, part_GHKD: torch.Tensor) -> None:
        """Adds the gradient of these keys."""
        total_NHD.index_add_(0, self._key_T, part_GHKD.transpose(1, 2).flatten(0, 1))


class _Range:
    """A range of queries, in slices of one size, and the keys that all of them see."""

    def __init__(
        self, start: int, slices: int, size: int, keys: slice | torch.Tensor,
        key_HKD: torch.Tensor, value_HKD: torch.Tensor,
    ) -> None:  # fmt: skip
        self._rows, self._shape = slice(start, start + slices * size), (slices, size)
        self._keys = keys
        key, value = (one.expand(slices, -1, -1, -1) for one in (key_HKD, value_HKD))
        self.keyed: Keyed = (key, value, None)

    def split(self, x_NHRD: torch.Tensor) -> torch.Tensor:
        """Returns the queries' rows as [G, B, H, R, D], a view."""
        return _rows(x_NHRD[self._rows], self._shape)

    def merge(
        self, out_NHRD: torch.Tensor, norm_NHR: torch.Tensor, out_GBHRD: torch.Tensor,
        norm_GBHR: torch.Tensor,
    ) -> None:  # fmt: skip
        """Merges more results of these queries into those before, by their log-sum-exp."""
        out_QHRD, norm_QHR = out_NHRD[self._rows], norm_NHR[self._rows]
        more_QHR = norm_GBHR.flatten(0, 1)
        both_QHR = torch.logaddexp(norm_QHR, more_QHR)
        out_QHRD.mul_((norm_QHR - both_QHR).exp_()[..., None])
        out_QHRD.addcmul_(out_GBHRD.flatten(0, 1), (more_QHR - both_QHR).exp_()[..., None])
        norm_QHR.copy_(both_QHR)

    def add_to_queries(self, total_NHRD: torch.Tensor, part_GBHRD: torch.Tensor) -> None:
        """Adds the gradient of these queries."""
        total_NHRD[self._rows] += part_GBHRD.flatten(0, 1)

    def add_to_keys(self, total_NHD: torch.Tensor, part_GHKD: torch.Tensor) -> None:
        """Adds the gradient of these keys."""
        part_KHD = part_GHKD.sum(0).transpose(0, 1)
        if isinstance(self._keys, slice):
            total_NHD[self._keys] += part_KHD
        else:
            total_NHD.index_add_(0, self._keys, part_KHD)


def _pieces(
    tree: TreePlan, key_NHD: torch.Tensor, value_NHD: torch.Tensor
) -> Iterator[_Batch | _Range]:
    """Yields all pieces, the blocks before the shared keys."""
    for blocks in tree.batches:
        yield _Batch(blocks, key_NHD, value_NHD)
    for shared in tree.shared:
        key_HKD, value_HKD = (one[shared.keys].transpose(0, 1) for one in (key_NHD, value_NHD))
        start = shared.start
        while start < shared.stop:
            slices = min((shared.stop - start) // _SLICE, _SLICES)
            size = _SLICE if slices else shared.stop - start
            yield _Range(start, max(slices, 1), size, shared.keys, key_HKD, value_HKD)
            start += max(slices, 1) * size


def _attend(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
    mask: torch.Tensor | None, scale: float,
) -> tuple[torch.Tensor, torch.Tensor]:  # fmt: skip
    """Returns attention [G, H, B, D] and the log-sum-exp of its scores [G, H, B]."""
    if _fused(query, value):
        pair: tuple[torch.Tensor, torch.Tensor] = _FORWARD(
            query, key, value, attn_mask=mask, scale=scale
        )
        return pair
    score = _scores(query, key, mask, scale)
    norm = score.logsumexp(-1)
    weight = score.sub_(norm[..., None]).exp_().to(value.dtype)
    return weight @ value, norm


def _gradients(
    grad: torch.Tensor, query: torch.Tensor, out: torch.Tensor, norm: torch.Tensor,
    key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor | None, scale: float,
) -> tuple[torch.Tensor, ...]:  # fmt: skip
    """Returns a piece's share of the gradients of queries, keys and values, where `out` and `norm`
    are those of all pieces together."""
    if _fused(query, value):
        grads: tuple[torch.Tensor, ...] = _BACKWARD(
            grad, query, key, value, out, norm[..., 0], 0.0, False, attn_mask=mask, scale=scale
        )
        return grads
    weight = _scores(query, key, mask, scale).sub_(norm).exp_()
    dvalue = weight.to(grad.dtype).transpose(2, 3) @ grad
    slope = (grad @ value.transpose(2, 3)).to(weight.dtype)
    slope -= (grad.to(weight.dtype) * out).sum(-1, keepdim=True)
    dscore = slope.mul_(weight).mul_(scale).to(query.dtype)
    return dscore @ key, dscore.transpose(2, 3) @ query, dvalue


def _scores(
    query: torch.Tensor, key: torch.Tensor, mask: torch.Tensor | None, scale: float
) -> torch.Tensor:
    """Returns the scores [G, H, B, K], float32 at least."""
    score = (query @ key.transpose(2, 3)).mul_(scale)
    if mask is not None:
        score += mask
    return score.to(torch.promote_types(score.dtype, torch.float32))


def _fused(query: torch.Tensor, value: torch.Tensor) -> bool:
    """Whether torch's own kernel computes these: the one that `scaled_dot_product_attention` uses
    on the processor, asked for its log-sum-exp."""
    return (
        query.device.type == "cpu" and query.shape[-1] == value.shape[-1]
        and _FORWARD is not None and _BACKWARD is not None
    )  # fmt: skip


_PROBE = Nodes(
    torch.arange(3, 13), torch.tensor([0, 1, 2, 3, 2, 3, 1, 2, 3, 2]),
    torch.tensor([10, 6, 4, 4, 6, 6, 10, 9, 9, 10]), (),
)  # fmt: skip
_FORWARD: Any = getattr(torch.ops.aten, "_scaled_dot_product_flash_attention_for_cpu", None)
_BACKWARD: Any = getattr(
    torch.ops.aten, "_scaled_dot_product_flash_attention_for_cpu_backward", None
)
AttentionInterface.register(NAME, attend)
AttentionMaskInterface.register(NAME, sdpa_mask)
