"""Players of `animals.yaml` that models imitate before they are trained: see `expert` in
`train_queue.py`.

    gamedsl eval module:benchmarks/askers.py:Asker --game benchmarks/animals.yaml \\
        --referee answerer=module:benchmarks/askers.py:answerer

`Asker` asks for any habit, each as often, whatever the animals do: it is a random valid player.
`fixed` has one list of questions, the best of all such lists. `answerer` is right, as a referee has
to be.
"""

from __future__ import annotations

from hashlib import sha256

from gamedsl.calls.texts import names
from gamedsl.players.base import Player
from gamedsl.runtime import Decision, Episode

HABITS = ("swims", "flies", "hunts", "climbs", "digs", "sings")
ASKED = "Is it one that {}?"
LISTED = ("flies", "hunts")
"""The two habits that rule out most of the animals in the file, where all games ask the same."""


class Asker(Player):
    """Asks whether the animal has a habit, any of the six."""

    def __init__(self, *, seed: int = 0) -> None:
        self._seed = seed

    def act(self, decision: Decision, episode: Episode) -> str:
        text = f"{self._seed} {episode.seed} {decision.occurrence}"
        draw = int.from_bytes(sha256(text.encode()).digest()[:8], "big")
        return ASKED.format(HABITS[draw % len(HABITS)])


def fixed(decision: Decision, episode: Episode) -> str:
    """Asks the same questions in every game."""
    return ASKED.format(LISTED[decision.occurrence])


def answerer(decision: Decision, episode: Episode) -> str:
    """Says yes where the animal has a habit that the last question names."""
    lines = "\n".join(content for _, content in decision.messages).splitlines()
    card = next(line for line in lines if line.startswith("swims "))
    asked = [line for line in lines if line.endswith("?") and line != "yes or no?"][-1]
    has = any(names(asked, habit) and f"{habit} yes" in card for habit in HABITS)
    return decision.write("yes" if has else "no")
