"""Draws tokens by inverting the cumulative distribution, with one random number a token.

The number comes from the row's own generator, so what a row draws does not depend on the rows
beside it; sums are float64, so noise in the last bits of a logit moves the borders between tokens
by as little. A vocabulary is summed in blocks, and only the block that is hit token by token.

Rows that have written the same so far have one distribution, which is summed once for all of them.

Shape letters: G distributions, B rows, V vocabulary, K tokens of a block, N blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import nn

_BLOCK = 256


@dataclass(frozen=True)
class Draws:
    """The distributions that rows are drawn from: row b from `of_B[b]` of G, at its temperature.
    `plain`: all are 1."""

    of_B: torch.Tensor
    temperature_G: torch.Tensor
    plain: bool

    @classmethod
    def of(cls, temperatures: Sequence[float], rows: Sequence[int], device: torch.device) -> Draws:
        """From distributions with these temperatures, so many `rows` each, the first's first."""
        of = [g for g, count in enumerate(rows) for _ in range(count)]
        return cls(
            torch.tensor(of, device=device),
            torch.tensor(temperatures, dtype=torch.float32, device=device),
            all(temperature == 1 for temperature in temperatures),
        )


def draw(
    logits_GV: torch.Tensor, temperatures: Sequence[float], uniforms: Sequence[Sequence[float]]
) -> tuple[list[int], list[float]]:
    """A token for each row, and its log-probability as drawn (float32).

    uniforms: in [0, 1), of each distribution one for each row that is drawn from it; the rows are
    those of the first, then those of the next.
    """
    draws = Draws.of(temperatures, list(map(len, uniforms)), logits_GV.device)
    flat = [number for some in uniforms for number in some]
    uniform_B = torch.tensor(flat, dtype=torch.float64, device=logits_GV.device)
    ((tokens,), (log_probs,)) = fetched([drawn(logits_GV, draws, uniform_B)])
    return tokens, log_probs


def fetched(
    steps: Sequence[tuple[torch.Tensor, torch.Tensor]],
) -> tuple[list[list[int]], list[list[float]]]:
    """By step the tokens and log-probabilities [B] that `drawn` gave, in one copy from the
    device."""
    both = torch.stack([one for token_B, log_p_B in steps for one in (token_B.double(), log_p_B)])
    numbers: list[list[float]] = both.tolist()
    return [list(map(int, tokens)) for tokens in numbers[::2]], numbers[1::2]


def drawn(
    logits_GV: torch.Tensor, draws: Draws, uniform_B: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """A token [B] for each row, and its log-probability as drawn (float64, of float32 precision);
    nothing waits for the device.

    Distribution g is softmax(logits / temperature); at 0 it is the likeliest token. `-inf` logits
    are never drawn; a distribution needs a finite one. uniform_B: in [0, 1), float64.
    """
    greedy_G = draws.temperature_G == 0
    if not draws.plain:
        logits_GV = logits_GV / draws.temperature_G.masked_fill(greedy_G, 1.0)[:, None]
    top_G, likeliest_G = logits_GV.max(-1)
    weight_GV = (logits_GV - top_G[:, None]).exp_()
    padded_GV = nn.functional.pad(weight_GV, (0, -weight_GV.shape[1] % _BLOCK))
    weight_GNK = padded_GV.view(len(padded_GV), -1, _BLOCK)
    up_to_BN = running_sum(weight_GNK.sum(-1, dtype=torch.float64))[draws.of_B]
    total_B = up_to_BN[:, -1]
    target_B = uniform_B * total_B
    block_B = _invert(up_to_BN, target_B)
    row_B = torch.arange(len(block_B), device=block_B.device)
    below_B = torch.where(block_B > 0, up_to_BN[row_B, block_B - 1], 0.0)
    inside_BK = running_sum(weight_GNK[draws.of_B, block_B].double())
    token_B = block_B * _BLOCK + _invert(inside_BK, target_B - below_B)
    token_B = torch.where(greedy_G[draws.of_B], likeliest_G[draws.of_B], token_B)
    log_p_B = (weight_GV[draws.of_B, token_B].double() / total_B).log().float()
    return token_B, log_p_B.masked_fill(greedy_G[draws.of_B], 0.0).double()


def running_sum(x_BN: torch.Tensor) -> torch.Tensor:
    """Sums of the first 1, 2, ... N numbers that are not negative. A GPU's own `cumsum` has other
    last bits each time, and `deterministic` refuses it: so that is done by doubling there."""
    return x_BN.cumsum(-1) if x_BN.is_cpu else _sum_by_doubling(x_BN)


def _sum_by_doubling(x_BN: torch.Tensor) -> torch.Tensor:
    reach = 1
    while reach < x_BN.shape[-1]:
        x_BN = x_BN + nn.functional.pad(x_BN[..., :-reach], (reach, 0))
        reach *= 2
    return x_BN.cummax(-1).values  # rounding must not let it fall


def _invert(up_to_BN: torch.Tensor, target_B: torch.Tensor) -> torch.Tensor:
    """The first index whose cumulative sum exceeds the target; never one that adds nothing."""
    last_B1 = up_to_BN[:, -1:].contiguous()
    found_B1 = torch.searchsorted(up_to_BN, target_B[:, None].clamp(min=0.0), right=True)
    return torch.minimum(found_B1, torch.searchsorted(up_to_BN, last_B1))[:, 0]
