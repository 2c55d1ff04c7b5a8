"""A mixture of players: one of them is drawn for each episode, and plays all of it.

Who was drawn need not be remembered. What a seat has done so far says how likely each player is to
be the one, and the mixture's odds are theirs, weighted so: with perfect recall the plays have then
the same distribution as if one player had been drawn at the start (Kuhn 1953). So the odds are
known, and games that are played many at a time are mixed like games that are played one by one.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING

from gamedsl.players.base import (
    NUMBER,
    DrawingPlayer,
    Player,
    PlayerError,
    PlayerRequest,
    PlayerSpec,
)

if TYPE_CHECKING:
    from gamedsl.runtime import Decision, Episode

KEPT = 10_000
"""Information sets of which a mixture remembers its weights."""


class MixPlayer(DrawingPlayer):
    """Players with their shares, drawn for each episode, and for each seat on its own."""

    def __init__(self, parts: Sequence[tuple[float, DrawingPlayer]], *, seed: int = 0) -> None:
        """Shares are positive, of any sum."""
        super().__init__(seed=seed)
        total = sum(share for share, _ in parts)
        self.parts = tuple((share / total, player) for share, player in parts)
        self._weights: OrderedDict[str, list[float]] = OrderedDict()

    def odds(self, decision: Decision, episode: Episode) -> list[float]:
        weights = self.weights(decision, episode)
        each = [player.odds(decision, episode) for _, player in self.parts]
        return [
            sum(w * row[i] for w, row in zip(weights, each, strict=True))
            for i in range(len(decision.legal))
        ]

    def weights(self, decision: Decision, episode: Episode) -> list[float]:
        """Returns the posterior probability that each part plays this seat, given the seat's
        choices so far; the shares themselves if no part would have made them."""
        key = decision.information_set
        if key not in self._weights:
            own = list(choices(episode, decision.seat))
            likely = [
                share * prod(player.odds(d, e)[d.legal.index(name)] for d, e, name in own)
                for share, player in self.parts
            ]
            total = sum(likely)
            if len(self._weights) >= KEPT:
                self._weights.popitem(last=False)
            self._weights[key] = (
                [w / total for w in likely] if total else [share for share, _ in self.parts]
            )
        return self._weights[key]


def choices(episode: Episode, seat: str) -> Iterator[tuple[Decision, Episode, str]]:
    """The decisions of a seat so far that had a choice, each with the episode as it was then and
    the action that was taken."""
    from gamedsl.runtime import Action

    past = episode.env.reset(seed=episode.seed, chance="asked", forced="asked")
    for step in episode.transcript["steps"]:
        if "chance" in step:
            (drawn,) = step["chance"].values()
            past.draw([outcome.name for outcome in past.chance].index(drawn))
            continue
        for decision in past.decisions:
            if decision.seat == seat and len(decision.legal) > 1:
                yield decision, past.fork(), step["choices"][seat]
        past.step({name: Action(action) for name, action in step["choices"].items()})


def mixed(argument: str) -> list[str]:
    """The parts of a mixture, each `SHARE*PLAYER`."""
    return re.split(r"\+(?=\s*[\d.]+\s*\*)", argument)


def _open_mix(request: PlayerRequest) -> Player:
    parts = []
    for part in mixed(request.argument):
        share, times, spec = part.partition("*")
        if not times or not re.fullmatch(NUMBER, share.strip()) or not float(share):
            raise PlayerError(
                f"`{part}` is not a share of a player", "write `mix:0.5*random+0.5*minimax`"
            )
        if spec.strip().startswith("mix:"):
            raise PlayerError("a mixture in a mixture", "write all its players with their shares")
        parts.append((float(share), request.open_drawing(spec)))
    return MixPlayer(parts, seed=request.seed)


PLAYER = PlayerSpec(
    "SHARE*PLAYER+…", "one of several players, drawn anew for each episode", "what its players fit",
    _open_mix,
)  # fmt: skip
