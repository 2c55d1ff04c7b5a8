"""Kuhn poker as an environment of OpenEnv by hand, for `benchmarks/peers.py`: one client has both
seats."""

from __future__ import annotations

import random
from typing import Any

from openenv.core.env_server.http_server import create_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation, State

ENDS = ("cc", "bf", "bk", "cbf", "cbk")
LETTERS = {"check": "c", "bet": "b", "fold": "f", "call": "k"}


class Move(Action):
    word: str


class Prompt(Observation):
    seat: int = 0
    text: str = ""
    options: list[str] = []
    chips: list[float] = []


class Kuhn(Environment):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def reset(
        self, seed: int | None = None, episode_id: str | None = None, **options: Any
    ) -> Prompt:
        self.cards, self.said = random.Random(seed).sample("JQK", 2), ""
        self._state = State(episode_id=episode_id)
        return self.observe()

    def step(self, action: Move, timeout_s: float | None = None, **options: Any) -> Prompt:
        if action.word not in self.open_to():
            raise ValueError(f"`{action.word}` is not open")
        self.said += LETTERS[action.word]
        self._state.step_count += 1
        return self.observe()

    @property
    def state(self) -> State:
        return self._state

    def open_to(self) -> list[str]:
        return ["fold", "call"] if self.said.endswith("b") else ["check", "bet"]

    def observe(self) -> Prompt:
        if self.said in ENDS:
            return Prompt(done=True, chips=self.paid())
        seat, options = len(self.said) % 2, self.open_to()
        text = f"Your card: {self.cards[seat]}. So far: {self.said}. {' or '.join(options)}?"
        return Prompt(seat=seat, text=text, options=options)

    def paid(self) -> list[float]:
        higher = 0 if "JQK".index(self.cards[0]) > "JQK".index(self.cards[1]) else 1
        winner = len(self.said) % 2 if self.said.endswith("f") else higher
        stake = 2.0 if self.said.endswith("k") else 1.0
        return [stake, -stake] if winner == 0 else [-stake, stake]


def app() -> Any:
    return create_app(Kuhn, Move, Prompt, env_name="kuhn", max_concurrent_envs=64)
