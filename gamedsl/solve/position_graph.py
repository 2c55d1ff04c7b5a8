"""A game as a graph of positions: every position once, with its joint moves and what they show.

Two histories are in one position if the rules cannot tell them apart from there on
(`gamedsl.runtime.positions`). What a move shows to a seat follows from the position and the move as
well, since whatever a rule shows it reads. So the graph holds the whole game, information sets
included, in far less than its histories: a history is a path through it, and what a seat has seen
is what the moves on the path have shown. Games whose steps say what is known at them (`knows`) are
left out, since there a seat may forget.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from gamedsl.collector import collector_paused
from gamedsl.engine.walk import Move, after, amounts, moves, size
from gamedsl.solve.tree import TooLarge, Utility

if TYPE_CHECKING:
    from gamedsl.engine.kernel import State
    from gamedsl.runtime import Game

Worth = tuple[Fraction, ...]

Shown = tuple[int, ...]
"""The numbers of the events that a move shows to one seat, in order."""

Progress = Callable[[int], None]
"""A callback with the number of positions found so far."""


@dataclass(slots=True)
class Position:
    """A position. `asked` are the numbers of the seats that are asked, `asks` the number of what
    each is asked (in `PositionGraph.asks`). `moves`, `following` and `shown` are parallel: the
    option of each who is asked, or the outcome of chance; the number of the position that follows;
    and the events that each seat is then shown. `odds` are those of chance, `ends` the payoffs at
    the end; both are empty elsewhere. `histories` counts those that go on from here."""

    asked: tuple[int, ...] = ()
    asks: tuple[int, ...] = ()
    moves: tuple[Move, ...] = ()
    following: tuple[int, ...] = ()
    shown: tuple[tuple[Shown, ...], ...] = ()
    odds: tuple[Fraction, ...] = ()
    ends: Worth = ()
    histories: int = 1


@dataclass
class PositionGraph:
    """All positions, numbered so that what follows one has a lower number; the last is the root.

    `asks` lists what a seat may be asked: the seat, the step, the role and the names of the legal
    options. `events` are the events that are shown, as information sets name them.
    """

    seats: tuple[str, ...]
    positions: list[Position] = field(default_factory=list)
    asks: list[tuple[str, str, tuple[str, ...]]] = field(default_factory=list)
    events: list[str] = field(default_factory=list)

    @property
    def root(self) -> int:
        return len(self.positions) - 1

    @property
    def histories(self) -> int:
        return self.positions[self.root].histories


def position_graph(
    game: Game,
    utility: Utility = "payoffs",
    limit: int = 100_000,
    moves_limit: int | None = None,
    progress: Progress | None = None,
) -> PositionGraph:
    """Walks through all positions of a game. Raises `TooLarge` for more than `limit` positions or
    `moves_limit` moves (ten for each position, if not given), ValueError for a position that
    follows itself and for games with `knows`, EvaluationError where the rules fail."""
    if game.ir.asked_as:
        raise ValueError("in a game with `knows` what a seat has seen does not say what it knows")
    walk = _GraphWalk(tuple(game.ir.seats), utility)
    most = 10 * limit if moves_limit is None else moves_limit
    with collector_paused():
        walk.run(game.kernel().start(), limit, most, progress)
    return walk.graph


class _GraphWalk:
    """The walk through all positions, depth first; a position is numbered after what follows."""

    def __init__(self, seats: tuple[str, ...], utility: Utility) -> None:
        self.graph = PositionGraph(seats)
        self.utility = utility
        self.number: dict[Hashable, int] = {}
        self.asks: dict[tuple[str, str, tuple[str, ...]], int] = {}
        self.events: dict[tuple[str, str, str], int] = {}
        self.place = {seat: i for i, seat in enumerate(seats)}

    def run(self, start: State, limit: int, most: int, progress: Progress | None) -> None:
        from gamedsl.runtime.positions import event_text, position

        first = position(start)
        under_way, made = {first}, size(start)
        stack = [_Open(first, start, self.graph.seats)]
        while stack:
            here = stack[-1]
            move = next(here.rest, None)
            if move is None:
                stack.pop()
                under_way.discard(here.key)
                self._close(here)
                if progress is not None and len(self.number) % 1_000 == 0:
                    progress(len(self.number))
                continue
            child = after(here.state, move)
            key = position(child)
            here.taken.append((move, key, self._news_of(here, child)))
            if key in self.number:
                continue
            if key in under_way:
                raise ValueError("a position of this game follows itself")
            made += size(child)
            if len(self.number) + len(under_way) >= limit or made > most:
                raise TooLarge(limit)
            under_way.add(key)
            stack.append(_Open(key, child, self.graph.seats))
        self.graph.asks = list(self.asks)
        self.graph.events = [event_text(*event) for event in self.events]

    def _news_of(self, here: _Open, child: State) -> tuple[Shown, ...]:
        events, found = self.events, []
        for seat, told in zip(self.graph.seats, here.told, strict=True):
            news = child.seen(seat)[told:]
            found.append(
                tuple([events.setdefault((e.step, e.seat, e.name), len(events)) for e in news])
            )
        return tuple(found)

    def _close(self, here: _Open) -> None:
        """Numbers a position of which all moves are known."""
        state = here.state
        following = tuple([self.number[key] for _, key, _ in here.taken])
        found = Position(
            moves=tuple([move for move, _, _ in here.taken]), following=following,
            shown=tuple([shown for _, _, shown in here.taken]),
            histories=1 + sum(self.graph.positions[p].histories for p in following),
        )  # fmt: skip
        if state.kind == "end":
            got = amounts(state, self.utility)
            found.ends = tuple([Fraction(got[seat]) for seat in self.graph.seats])
        elif state.kind == "chance":
            found.odds = tuple([outcome.probability for outcome in state.outcomes])
        else:
            asks = state.asks
            found.asked = tuple([self.place[ask.seat] for ask in asks])
            found.asks = tuple(
                [
                    self.asks.setdefault((ask.seat, ask.step, ask.legal), len(self.asks))
                    for ask in asks
                ]
            )
        self.number[here.key] = len(self.graph.positions)
        self.graph.positions.append(found)


class _Open:
    """A position of which not all moves are known yet. `told` counts the events that each seat has
    seen there."""

    __slots__ = ("key", "rest", "state", "taken", "told")

    def __init__(self, key: Hashable, state: State, seats: tuple[str, ...]) -> None:
        self.key = key
        self.state = state
        self.rest = moves(state)
        self.taken: list[tuple[Move, Hashable, tuple[Shown, ...]]] = []
        self.told = [len(state.seen(seat)) for seat in seats]
