"""Tells how far sampler and trainer are apart in bfloat16, by what stays in float32.

    python benchmarks/stream.py --out benchmarks/results/stream.json

Twelve replies of 24 tokens are drawn and then scored: as usual, with sums between layers
(`gamedsl.policies.residual`) and the trainer's attention (`gamedsl.policies.tree_attention`) in
float32, and with one of them in bfloat16. Adapters are moved a little, so that they count.
Printed are differences of log-probabilities where the token's probability is above 0.01, and the
seconds of drawing and of scoring, the best of three.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, TypeVar
from unittest.mock import patch

import torch
from shared import command, keep, machine

from gamedsl.policies import network, tree_attention
from gamedsl.policies.generation import Request, join_turns
from gamedsl.policies.hf import HFPolicy

MODEL, LIKELY, REPEATS = "smollm2-135m", 0.01, 3
NARROW = {
    "as usual": nullcontext(),
    "attention in bfloat16": patch.object(tree_attention, "_widened", lambda *tensors: tensors),
    "sums in bfloat16": patch.object(network, "widen", lambda model: model.dtype),
}
"""What has its float32 taken away, by the name of the row."""
T = TypeVar("T")


def main() -> None:
    parser = command(__doc__)
    args = parser.parse_args()
    torch.set_num_threads(1)
    exact = opened(torch.float32)
    found: dict[str, Any] = {"machine": machine("one thread"), "model": MODEL}
    for name, patched in NARROW.items():
        with patched:
            found[name] = row = measured(opened(torch.bfloat16), exact)
        print(
            f"{name}: sampler and trainer {row['mean']:.4f} apart (at most {row['most']:.3f}) in"
            f" {row['tokens']} tokens, the trainer {row['rounding']:.4f} from float32;"
            f" {row['drawing']:.2f} s to draw, {row['scoring']:.2f} s to score",
            flush=True,
        )
    keep(found, args.out)


def opened(dtype: torch.dtype) -> HFPolicy:
    """A policy whose adapters were moved."""
    policy = HFPolicy(MODEL, dtype=dtype)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.add_(0.003 * torch.randn(parameter.shape, generator=generator))
    return policy


def measured(policy: HFPolicy, exact: HFPolicy) -> dict[str, Any]:
    asked = [
        Request((("user", f"Tell a story of round {i}."),), "shared", 24, seed=i) for i in range(12)
    ]
    replies, drawing = best(lambda: policy.generate(asked), policy.forget)
    rows = [join_turns("shared", [reply], 1.0)[0][0] for reply in replies]
    scores, scoring = best(lambda: policy.token_log_probs(rows), policy.end_step)
    sampler = torch.tensor([log_p for reply in replies for log_p in reply.log_probs])
    trainer, float32 = torch.cat(scores), torch.cat(exact.token_log_probs(rows))
    likely = float32.exp() > LIKELY
    apart, rounding = ((one - trainer).abs()[likely] for one in (sampler, float32))
    return {
        "tokens": int(likely.sum()), "mean": apart.mean().item(), "most": apart.max().item(),
        "rounding": rounding.mean().item(), "drawing": drawing, "scoring": scoring,
    }  # fmt: skip


def best(run: Callable[[], T], forget: Callable[[], None]) -> tuple[T, float]:
    """The result of the last of a few runs, and the CPU seconds of the fastest."""
    times = []
    for _ in range(REPEATS):
        forget()
        begun = time.process_time()
        result = run()
        times.append(time.process_time() - begun)
    return result, min(times)


if __name__ == "__main__":
    main()
