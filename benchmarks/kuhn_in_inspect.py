"""Kuhn poker as a task of Inspect by hand, for `benchmarks/peers.py`: a model plays both seats."""

from __future__ import annotations

import random
from typing import Any

from inspect_ai import Task
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageUser, get_model
from inspect_ai.scorer import Score, mean, scorer, stderr
from inspect_ai.solver import solver

ENDS = ("cc", "bf", "bk", "cbf", "cbk")
LETTERS = {"check": "c", "bet": "b", "fold": "f", "call": "k"}


def kuhn(hands: int = 20) -> Task:
    samples = [
        Sample(
            input=f"hand {seed}", id=seed,
            metadata={"cards": random.Random(seed).sample("JQK", 2)},
        )
        for seed in range(hands)
    ]  # fmt: skip
    return Task(dataset=samples, solver=play(), scorer=chips())


@solver
def play() -> Any:
    async def solve(state: Any, generate: Any) -> Any:
        model, cards, said = get_model(), state.metadata["cards"], ""
        state.messages = []
        while said not in ENDS:
            options = ("fold", "call") if said.endswith("b") else ("check", "bet")
            text = (
                f"You play Kuhn poker. Your card: {cards[len(said) % 2]}. So far: {said}. "
                f"Reply with {' or '.join(options)}."
            )
            asked = ChatMessageUser(content=text)
            state.output = await model.generate([asked])
            state.messages += [asked, state.output.message]
            word = state.output.completion.strip()
            if word not in options:
                said += "f"
                break
            said += LETTERS[word]
        state.store.set("chips", paid(cards, said))
        return state

    return solve


@scorer(metrics={"*": [mean(), stderr()]})
def chips() -> Any:
    async def score(state: Any, target: Any) -> Score:
        first, second = state.store.get("chips")
        return Score(value={"first": first, "second": second})

    return score


def paid(cards: list[str], said: str) -> tuple[float, float]:
    higher = 0 if "JQK".index(cards[0]) > "JQK".index(cards[1]) else 1
    winner = len(said) % 2 if said.endswith("f") else higher
    stake = 2.0 if said.endswith("k") else 1.0
    return (stake, -stake) if winner == 0 else (-stake, stake)
