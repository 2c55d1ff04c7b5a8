"""The abstract interpreter of turn programs: passes of loops, totals over steps, state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from math import ceil, floor, isinf, prod
from typing import Any, assert_never

from gamedsl.bounds.expressions import Interpreter
from gamedsl.ir.abstract_values import ZERO, AbstractValue, Interval, joined, of_type
from gamedsl.ir.builtins import values
from gamedsl.ir.evaluate import EvaluationError, Scope, evaluate
from gamedsl.ir.expr import Apply, Build, Const, Expr, Get, LastBy, Past, Read, reads_play
from gamedsl.ir.game import GameIR
from gamedsl.ir.program import (
    Binding,
    Block,
    Call,
    Choose,
    Do,
    Draw,
    Loop,
    Pay,
    Show,
    Stage,
    Step,
    bound_place,
    statements_of,
    walk_steps,
)
from gamedsl.ir.statements import Assign, ForEach, Statement, write_of
from gamedsl.ir.types import List, PerSeat, plain
from gamedsl.ir.values import Bag

Weigh = Callable[[Step], int]
"""The weight of one run of a step by itself, without the steps inside it; not negative."""


class UnboundedError(Exception):
    """The form of a game gives no bound; the message says on what."""


def exact_passes(loop: Loop) -> int | None:
    """Returns how many passes a loop has unless `until` or a bound ends it; None where that
    depends on the play."""
    if isinstance(loop.times, Const):
        return int(loop.times.value)
    return None if loop.cycle else _count_items(loop)


def has_pass(loop: Loop) -> bool:
    """Returns whether a loop that is reached surely has a pass."""
    if loop.items is not None:
        return bool(_count_items(loop))
    return loop.times is None or bool(exact_passes(loop))


def _count_items(loop: Loop) -> int | None:
    """Returns how many items a loop goes through; None for a loop without items, and where their
    number depends on the play."""
    items = loop.items
    if isinstance(items, Const):
        return len(items.value)
    if isinstance(items, Build):
        return len(items.items)
    if items is None or reads_play(items):
        return None
    try:
        return len(values(evaluate(items, Scope())))
    except EvaluationError:
        return None


class ProgramBounds:
    """Bounds on the values and the steps of one game that hold at any time of every play."""

    def __init__(self, ir: GameIR) -> None:
        self._ir = ir
        referees = ir.everyone[len(ir.seats) :]
        self._interpreter = Interpreter(
            ir.seats, ir.lets_by_name, self._variable, referees=referees
        )
        self._states = {state.name: state for state in ir.state}
        self._known: dict[Read | LastBy | Past, AbstractValue | None] = {}
        """What is known of variables; None while it is worked out."""
        self._stored: dict[str, Interval | None] = {}
        """The intervals of state variables; None without one, and while it is worked out."""

    # expressions

    def value(self, expr: Expr) -> AbstractValue:
        """Returns what is known of the value of an expression."""
        return self._interpreter.value(expr)

    def size(self, expr: Expr) -> int | None:
        """Returns the most items of a collection; None without a bound."""
        return self._interpreter.size(expr)

    def highest(self, expr: Expr) -> int | None:
        """Returns the greatest value of a whole number; None without a bound."""
        high = self._interpreter.interval(expr).high
        return None if isinf(high) else floor(high)

    # steps

    def passes(self, loop: Loop) -> int | None:
        """Returns the most passes of a loop; None without a bound."""
        found = [loop.bound]
        if loop.times is not None:
            found.append(self.highest(loop.times))
        if loop.items is not None and not loop.cycle:
            found.append(self.size(loop.items))
        return min((bound for bound in found if bound is not None), default=None)

    def total(self, weigh: Weigh, steps: Iterable[Step] | None = None) -> int | None:
        """Returns the most that the steps of a play can weigh together, or some of them; None where
        a loop has no bound."""
        listed = self._ir.turns if steps is None else steps
        return _sum(self.weight(step, weigh) for step in listed)

    def weight(self, step: Step, weigh: Weigh) -> int | None:
        """Returns the most that one run of a step can weigh, with the steps inside it."""
        match step:
            case Loop(body=body):
                inner = self.total(weigh, body)
                times = self.passes(step) if inner else 0
                return None if inner is None or times is None else inner * times
            case Block(body=body) | Stage(body=body):
                return self.total(weigh, body)
            case Choose(moves=moves):
                bodies = [self.total(weigh, action.body) for action in moves]
                known = [body for body in bodies if body is not None]
                actors = len(step.actors) if step.joint else 1
                largest = actors * max(known, default=0)
                return None if len(known) < len(bodies) else weigh(step) + largest
            case Draw() | Show() | Do() | Pay() | Call():
                return weigh(step)
            case _:
                assert_never(step)

    def totals_before(self, weigh: Weigh) -> dict[str, int | None]:
        """Returns for each choice, by its id, the most that the steps of a play can weigh together
        before it is reached; None where a loop has no bound."""
        return self._before(self._ir.turns, weigh)

    def _before(self, steps: Iterable[Step], weigh: Weigh) -> dict[str, int | None]:
        found: dict[str, int | None] = {}
        total: int | None = 0
        for step in steps:
            match step:
                case Choose(id=name):
                    found[name] = total
                case Loop(body=body):
                    earlier, times = self.total(weigh, body), self.passes(step)
                    if earlier:
                        earlier = None if times is None else earlier * max(times - 1, 0)
                    for name, before in self._before(body, weigh).items():
                        found[name] = _sum((total, before, earlier))
                case Block(body=body) | Stage(body=body):
                    for name, before in self._before(body, weigh).items():
                        found[name] = _sum((total, before))
                case Draw() | Show() | Do() | Pay() | Call():
                    pass
                case _:
                    assert_never(step)
            total = _sum((total, self.weight(step, weigh)))
        return found

    # variables

    def outcome(self, draw: Draw) -> AbstractValue:
        """Returns what is known of one outcome of a draw."""
        typed, take = of_type(draw.type, self._interpreter.seats), draw.source.take
        return typed if take is None else _no_longer(typed, self.highest(take))

    def _variable(self, read: Read | LastBy | Past) -> AbstractValue | None:
        """Returns what is known of a variable, from the steps that bind it."""
        if read not in self._known:
            self._known[read] = None
            typed = of_type(read.type, self._interpreter.seats)
            match read:
                case Read():
                    self._known[read] = self._bound(read, typed)
                case LastBy(name=name):
                    self._known[read] = _no_longer(typed, self._count_actors(name))
                case Past(name=name):
                    bindings = self.total(lambda step: _binds(step, name))
                    self._known[read] = _no_longer(typed, bindings)
                case _:
                    assert_never(read)
        return self._known[read]

    def _bound(self, read: Read, typed: AbstractValue) -> AbstractValue:
        loops = [step for step in self._steps if isinstance(step, Loop)]
        counted = [self.passes(loop) for loop in loops if loop.count == read.name]
        known = [times for times in counted if times is not None]
        if counted and len(known) == len(counted):
            return typed.within(Interval(1, max(1, *known), True))
        sources = [loop.items for loop in loops if loop.item == read.name and loop.items]
        if sources:
            return typed.within(joined(self.value(items).item for items in sources).numbers)
        match plain(read.type):
            case List() if typed.size is None:
                return _no_longer(typed, self._draw_size(read.name))
            case PerSeat(partial=True) if read.name not in self._states:
                return _no_longer(typed, self._count_actors(read.name))
        interval = self._state_interval(read.name)
        return typed if interval is None else typed.within(interval)

    def _count_actors(self, variable: str) -> int | None:
        """Returns how many seats choose a variable; None if steps of other kinds bind it too."""
        steps = [s for s in self._steps if isinstance(s, Binding) and s.variable == variable]
        choices = [step for step in steps if isinstance(step, Choose)]
        actors = {actor for step in choices for actor in step.actors}
        return len(actors) if steps and len(choices) == len(steps) else None

    @property
    def _steps(self) -> Iterator[Step]:
        return walk_steps(self._ir.turns)

    def _draw_size(self, variable: str) -> int | None:
        """Returns how many items the draws that bind a variable draw at once; None unless all steps
        that bind it are such draws."""
        steps = [s for s in self._steps if isinstance(s, Binding) and s.variable == variable]
        taken = [step.source.take if isinstance(step, Draw) else None for step in steps]
        counts = [None if take is None else self.highest(take) for take in taken]
        known = [count for count in counts if count is not None]
        return max(known, default=None) if len(known) == len(counts) else None

    # what state holds

    def _state_interval(self, name: str) -> Interval | None:
        """Returns where the numbers of a state variable lie in any play; None where it holds other
        values than numbers and maps of them, or without bounds."""
        if name not in self._stored:
            self._stored[name] = None  # a variable that reads itself has no bound
            self._stored[name] = self._range_of(name)
        return self._stored[name]

    def _range_of(self, name: str) -> Interval | None:
        """Adds to the range of the assigned values all that `x = x + …` can change together."""
        state = self._states.get(name)
        numbers = None if state is None else _numbers(state.start)
        if state is None or not numbers or not self._is_assigned_only(name):
            return None
        held = Interval(min(numbers), max(numbers), all(n.denominator == 1 for n in numbers))
        changes: dict[int, Interval] = {}
        for step in self._steps:
            for statement, times in self._assignments(step, name):
                change = self._change(statement.value, name)
                if change is None:
                    held = held | self.value(statement.value).numbers
                elif times is None:
                    return None
                else:
                    often = Interval(times, times, True)
                    changes[id(step)] = changes.get(id(step), ZERO) + (change | ZERO) * often
        if not held.bounded or not all(change.bounded for change in changes.values()):
            return None
        if changes and state.lasts is not None:
            return None  # the changes of all earlier episodes are in its start
        down = self.total(lambda step: -floor(changes.get(id(step), ZERO).low))
        up = self.total(lambda step: ceil(changes.get(id(step), ZERO).high))
        if down is None or up is None:
            return None
        whole = held.whole and all(change.whole for change in changes.values())
        return Interval(held.low - down, held.high + up, whole)

    def _is_assigned_only(self, name: str) -> bool:
        """Whether no choice or draw writes a variable, and statements only assign it."""
        for step in self._steps:
            place = bound_place(step)
            if place is not None and place.variable == name:
                return False
            writes = map(write_of, statements_of(step))
            if any(w.place.variable == name and not isinstance(w, Assign) for w in writes):
                return False
        return True

    def _assignments(self, step: Step, name: str) -> Iterator[tuple[Assign, int | None]]:
        """Yields the assignments of a variable in a step, each with how often it is carried out at
        most in one run."""
        for statement in statements_of(step):
            sizes: list[int | None] = []
            body: Statement = statement
            while isinstance(body, ForEach):
                sizes.append(self.size(body.source))
                body = body.body
            if isinstance(body, Assign) and body.place.variable == name:
                known = [size for size in sizes if size is not None]
                yield body, prod(known) if len(known) == len(sizes) else None

    def _change(self, value: Expr, name: str) -> Interval | None:
        """Returns by how much a value differs from one that the variable holds; None where it is no
        sum with one."""
        if not isinstance(value, Apply) or value.function not in ("+", "-"):
            return None
        before, by = value.arguments
        while isinstance(before, Get):
            before = before.of
        if not isinstance(before, Read) or before.name != name:
            return None
        span = self.value(by).number
        return span if value.function == "+" else -span


def _numbers(value: Any) -> list[Fraction] | None:
    """Returns the numbers that a value consists of, in maps of any depth; None where it has other
    parts."""
    parts = [value]
    while any(isinstance(part, dict) and not isinstance(part, Bag) for part in parts):
        parts = [p for part in parts for p in (part.values() if isinstance(part, dict) else [part])]
    whole = all(isinstance(p, int | Fraction) and not isinstance(p, bool) for p in parts)
    return [Fraction(part) for part in parts] if whole else None


def _binds(step: Step, variable: str) -> int:
    """Returns how many values a run of a step binds a variable to."""
    if not isinstance(step, Binding) or step.variable != variable:
        return 0
    return len(step.actors) if isinstance(step, Choose) else 1


def _no_longer(value: AbstractValue, size: int | None) -> AbstractValue:
    """Returns a collection with a further bound on its size."""
    sizes = [known for known in (value.size, size) if known is not None]
    return replace(value, size=min(sizes, default=None))


def _sum(parts: Iterable[int | None]) -> int | None:
    total = 0
    for part in parts:
        if part is None:
            return None
        total += part
    return total
