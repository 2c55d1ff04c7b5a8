"""Looks for a variable that positions hold and no rule reads, when they are too many to be solved.

Each variable in turn is left out of the key of a position, or reduced to where it holds none. If
then there are few positions, and histories that fall together go on alike, storing less would make
the game exact. That they go on alike is tried, and not proved: in the same moves at each such pair,
and in random plays from some of them to the end.
"""

from __future__ import annotations

from collections.abc import Hashable
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from gamedsl.engine.walk import Truncated, walk_positions
from gamedsl.runtime.positions import position, position_without

if TYPE_CHECKING:
    from gamedsl.engine.kernel import State
    from gamedsl.runtime import Game

PLAYED = 400
"""Pairs of histories that are played to the end, each by the same moves."""


class Smaller(NamedTuple):
    """A variable that could hold less: nothing, if `whole`, else only where it is none; and how
    many positions there would be."""

    variable: str
    whole: bool
    positions: int


class _IsRead(Exception):
    """Two histories that differ in the variable alone go on in different ways."""


def smaller_state(game: Game, limit: int) -> Smaller | None:
    """The variable without which there are fewest positions; None if there are never at most
    `limit`. Everybody must see everything."""
    found = []
    for state in game.ir.state:
        for whole in (True, False):
            count = _Without(game, state.name, whole).positions(limit)
            if count is not None:
                found.append(Smaller(state.name, whole, count))
                break
    return min(found, key=lambda one: one.positions, default=None)


class _Without:
    """The walk through the positions of a game but for one variable."""

    def __init__(self, game: Game, name: str, whole: bool) -> None:
        self.game, self.name, self.whole = game, name, whole
        self.first: dict[Hashable, tuple[Hashable, object, State]] = {}
        self.random = Random(0)
        self.merged = self.played = 0

    def positions(self, limit: int) -> int | None:
        """Returns the number of positions; None for more than `limit`, where the variable is read,
        and where no two positions fall together."""
        start, count = self.game.kernel().start(), 0
        if position_without(start, self.name, self.whole) is None:
            return None
        try:
            for one in walk_positions(start, self.key, limit):
                if isinstance(one, Truncated):
                    return None
                count += 1
        except _IsRead:
            return None
        return count if self.merged else None

    def key(self, state: State) -> Hashable:
        """The key of a state; raises `_IsRead` if one with the same key goes on otherwise."""
        key, whole, told = (
            position_without(state, self.name, self.whole), position(state), _common_part(state)
        )  # fmt: skip
        before = self.first.setdefault(key, (whole, told, state))
        if before[0] != whole:
            self.merged += 1
            if before[1] != told:
                raise _IsRead
            if self.played < PLAYED and self.random.random() < 0.2:
                self.played += 1
                self.play(before[2].copy(), state.copy())
        return key

    def play(self, one: State, other: State) -> None:
        while _common_part(one) == _common_part(other):
            if one.kind == "end":
                return
            counts = (one.outcome_count,) if one.kind == "chance" else one.counts
            move = [self.random.randrange(count) for count in counts]
            one.apply(*move)
            other.apply(*move)
        raise _IsRead


def _common_part(state: State) -> object:
    """Returns what a history must have in common with another that goes on alike."""
    if state.kind == "end":
        return tuple(state.payoffs.items())
    if state.kind == "chance":
        return state.outcomes
    return tuple((ask.seat, ask.step, ask.legal) for ask in state.asks)
