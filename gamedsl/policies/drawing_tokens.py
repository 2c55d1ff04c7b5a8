"""Draws tokens by inverting the cumulative distribution, with one random number a token.

The number comes from the row's own generator, so what a row draws does not depend on the rows
beside it; sums are float64, so noise in the last bits of a logit moves the borders between tokens
by as little. A vocabulary is summed in blocks, and only the block that is hit token by token.

Shape letters: B rows, V vocabulary, K tokens of a block, N blocks.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

_BLOCK = 256


def draw(
    logits_BV: torch.Tensor, temperatures: Sequence[float], uniforms: Sequence[float]
) -> tuple[list[int], list[float]]:
    """A token for each row, and its log-probability as drawn (float32).

    Row b's distribution is softmax(logits / temperature); at 0 it is the likeliest token. `-inf`
    logits are never drawn; a row needs a finite one. uniforms: in [0, 1), one a row.
    """
    device = logits_BV.device
    temperature_B = torch.tensor(temperatures, dtype=torch.float32, device=device)
    greedy_B = temperature_B == 0
    if not bool((temperature_B == 1).all()):
        logits_BV = logits_BV / temperature_B.masked_fill(greedy_B, 1.0)[:, None]
    top_B, likeliest_B = logits_BV.max(-1)
    weight_BV = (logits_BV - top_B[:, None]).exp_()
    padded_BV = nn.functional.pad(weight_BV, (0, -weight_BV.shape[1] % _BLOCK))
    weight_BNK = padded_BV.view(len(padded_BV), -1, _BLOCK)
    uniform_B = torch.tensor(uniforms, dtype=torch.float64, device=device)
    up_to_BN = weight_BNK.sum(-1, dtype=torch.float64).cumsum(-1)
    total_B = up_to_BN[:, -1]
    target_B = uniform_B * total_B
    block_B = _invert(up_to_BN, target_B)
    row_B = torch.arange(len(block_B), device=device)
    below_B = torch.where(block_B > 0, up_to_BN[row_B, block_B - 1], 0.0)
    inside_BK = weight_BNK[row_B, block_B].double().cumsum(-1)
    token_B = block_B * _BLOCK + _invert(inside_BK, target_B - below_B)
    token_B = torch.where(greedy_B, likeliest_B, token_B)
    log_p_B = (weight_BV[row_B, token_B].double() / total_B).log().float()
    return token_B.tolist(), log_p_B.masked_fill(greedy_B, 0.0).tolist()


def _invert(up_to_BN: torch.Tensor, target_B: torch.Tensor) -> torch.Tensor:
    """The first index whose cumulative sum exceeds the target; never one that adds nothing."""
    last_B1 = up_to_BN[:, -1:].contiguous()
    found_B1 = torch.searchsorted(up_to_BN, target_B[:, None].clamp(min=0.0), right=True)
    return torch.minimum(found_B1, torch.searchsorted(up_to_BN, last_B1))[:, 0]
