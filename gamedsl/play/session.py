"""`PlaySession`: one play in which people hold some seats, and players the others.

People answer one after another, in any order; when all who are asked have answered, players answer
too, and the game goes on. Nobody's answer is shown to another before that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gamedsl.players.base import Player
from gamedsl.runtime.positions import has_perfect_information

if TYPE_CHECKING:
    from gamedsl.runtime import Action, Decision, Env, Episode, Game, ParseFailure


@dataclass(frozen=True)
class Moment:
    """A point of a play at which people were asked, and their answers there."""

    episode: Episode
    """Where they were asked; to be forked, never moved."""
    answers: Mapping[str, Action | str | ParseFailure]
    """By seat, of people alone."""


class PlaySession:
    """A play from its first decision of a person to its end. `people` are the seats that they
    hold; `players` hold all others. `start` is where the play begins, if not at the beginning: an
    episode to be forked. `recorded`: keeps `moments`, so that answers can be taken back.

    `env` is the environment that plays of one game share; by default each play has its own, whose
    labels the seed draws. Raises ValueError for a seat that nobody holds, and what a player raises.
    """

    def __init__(
        self, game: Game, people: frozenset[str], players: Mapping[str, Player], *, seed: int,
        env: Env | None = None, start: Episode | None = None, recorded: bool = True,
    ) -> None:  # fmt: skip
        missing = set(game.ir.everyone) - people - players.keys()
        if missing:
            raise ValueError(f"nobody holds {', '.join(sorted(missing))}")
        self.game = game
        self.people = people
        self._players = players
        env = env or game.env(run_seed=seed)
        self.episode = env.reset(seed=seed) if start is None else start.fork()
        self.moments: list[Moment] = []
        """What people were asked and answered so far, the oldest first."""
        self.waiting: tuple[Decision, ...] = ()
        """The decisions of people who have not answered yet; empty at the end of the play."""
        self._recorded = recorded
        self._answers: dict[str, Action | str | ParseFailure] = {}
        self._go_on()

    def has_answered(self, seat: str) -> bool:
        """Whether a person at a seat has answered something that was not taken back."""
        return seat in self._answers or self._last_moment(seat) is not None

    def answer(self, seat: str, reply: Action | str | ParseFailure) -> str | ParseFailure:
        """Takes the answer of a person who is asked; after the last one the play goes on. Returns
        the canonical name of the reply, or why it is invalid.

        Raises ValueError for a seat that does not wait, or an `Action` that is not legal, and what
        the rules and the players raise; the play then stays where it is.
        """
        decision = next((one for one in self.waiting if one.seat == seat), None)
        if decision is None:
            raise ValueError(f"{seat} is not asked")
        read = self.episode.parse(decision, reply)  # raises for what is not legal
        self._answers[seat] = reply
        waiting = self.waiting
        self.waiting = tuple(one for one in waiting if one is not decision)
        if self.waiting:
            return read
        try:
            self._step()
        except BaseException:
            del self._answers[seat]
            self.waiting = waiting
            raise
        self._go_on()
        return read

    def take_back(self, seat: str) -> int | None:
        """Goes back to the last decision that a seat answered. Returns the number of events that
        the seat had seen then; None where it may not go back.

        It may while others have still to answer with it, and where since then everybody, the seat
        too, has seen nothing but choices of its own. Opposite players alone it may also in a game
        that hides nothing, while chance drew nothing.
        """
        if seat in self._answers:
            del self._answers[seat]
            self._wait()
            return len(self.episode.seen(seat))
        place = self._last_moment(seat)
        if place is None or not self._is_harmless(self.moments[place].episode, seat):
            return None
        self.episode = self.moments[place].episode.fork()
        del self.moments[place:]
        self._answers = {}
        self._wait()
        return len(self.episode.seen(seat))

    def _last_moment(self, seat: str) -> int | None:
        places = range(len(self.moments) - 1, -1, -1)
        return next((at for at in places if seat in self.moments[at].answers), None)

    def _is_harmless(self, then: Episode, seat: str) -> bool:
        """Whether nothing that matters was learned since a point of the play."""
        if self.episode.done:
            return False
        chosen = {step.id for step in self.game.ir.steps}
        new = {who: self.episode.seen(who)[len(then.seen(who)) :] for who in self.game.ir.everyone}
        own = (
            event.step in chosen and event.seat == who
            for who, events in new.items()
            for event in events
        )
        if all(own):
            return True
        if self.people != {seat} or not has_perfect_information(self.game.ir):
            return False
        return all(event.step in chosen for event in new[seat])

    def _go_on(self) -> None:
        """Lets players answer until a person is asked, or the play is over."""
        self._wait()
        while not self.episode.done and not self.waiting:
            self._step()
            self._wait()

    def _wait(self) -> None:
        """Lists the decisions that people have still to answer."""
        self.waiting = tuple(
            [
                decision
                for decision in self.episode.decisions
                if decision.seat in self.people and decision.seat not in self._answers
            ]
        )

    def _step(self) -> None:
        episode = self.episode
        replies = dict(self._answers)
        for decision in episode.decisions:
            if decision.seat not in replies:
                replies[decision.seat] = self._players[decision.seat].act(decision, episode)
        before = episode.fork() if self._recorded and self._answers else None
        episode.step(replies)
        if before is not None:
            self.moments.append(Moment(before, self._answers))
        self._answers = {}
