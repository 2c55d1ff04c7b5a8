"""The interface of a player, and a game played by players."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from gamedsl.runtime import Action, Decision, Env, Episode


class PlayerError(ValueError):
    """A player cannot be had, or cannot go on. The text states the fact, then what helps."""

    def __init__(self, message: str, help: str) -> None:
        super().__init__(f"{message}\n  help: {help}")
        self.message = message
        self.help = help


class Player(Protocol):
    """Holds one seat, or several."""

    def act(self, decision: Decision, episode: Episode) -> Action | str:
        """One of `decision.legal`; or a text, read as a reply that may be no legal label.

        `episode` is where the decision is asked, for players that search games in which everybody
        sees everything; it is not to be moved (fork it). A player of any other game uses only what
        its seat has seen.
        """
        ...


class DrawingPlayer(ABC):
    """A player that draws from a distribution it can tell; one seed, one sequence of draws at each
    seat."""

    def __init__(self, *, seed: int = 0) -> None:
        self._dice = Dice(seed)

    @abstractmethod
    def odds(self, decision: Decision, episode: Episode) -> Sequence[float]:
        """How likely each action is; parallel to `decision.legal`, summing to 1."""

    def all_odds(self, asked: Sequence[tuple[Decision, Episode]]) -> list[Sequence[float]]:
        """The odds of many decisions at once, which for a model is the faster way."""
        return [self.odds(decision, episode) for decision, episode in asked]

    def say(self, decision: Decision, dice: random.Random) -> str:
        """What it says at an open decision, by canonical name. PlayerError where it says nothing:
        few players do."""
        raise PlayerError(
            f"this player chooses among options, and `{decision.step}` of {decision.env.ir.name} "
            "is said in words", "write `random`, which says something at random",
        )  # fmt: skip

    def act(self, decision: Decision, episode: Episode) -> Action:
        from gamedsl.runtime import Action

        if decision.said is not None:
            return Action(self.say(decision, self._dice[decision.seat]))
        odds = self.odds(decision, episode)
        return Action(self._dice[decision.seat].choices(decision.legal, odds)[0])


class Dice(dict[str, random.Random]):
    """A random stream for each seat, so that players of equal seeds do not move alike."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._seed = seed

    def __missing__(self, seat: str) -> random.Random:
        self[seat] = random.Random(f"{self._seed} {seat}")
        return self[seat]


def play(env: Env, players: Mapping[str, Player], seed: int = 0) -> Episode:
    """Play one episode to its end. KeyError for a seat that nobody holds."""
    episode = env.reset(seed=seed)
    while not episode.done:
        episode.step({d.seat: players[d.seat].act(d, episode) for d in episode.decisions})
    return episode
