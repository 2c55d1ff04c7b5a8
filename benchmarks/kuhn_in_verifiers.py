"""Kuhn poker as an environment of verifiers 0.4, for `benchmarks/rollout.py` to play."""

from __future__ import annotations

import random
from typing import Any

import verifiers.v1 as vf

RULES = "You play Kuhn poker with cards J, Q and K. Reply with one of the options in brackets."
FIRST, ANSWER = "[check] or [bet]", "[fold] or [call]"
OPTIONS = {"": FIRST, "c": FIRST, "b": ANSWER, "cb": ANSWER}
LETTERS = {"check": "c", "fold": "f", "bet": "b", "call": "k"}


class Hand(vf.TaskData):
    cards: tuple[str, str]


class HandTask(vf.Task[Hand]):
    pass


class Hands(vf.Taskset[HandTask, vf.TasksetConfig]):
    INFINITE = True

    def load(self) -> Any:
        rng = random.Random(0)
        while True:
            yield HandTask(
                Hand(prompt=None, system_prompt=RULES, cards=tuple(rng.sample("JQK", 2)))
            )


class KuhnConfig(vf.EnvConfig):
    p0: vf.AgentConfig = vf.AgentConfig(harness={"id": "null"}, runtime={"type": "subprocess"})
    p1: vf.AgentConfig = vf.AgentConfig(harness={"id": "null"}, runtime={"type": "subprocess"})


class Kuhn(vf.Env[KuhnConfig]):
    async def run(self, task: HandTask, agents: Any) -> None:
        said = ""
        async with (
            agents.p0.interaction(task) as first,
            agents.p1.interaction(task) as second,
        ):
            seats = (first, second)
            while said in OPTIONS:
                seat = len(said) % 2
                known = f"Your card: {task.data.cards[seat]}. So far: {said or 'nothing'}."
                turn = await seats[seat].turn(f"{known} {OPTIONS[said]}")
                reply = turn.last_reply.strip()
                word = reply.removeprefix("[").removesuffix("]")
                if f"[{word}]" not in OPTIONS[said]:
                    break
                said += LETTERS[word]
            for seat, amount in zip(seats, paid(task.data.cards, said), strict=True):
                seat.trace.record_reward("chips", amount)


def paid(cards: tuple[str, str], said: str) -> tuple[float, float]:
    """Returns the winnings of both."""
    higher = 1 if "JQK".index(cards[0]) > "JQK".index(cards[1]) else -1
    won = {"bf": 1, "cbf": -1, "bk": 2 * higher, "cbk": 2 * higher}.get(said, higher)
    return float(won), float(-won)


__all__ = ["Hands", "Kuhn"]
