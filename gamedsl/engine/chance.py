"""Exact chance: possible outcomes, their probabilities, and the outcome that a seed draws.

Outcomes are numbered and never listed unless asked for: a hand of five cards has 2,598,960, and a
seed finds its own without them. What is drawn depends on the seed, the step, the passes of the
loops around it and the index, and on nothing that was drawn or chosen before.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from fractions import Fraction
from hashlib import blake2b
from itertools import accumulate, product
from math import comb, lcm
from typing import Any, Protocol

from gamedsl.engine.kernel import Outcome, PlayError
from gamedsl.engine.storage import part, path_of
from gamedsl.ir.builtins import values
from gamedsl.ir.evaluate import Scope, evaluate, none_here
from gamedsl.ir.game import GameIR
from gamedsl.ir.program import Draw, walk_steps
from gamedsl.ir.types import domain
from gamedsl.ir.values import Bag, name_of


class Lottery(Protocol):
    """Outcomes 0 to `size` - 1 in a fixed order, and `total` equally likely tickets for them."""

    @property
    def size(self) -> int: ...

    @property
    def total(self) -> int: ...

    def value(self, outcome: int) -> Any:
        """Returns the value that is drawn with this outcome."""
        ...

    def probability(self, outcome: int) -> Fraction: ...

    def outcome(self, ticket: int) -> int:
        """Returns the outcome of a ticket, from 0 to `total` - 1; tickets go up with outcomes."""
        ...

    def named(self, name: str) -> int | None:
        """Returns the outcome whose value has this canonical name; None where none has."""
        ...


class Single:
    """One of some values, each with a whole-numbered weight above 0."""

    __slots__ = ("_upto", "_values", "_weights")

    def __init__(self, values: Sequence[Any], weights: Sequence[int]) -> None:
        self._values = tuple(values)
        self._weights = tuple(weights)
        self._upto = tuple(accumulate(weights))

    @property
    def size(self) -> int:
        return len(self._values)

    @property
    def total(self) -> int:
        return self._upto[-1] if self._upto else 0

    def value(self, outcome: int) -> Any:
        return self._values[outcome]

    def probability(self, outcome: int) -> Fraction:
        return Fraction(self._weights[outcome], self.total)

    def outcome(self, ticket: int) -> int:
        return bisect_right(self._upto, ticket)

    def named(self, name: str) -> int | None:
        numbered = enumerate(self._values)
        return next((number for number, value in numbered if name_of(value) == name), None)


class Selection:
    """Some of the copies in a bag at once, in no order; those that look alike are one outcome.

    A value is the tuple of what was drawn, in the order of the bag. Outcomes are ordered by how
    many of the first item they have, most first, then by the second, and so on.
    """

    __slots__ = ("_copies", "_items", "_left", "_ways", "take", "total")

    def __init__(self, bag: Bag, take: int) -> None:
        self._items, self._copies = tuple(bag), tuple(bag.values())
        self.take = take
        left = [0, *accumulate(reversed(self._copies))][::-1]
        self._left = left
        """Copies of an item and all after it."""
        self.total = comb(left[0], take)
        ways = [[1] + [0] * take]
        for copies in reversed(self._copies):
            after = ways[-1]
            ways.append(
                [sum(after[k - j] for j in range(min(copies, k) + 1)) for k in range(take + 1)]
            )
        self._ways = ways[::-1]
        """[item][k]: how many different selections of k there are from it and all after it."""

    @property
    def size(self) -> int:
        return self._ways[0][self.take]

    def value(self, outcome: int) -> tuple[Any, ...]:
        drawn = zip(self._items, self._counts(outcome), strict=True)
        return tuple(item for item, count in drawn for _ in range(count))

    def probability(self, outcome: int) -> Fraction:
        weight = 1
        for copies, count in zip(self._copies, self._counts(outcome), strict=True):
            weight *= comb(copies, count)
        return Fraction(weight, self.total)

    def outcome(self, ticket: int) -> int:
        outcome, missing = 0, self.take
        for i, copies in enumerate(self._copies):
            for count in range(min(copies, missing), -1, -1):
                alike = comb(copies, count)
                tickets = alike * comb(self._left[i + 1], missing - count)
                if ticket < tickets:
                    ticket //= alike
                    missing -= count
                    break
                ticket -= tickets
                outcome += self._ways[i + 1][missing - count]
        return outcome

    def named(self, name: str) -> int | None:
        """Returns the outcome of this name. Its items are read from left to right, and none of the
        outcomes between is made."""
        text = f"{name}," if self.take else name
        tried, paths = set(), [(0, self.take, 0, 0)]
        while paths:
            item, missing, at, outcome = paths.pop()
            if not missing:
                if at == len(text):
                    return outcome
                continue
            if item == len(self._items) or (item, missing, at) in tried:
                continue
            tried.add((item, missing, at))
            part, end, read = f"{name_of(self._items[item])},", at, 0
            most, ways = min(self._copies[item], missing), self._ways[item + 1]
            before = sum(ways[missing - count] for count in range(1, most + 1))
            while True:  # `before`: the outcomes with more than `read` copies of the item
                paths.append((item + 1, missing - read, end, outcome + before))
                if read == most or not text.startswith(part, end):
                    break
                read, end = read + 1, end + len(part)
                before -= ways[missing - read]
        return None

    def _counts(self, outcome: int) -> list[int]:
        """Returns the number of copies of each item in an outcome."""
        counts, missing = [], self.take
        for i, copies in enumerate(self._copies):
            for count in range(min(copies, missing), -1, -1):
                ways = self._ways[i + 1][missing - count]
                if outcome < ways:
                    counts.append(count)
                    missing -= count
                    break
                outcome -= ways
        return counts


def equally(bag: Bag, take: int | None = None) -> Lottery:
    """Returns a draw from a bag in which every copy is as likely: one, or `take` at once."""
    if take is None:
        return Single(tuple(bag), tuple(bag.values()))
    return Selection(bag, take)


def weighted(weights: Sequence[tuple[Any, Fraction]]) -> Lottery:
    """Returns a draw of one value, with probabilities that sum to 1."""
    whole = lcm(*(weight.denominator for _, weight in weights))
    likely = [(value, int(weight * whole)) for value, weight in weights if weight]
    return Single([value for value, _ in likely], [weight for _, weight in likely])


def list_outcomes(lottery: Lottery) -> tuple[Outcome, ...]:
    """Returns all outcomes of a lottery, by their canonical names."""
    return tuple(outcome_at(lottery, number) for number in range(lottery.size))


def outcome_at(lottery: Lottery, number: int) -> Outcome:
    """Returns one outcome of a lottery, by its canonical name."""
    return Outcome(name_of(lottery.value(number)), lottery.probability(number))


def pick_outcome(
    lottery: Lottery, seed: int, step: str, passes: Iterable[int], index: Iterable[str]
) -> int:
    """Returns the outcome that a seed draws at a step, in these passes of the loops around it and
    for this index."""
    key = (seed, step, ".".join(map(str, passes)), ",".join(index))
    return lottery.outcome(ticket(lottery.total, *key))


_BLOCK = 64
"""Bytes of a digest."""


def ticket(total: int, *key: object) -> int:
    """Returns a number from 0 to `total` - 1, drawn by a key: the same on every platform, and each
    as likely to within 2^-128."""
    text = "\x1f".join(map(str, key)).encode()
    size = total.bit_length() // 8 + 17
    if size <= _BLOCK:
        first = blake2b(text, digest_size=_BLOCK).digest()
        return int.from_bytes(first[:size], "big") % total
    blocks = (
        blake2b(text, digest_size=_BLOCK, salt=block.to_bytes(2, "big")).digest()
        for block in range(-(-size // _BLOCK))
    )
    return int.from_bytes(b"".join(blocks)[:size], "big") % total


Index = tuple[Any, ...]


class Drawing:
    """The draws of a game: the indices of each, and the order of the values of its type."""

    def __init__(self, ir: GameIR) -> None:
        self._seats = ir.seats
        draws = [step for step in walk_steps(ir.turns) if isinstance(step, Draw)]
        self._indices = {step.id: tuple(product(*step.per)) for step in draws}
        self._ranks: dict[str, dict[Any, int]] = {}

    def indices(self, step: Draw) -> tuple[Index, ...]:
        """Returns the indices that a step draws for, in order; one empty index where it draws
        once."""
        return self._indices[step.id]

    def lottery(self, step: Draw, dealt: tuple[Any, ...], scope: Scope) -> Lottery:
        """Returns the possible outcomes for one index; `dealt` are the outcomes for the earlier
        ones.

        Raises PlayError if there is too little to draw from.
        """
        source = step.source
        if source.kind == "weights":
            return weighted(source.weights)
        if source.kind == "bag":
            assert source.bag is not None
            place, path = source.bag, path_of(source.bag, scope)
            span = place.span
            items = part(scope.bindings.get(place.variable), path, span)
        else:
            assert source.values is not None
            span, items = source.values.span, evaluate(source.values, scope)
        if scope.budget is not None:
            scope.budget.spend(len(items), step.span)
        bag = self._bag(step, items)
        take = None if source.take is None else evaluate(source.take, scope)
        if source.take is not None and take is None:
            raise none_here(source.take)
        if step.deal and source.kind == "values":
            for item in dealt if take is None else (item for each in dealt for item in each):
                bag = bag.without(item) if item in bag else bag
        wanted = 1 if take is None else take
        if bag.total < wanted:
            there = f"{wanted} cannot be drawn from {bag.total}"
            empty = "" if bag.total else f"`{span.text}` is empty: "
            enough = f"if: len({span.text}) >= {wanted}"
            raise PlayError(
                f"{empty}{there}", span,
                help=f"draw, and do what goes with it, only where there is enough: `{enough}`",
            )  # fmt: skip
        if scope.budget is not None:
            many = sum(min(copies, wanted) for copies in bag.values())
            scope.budget.spend(len(bag) + (0 if take is None else many * wanted), step.span)
        return equally(bag, take)

    def _bag(self, step: Draw, items: Any) -> Bag:
        """Returns the items with their numbers: those of a list in its order, those of a bag or set
        in the order of their type, so that equal collections are drawn from alike."""
        if not isinstance(items, Bag | frozenset):
            return Bag.of(values(items))
        ranks = self._ranks.get(step.id)
        if ranks is None:
            every = domain(step.type, self._seats) or ()
            ranks = self._ranks[step.id] = {value: i for i, value in enumerate(every)}
        distinct = values(frozenset(items))
        order = sorted(distinct, key=lambda value: ranks.get(value, len(ranks)))
        return Bag({v: items[v] for v in order}) if isinstance(items, Bag) else Bag.of(order)
