"""The walker over game states: what may follow a history, one seat at a time or all at once.

A *point* is a history that can be copied and moved by numbers: a kernel's `State`, or an `Episode`
whose chance is asked for. A walk meets points as nodes of three kinds: chance moves, somebody
decides, or the game is over. Simultaneous decisions are one node (`JointNode`), or one node for
each seat in turn, blind to those before it (`SeatNode`). Every loop here uses a list of what is
pending, so that long games need no deep recursion. The same start gives the same order always.

- `walk`: every history, all who are asked moving at once, up to a limit.
- `seat_by_seat`: the next node of the extensive form, in which one seat decides at a time.
- `walk_positions`: every position once, however many histories lead to it, up to a limit.
- `sample_path`: one play, with chance drawn.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import ClassVar, Generic, Literal, NamedTuple, Protocol, Self, TypeAlias, TypeVar

from gamedsl.engine.kernel import Amounts, Ask, Kind, State

Move = tuple[int, ...]
"""A move by numbers: the option of each who is asked, in order, or the outcome of chance alone."""


class Point(Protocol):
    """A history that can be walked on from."""

    @property
    def kind(self) -> Kind: ...

    @property
    def counts(self) -> tuple[int, ...]:
        """The number of options of each who is asked."""
        ...

    @property
    def outcome_count(self) -> int: ...

    def copy(self) -> Self: ...

    def apply(self, number: int, *others: int) -> None: ...


P = TypeVar("P", bound=Point)


def after(point: P, move: Iterable[int]) -> P:
    """A copy of a point, one move on. Raises `EvaluationError` where the rules fail."""
    following = point.copy()
    following.apply(*move)
    return following


def sizes(point: Point) -> tuple[int, ...]:
    """Returns the number of options of each who is asked, or of outcomes; () at the end."""
    kind = point.kind
    if kind == "decide":
        return point.counts
    return (point.outcome_count,) if kind == "chance" else ()


def size(point: Point) -> int:
    """Returns the number of moves that may follow a point; 0 at the end."""
    counts = sizes(point)
    return prod(counts) if counts else 0


def moves(point: Point) -> Iterator[Move]:
    """Every move that may follow a point; the option of the last seat changes fastest."""
    counts = sizes(point)
    return product(*map(range, counts)) if counts else iter(())


# nodes


@dataclass(slots=True, eq=False)
class ChanceNode(Generic[P]):
    """Chance moves, with `size` outcomes. In a walk, `choices` and `draws` count the joint
    decisions and the chance nodes before this one that had several moves."""

    point: P
    size: int
    choices: int = 0
    draws: int = 0

    @property
    def counts(self) -> tuple[int, ...]:
        return (self.size,)


@dataclass(slots=True, eq=False)
class JointNode(Generic[P]):
    """Every seat that is asked decides at once. `counts` are the options of each, `size` is how
    many joint moves there are; `choices` and `draws` as those of `ChanceNode`."""

    point: P
    size: int
    counts: tuple[int, ...]
    choices: int = 0
    draws: int = 0


@dataclass(slots=True, eq=False)
class SeatNode:
    """One seat decides, blind to those asked with it. `asks` are all who are asked, `movers` the
    numbers of those that have a node of their own, `chosen` the options of the movers so far."""

    point: State
    asks: tuple[Ask, ...]
    movers: tuple[int, ...]
    chosen: tuple[int, ...] = ()

    @property
    def ask(self) -> Ask:
        return self.asks[self.movers[len(self.chosen)]]

    @property
    def size(self) -> int:
        """The number of options of the seat."""
        return len(self.ask.legal)


@dataclass(slots=True, eq=False)
class EndNode(Generic[P]):
    """The game is over. `choices` and `draws` as those of `ChanceNode`."""

    point: P
    choices: int = 0
    draws: int = 0
    size: ClassVar[int] = 0


class Truncated(NamedTuple):
    """The last of a walk that met more than `limit` histories or positions."""

    limit: int


Node: TypeAlias = ChanceNode[P] | JointNode[P] | EndNode[P]
ExtensiveNode: TypeAlias = ChanceNode[State] | SeatNode | EndNode[State]


# all who are asked at once


def walk(
    start: P, limit: int | None, order: Literal["breadth", "depth"] = "breadth"
) -> Iterator[Node[P] | Truncated]:
    """Every history from a point on, `start` included, each after the one that it follows.

    Histories are counted before they are played, so that a walk through a large game ends soon: it
    yields `Truncated` and stops where more than `limit` are known to exist (None: no limit). By
    "depth" the last move comes first. Raises `EvaluationError` where the rules fail.
    """
    found, side = 1, 0 if order == "breadth" else -1
    pending: deque[tuple[ChanceNode[P] | JointNode[P], Iterator[Move]]] = deque()
    node = _node(start, None)
    while True:
        found += node.size
        if limit is not None and found > limit:
            yield Truncated(limit)
            return
        yield node
        if not isinstance(node, EndNode):
            ranges = [range(count)[:: 1 if side == 0 else -1] for count in node.counts]
            pending.append((node, product(*ranges)))
        while pending:
            before, rest = pending[side]
            move = next(rest, None)
            if move is not None:
                break
            del pending[side]
        else:
            return
        node = _node(after(before.point, move), before)


def _node(point: P, before: ChanceNode[P] | JointNode[P] | None) -> Node[P]:
    choices = draws = 0
    if before is not None:
        several, chance = before.size > 1, isinstance(before, ChanceNode)
        choices = before.choices + (several and not chance)
        draws = before.draws + (several and chance)
    kind = point.kind
    if kind == "decide":
        counts = point.counts
        return JointNode(point, prod(counts), counts, choices, draws)
    if kind == "chance":
        return ChanceNode(point, point.outcome_count, choices, draws)
    return EndNode(point, choices, draws)


def count_histories(start: Point, limit: int) -> int | None:
    """The number of histories from a point on, those that are over included; None for more than
    `limit`. Raises `EvaluationError` where the rules fail."""
    counts = sizes(start)
    found, pending = 1 + size(start), deque([(start, counts)])
    while pending and found <= limit:  # as `walk`, in half the time: it makes no nodes
        point, counts = pending.popleft()
        for move in product(*map(range, counts)) if counts else ():
            following = point.copy()
            following.apply(*move)
            if below := sizes(following):
                found += prod(below)
                if found > limit:
                    return None
                pending.append((following, below))
    return found if found <= limit else None


# one seat at a time


def seat_by_seat(state: State, *, forced: bool = False) -> ExtensiveNode:
    """The first node of the extensive form from a state on. Moves the state itself.

    Decisions with one option and chance with one outcome are played and have no node, unless
    `forced`. Raises `EvaluationError` where the rules fail.
    """
    while (kind := state.kind) != "end":
        if kind == "chance":
            count = state.outcome_count
            if count > 1 or forced:
                return ChanceNode(state, count)
            state.apply(0)
            continue
        asks = state.asks
        movers = tuple([i for i, ask in enumerate(asks) if len(ask.legal) > 1 or forced])
        if movers:
            return SeatNode(state, asks, movers)
        state.apply(*[0] * len(asks))
    return EndNode(state)


def descend(
    node: ChanceNode[State] | SeatNode, option: int, *, forced: bool = False
) -> ExtensiveNode:
    """The node after an option or outcome, seat by seat; `forced` as for `seat_by_seat`."""
    if isinstance(node, ChanceNode):
        return seat_by_seat(after(node.point, (option,)), forced=forced)
    asks, movers, chosen = node.asks, node.movers, (*node.chosen, option)
    if len(chosen) < len(movers):
        return SeatNode(node.point, asks, movers, chosen)
    taken = dict(zip(movers, chosen, strict=True))
    move = [taken.get(number, 0) for number in range(len(asks))]
    return seat_by_seat(after(node.point, move), forced=forced)


# one seat that sees everything


def mover(point: Point) -> int:
    """The place among those asked of the one that has a choice; 0 where none has."""
    counts = point.counts
    return counts.index(max(counts))


def options(point: Point) -> int:
    """Returns the number of options of the mover, or of outcomes; 0 at the end.

    Raises ValueError where several seats have a choice at once.
    """
    counts = sizes(point)
    if len(counts) == 1:
        return counts[0]
    if sum(count > 1 for count in counts) > 1:
        raise ValueError("several seats move at once")
    return max(counts, default=0)


def take(point: P, option: int) -> P:
    """A copy of a point in which the mover, or chance, takes the option of this number."""
    following, counts = point.copy(), sizes(point)
    if len(counts) == 1:
        following.apply(option)
    else:
        following.apply(*[option if count > 1 else 0 for count in counts])
    return following


class Merged(NamedTuple, Generic[P]):
    """A position: one of the points that are in it, its key, and the keys of what follows it, one
    for each option of the mover or outcome of chance."""

    key: Hashable
    point: P
    following: tuple[Hashable, ...]


def walk_positions(
    start: P, key: Callable[[P], Hashable], limit: int
) -> Iterator[Merged[P] | Truncated]:
    """Every position once, each after all those that follow it; the start's comes last.

    `key` is equal for points from which the same follows. Yields `Truncated` and stops where there
    are more than `limit` positions. Raises ValueError for a position that follows itself, and where
    several seats have a choice at once.
    """
    done: set[Hashable] = set()
    first = key(start)
    under_way = {first}
    stack: list[tuple[Hashable, P, list[Hashable], int]] = [(first, start, [], options(start))]
    while stack:
        here, point, following, count = stack[-1]
        if len(following) == count:
            stack.pop()
            under_way.discard(here)
            done.add(here)
            yield Merged(here, point, tuple(following))
            continue
        child = take(point, len(following))
        below = key(child)
        following.append(below)
        if below in done:
            continue
        if below in under_way:
            raise ValueError("a position of this game follows itself")
        if len(done) + len(under_way) >= limit:
            yield Truncated(limit)
            return
        under_way.add(below)
        stack.append((below, child, [], options(child)))


# one play


def sample_path(
    state: State, random: Callable[[], float], choose: Callable[[State], Sequence[int]]
) -> Iterator[State]:
    """One play from a state on: the state before each move, and at the end.

    It is one state, which is moved. Chance is drawn with `random`, a function that gives numbers
    from 0 to below 1; `choose` gives the option of each who is asked.
    """
    while (kind := state.kind) != "end":
        yield state
        state.apply(*(choose(state) if kind == "decide" else (state.sample(random),)))
    yield state


def play_out(
    state: State, random: Callable[[], float], choose: Callable[[State], Sequence[int]]
) -> State:
    """Plays a state on to its end, as `sample_path`, and returns it."""
    while (kind := state.kind) != "end":
        if kind == "chance":
            state.apply(state.sample(random))
        else:
            state.apply(*choose(state))
    return state


def amounts(state: State, utility: Literal["payoffs", "rewards"]) -> Amounts:
    """Returns each seat's payoff or reward at the end. Raises `EvaluationError`."""
    return state.payoffs if utility == "payoffs" else state.rewards
