r"""Costs of a rollout, in turns and in tokens.

    pip install -c constraints.txt -e ".[bench]" verifiers==0.4.0 uv
    python benchmarks/rollout.py --part turns --out benchmarks/results/rollout_turns.json
    python benchmarks/rollout.py --part tokens --threads 1 \
        --out benchmarks/results/rollout_tokens.json

`turns` plays Kuhn poker with a model that answers at once, beside TextArena and verifiers
(`rollout_turns.py`); `tokens` has replies generated beside transformers (`rollout_tokens.py`).
"""

from __future__ import annotations

import argparse
import os
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # as `gamedsl train` does, for all

from shared import command, keep, machine

PARTS = ("turns", "tokens")


def main() -> None:
    parser = command(__doc__)
    parser.add_argument("--part", choices=PARTS, nargs="*", default=PARTS)
    parser.add_argument("--hands", type=int, default=8, help="of verifiers, side by side")
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--samples", type=int, default=8, help="of each prompt that is shared")
    parser.add_argument("--new", type=int, default=24, help="tokens of a reply")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    args = parser.parse_args()
    found: dict[str, Any] = {"machine": machine()}
    print(found["machine"])
    for part in args.part:
        found[part] = measured(part, args)
    keep(found, args.out)


def measured(part: str, args: argparse.Namespace) -> dict[str, Any]:
    if part == "turns":
        from rollout_turns import turns

        return turns(args)
    from rollout_tokens import tokens

    return tokens(args)


if __name__ == "__main__":
    main()
