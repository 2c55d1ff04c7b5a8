"""Search where seats do not see everything: histories that fit what a seat has seen, and a tree
search from them.

The histories are drawn by sequential importance sampling with resampling (Doucet, de Freitas and
Gordon 2001): each is played on move by move, among the moves that show the seat what it has seen.
Chance has its own odds; of the others it is assumed that they chose at random. From these histories
a search over information sets (Cowling, Powley and Whitehouse 2012) goes on: every seat has nodes
of its own, one for each information set of it, and looks at its own payoffs alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import log, prod, sqrt
from random import Random
from typing import TYPE_CHECKING

from gamedsl.engine.walk import after, sizes
from gamedsl.players.mcts import EXPLORATION, Scale
from gamedsl.runtime.decision import key_of

if TYPE_CHECKING:
    from gamedsl.engine.kernel import State
    from gamedsl.engine.walk import Move
    from gamedsl.prompting.events import Seen

HISTORIES = 48
"""Histories that are drawn for one decision,"""
MORE = 480
"""and drawn again, where none of them fits."""

TRIES = 32
"""Moves up to which all that may follow a history are looked at; of more, so many are drawn."""

Weighted = tuple["State", float]
"""A history, with its weight."""


def fitting_histories(start: State, key: str, seat: str, seen: Seen, dice: Random) -> list[State]:
    """Returns histories in the information set `key`, in which a seat has seen exactly this, as if
    drawn from all of them; none where none was found."""
    return _drawn_histories(start, key, seat, seen, HISTORIES, dice) or _drawn_histories(
        start, key, seat, seen, MORE, dice
    )


def _drawn_histories(
    start: State, key: str, seat: str, seen: Seen, count: int, dice: Random
) -> list[State]:
    drawn: list[Weighted] = [(start, 1.0)] * count
    while True:
        ends = [_is_in(state, key, seat, seen) for state, _ in drawn]
        if all(ends):
            break
        moved = [
            one if is_end else _moved(one, seat, seen, dice)
            for one, is_end in zip(drawn, ends, strict=True)
        ]
        left = [one for one in moved if one is not None]
        if not left:
            return []
        largest = max(weight for _, weight in left)
        drawn = [(state, weight / largest) for state, weight in left]
        weights = [weight for _, weight in drawn]
        size = sum(weights) ** 2 / sum(weight**2 for weight in weights)  # the effective one
        if size < count / 2:
            mean = sum(weights) / count
            drawn = [(state, mean) for state, _ in dice.choices(drawn, weights, k=count)]
    states = [state for state, _ in drawn]
    return dice.choices(states, [weight for _, weight in drawn], k=HISTORIES)


def _is_in(state: State, key: str, seat: str, seen: Seen) -> bool:
    if state.kind != "decide" or seat not in state.asked or state.seen(seat) != seen:
        return False
    return any(ask.seat == seat and key_of(state, ask) == key for ask in state.asks)


def _moved(one: Weighted, seat: str, seen: Seen, dice: Random) -> Weighted | None:
    """Returns a history one move on, drawn among those that show the seat nothing else than it has
    seen; its weight is multiplied by their probability. None where no such move was found."""
    state, weight = one
    if state.kind == "end":
        return None
    known = len(state.seen(seat))
    ways = [_options(state, place, seat, seen[known:]) for place in range(len(sizes(state)))]
    count = prod(len(numbers) for numbers, _ in ways)
    if count <= TRIES:
        moves = [(move, _probability(state, move, seat)) for move in product(*(n for n, _ in ways))]
    else:
        # what the seat is shown next may name the one move that shows it
        move = tuple(_drawn(state, way, dice) for way in ways)
        named = [place for place, (_, name) in enumerate(ways) if name is not None]
        following = after(state, move)
        shown = following.seen(seat)
        if named and len(shown) >= known + len(named) and shown == seen[: len(shown)]:
            return following, weight * _probability(state, move, seat, named)
        moves = [
            (tuple(_drawn(state, (numbers, None), dice) for numbers, _ in ways), 1 / TRIES)
            for _ in range(TRIES)
        ]
    found: list[Weighted] = []
    for move, probability in moves:
        following = after(state, move)
        shown = following.seen(seat)
        if shown == seen[: len(shown)]:
            found.append((following, probability))
    total = sum(probability for _, probability in found)
    if not total:
        return None
    (chosen,) = dice.choices([state for state, _ in found], [p for _, p in found])
    return chosen, weight * total


Way = tuple[Sequence[int], int | None]
"""The options of one who is asked, or of chance; and the one that the seat's next events name."""


def _options(state: State, place: int, seat: str, new: Seen) -> Way:
    """Returns the options at one place of a move; of the seat itself the one that it took."""
    if state.kind == "chance":
        step, _ = state.draws
        number = state.outcome_named(new[0].name) if new and new[0].step == step else None
        return range(state.outcome_count), number
    ask = state.asks[place]
    names = (event.name for event in new if (event.seat, event.step) == (ask.seat, ask.step))
    name = next(names, "")
    number = ask.legal.index(name) if name in ask.legal else None
    if ask.seat == seat and len(ask.legal) > 1:
        return [] if number is None else [number], number
    return range(len(ask.legal)), number


def _drawn(state: State, way: Way, dice: Random) -> int:
    numbers, named = way
    if named is not None:
        return named
    return state.sample(dice.random) if state.kind == "chance" else dice.choice(numbers)


def _probability(state: State, move: Move, seat: str, places: Sequence[int] | None = None) -> float:
    """Returns the probability of a move, where all others than the seat choose at random; of some
    of its places only, if they are named."""
    if state.kind == "chance":
        return float(state.outcome(move[0]).probability)
    others = [
        count
        for place, (ask, count) in enumerate(zip(state.asks, state.counts, strict=True))
        if ask.seat != seat and (places is None or place in places)
    ]
    return 1 / prod(others)


class _Node:
    """An information set of the search: how often each option was tried, and what its seat was paid
    after it in all."""

    __slots__ = ("paid", "visits")

    def __init__(self, options: int) -> None:
        self.visits = [0] * options
        self.paid = [0.0] * options

    def promising(self, share: Scale, place: int, dice: Random) -> int:
        untried = [option for option, count in enumerate(self.visits) if not count]
        if untried:
            return dice.choice(untried)
        spread = log(sum(self.visits))
        bounds = [
            share.share(place, paid / count) + EXPLORATION * sqrt(spread / count)
            for paid, count in zip(self.paid, self.visits, strict=True)
        ]
        return bounds.index(max(bounds))


def search(
    histories: Sequence[State], key: str, seats: Sequence[str], simulations: int, dice: Random
) -> tuple[list[int], list[float]]:
    """Returns how often the search tried each option of the information set `key`, in which all of
    the histories are, and what its seat was paid after it on average; 0 for what was not tried."""
    nodes: dict[str, _Node] = {}
    scale = Scale(len(seats))
    for _ in range(simulations):
        state = dice.choice(histories).copy()
        path: list[tuple[_Node, int, int]] = []
        is_new = False
        while state.kind != "end":
            if state.kind == "chance":
                state.apply(state.sample(dice.random))
                continue
            if is_new:
                state.apply(*[dice.randrange(count) for count in state.counts])
                continue
            numbers = []
            for ask in state.asks:
                here, place = key_of(state, ask), seats.index(ask.seat)
                node = nodes.get(here)
                if node is None:
                    node = nodes[here] = _Node(len(ask.legal))
                    is_new = True
                numbers.append(node.promising(scale, place, dice))
                path.append((node, numbers[-1], place))
            state.apply(*numbers)
        amounts = state.payoffs
        paid = [float(amounts[seat]) for seat in seats]
        scale.meet(paid)
        for node, option, place in path:
            node.visits[option] += 1
            node.paid[option] += paid[place]
    root = nodes[key]
    return root.visits, [p / n if n else 0.0 for p, n in zip(root.paid, root.visits, strict=True)]
