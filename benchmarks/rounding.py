"""Measures how far bfloat16 moves a model's log-probabilities of options, on any processor.

    python benchmarks/rounding.py --out benchmarks/results/rounding.json

Decisions of a few shipped games, met in play at random, are scored in float32. Then they are scored
again with the products of the decoder's layers as units of bfloat16 compute them: weights rounded,
inputs too, and results too, while everything between them (residuals, norms, attention, the output
layer) stays float32. So this is the least that such units change. Sums are those of float32 in all
cases. Printed are differences of log-probabilities of options above 0.01.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from shared import command, keep
from torch import nn

import gamedsl
from gamedsl.players.model_replies import query_of
from gamedsl.policies.base import Query
from gamedsl.policies.hf import HFPolicy

GAMES = {"stag_hunt": 2, "kuhn_poker": 12, "leduc_poker": 5, "tic_tac_toe": 3}
"""The games played at random, and how often."""
LIKELY = 0.01
Round = Callable[[torch.Tensor], torch.Tensor]


def main() -> None:
    parser = command(__doc__)
    parser.add_argument("--model", default="smollm2-135m")
    args = parser.parse_args()
    policy = HFPolicy(args.model, trunk_tokens=0)
    found: dict[str, Any] = {"model": args.model, "torch": torch.__version__}
    for name, games in GAMES.items():
        queries = decisions(policy, name, games)
        exact = policy.log_probs(queries)
        found[name] = {"decisions": len(queries)}
        for what, entering, leaving in (
            ("weights", _same, _same), ("inputs", _rounded, _same), ("results", _rounded, _rounded)
        ):  # fmt: skip
            with products(policy, entering, leaving):
                here = policy.log_probs(queries)
            pairs = zip(here, exact, strict=True)
            apart = torch.cat([(a - b).abs()[b.exp() > LIKELY] for a, b in pairs])
            found[name][what] = {"mean": apart.mean().item(), "most": apart.max().item()}
        told = ", ".join(
            f"{what} {found[name][what]['mean']:.4f} (at most {found[name][what]['most']:.3f})"
            for what in ("weights", "inputs", "results")
        )
        print(f"{name}, {len(queries)} decisions: {told}", flush=True)
    keep(found, args.out)


def decisions(policy: HFPolicy, name: str, games: int) -> list[Query]:
    """The distinct decisions of games at random."""
    rng, found = random.Random(0), dict[Query, None]()
    env = gamedsl.load(name).env(tokenizer=policy.tokenizer)
    for seed in range(games):
        episode = env.reset(seed=seed)
        while not episode.done:
            found.update((query_of(one, "shared"), None) for one in episode.decisions)
            episode.step({one.seat: rng.choice(one.labels) for one in episode.decisions})
    return list(found)


def _same(tensor: torch.Tensor) -> torch.Tensor:
    return tensor


def _rounded(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.bfloat16().float()


@contextmanager
def products(policy: HFPolicy, entering: Round, leaving: Round) -> Iterator[None]:
    """Has the decoder's layers multiply with rounded weights inside of the block, and with inputs
    and results as these functions make them."""
    layers = [
        layer
        for block in policy._network.layers
        for name, layer in block.named_modules()
        if isinstance(layer, nn.Linear) and "lora_" not in name
    ]
    weights = {layer.weight.data_ptr(): _rounded(layer.weight) for layer in layers}
    before = nn.functional.linear

    def linear(x: torch.Tensor, weight: torch.Tensor, bias: Any = None) -> torch.Tensor:
        rounded = weights.get(weight.data_ptr())
        if rounded is None:
            return before(x, weight, bias)
        return leaving(before(entering(x), rounded, bias))

    nn.functional.linear = linear
    try:
        yield
    finally:
        nn.functional.linear = before


if __name__ == "__main__":
    main()
