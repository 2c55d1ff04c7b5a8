"""CPU seconds of an update against its distinct tokens, beside those with a dense attention mask.

    python benchmarks/tree_attention.py --out benchmarks/results/tree_attention.json

The prompts are those of games played at random. `tiny` is updated on more and more of them, from
5,000 to 200,000 distinct tokens: time a token should stay the same. Up to `--dense` tokens the same
update is measured with the dense mask and the passes of 4,096 tokens that were used before, and
told how many more pairs of queries and keys these have, which bounds what attention can gain. With
`--model smollm2-135m` the model is SmolLM2 in bfloat16 with ten adapted layers, without the mask;
all sizes take half an hour of one core a game, or more. With `--floor float32`, a step of SmolLM2
on tic-tac-toe is compared with its multiplications over the rate of a large matrix product in the
same run. CPU time is counted, since it is less disturbed by other processes than the clock is. How
fast a shared machine is changes in half an hour, so the smallest pass is timed again before and
after each larger one, and what a token costs is compared with that.
"""

from __future__ import annotations

import json
import os
import random
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # as `gamedsl train` does

import torch
from shared import command, keep, machine

import gamedsl
from gamedsl.policies.base import Query
from gamedsl.policies.hf import PASS_TOKENS, HFPolicy
from gamedsl.policies.lora import LoraSpec
from gamedsl.policies.prefix_tree import pack
from gamedsl.policies.process_memory import keep_freed_memory
from gamedsl.training.scoring import Scorer, distinct_tokens

HERE = Path(__file__).parent
GAMES = ("phantom_tic_tac_toe", "breakthrough", "dots_and_boxes")
SMOLLM2 = "smollm2-135m"
SIZES = (5_000, 10_000, 20_000, 50_000, 100_000, 200_000)
REPEATS = 3
"""How often the smallest pass is timed at first: the first one of a process sets much up."""


def main() -> None:
    parser = command(__doc__)
    parser.add_argument("--model", choices=("tiny", SMOLLM2), default="tiny")
    parser.add_argument("--games", nargs="*", default=GAMES)
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--dense", type=int, default=100_000, help="most tokens under a mask")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--floor", nargs="+", default=(), metavar="DTYPE",
        help="SmolLM2 on tic-tac-toe as well: float32 or bfloat16",
    )  # fmt: skip
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    keep_freed_memory()  # as `gamedsl train` does
    told = machine(f"{args.threads} threads", f"torch {torch.__version__}")
    print(told)
    dense = args.dense if args.model == "tiny" else 0
    for name in args.games:
        found = growth(args.model, name, args.sizes, dense)
        if args.model == "tiny":
            record({"machine": told, "model": args.model, name: found}, args.out)
        else:
            record({args.model: {name: {"machine": told} | found}}, args.out)
    if args.floor:
        record({"floor": {name: floor(getattr(torch, name)) for name in args.floor}}, args.out)


def record(found: dict[str, Any], out: Path | None) -> None:
    """Keeps what was measured; what was not stays as it was."""
    before = json.loads(out.read_text(encoding="utf-8")) if out and out.exists() else {}
    for key, value in found.items():
        known = before.get(key)
        before[key] = known | value if isinstance(known, dict) else value
    keep(before, out)


def growth(model: str, name: str, sizes: tuple[int, ...], dense: int) -> dict[str, Any]:
    """Seconds by tokens, with a plan and, up to `dense` tokens, with a mask. All layers are run in
    each pass: a repeated one would else read what the frozen ones gave."""
    policy = (
        HFPolicy("tiny", trunk_tokens=0)
        if model == "tiny"
        else opened(torch.bfloat16, trunk_tokens=0)
    )
    masked = HFPolicy("tiny", max_tokens=PASS_TOKENS)
    masked._network.attends_by_plan = False
    rows: list[dict[str, float]] = []
    smallest: list[Query] = []
    for queries in growing(policy, gamedsl.load(HERE / f"{name}.yaml"), sizes):
        row: dict[str, float] = {
            "prompts": len(queries), "tokens": distinct_tokens(policy, queries)
        }  # fmt: skip
        if not smallest:
            smallest, before = queries, seconds(policy, queries, repeats=REPEATS)
            row |= {"seconds": before, "smallest": before}
        else:
            row["seconds"] = seconds(policy, queries)
            after = seconds(policy, smallest)
            row["smallest"], before = (before + after) / 2, after
        row["cost"] = (
            row["seconds"] / row["tokens"] / (row["smallest"] / (rows or [row])[0]["tokens"])
        )
        line = f"{name}: {row['prompts']:,} prompts, {row['tokens']:,} tokens: "
        line += f"{row['seconds']:.2f} s, {row['seconds'] / row['tokens'] * 1e6:.0f} us a token, "
        line += f"{row['cost']:.2f} of one in the smallest pass"
        if row["tokens"] <= dense:
            row["masked"] = seconds(masked, queries)
            row["pairs"] = pairs_of_masks(masked, queries) / pairs_of_ancestors(policy, queries)
            line += f"; masked {row['masked']:.2f} s, {row['masked'] / row['seconds']:.1f} times"
            line += f", with {row['pairs']:.1f} times the pairs of queries and keys"
        rows.append(row)
        print(line, flush=True)
    each = [row["cost"] for row in rows]
    print(f"  the dearest token costs {max(each) / min(each):.2f} times the cheapest")
    return {"rows": rows, "spread": max(each) / min(each)}


def pairs_of_masks(policy: HFPolicy, queries: list[Query]) -> float:
    """Pairs of a query and a key under dense masks: the square of each pass."""
    sizes = [distinct_tokens(policy, one) for one in policy.passes(queries)]
    return float(sum(size * size for size in sizes))


def pairs_of_ancestors(policy: HFPolicy, queries: list[Query]) -> float:
    """Pairs of a token and what it attends to: its ancestors and itself."""
    tree = pack([(query.adapter, policy.encode(query)) for query in queries])
    return float((tree.depth_N + 1).sum())


def growing(policy: HFPolicy, game: Any, sizes: tuple[int, ...]) -> Any:
    """Yields the distinct prompts of more and more random games, when they reach each size."""
    queries: dict[Query, None] = {}
    rng, env = random.Random(0), game.env(tokenizer=policy.tokenizer)
    wanted, counted = list(sizes), 0
    for seed in range(1_000_000):
        episode = env.reset(seed=seed)
        while episode.decisions:
            decisions = episode.decisions
            queries.update(
                (Query(one.messages, tuple(one.labels), "shared"), None) for one in decisions
            )
            episode.step({one.seat: rng.choice(one.labels) for one in decisions})
        if len(queries) < 1.05 * counted:
            continue
        counted = len(queries)
        if distinct_tokens(policy, list(queries)) >= wanted[0]:
            yield list(queries)
            wanted.pop(0)
            if not wanted:
                return


def seconds(policy: HFPolicy, queries: list[Query], repeats: int = 1) -> float:
    """CPU seconds of a pass forward and backward, the best of a few."""
    weights = [torch.linspace(-1, 1, len(query.labels)) for query in queries]
    found = []
    for _ in range(repeats):
        start = time.process_time()
        policy.backward(queries, weights)
        found.append(time.process_time() - start)
    return min(found)


def floor(dtype: torch.dtype) -> dict[str, Any]:
    """A step of SmolLM2 with ten adapted layers on tic-tac-toe, beside its multiplications.

    A step scores its prompts, all layers forward, and updates on them: the lower layers' outputs
    are kept, so this is ten layers forward and backward. What the ten layers computed is kept too
    while half of the free memory holds it, and there the update goes backward alone: `kept`.
    Beside it is a step that keeps none of that. Counted are products with the frozen weights, the
    output layer's rows, the adapters and attention to ancestors, at the rate of a large matrix
    product in the same run: each once that the step needs, as if all was kept. The second of two
    is told: before the first the system has handed over no memory."""
    queries = next(growing(opened(dtype), gamedsl.load("tic_tac_toe"), (27_876,)))
    policy = opened(dtype)
    tree = pack([(query.adapter, policy.encode(query)) for query in queries])
    size, rate = policy.size, matmul_rate(dtype)
    layers = len(policy._network.layers)
    meets = pairs_of_ancestors(policy, queries) * size.hidden * 4
    below = 2 * len(tree) * size.trunk + (layers - 10) * meets
    above = 2 * len(tree) * (size.crown + size.adapters) + 10 * meets
    head = 2 * len(tree.row_R) * size.head
    trained = 2 * len(tree) * size.adapters  # their own gradients
    least = (below + 2 * above + 2 * head + trained) / rate
    found = {"prompts": len(queries), "tokens": len(tree), "floor": least, "gflops": rate / 1e9}
    print(
        f"tic_tac_toe on SmolLM2, {dtype}: {len(queries)} prompts, {len(tree):,} tokens, at least "
        f"{least:.1f} s at {rate / 1e9:.0f} GFLOP/s"
    )
    for name in ("kept", "anew"):
        times = []
        for _ in range(2):
            policy = opened(dtype)
            scorer = Scorer(policy, keeps_graphs=name == "kept")
            weights = [torch.linspace(-1, 1, len(query.labels)) for query in queries]
            begun = time.process_time()
            scorer.score(queries)
            share = sum(graph is not None for graph in scorer.graphs(queries)) / len(queries)
            scorer.backward(queries, weights)
            times.append(time.process_time() - begun)
            del policy, scorer
        first, took = times
        found[name] = {
            "first": first, "seconds": took, "ratio": took / least, "kept_share": share,
        }  # fmt: skip
        print(
            f"  {share:.0%} of the prompts kept from play: {took:.1f} s ({first:.1f} s at first), "
            f"{took / least:.2f} times that",
            flush=True,
        )
    return found


def opened(dtype: torch.dtype, trunk_tokens: int | None = None) -> HFPolicy:
    """SmolLM2 with ten adapted layers, none of which is computed again for its memory. What the
    layers below give is kept for `trunk_tokens` prefixes; None: as in training."""
    lora = LoraSpec(layers=10)
    return HFPolicy(
        SMOLLM2, lora=lora, dtype=dtype, recompute="off", trunk_tokens=trunk_tokens
    )  # fmt: skip


def matmul_rate(dtype: torch.dtype) -> float:
    """FLOP a CPU second of the best of a few large matrix products."""
    best = 0.0
    a, b = torch.randn(2048, 2048).to(dtype), torch.randn(2048, 2048).to(dtype)
    for _ in range(8):
        start = time.process_time()
        a @ b
        best = max(best, 2 * 2048**3 / (time.process_time() - start))
    return best


if __name__ == "__main__":
    main()
