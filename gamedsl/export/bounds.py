"""What other libraries want to know of a game before it is played: how long it can be, how much it
can pay, and how many outcomes chance can have.

A tree that is small enough is gone through, and what is found is exact. Of a larger one the bounds
come from the form of the program and of the payoff expressions, and hold for every play; None where
no bound is seen. Nothing is sampled.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import comb, prod
from typing import Any

from gamedsl.backends.kernel import Kernel, State
from gamedsl.ir.evaluate import EvaluationError
from gamedsl.ir.expr import Apply, Build, Collect, Const, Expr, If, LetCall, Local, Read, Table
from gamedsl.ir.game import GameIR
from gamedsl.ir.program import Block, Choose, Draw, Loop, Pay, Show, Stage, Step, walk_steps
from gamedsl.ir.types import Bool, Grid, List, Number, PerSeat, PerValue, Set, Type, domain, plain
from gamedsl.runtime.history import Move, moved, moves

Interval = tuple[Fraction, Fraction]

NOTHING: Interval = (Fraction(), Fraction())

Given = Mapping[str, Interval | None]
NONE_GIVEN: Given = {}


@dataclass(frozen=True)
class Tree:
    """What going through all histories of a game has shown.

    `length` counts moves of players on the longest path, simultaneous ones as one, forced ones not;
    `draws` the chance nodes with several outcomes. `total` is what all seats are paid together,
    None where that differs; `identical` says that all are always paid the same.
    """

    length: int
    draws: int
    outcomes: int
    low: Fraction
    high: Fraction
    total: Fraction | None
    identical: bool


def explore(kernel: Kernel, limit: int) -> Tree | None:
    """The facts of a game's tree; None where it has more than `limit` histories, or where some have
    no payoffs."""
    try:
        return _explored(kernel, limit)
    except EvaluationError:
        return None


def _explored(kernel: Kernel, limit: int) -> Tree | None:
    pending: deque[tuple[State, Move | None, int, int]] = deque([(kernel.start(), None, 0, 0)])
    found, length, draws, outcomes = 1, 0, 0, 1
    payoffs: set[tuple[Fraction, ...]] = set()
    while pending:
        before, move, depth, drawn = pending.popleft()
        state = moved(before, move)
        if state.kind == "end":
            payoffs.add(tuple(Fraction(amount) for amount in state.payoffs.values()))
            length, draws = max(length, depth), max(draws, drawn)
            continue
        if state.kind == "chance":
            many = state.outcome_count
            drawn += many > 1
            outcomes = max(outcomes, many)
        else:
            many = prod(len(ask.legal) for ask in state.asks)
            depth += many > 1
        found += many
        if found > limit:
            return None
        pending.extend((state, after, depth, drawn) for after in moves(state))
    totals = {sum(amounts, Fraction()) for amounts in payoffs}
    every = [amount for amounts in payoffs for amount in amounts]
    return Tree(
        length, draws, outcomes, min(every), max(every),
        totals.pop() if len(totals) == 1 else None,
        all(len(set(amounts)) == 1 for amounts in payoffs),
    )  # fmt: skip


# how long


def most(steps: Iterable[Step], weigh: Callable[[Step], int], seats: int) -> int | None:
    """The most that the steps of any play can weigh together; None where a loop has no bound.

    `weigh` gives the weight of a choice, draw, show, statement or payment by itself; `seats` is
    their number.
    """
    total = 0
    for step in steps:
        inner = _most_of(step, weigh, seats)
        if inner is None:
            return None
        total += inner
    return total


def _most_of(step: Step, weigh: Callable[[Step], int], seats: int) -> int | None:
    if isinstance(step, Loop):
        inner, times = most(step.body, weigh, seats), passes(step, seats)
        return 0 if inner == 0 else None if inner is None or times is None else inner * times
    if isinstance(step, Block | Stage):
        return most(step.body, weigh, seats)
    own = weigh(step)
    if isinstance(step, Choose):
        bodies = [most(action.body, weigh, seats) for action in step.moves]
        known = [body for body in bodies if body is not None]
        actors = len(step.actors) if step.joint else 1
        return None if len(known) < len(bodies) else own + actors * max(known, default=0)
    return own


def passes(loop: Loop, seats: int) -> int | None:
    """The most passes of a loop; None where its form does not tell."""
    found = [loop.bound]
    if loop.times is not None:
        found.append(_highest(loop.times))
    if loop.items is not None and not loop.cycle:
        found.append(_size(loop.items, seats))
    return min((bound for bound in found if bound is not None), default=None)


def _highest(expr: Expr) -> int | None:
    if isinstance(expr, Const) and isinstance(expr.value, int):
        return expr.value
    return expr.type.high if isinstance(expr.type, Number) else None


_NO_LARGER = frozenset(
    ("best", "cells", "empty", "intersection", "keys", "list", "ranked", "reversed", "set",
     "slots", "sorted", "zip")
)  # fmt: skip
"""Built-ins that give no more items than their first argument has."""


def _size(expr: Expr, seats: int) -> int | None:
    """The most items of a collection."""
    match expr:
        case Const(value=tuple() | frozenset() as items):
            return len(items)
        case Collect(source=source):
            return _size(source, seats)
        case Build(items=items):
            return len(items)
        case Apply(function="others"):
            return seats - 1
    known = _size_of(expr.type, seats)
    if known is None and isinstance(expr, Apply) and expr.function in _NO_LARGER:
        return _size(expr.arguments[0], seats)
    return known


def _size_of(type: Type, seats: int) -> int | None:
    match type:
        case List(length=length, at_most=at_most):
            return at_most if length is None else length
        case PerSeat():
            return seats
        case Grid(rows=rows, columns=columns):
            return rows * columns
        case PerValue(key=inner) | Set(of=inner):
            values = domain(inner, ("",) * seats)
            return None if values is None else len(values)
    return None


def outcomes_of(draw: Draw, seats: tuple[str, ...]) -> int | None:
    """The most outcomes that one chance node of a draw can have."""
    if draw.source.kind == "weights":
        return len(draw.source.weights)
    take, type = draw.source.take, plain(draw.type)
    if take is None:
        values = domain(type, seats)
        return None if values is None else len(values)
    count = _highest(take)
    values = domain(type.of, seats) if isinstance(type, List) else None
    if values is None or count is None:
        return None
    return comb(len(values) + count - 1, count)


# how much


class Payoffs:
    """Between which amounts the payoffs of a game lie."""

    def __init__(self, ir: GameIR) -> None:
        self._ir = ir
        self._lets = ir.lets_by_name
        self._seats = len(ir.seats)
        self._counts = self._count_loops()

    def interval(self) -> Interval | None:
        """The least and the most that any seat can be paid; None where no bounds are seen."""
        paid = self._paid(self._ir.turns)
        if paid is None or not (self._ir.payoffs or paid != NOTHING):
            return None
        spans = [self._of(payoff) for _, payoff in self._ir.payoffs]
        hull = _hull(spans) if spans else NOTHING
        return None if hull is None else (hull[0] + paid[0], hull[1] + paid[1])

    def _paid(self, steps: Iterable[Step]) -> Interval | None:
        """What steps pay to `payoffs`, all together."""
        low = high = Fraction()
        for step in steps:
            span = self._paid_by(step)
            if span is None:
                return None
            low, high = low + span[0], high + span[1]
        return low, high

    def _paid_by(self, step: Step) -> Interval | None:
        span: Interval | None = NOTHING
        match step:
            case Pay(stream="payoffs", amounts=amounts):
                span = _hull([self._of(amount) for _, amount in amounts])
            case Block(body=body):
                span = self._paid(body)
            case Choose(moves=actions):
                span = _hull([self._paid(action.body) for action in actions] or [NOTHING])
            case Stage(body=body, payoffs=payoffs, weight=weight):
                inner, factor = self._paid(body), self._of(weight)
                ends = [self._of(payoff) for _, payoff in payoffs]
                final = _hull(ends) if ends else NOTHING
                span = _times(_plus(inner, final), factor)
            case Loop(body=body):
                inner, times = self._paid(body), passes(step, self._seats)
                if inner != NOTHING and times is None:
                    return None
                span = _times(inner, (Fraction(), Fraction(times or 0)))
        return _hull([span, NOTHING])

    def _count_loops(self) -> Given:
        """The bounds of the variables that number passes."""
        counts: dict[str, Interval | None] = {}
        for step in walk_steps(self._ir.turns):
            if isinstance(step, Loop) and step.count is not None:
                times = passes(step, self._seats)
                span = None if times is None else (Fraction(1), Fraction(times))
                known = counts.get(step.count, span)
                counts[step.count] = _hull([known, span])
        return counts

    def _of(self, expr: Expr, given: Given = NONE_GIVEN) -> Interval | None:
        """The bounds of an expression; `given` are those of what names inside it stand for."""
        match expr:
            case Const(value=bool()):
                return None
            case Const(value=int() | Fraction() as value):
                return Fraction(value), Fraction(value)
            case If(then=then, other=other):
                return _hull([self._of(then, given), self._of(other, given)])
            case Table(cells=cells):
                return _hull([self._of(cell, given) for cell in cells.values()])
            case Read(name=name):
                return self._counts.get(name) or _of_type(expr.type)
            case Local(name=name):
                return given.get(name) or _of_type(expr.type)
            case LetCall(name=name, arguments=arguments):
                let, spans = self._lets[name], [self._of(part, given) for part in arguments]
                inside = dict(zip(let.parameters, spans, strict=True))
                return self._of(let.body, inside) or _of_type(expr.type)
            case Apply():
                return self._applied(expr, given) or _of_type(expr.type)
        return _of_type(expr.type)

    def _applied(self, expr: Apply, given: Given) -> Interval | None:
        first = expr.arguments[0]
        match expr.function:
            case "sign":
                return Fraction(-1), Fraction(1)
            case "count" | "len" | "size":
                size = _size(first, self._seats)
                return None if size is None else (Fraction(), Fraction(size))
            case "sum":
                size = _size(first, self._seats)
                each = self._item(first, given)
                if size is None or each is None:
                    return None
                return _times(each, (Fraction(), Fraction(size)))
            case "mean" | "min" | "max" if len(expr.arguments) == 1:
                return self._item(first, given)
        spans = [self._of(argument, given) for argument in expr.arguments]
        known = [span for span in spans if span is not None]
        if len(known) < len(spans):
            return None
        match expr.function:
            case "+":
                return _plus(*known)
            case "-":
                return _plus(known[0], _times(known[1], (Fraction(-1), Fraction(-1))))
            case "neg":
                return _times(known[0], (Fraction(-1), Fraction(-1)))
            case "*":
                return _times(*known)
            case "/" if known[1][0] > 0 or known[1][1] < 0:
                return _times(known[0], (1 / known[1][1], 1 / known[1][0]))
            case "min":
                return min(low for low, _ in known), min(high for _, high in known)
            case "max":
                return max(low for low, _ in known), max(high for _, high in known)
            case "abs":
                return Fraction(), max(abs(known[0][0]), abs(known[0][1]))
            case "**" if known[0][0] >= 0 and known[0][1] <= 1 and known[1][0] >= 0:
                return Fraction(), Fraction(1)
        return None

    def _item(self, collection: Expr, given: Given) -> Interval | None:
        """The bounds of the items of a collection."""
        if isinstance(collection, Collect):
            return self._of(collection.item, {**given, **dict.fromkeys(collection.targets)})
        return _of_type(getattr(collection.type, "of", None))


def _of_type(type: Type | None) -> Interval | None:
    match type:
        case Number(low=int() as low, high=int() as high):
            return Fraction(low), Fraction(high)
        case Bool():
            return Fraction(0), Fraction(1)
    return None


def _hull(spans: Iterable[Interval | None]) -> Interval | None:
    given = list(spans)
    known = [span for span in given if span is not None]
    if len(known) < len(given) or not known:
        return None
    return min(low for low, _ in known), max(high for _, high in known)


def _plus(left: Interval | None, right: Interval | None) -> Interval | None:
    if left is None or right is None:
        return None
    return left[0] + right[0], left[1] + right[1]


def _times(left: Interval | None, right: Interval | None) -> Interval | None:
    if left is None or right is None:
        return None
    ends = [a * b for a in left for b in right]
    return min(ends), max(ends)


def visible(step: Step, tells: Callable[[Any, str], bool]) -> int:
    """How many events a choice, draw or show by itself can be for a reader; `tells(readers, owner)`
    says whether one is."""
    match step:
        case Choose(actors=actors, joint=joint, readers=readers):
            seen = sum(tells(readers, actor) for actor in actors)
            return seen if joint else min(seen, 1)
        case Draw(per=per, by_seat=by_seat, readers=readers):
            if not by_seat:
                return prod(map(len, per)) * tells(readers, "")
            rest = prod(map(len, per[1:]))
            return rest * sum(tells(readers, seat) for seat in per[0])
        case Show(readers=readers):
            return int(tells(readers, ""))
    return 0
