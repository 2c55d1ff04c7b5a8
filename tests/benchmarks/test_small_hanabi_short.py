"""The short prompts of `benchmarks/small_hanabi_short.yaml` change no rule of small Hanabi."""

from __future__ import annotations

import random
from pathlib import Path

import gamedsl
from gamedsl import Action

SHORT = Path(__file__).parents[2] / "benchmarks" / "small_hanabi_short.yaml"


def test_plays_are_those_of_small_hanabi() -> None:
    own, short = gamedsl.load("small_hanabi").env(), gamedsl.load(SHORT).env()
    scores = set()
    for seed in range(150):
        one, other, draw = own.reset(seed=seed), short.reset(seed=seed), random.Random(seed)
        while not one.done:
            (asked,), (also,) = one.decisions, other.decisions
            assert (asked.seat, asked.legal) == (also.seat, also.legal)
            safe = [name for name in asked.legal if not name.startswith("play")]
            move = draw.choice(safe if safe and draw.random() < 0.8 else list(asked.legal))
            for episode in (one, other):
                episode.step({asked.seat: Action(move)})
        assert other.done
        assert one.payoffs == other.payoffs
        scores.add(one.payoffs["player_1"])
    assert len(scores) > 2
