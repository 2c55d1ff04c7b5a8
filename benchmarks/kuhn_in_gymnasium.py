"""Kuhn poker as an environment of gymnasium by hand, for `benchmarks/peers.py`: the first seat
learns, and the second plays at random."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete, MultiDiscrete


class Kuhn(gymnasium.Env[Any, Any]):
    """0 checks or folds, 1 bets or calls; both are always legal."""

    observation_space = MultiDiscrete([3, 2])
    action_space = Discrete(2)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.cards = self.np_random.permutation(3)[:2]
        self.moves: list[int] = []
        return self.observe(), {}

    def observe(self) -> Any:
        """The card of the first seat, and whether the second has bet."""
        return np.array([self.cards[0], int(len(self.moves) == 2)])

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.moves.append(int(action))
        if len(self.moves) == 1:
            self.moves.append(int(self.np_random.integers(2)))
        over = self.moves != [0, 1]
        return self.observe(), self.paid() if over else 0.0, over, False, {}

    def paid(self) -> float:
        if self.moves == [1, 0]:
            return 1.0
        if self.moves == [0, 1, 0]:
            return -1.0
        stake = 2.0 if self.moves[-2:] == [1, 1] else 1.0
        return stake if self.cards[0] > self.cards[1] else -stake
