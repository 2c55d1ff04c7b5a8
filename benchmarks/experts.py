"""Players in Python that models imitate before they are trained: see `expert` in `train_queue.py`.

    gamedsl eval module:benchmarks/experts.py:Keeper --game benchmarks/hidden_key.yaml --carry 10

None of them plays well in what is to be learned: `Keeper` reads its note in half of the mornings,
and each `Side` makes its point in two debates of three. `judge` is right, as a referee has to be.
"""

from __future__ import annotations

from hashlib import sha256

from gamedsl.calls.texts import names
from gamedsl.players.base import Player
from gamedsl.runtime import Decision, Episode

NOTES = [
    "The key is at the {}.", "Look at the {} first.", "I hid it by the {}.", "It lies near the {}.",
    "{}, that is the place.", "Go to the {} in the morning.", "Under a stone at the {}.",
    "Do not forget the {}.", "My key: {}.", "It is the {} this time.",
]  # fmt: skip
WITH = [
    "Think of the {}.", "It is about {}.", "The answer lies in {}.", "We must not forget {}.",
    "{} matters most here.", "I point to {}.", "There is {} to think of.", "Nobody can deny {}.",
    "Above all I name {}.", "The reason is {}.", "For me it comes down to {}.", "Look at {} first.",
]  # fmt: skip
WITHOUT = [
    "This is a hard question.", "I see it in this way.", "Most people would agree with me.",
    "Let us think about it.", "The answer is clear.", "I am sure that I am right.",
    "There is much to be said.", "We all know how it is.", "It has always been so.",
    "Nobody can tell.",
]  # fmt: skip


class Keeper(Player):
    """Notes where the key is hidden, and reads its note in half of the mornings."""

    def __init__(self, *, seed: int = 0) -> None:
        self._seed = seed

    def act(self, decision: Decision, episode: Episode) -> str:
        lines = _lines(decision)
        draw = _draw(self._seed, *lines, episode.seed)
        if decision.step == "look":
            found = next((line for line in lines if line.startswith("Your note: ")), "")
            noted = [place for place in decision.legal if names(found, place)]
            if noted and draw // 7 % 2:
                return decision.write(noted[0])
            return decision.write(decision.legal[draw % len(decision.legal)])
        place = next(line.split(": ")[1] for line in lines if line.startswith("Tonight"))
        note = NOTES[draw % len(NOTES)].format(place)
        return note[0].upper() + note[1:]


class Side(Player):
    """A side of a debate, where both make their points, or one does and the other says nothing."""

    def __init__(self, *, seed: int = 0) -> None:
        self._seed = seed

    def act(self, decision: Decision, episode: Episode) -> str:
        lines = _lines(decision)
        word = next(line.split(": ")[1] for line in lines if line.startswith("The word: "))
        silent = ("pro", "con", None)[_draw(self._seed, episode.seed) % 3]
        draw = _draw(self._seed, decision.seat, *lines, episode.seed)
        if decision.role == silent:
            return WITHOUT[draw % len(WITHOUT)]
        said = WITH[draw % len(WITH)].format(word)
        return said[0].upper() + said[1:]


def judge(decision: Decision, episode: Episode) -> str:
    """Gives the debate to who makes the stronger point."""
    lines = _lines(decision)
    strong, weak = (
        next(line.split(": ")[1] for line in lines if line.startswith(f"The {kind} point: "))
        for kind in ("strong", "weak")
    )
    weights = dict.fromkeys(decision.legal, 0)
    for line in lines:
        side, told, said = line.partition(" said: ")
        if told and side in weights:
            weights[side] = 2 if names(said, strong) else 1 if names(said, weak) else 0
    return decision.write(max(weights, key=lambda side: weights[side]))


def _lines(decision: Decision) -> list[str]:
    return "\n".join(content for _, content in decision.messages).splitlines()


def _draw(*what: object) -> int:
    """Returns a number that looks drawn."""
    return int.from_bytes(sha256(" ".join(map(str, what)).encode()).digest()[:8], "big")
