"""Players of `posed_sums.yaml` that models imitate before they are trained: see `expert` in
`train_queue.py`.

    gamedsl eval module:benchmarks/posers.py:solver --game benchmarks/posed_sums.yaml \\
        --referee generator=module:benchmarks/posers.py:Generator

`Generator` adds its number up from once to twelve times, each as often, and `solver` is right.
`terms_3` to `terms_6` are generators that add it up as often in all games.
"""

from __future__ import annotations

from functools import partial
from hashlib import sha256

from gamedsl.calls.numbers import evaluated
from gamedsl.players.base import Player
from gamedsl.runtime import Decision, Episode

MOST = 12
"""Terms of a sum."""


class Generator(Player):
    """Poses a sum of one to twelve terms, each number of them as often."""

    def __init__(self, *, seed: int = 0) -> None:
        self._seed = seed

    def act(self, decision: Decision, episode: Episode) -> str:
        digest = sha256(f"{self._seed} {episode.seed}".encode()).digest()
        return _sum(1 + digest[0] % MOST, decision, episode)


def solver(decision: Decision, episode: Episode) -> str:
    """Works the sum out."""
    posed = next(line for line in _lines(decision) if line[:1].isdigit())
    return str(evaluated(posed))


def _sum(terms: int, decision: Decision, episode: Episode) -> str:
    number = next(line for line in _lines(decision) if line.isdigit())
    return " + ".join([number] * terms)


terms_3, terms_4, terms_5, terms_6 = (partial(_sum, terms) for terms in range(3, 7))


def _lines(decision: Decision) -> list[str]:
    return "\n".join(content for _, content in decision.messages).splitlines()
