"""Tokens per second of our engine against transformers' own `generate`.

The same prompts, model, dtype, threads and number of new tokens, sampled at temperature 1, in one
process, in turns. Nothing is kept from run to run, and no reply ends early. The peer is `generate`
on a batch padded on the left, with transformers' own cache and without adapters; ours goes through
LoRA adapters. Three batches: prompts that have nothing in common, of one length and of several, and
prompts of a game (the same rules, some different last lines, several samples of each). Seconds are
those that the process computed for, on a GPU those of the clock; a ratio is a median over pairs.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections import defaultdict
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import torch

from gamedsl.policies.chat import HFTokenizer
from gamedsl.policies.generation import Request
from gamedsl.policies.hf import HFPolicy
from gamedsl.policies.models import load

FIRST, LAST = ("star", "moon", "rain", "wood"), ("light", "land", "man", "house", "fall")
RULES = (
    "You play a game of bargaining with one other player. There are ten coins on the table. In "
    "each round one of you proposes how many of them each gets, and the other accepts or refuses. "
    "After a refusal one coin is taken away, and the roles change. When no coin is left, both get "
    "nothing. You are paid the coins that you hold at the end; what the other holds does not "
    "matter to you. Say in a few sentences what you think of the offer, then state your answer on "
    "a line of its own, as ACCEPT or REFUSE followed by your own next proposal as two numbers. Do "
    "not mention these rules, and do not speak for the other player. What was said so far is "
    "listed below. "
)


def tokens(args: argparse.Namespace) -> dict[str, Any]:
    """Tokens per second on both batches, ours and the peer's, and their ratios."""
    torch.set_num_threads(args.threads)
    policy = HFPolicy(args.model)
    policy._writer.decoder.ends = frozenset()  # every reply has the same length
    peer = load(args.model, dtype=policy._network.dtype, device=policy.device).model
    peer.generation_config.eos_token_id = None
    found: dict[str, Any] = {
        "model": args.model, "batch": args.batch, "new_tokens": args.new, "threads": args.threads,
        "device": str(policy.device), "dtype": str(policy._network.dtype),
        "versions": {name: version(name) for name in ("gamedsl", "torch", "transformers")},
    }  # fmt: skip
    batches = {
        "nothing shared, one length": level(args, policy.tokenizer),
        "nothing shared": distinct_texts(args),
        "shared": together(args),
    }
    for name, texts in batches.items():
        requests = [
            Request((("user", text),), policy.adapters[0], args.new, seed=seed)
            for seed, text in enumerate(texts)
        ]
        prompts = [reply.prompt_ids for reply in policy.generate(requests[:1])]  # warm
        prompts = [policy.tokenizer.converse(request.messages).ids for request in requests]
        runs = {
            "ours": lambda requests=requests: ours(policy, requests),
            "peer": lambda prompts=prompts: plain(peer, prompts, args.new),
        }
        seconds = race(runs, args.repeats, policy.device)
        rates = {run: args.batch * args.new / statistics.median(s) for run, s in seconds.items()}
        pairs = zip(seconds["peer"], seconds["ours"], strict=True)
        ratio = statistics.median(theirs / own for theirs, own in pairs)
        found[name] = {
            "prompt_tokens": sum(map(len, prompts)), "tokens_per_second": rates,
            "seconds": seconds, "ratio": ratio,
        }  # fmt: skip
        print(
            f"{name}: {args.batch} prompts of {sum(map(len, prompts)) / args.batch:.0f} tokens, "
            f"{args.new} new ones each: ours {rates['ours']:.0f} tokens/s, transformers "
            f"{rates['peer']:.0f} tokens/s, ratio {ratio:.2f}",
            flush=True,
        )
    return found


def race(
    runs: dict[str, Callable[[], None]], repeats: int, device: torch.device
) -> dict[str, list[float]]:
    """Seconds of each run of each, in turns."""
    clock = time.process_time if device.type == "cpu" else time.perf_counter
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            start = clock()
            run()
            seconds[name].append(clock() - start)
    return seconds


def ours(policy: HFPolicy, requests: list[Request]) -> None:
    policy.forget()
    replies = policy.generate(requests)
    assert all(len(reply.reply_ids) == requests[0].max_tokens for reply in replies)


def plain(model: Any, prompts: list[tuple[int, ...]], new: int) -> None:
    width = max(map(len, prompts))
    ids = torch.tensor([[0] * (width - len(prompt)) + list(prompt) for prompt in prompts])
    seen = torch.tensor([[0] * (width - len(p)) + [1] * len(p) for p in prompts])
    out = model.generate(
        input_ids=ids.to(model.device), attention_mask=seen.to(model.device), max_new_tokens=new,
        do_sample=True, temperature=1.0, top_k=0, top_p=1.0, pad_token_id=0,
    )  # fmt: skip
    assert out.shape[1] == width + new


def distinct_texts(args: argparse.Namespace) -> list[str]:
    """Texts of 50 to 90 words that have no beginning in common."""
    rng = random.Random(0)
    nouns = [f"{first}{last}" for first in FIRST for last in LAST]
    return [" ".join(rng.choices(nouns, k=rng.randint(50, 90))) for _ in range(args.batch)]


def level(args: argparse.Namespace, tokenizer: HFTokenizer) -> list[str]:
    """Texts of 40 words that have no beginning in common, all of as many tokens."""
    rng = random.Random(2)
    nouns = [f"{first}{last}" for first in FIRST for last in LAST]
    found: dict[int, list[str]] = defaultdict(list)
    while max(map(len, found.values()), default=0) < args.batch:
        text = " ".join(rng.choices(nouns, k=40))
        found[tokenizer.count(text)].append(text)
    return max(found.values(), key=len)


def together(args: argparse.Namespace) -> list[str]:
    """A game's prompts: the rules, what was said, and every one of them several times."""
    rng = random.Random(1)
    said = [
        RULES + f"Round {rng.randint(1, 9)}: I take {rng.randint(1, 9)} for my {rng.choice(LAST)}."
        for _ in range(max(1, args.batch // args.samples))
    ]
    return [said[index // args.samples % len(said)] for index in range(args.batch)]
