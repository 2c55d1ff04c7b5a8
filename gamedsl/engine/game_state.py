"""The state of an interpreted game: variables, payments, and the events that each seat has seen.

Values are never changed in place, so that a copy is three dicts. An unbound variable is absent;
`v@past` and `v@by` are as `gamedsl.ir.evaluate` reads them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from gamedsl.diagnostics.spans import Span
from gamedsl.engine.chance import Index
from gamedsl.engine.flow import FlatProgram
from gamedsl.engine.storage import (
    Path,
    apply,
    fitting,
    nested,
    part,
    path_of,
    planned_writes,
    stored,
    with_less,
    with_more,
)
from gamedsl.ir.evaluate import Budget, Scope, evaluate, none_here
from gamedsl.ir.expr import Expr
from gamedsl.ir.game import GameIR
from gamedsl.ir.program import Binding, Choose, Draw
from gamedsl.ir.statements import OWNER, Place, Statement
from gamedsl.ir.types import PerSeat, PerValue, Type
from gamedsl.ir.values import name_of
from gamedsl.prompting.events import Seen, appended
from gamedsl.prompting.visibility import observers

NOTHING: Mapping[str, Any] = MappingProxyType({})

COPIED, SCANNED, CHECKED = 128, 64, 1
"""Items that are copied, gone past, or checked, with one unit of a budget."""

RETAINED = 8
"""Entries of a map that is copied for each draw with one unit of a budget: each history of a sample
keeps its own copy."""


Answered = tuple[str, str, tuple[Any, ...]]
"""A step that called a function, the function, and its results as JSON."""


class GameState:
    """The variables of a game by name (`bindings`), its streams per seat (`paid`), and the events
    of each seat (`seen`). `answers` are the results of functions that need not give the same again.
    `budget` is the work that may still be done, None for no limit."""

    __slots__ = ("_flow", "_ir", "answers", "bindings", "budget", "paid", "seen")

    def __init__(
        self, ir: GameIR, flow: FlatProgram, budget: Budget | None = None,
        lasting: Mapping[str, Any] = NOTHING,
    ) -> None:  # fmt: skip
        """`lasting` is the state that an earlier episode left."""
        self._ir = ir
        self._flow = flow
        self.budget = budget
        self.bindings: dict[str, Any] = {state.name: state.start for state in ir.state}
        self.bindings |= lasting
        self.paid: dict[str, Mapping[str, Any]] = dict.fromkeys(flow.streams, self.nothing())
        self.seen: dict[str, Seen] = dict.fromkeys(ir.everyone, ())
        self.answers: tuple[Answered, ...] = ()

    def copy(self) -> GameState:
        twin = GameState.__new__(GameState)
        twin._ir, twin._flow, twin.budget = self._ir, self._flow, self.budget
        twin.bindings = self.bindings.copy()
        twin.paid = self.paid.copy()
        twin.seen = self.seen.copy()
        twin.answers = self.answers
        return twin

    def nothing(self) -> dict[str, Any]:
        """Returns a stream of which nothing was paid."""
        return dict.fromkeys(self._ir.seats, 0)

    # reading

    def scope(self, me: str | None) -> Scope:
        """Returns the scope in which `me` reads an expression."""
        ir = self._ir
        return Scope(ir.seats, self.bindings, ir.lets_by_name, self.paid, me, budget=self.budget)

    def value(self, expr: Expr, me: str | None) -> Any:
        return evaluate(expr, self.scope(me))

    def holds(self, condition: Expr, me: str | None) -> bool:
        """Returns whether a condition holds. Raises EvaluationError where it is none."""
        value = self.value(condition, me)
        if value is None:
            raise none_here(condition)
        if value and self.budget is not None:
            self.budget.enter(condition)
        return bool(value)

    # counting

    def spend(self, amount: int, span: Span) -> None:
        """Takes work out of the budget. Raises `SpentError` where it is spent."""
        if self.budget is not None:
            self.budget.spend(amount, span)

    def spend_on(self, value: Any, span: Span, path: Path = ()) -> None:
        """Takes work out of the budget: copying the path to a part of a value, and visiting that
        part with everything in it."""
        if self.budget is None:
            return
        for key in path:
            self.budget.spend(1 + len(value) // COPIED, span)
            value = value[key]
        waiting = [value]
        while waiting:
            value = waiting.pop()
            if isinstance(value, tuple | dict | frozenset):
                self.budget.spend(1 + len(value) // CHECKED, span)
                inner = value.values() if isinstance(value, dict) else value
                waiting += (item for item in inner if isinstance(item, tuple | dict | frozenset))

    # writing

    def bind(self, variable: str, value: Any) -> None:
        self.bindings[variable] = value
        self._remember(variable)

    def unbind(self, names: Iterable[str], *, by_seat: bool = True) -> None:
        """Forgets the last values of variables and, `by_seat`, the last choice of each seat; not
        the past values."""
        for name in names:
            self.bindings.pop(name, None)
            if by_seat:
                self.bindings.pop(f"{name}@by", None)

    def carry_out(self, statement: Statement, me: str | None) -> None:
        for write in planned_writes(statement, self.scope(me)):
            self.spend(1, statement.span)
            variable, value = apply(write, self.bindings.get)
            self.spend_on(value, statement.span, write.path)
            self.bindings[variable] = value

    def bind_choices(self, step: Choose, chosen: Mapping[str, Any]) -> None:
        """Binds the choices of seats at a step, all worked out in the state before."""
        if step.place is not None:
            paths = [path_of(step.place, self.scope(seat)) for seat in chosen]
            for path, value in zip(paths, chosen.values(), strict=True):
                self._store(step.place, step.place.type, path, value)
                self.spend_on(self.bindings[step.place.variable], step.span, path)
            if chosen:
                self._remember(step.variable)
        elif step.joint:
            self.bind(step.variable, {**(self.bindings.get(step.variable) or {}), **chosen})
        else:
            self.bind(step.variable, *chosen.values())
        if not step.joint and step.variable in self._flow.by_seat:
            key = f"{step.variable}@by"
            self.bindings[key] = {**self.bindings.get(key, {}), **chosen}

    def bind_silence(self, step: Choose, seat: str) -> None:
        """Binds the variable of a step to none, where a seat gave no valid reply. The last choices
        of other seats stay known."""
        self.bindings.pop(step.variable, None)
        key = f"{step.variable}@by"
        if key in self.bindings:
            others = {s: value for s, value in self.bindings[key].items() if s != seat}
            self.bindings[key] = others

    def bind_drawn(
        self, step: Draw, index: Index, value: Any, *, last: bool, me: str | None
    ) -> None:
        """Binds the outcome of chance for one index, shows it to its readers, and takes it out of
        its bag.

        `me` acts; `last` says that there is no further index.
        """
        drawer = self.scope(index[0] if step.by_seat else me)
        items = (value,) if step.source.take is None else value
        if step.source.bag is not None:
            bag = step.source.bag
            path = path_of(bag, drawer)
            left = part(self.bindings[bag.variable], path, bag.span)
            self.spend(len(items) * (1 + len(left) // COPIED), step.span)
            for item in items:
                left = with_less(left, item)
            self._put(bag, path, left)
        owner = index[0] if step.by_seat else None
        if step.place is None:
            before = self.bindings.get(step.variable) if index else None
            entries, inner = 0, before
            for key in index:
                entries += len(inner or ())
                inner = inner.get(key) if inner else None
            self.spend(entries // RETAINED, step.span)
            self.bindings[step.variable] = nested(before, index, value)
        else:
            path, type = (*path_of(step.place, drawer), *index), step.place.type
            for _ in index:
                type = type.of if isinstance(type, PerSeat | PerValue) else type
            new = value
            if step.how == "append":
                new = part(self.bindings.get(step.place.variable), path, step.place.span)
                self.spend(len(items) * (1 + (len(new) + len(items)) // COPIED), step.span)
                for item in items:
                    new = with_more(new, item)
            self._store(step.place, type, path, new)
            self.spend_on(self.bindings[step.place.variable], step.span, path)
            owner = owner or next((key for key in path if key in self._ir.seats), None)
        if last:
            self._remember(step.variable)
        if owner is None and OWNER in step.readers.locals:
            owner = me
        name = ":".join(map(name_of, (*index[step.by_seat :], value)))
        self.observe(step, owner, owner or "", value, step.type, name, me)

    def _store(self, place: Place, type: Type, path: Path, value: Any) -> None:
        """Puts a value of this type at a path inside a place's variable, if it fits."""
        self._put(place, path, fitting(value, type, place, place.span))

    def _put(self, place: Place, path: Path, value: Any) -> None:
        whole = self.bindings.get(place.variable)
        self.bindings[place.variable] = stored(whole, path, value, place.span)

    def _remember(self, variable: str) -> None:
        """Keeps the present value of a variable among its past ones."""
        if variable in self._flow.past:
            key = f"{variable}@past"
            self.bindings[key] = (*self.bindings.get(key, ()), self.bindings[variable])

    # telling

    def observe(
        self, step: Binding, owner: str | None, seat: str, value: Any, type: Type,
        name: str, me: str | None,
    ) -> None:  # fmt: skip
        """Adds an event of `seat` to the events of every seat that sees a value; the value is
        `owner`'s."""
        past = self.bindings.get(f"{step.variable}@past", ())
        self.spend(1 + len(past) // COPIED, step.span)
        self.spend_on(value, step.span)
        chooser = seat if isinstance(step, Choose) and step.knows is None else ""
        actor = seat if isinstance(step, Choose) else me
        for reader, shown in observers(
            step.readers,
            owner,
            actor,
            chooser,
            value,
            type,
            name,
            self.scope(me),
            self._ir.everyone,
        ):
            self.spend(1 + len(self.seen[reader]) // SCANNED, step.span)
            self.seen[reader] = appended(self.seen[reader], step.id, seat, shown)
