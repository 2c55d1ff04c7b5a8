"""How much a game can pay, by the form of its program and payoffs: bounds that hold for every play.

Nothing is played and nothing sampled; where no bound is seen, there is None.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import ceil, floor
from typing import Any

from gamedsl.ir.expr import Apply, Collect, Const, Expr, Get, If, LetCall, Local, Read, Table
from gamedsl.ir.game import GameIR
from gamedsl.ir.lengths import most, passes, size
from gamedsl.ir.program import Block, Choose, Do, Draw, Loop, Pay, Stage, Step, walk_steps
from gamedsl.ir.statements import Assign, ForEach
from gamedsl.ir.types import Bool, List, Number, Tuple, Type

Interval = tuple[Fraction, Fraction]

NOTHING: Interval = (Fraction(), Fraction())

Given = Mapping[str, Interval | None]
NONE_GIVEN: Given = {}


class Payoffs:
    """Between which amounts the payoffs of a game lie: those of one seat, or (None) of any; and its
    other numbers."""

    def __init__(self, ir: GameIR, seat: str | None = None) -> None:
        self._ir = ir
        self._seat = seat
        self._lets = ir.lets_by_name
        self._seats = len(ir.seats)
        self._counts = self._count_loops()
        self._states = {state.name: state for state in ir.state}
        self._stores: dict[str, Interval | None] = {}

    def interval(self) -> Interval | None:
        """The least and the most that can be paid; None where no bounds are seen."""
        paid = self._paid(self._ir.turns)
        if paid is None or not (self._ir.payoffs or paid != NOTHING):
            return None
        return _plus(self._amounts(self._ir.payoffs), paid)

    def of(self, expr: Expr) -> Interval | None:
        """Between which amounts the value of an expression of the game lies, at any time; of a
        collection all its numbers do."""
        return self._of(expr) or self._item(expr, NONE_GIVEN)

    def _amounts(self, amounts: Iterable[tuple[str, Expr]]) -> Interval | None:
        """The bounds of amounts that are written for each seat."""
        spans = [self._of(amount) for seat, amount in amounts if self._seat in (None, seat)]
        return _hull(spans) if spans else NOTHING

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
                span = self._amounts(amounts)
            case Block(body=body):
                span = self._paid(body)
            case Choose(moves=actions, actors=actors, joint=joint):
                span = _hull([self._paid(action.body) for action in actions] or [NOTHING])
                bodies = Fraction(len(actors) if joint else 1)
                span = _times(_hull([span, NOTHING]), (bodies, bodies))
            case Stage(body=body, payoffs=payoffs, weight=weight):
                inner, factor = self._paid(body), self._of(weight)
                span = _times(_plus(inner, self._amounts(payoffs)), factor)
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
                return self._counts.get(name) or _of_type(expr.type) or self._stored(name)
            case Get(of=of):
                while isinstance(of, Get):
                    of = of.of
                kept = self._stored(of.name) if isinstance(of, Read) else None
                return _of_type(expr.type) or kept
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
            case "distance":
                return _apart(expr.arguments[0].type, expr.arguments[1].type)
            case "sign":
                return Fraction(-1), Fraction(1)
            case "count" | "len" | "size":
                items = size(first, self._seats)
                return None if items is None else (Fraction(), Fraction(items))
            case "sum":
                items = size(first, self._seats)
                each = self._item(first, given)
                if items is None or each is None:
                    return None
                return _times(each, (Fraction(), Fraction(items)))
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
            inside: dict[str, Interval | None] = dict.fromkeys(collection.targets)
            items = size(collection.source, self._seats)
            if collection.keyed and items and isinstance(collection.source.type, List):
                inside[collection.targets[0]] = Fraction(), Fraction(items - 1)
            return self._of(collection.item, {**given, **inside})
        if isinstance(collection, Apply) and collection.function in ("list", "set", "sorted"):
            return self._item(collection.arguments[0], given)
        kept = self._stored(collection.name) if isinstance(collection, Read) else None
        return _of_type(getattr(collection.type, "of", None)) or kept

    # what state holds

    def _stored(self, name: str) -> Interval | None:
        """Between which amounts the numbers of a state variable lie, at its start or whatever is
        done to it in a play."""
        if name not in self._stores:
            self._stores[name] = None  # while it is worked out: what reads itself has no bound
            self._stores[name] = self._kept(name)
        return self._stores[name]

    def _kept(self, name: str) -> Interval | None:
        state = self._states.get(name)
        numbers = None if state is None else _numbers(state.start)
        if not numbers:
            return None
        spans: list[Interval | None] = [(min(numbers), max(numbers))]
        changes: dict[int, Interval | None] = {}
        for step in walk_steps(self._ir.turns):
            if isinstance(step, Choose | Draw) and step.place and step.place.variable == name:
                return None
            for statement in step.statements if isinstance(step, Do) else ():
                times, body = 1, statement
                if isinstance(statement, ForEach):
                    items, body = size(statement.source, self._seats), statement.body
                    if items is None:
                        return None
                    times = items
                if isinstance(body, ForEach) or body.place.variable != name:
                    continue
                if not isinstance(body, Assign):
                    return None
                change = self._change(body.value, name)
                if change is None:
                    spans.append(self._of(body.value))
                    continue
                often = Fraction(times), Fraction(times)
                known = changes.get(id(step), NOTHING)
                changes[id(step)] = _plus(known, _times(_hull([change, NOTHING]), often))
        hull = _hull(spans)
        if hull is None or None in changes.values():
            return None
        sums = {step: span for step, span in changes.items() if span is not None}
        down = most(self._ir.turns, lambda s: -floor(sums.get(id(s), NOTHING)[0]), self._seats)
        up = most(self._ir.turns, lambda s: ceil(sums.get(id(s), NOTHING)[1]), self._seats)
        return None if down is None or up is None else (hull[0] - down, hull[1] + up)

    def _change(self, value: Expr, name: str) -> Interval | None:
        """By how much a value differs from one that the variable holds; None where it is no sum
        with one, or where no bounds are seen."""
        if not isinstance(value, Apply) or value.function not in ("+", "-"):
            return None
        before, by = value.arguments
        while isinstance(before, Get):
            before = before.of
        if not isinstance(before, Read) or before.name != name:
            return None
        span = self._of(by)
        return span if value.function == "+" else _times(span, (Fraction(-1), Fraction(-1)))


def _numbers(value: Any) -> list[Fraction] | None:
    """The numbers that a value consists of, in maps of any depth; None where it has other parts."""
    parts = [value]
    while any(isinstance(part, dict) for part in parts):
        parts = [p for part in parts for p in (part.values() if isinstance(part, dict) else [part])]
    whole = all(isinstance(p, int | Fraction) and not isinstance(p, bool) for p in parts)
    return [Fraction(part) for part in parts] if whole else None


def _apart(left: Type, right: Type) -> Interval | None:
    """The bounds of the distance between two cells."""
    if not isinstance(left, Tuple) or not isinstance(right, Tuple):
        return None
    spans = [(_of_type(a), _of_type(b)) for a, b in zip(left.of, right.of, strict=True)]
    known = [(a, b) for a, b in spans if a is not None and b is not None]
    if len(known) < len(spans):
        return None
    return Fraction(), sum((max(a[1] - b[0], b[1] - a[0]) for a, b in known), Fraction())


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
