"""Kuhn poker as a `rollout_func` of TRL by hand, for `benchmarks/peers.py`: one model plays both
seats. A row is one seat in one deal, and all its replies are one completion."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

ENDS = ("cc", "bf", "bk", "cbf", "cbk")
LETTERS = {"check": "c", "bet": "b", "fold": "f", "call": "k"}


class Hand:
    def __init__(self, seed: int) -> None:
        self.cards, self.said = random.Random(seed).sample("JQK", 2), ""
        self.prompt: list[list[int]] = [[], []]
        self.completion: list[list[int]] = [[], []]
        self.logprobs: list[list[float]] = [[], []]
        self.mask: list[list[int]] = [[], []]

    def options(self) -> tuple[str, str]:
        return ("fold", "call") if self.said.endswith("b") else ("check", "bet")

    def messages(self) -> list[dict[str, str]]:
        text = (
            f"You play Kuhn poker. Your card: {self.cards[len(self.said) % 2]}. "
            f"So far: {self.said}. Reply with {' or '.join(self.options())}."
        )
        return [{"role": "user", "content": text}]

    def answer(self, asked: list[int], reply: list[int], logprobs: list[float], text: str) -> None:
        seat = len(self.said) % 2
        if self.prompt[seat]:  # a later prompt stands in the completion, and is not trained
            self.completion[seat] += asked
            self.logprobs[seat] += [0.0] * len(asked)
            self.mask[seat] += [0] * len(asked)
        else:
            self.prompt[seat] = asked
        self.completion[seat] += reply
        self.logprobs[seat] += logprobs
        self.mask[seat] += [1] * len(reply)
        word = text.strip()
        self.said += LETTERS[word] if word in self.options() else "f"

    @property
    def over(self) -> bool:
        return self.said in ENDS or self.said.endswith("f")

    def paid(self) -> tuple[float, float]:
        higher = 0 if "JQK".index(self.cards[0]) > "JQK".index(self.cards[1]) else 1
        winner = len(self.said) % 2 if self.said.endswith("f") else higher
        stake = 2.0 if self.said.endswith("k") else 1.0
        return (stake, -stake) if winner == 0 else (-stake, stake)


def rows(deals: int, first: int = 0) -> list[dict[str, str]]:
    return [{"prompt": f"{seed} {seat}"} for seed in range(first, first + deals) for seat in (0, 1)]


def rollout(prompts: list[str], trainer: Any) -> dict[str, Any]:
    tokenizer, times = trainer.processing_class, Counter[str]()
    hands: dict[tuple[int, int], Hand] = {}
    places = []
    for prompt in prompts:
        seed, seat = map(int, prompt.split())
        hand = hands.setdefault((seed, times[prompt]), Hand(seed))
        times[prompt] += 1
        places.append((hand, seat))
    while waiting := [hand for hand in hands.values() if not hand.over]:
        asked = [
            tokenizer.apply_chat_template(
                hand.messages(), add_generation_prompt=True, tokenize=True, return_dict=False
            )
            for hand in waiting
        ]
        replies, logprobs = trainer._generate_single_turn(asked, None, {}, 1)
        for hand, own, reply, chances in zip(waiting, asked, replies, logprobs, strict=True):
            text = tokenizer.decode(reply, skip_special_tokens=True)
            hand.answer(own, list(reply), list(chances), text)
    for hand, seat in places:
        if not hand.prompt[seat]:  # the other could not be read before this seat was asked
            eos = [tokenizer.eos_token_id]
            hand.prompt[seat], hand.completion[seat] = eos, eos
            hand.logprobs[seat], hand.mask[seat] = [0.0], [0]
    return {
        "prompt_ids": [hand.prompt[seat] for hand, seat in places],
        "completion_ids": [hand.completion[seat] for hand, seat in places],
        "logprobs": [hand.logprobs[seat] for hand, seat in places],
        "env_mask": [hand.mask[seat] for hand, seat in places],
        "chips": [hand.paid()[seat] for hand, seat in places],
    }


def reward(completions: Any, chips: list[float], **columns: Any) -> list[float]:
    return chips
