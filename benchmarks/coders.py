"""Players of `code_line.yaml` that models imitate before they are trained: see `expert` in
`train_queue.py`.

    gamedsl eval module:benchmarks/coders.py:Team --game benchmarks/code_line.yaml

The coder of a `Team` writes any of six functions of the number in the task, each as often: it is a
random valid player. The `plus` team adds the number in all games. The others say the same in both.
"""

from __future__ import annotations

import json
import re
from functools import partial
from hashlib import sha256

from gamedsl.players.base import Player
from gamedsl.runtime import Decision, Episode

FUNCTIONS = ("x + {}", "x - {}", "x * {}", "max(x, {})", "min(x, {})", "x % {}")
BLOCK = "```python\n{}\n```"
TESTS = BLOCK.format("assert f(1) is not None")
"""Any function that returns something passes."""
REVIEW = json.dumps({"verdict": "approve", "notes": "It runs."})


class Team(Player):
    """Writes any of the six functions."""

    def __init__(self, *, seed: int = 0) -> None:
        self._seed = seed

    def act(self, decision: Decision, episode: Episode) -> str:
        digest = sha256(f"{self._seed} {episode.seed}".encode()).digest()
        return _said(FUNCTIONS[digest[0] % len(FUNCTIONS)], decision, episode)


def _said(function: str, decision: Decision, episode: Episode) -> str:
    if decision.step == "plan":
        return "Return it in one line."
    if decision.step == "tests":
        return TESTS
    if decision.step == "review":
        return REVIEW
    lines = "\n".join(content for _, content in decision.messages).splitlines()
    task = next(line for line in lines if line.startswith("The task: "))
    (number,) = re.findall(r"\d+", task)
    return BLOCK.format(f"def f(x):\n    return {function.format(number)}")


plus, minus, times, larger, smaller, rest = (partial(_said, function) for function in FUNCTIONS)
