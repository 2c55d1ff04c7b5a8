"""The interface of a player, and a game played by players."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    from gamedsl.runtime import Action, Decision, Env, Episode, ParseFailure
    from gamedsl.runtime.memory import Memory


class PlayerError(ValueError):
    """A player cannot be had, or cannot go on. The text states the fact, then what helps."""

    def __init__(self, message: str, help: str) -> None:
        super().__init__(f"{message}\n  help: {help}")
        self.message = message
        self.help = help


class Player(Protocol):
    """Holds one seat, or several."""

    def act(self, decision: Decision, episode: Episode) -> Action | str | ParseFailure:
        """One of `decision.legal`; or a text, read as a reply that may be no legal label.

        `episode` is where the decision is asked, for players that search games in which everybody
        sees everything; it is not to be moved (fork it). A player of any other game uses only what
        its seat has seen.
        """
        ...


class Posed(NamedTuple):
    """A decision that a game waits for. `seed` is all that the answer's random numbers depend
    on."""

    decision: Decision
    episode: Episode
    seed: int


class Answered(NamedTuple):
    """A player's answer: a move, a reply to be parsed, or the reason why there is none."""

    reply: Action | str | ParseFailure
    text: str | None = None
    """What was written, as it came; None where nothing was."""
    tokens: int = 0
    """How many tokens were written; 0 where nothing was, or nobody counted them."""


@runtime_checkable
class Speaker(Protocol):
    """A player that answers the decisions of many games at once, and keeps nothing that a game
    changes: a language model, here or behind an address."""

    def act(self, decision: Decision, episode: Episode) -> Action | str | ParseFailure: ...

    def answers(self, posed: Sequence[Posed]) -> list[Answered]:
        """One answer to each."""
        ...


class DrawingPlayer(ABC):
    """A player that draws from a distribution it can tell; one seed, one sequence of draws at each
    seat."""

    def __init__(self, *, seed: int = 0) -> None:
        self._dice = Dice(seed)

    @abstractmethod
    def odds(self, decision: Decision, episode: Episode) -> Sequence[float]:
        """Returns the probability of each action; parallel to `decision.legal`, summing to 1."""

    def all_odds(self, asked: Sequence[tuple[Decision, Episode]]) -> list[Sequence[float]]:
        """The odds of many decisions at once, which for a model is the faster way."""
        return [self.odds(decision, episode) for decision, episode in asked]

    def say(self, decision: Decision, dice: random.Random) -> str:
        """Returns its reply to an open decision, by canonical name. Raises PlayerError if it has
        none, as most players."""
        raise PlayerError(
            f"this player chooses among options, and `{decision.step}` of {decision.env.ir.name} "
            "is said in words", "write `random`, which says something at random",
        )  # fmt: skip

    def act(self, decision: Decision, episode: Episode) -> Action:
        return self.draw(decision, episode, self._dice[decision.seat])

    def draw(self, decision: Decision, episode: Episode, dice: random.Random) -> Action:
        """Returns an action drawn with these random numbers."""
        from gamedsl.runtime import Action

        if decision.said is not None:
            return Action(self.say(decision, dice))
        return Action(dice.choices(decision.legal, self.odds(decision, episode))[0])


class Dice(dict[str, random.Random]):
    """A random stream for each seat, so that players of equal seeds do not move alike."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._seed = seed

    def __missing__(self, seat: str) -> random.Random:
        self[seat] = random.Random(f"{self._seed} {seat}")
        return self[seat]


def answer(player: Player, posed: Sequence[Posed]) -> list[Answered]:
    """Returns a player's answers to decisions of several games; they depend on the seeds alone
    if the kind of player allows it."""
    if isinstance(player, Speaker):
        return player.answers(posed)
    if isinstance(player, DrawingPlayer):
        return [Answered(player.draw(d, e, random.Random(seed))) for d, e, seed in posed]
    return [Answered(player.act(decision, episode)) for decision, episode, _ in posed]


def play(
    env: Env, players: Mapping[str, Player], seed: int = 0, memory: Memory | None = None
) -> Episode:
    """Play one episode to its end. KeyError for a seat that nobody holds; as `Env.reset`."""
    episode = env.reset(seed=seed, memory=memory)
    while not episode.done:
        episode.step({d.seat: players[d.seat].act(d, episode) for d in episode.decisions})
    return episode
