"""CPU seconds of an epoch over conversations, with the frozen layers read once or each time.

    python benchmarks/written_rows.py --out benchmarks/results/written_rows.json

SmolLM2-135M adapts its last layers, and learns from the same conversations epoch after epoch, as a
warm-up in words does. What the layers below give is kept after the first epoch; beside it stands
the same model that reads all layers in every epoch. `limit` is the ratio that multiplications
alone would give: in an epoch all layers go forward and the adapted ones backward, against the
adapted ones both ways, each with the head at the trained tokens. CPU time is counted, since it is
less disturbed by other processes than the clock is. Conversations are random tokens.
"""

from __future__ import annotations

import os
import random
import statistics
import time
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # as `gamedsl train` does

import torch
from shared import command, keep, machine

from gamedsl.policies.generation import TokenRow
from gamedsl.policies.hf import HFPolicy
from gamedsl.policies.lora import LoraSpec

ADAPTED = (2, 5, 10, 20)
TURNS, TURN, REPLY = 3, 60, 20
"""Of a conversation: its turns, and the tokens of each, of which the last are a reply."""


def main() -> None:
    parser = command(__doc__)
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--adapted", type=int, nargs="*", default=ADAPTED, metavar="LAYERS")
    parser.add_argument("--chats", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=3, help="measured, after the first")
    args = parser.parse_args()
    torch.set_num_threads(1)
    told = machine("1 thread", f"torch {torch.__version__}")
    print(told)
    found: dict[str, Any] = {
        "machine": told, "model": args.model, "chats": args.chats, "tokens": TURNS * TURN,
        "layers": [compared(args.model, n, args.chats, args.epochs) for n in args.adapted],
    }  # fmt: skip
    keep(found, args.out)


def compared(model: str, adapted: int, chats: int, epochs: int) -> dict[str, Any]:
    """Seconds an epoch either way, their ratio and its limit. SystemExit where log-probabilities
    are others."""
    kept = HFPolicy(model, lora=LoraSpec(layers=adapted))
    read = HFPolicy(model, lora=LoraSpec(layers=adapted), trunk_tokens=0)
    rows = conversations(chats, kept)
    first, before = epoch(kept, rows)
    _, expected = epoch(read, rows)
    if max((a - b).abs().max().item() for a, b in zip(before, expected, strict=True)) > 1e-4:
        raise SystemExit(f"{adapted} layers: log-probabilities differ")
    once, each = [], []
    for _ in range(epochs):
        once.append(epoch(kept, rows)[0])
        each.append(epoch(read, rows)[0])
    found = {
        "adapted": adapted,
        "first epoch": round(first, 2),
        "read once": round(statistics.median(once), 2),
        "read each time": round(statistics.median(each), 2),
        "ratio": round(statistics.median(each) / statistics.median(once), 2),
        "limit": round(limit(kept, adapted), 2),
    }
    print("  ".join(f"{name} {value}" for name, value in found.items()), flush=True)
    return found


def conversations(chats: int, policy: HFPolicy) -> list[TokenRow]:
    """Rows of random tokens that share no beginning; each turn ends with a trained reply."""
    rng = random.Random(0)
    vocabulary = policy._network.config.vocab_size
    trained = tuple((turn * TURN - REPLY, turn * TURN) for turn in range(1, TURNS + 1))
    return [
        TokenRow("shared", tuple(rng.randrange(vocabulary) for _ in range(TURNS * TURN)), trained)
        for _ in range(chats)
    ]


def epoch(policy: HFPolicy, rows: list[TokenRow]) -> tuple[float, list[torch.Tensor]]:
    """CPU seconds of a pass with its gradient, and log pi of its trained tokens."""
    for parameter in policy.parameters():
        parameter.grad = None
    started = time.process_time()
    log_probs = policy.token_backward(rows, [torch.ones(len(row.positions)) for row in rows])
    return time.process_time() - started, log_probs


def limit(policy: HFPolicy, adapted: int) -> float:
    """The ratio of multiplications, by parameters: a frozen layer has no gradient of weights, so
    going backward costs what going forward does."""
    network = policy._network
    layers = len(network.layers)
    layer = sum(p.numel() for p in network.layers[0].parameters() if not p.requires_grad)
    config = network.config
    head = 2 * config.vocab_size * config.hidden_size * REPLY / TURN / layer
    return (layers + adapted + head) / (2 * adapted + head)


if __name__ == "__main__":
    main()
