"""Draws tokens by inverting the cumulative distribution, with one random number a token.

The number comes from the row's own generator, so what a row draws does not depend on the rows
beside it; sums are float64, so noise in the last bits of a logit moves the borders between tokens
by as little. A vocabulary is summed in blocks, and only the block that is hit token by token.

Rows that have written the same so far have one distribution, which is summed once for all of them.

Shape letters: G distributions, B rows, V vocabulary, K tokens of a block, N blocks.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

_BLOCK = 256


def draw(
    logits_GV: torch.Tensor, temperatures: Sequence[float], uniforms: Sequence[Sequence[float]]
) -> tuple[list[int], list[float]]:
    """A token for each row, and its log-probability as drawn (float32).

    Distribution g is softmax(logits / temperature); at 0 it is the likeliest token. `-inf` logits
    are never drawn; a distribution needs a finite one. uniforms: in [0, 1), of each distribution
    one for each row that is drawn from it; the rows are those of the first, then those of the next.
    """
    device = logits_GV.device
    temperature_G = torch.tensor(temperatures, dtype=torch.float32, device=device)
    greedy_G = temperature_G == 0
    if not bool((temperature_G == 1).all()):
        logits_GV = logits_GV / temperature_G.masked_fill(greedy_G, 1.0)[:, None]
    top_G, likeliest_G = logits_GV.max(-1)
    weight_GV = (logits_GV - top_G[:, None]).exp_()
    padded_GV = nn.functional.pad(weight_GV, (0, -weight_GV.shape[1] % _BLOCK))
    weight_GNK = padded_GV.view(len(padded_GV), -1, _BLOCK)
    up_to_GN = weight_GNK.sum(-1, dtype=torch.float64).cumsum(-1)
    of_B = torch.tensor([g for g, some in enumerate(uniforms) for _ in some], device=device)
    flat = [number for some in uniforms for number in some]
    up_to_BN = up_to_GN[of_B]
    total_B = up_to_BN[:, -1]
    target_B = torch.tensor(flat, dtype=torch.float64, device=device) * total_B
    block_B = _invert(up_to_BN, target_B)
    row_B = torch.arange(len(block_B), device=device)
    below_B = torch.where(block_B > 0, up_to_BN[row_B, block_B - 1], 0.0)
    inside_BK = weight_GNK[of_B, block_B].double().cumsum(-1)
    token_B = block_B * _BLOCK + _invert(inside_BK, target_B - below_B)
    token_B = torch.where(greedy_G[of_B], likeliest_G[of_B], token_B)
    log_p_B = (weight_GV[of_B, token_B].double() / total_B).log().float()
    return token_B.tolist(), log_p_B.masked_fill(greedy_G[of_B], 0.0).tolist()


def _invert(up_to_BN: torch.Tensor, target_B: torch.Tensor) -> torch.Tensor:
    """The first index whose cumulative sum exceeds the target; never one that adds nothing."""
    last_B1 = up_to_BN[:, -1:].contiguous()
    found_B1 = torch.searchsorted(up_to_BN, target_B[:, None].clamp(min=0.0), right=True)
    return torch.minimum(found_B1, torch.searchsorted(up_to_BN, last_B1))[:, 0]
