"""Backward induction over positions, for games of perfect information that are too large as trees.

Two histories are in one position if the rules cannot tell them apart from there on: the same place
in the turn program and the same values of everything that rules can read. What follows is then the
same too, payoffs included, so each position is worked out once; tic-tac-toe has 549,946 histories
and a few thousand positions. This is sound where whoever moves has seen everything that happened,
and nobody moves together with others, as then every history is a subgame of its own.

Moves are compared position by position (one-shot deviations suffice in a finite game), and the
regrets are worked out anew over the same positions, by best replies to the policy that was found.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, assert_never

from gamedsl.engine.walk import Merged, Truncated, amounts, mover, take, walk_positions
from gamedsl.solve.solution import Solution
from gamedsl.solve.subgame_perfection import Worth, mean
from gamedsl.solve.tree import TooLarge, Utility

if TYPE_CHECKING:
    from gamedsl.runtime import Game
    from gamedsl.runtime.positions import State

LIMIT = 100_000
MANY_SETS = 100_000
"""Information sets that a policy is written out for."""

Progress = Callable[[int], None]
"""A callback with the number of positions found so far."""


@dataclass
class Positions:
    """The positions of a game, numbered so that what follows a position has a lower number; all
    lists are parallel. `mover[p]` is a seat's number, or None for chance and for the end."""

    seats: tuple[str, ...]
    after: list[tuple[int, ...]] = field(default_factory=list)
    mover: list[int | None] = field(default_factory=list)
    odds: list[tuple[Fraction, ...]] = field(default_factory=list)
    ends: list[Worth] = field(default_factory=list)
    histories: list[int] = field(default_factory=list)

    @property
    def root(self) -> int:
        return len(self.after) - 1


@dataclass(frozen=True)
class PositionsSolved:
    """A subgame-perfect equilibrium. `path` is its play up to the first move of chance or the end;
    `openings` what each first action of whoever moves first is worth to that seat. The solution's
    policy covers every information set that a seat's own play can lead to."""

    solution: Solution
    positions: int
    histories: int
    path: tuple[tuple[str, str], ...]
    openings: dict[str, Fraction]
    complete: bool
    """Whether the policy was written out: not for over 100,000 information sets."""


class PositionValues:
    """The value of each position to everybody when all play optimally. Of several best moves the
    first is taken, which matters to those who do not move."""

    def __init__(
        self, start: State, seats: tuple[str, ...], utility: Utility = "payoffs", limit: int = LIMIT
    ) -> None:
        """Raises `TooLarge` for more than `limit` positions. Everybody must see everything."""
        found, self._number = _explore(start, seats, utility, limit, None)
        self._worth, _ = _induce(found)
        self.ends = tuple(end for end in found.ends if end)
        """The payoffs of every position in which the game is over."""

    def worth(self, state: State) -> Worth:
        """Returns the values in seat order. Raises KeyError for a state of another kernel."""
        from gamedsl.runtime.positions import position

        return self._worth[self._number[position(state)]]


def solve_positions(
    game: Game, utility: Utility = "payoffs", limit: int = LIMIT, progress: Progress | None = None
) -> PositionsSolved:
    """Raises ValueError where somebody may not have seen everything, and `TooLarge` for more than
    `limit` positions."""
    from gamedsl.runtime.positions import has_perfect_information

    if not has_perfect_information(game.ir):
        raise ValueError("positions need rules under which everybody sees everything")
    start = game.kernel().start()
    found, number = _explore(start, game.ir.seats, utility, limit, progress)
    worth, chosen = _induce(found)
    values, replies = _follow(found, chosen)
    root = found.root
    named = dict(zip(game.ir.seats, values[root], strict=True))
    regrets = {seat: replies[i][root] - named[seat] for i, seat in enumerate(game.ir.seats)}
    policy = _policy(start, found, number, chosen)
    solution = Solution(
        "subgame-perfect equilibrium", "backward induction over positions",
        policy or {}, dict(named), dict(regrets), True,
    )  # fmt: skip
    path, openings = _play(start, found, chosen, worth)
    return PositionsSolved(
        solution, len(found.after), found.histories[root], path, openings, policy is not None
    )


def _explore(
    start: State, seats: tuple[str, ...], utility: Utility, limit: int, progress: Progress | None
) -> tuple[Positions, dict[Hashable, int]]:
    """Returns all positions, and the number of each by its key. Raises `TooLarge`, and ValueError
    for a position that follows itself."""
    from gamedsl.runtime.positions import position

    found = Positions(seats)
    number: dict[Hashable, int] = {}
    for one in walk_positions(start, position, limit):
        match one:
            case Truncated():
                raise TooLarge(limit)
            case Merged(key, state, following):
                number[key] = len(found.after)
                _add(found, state, tuple([number[k] for k in following]), utility)
                if progress is not None and len(number) % 1_000 == 0:
                    progress(len(number))
            case _:
                assert_never(one)
    return found, number


def _add(found: Positions, state: State, after: tuple[int, ...], utility: Utility) -> None:
    end: Worth = ()
    seat: int | None = None
    odds: tuple[Fraction, ...] = ()
    if state.kind == "end":
        got = amounts(state, utility)
        end = tuple(Fraction(got[seat]) for seat in found.seats)
    elif state.kind == "chance":
        odds = tuple(outcome.probability for outcome in state.outcomes)
    else:
        seat = found.seats.index(state.asked[mover(state)])
    found.after.append(after)
    found.mover.append(seat)
    found.odds.append(odds)
    found.ends.append(end)
    found.histories.append(1 + sum(found.histories[p] for p in after))


def _induce(found: Positions) -> tuple[list[Worth], list[int]]:
    """Returns the value of each position to everybody, and the best action's index there."""
    worth: list[Worth] = []
    chosen: list[int] = []
    for after, seat, odds, end in zip(
        found.after, found.mover, found.odds, found.ends, strict=True
    ):
        best = 0
        if not after:
            worth.append(end)
        elif seat is None:
            worth.append(mean(odds, [worth[p] for p in after]))
        else:
            own = [worth[p][seat] for p in after]
            best = own.index(max(own))
            worth.append(worth[after[best]])
        chosen.append(best)
    return worth, chosen


def _follow(found: Positions, chosen: list[int]) -> tuple[list[Worth], list[list[Fraction]]]:
    """Returns the policy's value at each position, and for each seat that of its best response."""
    values: list[Worth] = []
    replies: list[list[Fraction]] = [[] for _ in found.seats]
    for place, after in enumerate(found.after):
        mover, odds = found.mover[place], found.odds[place]
        if not after:
            values.append(found.ends[place])
            for seat, reply in enumerate(replies):
                reply.append(found.ends[place][seat])
            continue
        if mover is None:
            values.append(mean(odds, [values[p] for p in after]))
        else:
            values.append(values[after[chosen[place]]])
        for seat, reply in enumerate(replies):
            if mover is None:
                reply.append(sum((o * reply[p] for o, p in zip(odds, after, strict=True)),
                                 Fraction(0)))  # fmt: skip
            elif mover == seat:
                reply.append(max(reply[p] for p in after))
            else:
                reply.append(reply[after[chosen[place]]])
    return values, replies


def _policy(
    start: State, found: Positions, number: dict[Hashable, int], chosen: list[int]
) -> dict[str, dict[str, Fraction]] | None:
    """Returns the policy at every information set that some seat's own play can lead to."""
    from gamedsl.runtime.decision import key_of

    policy: dict[str, dict[str, Fraction]] = {}
    for seat in range(len(found.seats)):
        pending = [(start, found.root)]
        while pending:
            state, place = pending.pop()
            after = found.after[place]
            options = range(len(after))
            if found.mover[place] == seat:
                options = range(chosen[place], chosen[place] + 1)
                if len(after) > 1:
                    ask = state.asks[mover(state)]
                    best = ask.legal[chosen[place]]
                    policy[key_of(state, ask)] = {
                        name: Fraction(name == best) for name in ask.legal
                    }
                    if len(policy) > MANY_SETS:
                        return None
            pending += [(take(state, option), after[option]) for option in options]
    return policy


def _play(
    start: State, found: Positions, chosen: list[int], worth: list[Worth]
) -> tuple[tuple[tuple[str, str], ...], dict[str, Fraction]]:
    """Returns the path of play, and the value of each first action."""
    path: list[tuple[str, str]] = []
    openings: dict[str, Fraction] = {}
    state, place = start, found.root
    while (seat := found.mover[place]) is not None:
        ask = state.asks[mover(state)]
        after = found.after[place]
        if len(after) > 1:
            if not path:
                values = (worth[p][seat] for p in after)
                openings = dict(zip(ask.legal, values, strict=True))
            path.append((ask.seat, ask.legal[chosen[place]]))
        state = take(state, chosen[place])
        place = after[chosen[place]]
    return tuple(path), openings
