"""Skew of a model before training: the start distribution over labels, per label style.

    python benchmarks/label_skew.py [MODEL]

Ten run seeds, two seats; a game of 2 and one of 10 options whose names mean nothing. Printed: the
mean and lowest entropy over its maximum, the mean largest probability, the probability of the
option shown first, and the tokens of one prompt. Wordings of the default prompt were chosen by
these numbers; so was `letters` as the first style that `labels: masked` tries.
"""

from __future__ import annotations

import math
import sys
import tempfile
from pathlib import Path

import gamedsl
from gamedsl.policies.base import Query
from gamedsl.policies.hf import HFPolicy
from gamedsl.prompting.labels import STYLES

RUN_SEEDS = range(10)
GAME = """
game: skew
roles: [ann, bob]
actions: [{names}]
protocol: simultaneous
payoffs: 1 if move.ann == move.bob else 0
labels: {{masked: {style}}}
"""


def measure(policy: HFPolicy, style: str, options: int) -> str:
    """One row of the table."""
    names = ", ".join(f"name{number}" for number in range(options))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "game.yaml"
        path.write_text(GAME.format(names=names, style=style), encoding="utf-8")
        game = gamedsl.load(path)
    entropy, largest, first, tokens = [], [], [], 0
    for run_seed in RUN_SEEDS:
        decisions = game.env(run_seed, policy.tokenizer).reset().decisions
        queries = [Query(d.messages, d.labels, policy.adapters[0]) for d in decisions]
        for decision, row in zip(decisions, policy.log_probs(queries), strict=True):
            p = row.double().exp().tolist()
            shown = decision.messages[-1][1].split("\n")
            entropy.append(-sum(x * math.log(x) for x in p if x) / math.log(options))
            largest.append(max(p))
            first.append(p[decision.labels.index(next(s for s in shown if s in decision.labels))])
            tokens = policy.tokenizer.count(policy.tokenizer.render(decision.messages))
    means = [sum(values) / len(values) for values in (entropy, largest, first)]
    return (
        f"{style:<10} {options:>7} {means[0]:>8.3f} {min(entropy):>7.3f} {means[1]:>8.2f} "
        f"{means[2]:>6.2f} {tokens:>7}"
    )


def main() -> None:
    policy = HFPolicy(sys.argv[1] if len(sys.argv) > 1 else "smollm2-135m")
    print("style      options  entropy  lowest  largest  first  tokens")
    for style in STYLES:
        for options in (2, 10):
            print(measure(policy, style, options), flush=True)


if __name__ == "__main__":
    main()
