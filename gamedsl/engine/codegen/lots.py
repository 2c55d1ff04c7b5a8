"""What generated modules import for chance: lotteries, as `gamedsl.engine.drawing` makes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

from gamedsl.engine.chance import Lottery, Single, equally
from gamedsl.engine.codegen.support import ReplayError
from gamedsl.ir.builtins import values
from gamedsl.ir.values import Bag

__all__ = ["FromBag", "draw_from", "draw_one", "remember"]

KEPT = 10_000
"""Lotteries that are kept to be found again."""


class FromBag:
    """What one draw may bring from a bag that is in the order of its type. A `Lottery`."""

    __slots__ = ("_bag", "total")

    def __init__(self, bag: Bag) -> None:
        self._bag = bag
        self.total = sum(bag.values())
        if not bag:
            raise ReplayError

    @property
    def size(self) -> int:
        return len(self._bag)

    def value(self, outcome: int) -> Any:
        return tuple(self._bag)[outcome]

    def probability(self, outcome: int) -> Fraction:
        return Fraction(self._bag[self.value(outcome)], self.total)

    def outcome(self, ticket: int) -> int:
        outcome = 0
        for copies in self._bag.values():
            ticket -= copies
            if ticket < 0:
                break
            outcome += 1
        return outcome


def draw_one(items: Any, ranks: Callable[[], Mapping[Any, int]]) -> Lottery:
    """What one draw may bring from a bag, set or list: as `draw_from`."""
    if items.__class__ is not Bag:
        return draw_from(items, ranks, None, ())
    order = ranks()
    try:
        listed = sorted(items, key=order.__getitem__)
    except KeyError:
        return draw_from(items, ranks, None, ())
    if not listed:
        raise ReplayError
    return Single(listed, [items[item] for item in listed])


def draw_from(
    items: Any, ranks: Callable[[], Mapping[Any, int]], take: int | None, dealt: Iterable[Any]
) -> Lottery:
    """What may be drawn: as `gamedsl.engine.drawing.Drawing.lottery`."""
    if isinstance(items, Bag | frozenset):
        order = ranks()
        missing = len(order)
        distinct = list(items)
        ranked = [order.get(item, missing) for item in distinct]
        if missing in ranked:
            distinct = list(dict.fromkeys(values(items)))
        distinct.sort(key=lambda item: order.get(item, missing))
        bag = Bag({v: items[v] for v in distinct}) if isinstance(items, Bag) else Bag.of(distinct)
    else:
        bag = Bag.of(values(items))
    for item in dealt:
        bag = bag.without(item) if item in bag else bag
    if bag.total < (1 if take is None else take):
        raise ReplayError
    return equally(bag, take)


def remember(memo: dict[Any, Lottery], dealt: Any, lottery: Lottery) -> Lottery:
    """Keep a lottery, to be found again by what was dealt before."""
    if len(memo) > KEPT:
        memo.clear()
    memo[dealt] = lottery
    return lottery
