"""One play of a game, of which an assistant holds a seat and sees what that seat may see.

The other seats are held by players. Neither the seed nor the transcript is told, and of payoffs
only the seat's own: so whoever plays again learns nothing about what was hidden.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.mcp.refusal import Refused
from gamedsl.play.session import PlaySession
from gamedsl.players.base import PlayerError

if TYPE_CHECKING:
    from gamedsl.runtime import Decision, Game

OPPONENTS = ("random", "tit_for_tat", "minimax", "equilibrium", "mcts:200")
"""The players that may hold the other seats: none of them reads a file or calls an address."""

MOST_REPLY = 100_000
"""Characters of a reply."""


class Session:
    """A play, at a decision of its seat or at its end."""

    def __init__(self, game: Game, seat: str, opponents: str, seed: int) -> None:
        from gamedsl.players.table import open_player

        if seat not in game.ir.everyone:
            near = did_you_mean(seat, game.ir.everyone)
            known = ", ".join(game.ir.everyone)
            fix = f"did you mean `{near}`?" if near else f"there are {known}"
            raise Refused(f"{game.name} has no seat `{seat}`", fix)
        if opponents not in OPPONENTS:
            fix = f"there are {', '.join(OPPONENTS)}"
            raise Refused(f"the other seats cannot be held by `{opponents}`", fix)
        try:
            player = open_player(opponents, game, seed=seed, from_file=True)
        except (PlayerError, ImportError) as error:
            raise Refused(str(error), "take `random`") from error
        self._seat = seat
        self._game = game
        others = {one: player for one in game.ir.everyone if one != seat}
        with _refusing():
            self._play = PlaySession(game, frozenset({seat}), others, seed=seed)

    def view(self) -> dict[str, Any]:
        """Returns what the seat may see now: its prompt and its options, or its payoff."""
        shown: dict[str, Any] = {"game": self._game.name, "seat": self._seat}
        if self._play.episode.done:
            payoff = self._play.episode.payoffs.get(self._seat)
            failure = self._play.episode.failures.get(self._seat)
            return shown | {
                "done": True,
                "payoff": None if payoff is None else str(payoff),
                "failed": None if failure is None else failure.reason,
            }
        decision = self._own()
        if decision is None:  # cannot be: a play goes on until its seat is asked, or to its end
            raise Refused(f"`{self._seat}` is not asked", "start another play")
        asked: dict[str, Any] = {"done": False, "step": decision.step}
        asked["messages"] = [{"role": r, "content": text} for r, text in decision.messages]
        asked["options"] = list(decision.labels)
        if decision.said is not None:
            asked["reply_schema"] = decision.schema
        return shown | asked

    def move(self, reply: str) -> dict[str, Any]:
        """Makes the seat's reply, which is read as a model's would be, and returns the next
        view."""
        decision = self._own()
        if decision is None:
            raise Refused("this play is over", "start another")
        if len(reply) > MOST_REPLY:
            raise Refused("the reply is too long", f"write at most {MOST_REPLY:,} characters")
        if decision.said is None and decision.labels and reply.strip() not in decision.labels:
            listed = ", ".join(decision.labels[:40])
            raise Refused(f"`{reply[:80]}` is not one of the options", f"reply one of: {listed}")
        with _refusing():
            self._play.answer(self._seat, reply.strip() if decision.said is None else reply)
        return self.view()

    def _own(self) -> Decision | None:
        return next(iter(self._play.waiting), None)


@contextmanager
def _refusing() -> Iterator[None]:
    """Turns the failure of a player into a refusal."""
    try:
        yield
    except PlayerError as error:
        raise Refused(error.message, error.help) from error
