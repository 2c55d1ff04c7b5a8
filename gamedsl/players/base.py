"""The interface of a player, and a game played by players."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    from gamedsl.ir.game import GameIR
    from gamedsl.policies.budget import Budget
    from gamedsl.runtime import Action, Decision, Env, Episode, Game, ParseFailure
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
    """Play one episode to its end. Raises PlayerError for a seat that nobody holds, and as
    `Env.reset`."""
    held = {seat: _holder(players, seat, env.ir) for seat in env.ir.everyone}
    episode = env.reset(seed=seed, memory=memory)
    while not episode.done:
        episode.step({d.seat: held[d.seat].act(d, episode) for d in episode.decisions})
    return episode


def _holder(players: Mapping[str, Player], seat: str, ir: GameIR) -> Player:
    try:
        return players[seat]
    except KeyError:
        raise PlayerError(
            f"nobody holds the seat `{seat}` of {ir.name}",
            f"give a player for each of {', '.join(ir.everyone)}",
        ) from None


NUMBER = r"\d+(\.\d*)?|\.\d+"
"""The form of a share in the argument of a player."""

OPEN_GAMES = "games in which everybody sees everything"


@dataclass(frozen=True)
class PlayerRequest:
    """The arguments of a player: the text after its name, the game, the seed, whether code may run,
    the settings of vLLM where it writes the replies, what endpoints may use up together, and
    whether a file names the player. `open` opens other players for the same game, with the rights
    of this one; `open_named_in_file` with those of a file: see `gamedsl.players.table`."""

    argument: str
    game: Game
    seed: int
    allow_code: bool
    vllm: Mapping[str, Any] | None
    budget: Budget | None
    from_file: bool
    open: Callable[[str], Player]
    open_named_in_file: Callable[[str], Player]

    def open_drawing(self, spec: str) -> DrawingPlayer:
        """A player that is part of another, whose odds must be known. Raises PlayerError."""
        player = self.open(spec)
        if not isinstance(player, DrawingPlayer):
            raise PlayerError(f"the odds of `{spec.strip()}` are not known", "take another player")
        return player

    def whole(self, text: str, example: str) -> int:
        """A number from 1 up. Raises PlayerError."""
        if not text.isdecimal() or int(text) < 1:
            raise PlayerError(f"`{text}` is no whole number from 1 up", f"write `{example}`")
        return int(text)


@dataclass(frozen=True)
class PlayerSpec:
    """The declaration of a kind of player, `PLAYER` in its file.

    argument: what stands after the colon; empty: nothing does, and in brackets it may be left out.
    doc: what it plays.
    fits: the games that it can play.
    open: makes the player.
    speaks: whether it has something to say at open decisions.
    in_files: whether its argument names files that make it what it is.
    seeded: whether the seed decides its policy, or its labels.
    """

    argument: str
    doc: str
    fits: str
    open: Callable[[PlayerRequest], Player]
    speaks: bool = True
    in_files: bool = False
    seeded: bool = False

    def usage(self, name: str) -> str:
        """The text that names such a player, such as `mcts:SIMULATIONS`."""
        if self.argument.startswith("["):
            return f"{name}[:{self.argument[1:]}"
        return f"{name}:{self.argument}" if self.argument else name
