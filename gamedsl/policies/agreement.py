"""Whether two ways to compute one distribution agree, up to the rounding of their number format.

In float32 and float64 the log-probabilities of all tokens that may well be drawn are compared. In
bfloat16 and float16 the last bits of activations differ from one shape of a pass to the next, and
what that does to a single log-probability has a long tail, above all where probability is small. So
the whole distributions are compared there, by their Kullback-Leibler divergence: with SmolLM2-135M
in bfloat16 it is about 0.001 nats between any two passes, and 0.1 and more where a pass is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch

_LIKELY = 1e-4
"""The probability from which on a token is compared; below, no sampler and no loss notices."""
_TOLERANCE = {torch.float32: 2e-2, torch.float64: 1e-6}  # of log-probabilities
_NATS = 0.02  # of the divergence, in formats with fewer digits


def agree(ours: Iterable[torch.Tensor], theirs: Iterable[torch.Tensor], dtype: torch.dtype) -> bool:
    """Whether each distribution of `ours` is that of `theirs`. Log-probabilities, normalised over
    the last dimension; dtype: the format that both were computed in."""
    return all(_alike(a, b, _TOLERANCE.get(dtype)) for a, b in zip(ours, theirs, strict=True))


def _alike(a: torch.Tensor, b: torch.Tensor, tolerance: float | None) -> bool:
    if a.isnan().any() or b.isnan().any():
        return False
    if tolerance is None:
        divergence = torch.where(b.isneginf(), 0.0, b.exp() * (b - a)).sum(-1)
        return bool(divergence.max() <= _NATS)
    likely = torch.maximum(a, b).exp() > _LIKELY
    return bool((a - b).abs()[likely].max() <= tolerance)
